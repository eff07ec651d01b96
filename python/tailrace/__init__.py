"""Tailrace: incompressible flow, its output and its analysis, in parallel.

Heavy parts (the compiled module, MPI) are loaded when first used, so that `import tailrace` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._core import Error, InputError, IoError
    from .calculus import (
        curl,
        ddx,
        ddy,
        ddz,
        derivative,
        div,
        grad,
        interpolate,
        laplacian,
        rotation,
        strain,
    )
    from .config import Case, ConfigError, load_case
    from .field import Field
    from .operators import Operators
    from .reductions import integral, max, mean, min, sum
    from .series import Block, Box, Series, Step, UniformGrid, open
    from .simulation import Simulation, run
    from .vector import Tensor, Vector

_PLACES = {
    **dict.fromkeys(("Error", "InputError", "IoError"), "_core"),
    **dict.fromkeys(
        ("curl", "ddx", "ddy", "ddz", "derivative", "div", "grad", "interpolate", "laplacian", "rotation", "strain"),
        "calculus",
    ),
    "Field": "field",
    **dict.fromkeys(("Tensor", "Vector"), "vector"),
    **dict.fromkeys(("integral", "max", "mean", "min", "sum"), "reductions"),
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
    "Field",
    "InputError",
    "IoError",
    "Operators",
    "Series",
    "Simulation",
    "Step",
    "Tensor",
    "UniformGrid",
    "Vector",
    "curl",
    "ddx",
    "ddy",
    "ddz",
    "derivative",
    "div",
    "grad",
    "integral",
    "interpolate",
    "laplacian",
    "load_case",
    "max",
    "mean",
    "min",
    "open",
    "rotation",
    "run",
    "strain",
    "sum",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'tailrace' has no attribute {name!r}")
    value = getattr(import_module(f".{_PLACES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
