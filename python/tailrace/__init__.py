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
    from .distributions import Histogram, JointHistogram, histogram, joint_histogram
    from .field import Field
    from .filtering import filter
    from .invariants import lambda2, q_criterion, third_invariant
    from .operators import Operators
    from .reductions import integral, max, mean, mean_square, min, sum
    from .sampling import Probes, line, plane, spread
    from .series import Block, Box, Series, Step, UniformGrid, open
    from .simulation import Simulation, run
    from .spectra import Correlation, Spectrum, correlation, spectrum, spectrum_1d
    from .statistics import Statistics
    from .vector import Tensor, Vector

_PLACES = {
    **dict.fromkeys(("Error", "InputError", "IoError"), "_core"),
    **dict.fromkeys(
        ("curl", "ddx", "ddy", "ddz", "derivative", "div", "grad", "interpolate", "laplacian", "rotation", "strain"),
        "calculus",
    ),
    "Field": "field",
    **dict.fromkeys(("Tensor", "Vector"), "vector"),
    **dict.fromkeys(("integral", "max", "mean", "mean_square", "min", "sum"), "reductions"),
    **dict.fromkeys(("Case", "ConfigError", "load_case"), "config"),
    "Operators": "operators",
    **dict.fromkeys(("Block", "Box", "Series", "Step", "UniformGrid", "open"), "series"),
    **dict.fromkeys(("Simulation", "run"), "simulation"),
    **dict.fromkeys(("Histogram", "JointHistogram", "histogram", "joint_histogram"), "distributions"),
    "filter": "filtering",
    **dict.fromkeys(("lambda2", "q_criterion", "third_invariant"), "invariants"),
    **dict.fromkeys(("Probes", "line", "plane", "spread"), "sampling"),
    **dict.fromkeys(("Correlation", "Spectrum", "correlation", "spectrum", "spectrum_1d"), "spectra"),
    "Statistics": "statistics",
}

__all__ = [
    "Block",
    "Box",
    "Case",
    "ConfigError",
    "Correlation",
    "Error",
    "Field",
    "Histogram",
    "InputError",
    "IoError",
    "JointHistogram",
    "Operators",
    "Probes",
    "Series",
    "Simulation",
    "Spectrum",
    "Statistics",
    "Step",
    "Tensor",
    "UniformGrid",
    "Vector",
    "correlation",
    "curl",
    "ddx",
    "ddy",
    "ddz",
    "derivative",
    "div",
    "filter",
    "grad",
    "histogram",
    "integral",
    "interpolate",
    "joint_histogram",
    "lambda2",
    "laplacian",
    "line",
    "load_case",
    "max",
    "mean",
    "mean_square",
    "min",
    "open",
    "plane",
    "q_criterion",
    "rotation",
    "run",
    "spectrum",
    "spectrum_1d",
    "spread",
    "strain",
    "sum",
    "third_invariant",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'tailrace' has no attribute {name!r}")
    value = getattr(import_module(f".{_PLACES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
