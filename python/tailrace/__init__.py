"""Tailrace: incompressible flow, its output and its analysis, in parallel.

Heavy parts (the compiled module, MPI) are loaded when first used, so that `import tailrace` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._core import Error, InputError, IoError
    from .config import Case, ConfigError, load_case
    from .operators import Operators
    from .series import Block, Box, Series, Step, UniformGrid, open
    from .simulation import Simulation, run

_PLACES = {
    **dict.fromkeys(("Error", "InputError", "IoError"), "_core"),
    **dict.fromkeys(("Case", "ConfigError", "load_case"), "config"),
    "Operators": "operators",
    **dict.fromkeys(("Block", "Box", "Series", "Step", "UniformGrid", "open"), "series"),
    **dict.fromkeys(("Simulation", "run"), "simulation"),
}

__all__ = [
    "Block",
    "Box",
    "Case",
    "ConfigError",
    "Error",
    "InputError",
    "IoError",
    "Operators",
    "Series",
    "Simulation",
    "Step",
    "UniformGrid",
    "load_case",
    "open",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'tailrace' has no attribute {name!r}")
    value = getattr(import_module(f".{_PLACES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
