"""Tailrace: incompressible flow, its output and its analysis, in parallel.

Heavy parts (the compiled module, MPI) are loaded when first used, so that `import tailrace` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .core import Error, InputError, IoError

    __version__: str
    from .case.case import Case, ConfigError, load_case
    from .conversion.convert import Converted, convert
    from .fields.calculus import (
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
    from .fields.distributions import Histogram, JointHistogram, histogram, joint_histogram
    from .fields.field import Field
    from .fields.filtering import filter
    from .fields.invariants import lambda2, q_criterion, third_invariant
    from .fields.operators import Operators
    from .fields.reductions import integral, max, mean, mean_square, min, sum
    from .fields.sampling import Probes, line, plane, spread
    from .fields.spectra import Correlation, Spectrum, correlation, spectrum, spectrum_1d
    from .fields.statistics import Statistics
    from .fields.vector import Tensor, Vector
    from .flow.isotropic import RandomVelocity
    from .flow.model import Model
    from .io.placement import Block, Box, Region, StretchedGrid, UniformGrid
    from .run.simulation import Simulation, run
    from .steps.series import Series, open
    from .steps.step import Step

_PLACES = {
    **dict.fromkeys(("Error", "InputError", "IoError"), "_core"),
    **dict.fromkeys(
        ("curl", "ddx", "ddy", "ddz", "derivative", "div", "grad", "interpolate", "laplacian", "rotation", "strain"),
        "fields.calculus",
    ),
    "Field": "fields.field",
    **dict.fromkeys(("Tensor", "Vector"), "fields.vector"),
    **dict.fromkeys(("integral", "max", "mean", "mean_square", "min", "sum"), "fields.reductions"),
    **dict.fromkeys(("Case", "ConfigError", "load_case"), "case.case"),
    **dict.fromkeys(("Converted", "convert"), "conversion.convert"),
    "Operators": "fields.operators",
    **dict.fromkeys(("Block", "Box", "Region", "StretchedGrid", "UniformGrid"), "io.placement"),
    "Model": "flow.model",
    "RandomVelocity": "flow.isotropic",
    **dict.fromkeys(("Series", "open"), "steps.series"),
    "Step": "steps.step",
    "Simulation": "run.simulation",
    **dict.fromkeys(("Histogram", "JointHistogram", "histogram", "joint_histogram"), "fields.distributions"),
    "filter": "fields.filtering",
    **dict.fromkeys(("lambda2", "q_criterion", "third_invariant"), "fields.invariants"),
    **dict.fromkeys(("Probes", "line", "plane", "spread"), "fields.sampling"),
    **dict.fromkeys(("Correlation", "Spectrum", "correlation", "spectrum", "spectrum_1d"), "fields.spectra"),
    "Statistics": "fields.statistics",
}

__all__ = [
    "Block",
    "Box",
    "Case",
    "ConfigError",
    "Converted",
    "Correlation",
    "Error",
    "Field",
    "Histogram",
    "InputError",
    "IoError",
    "JointHistogram",
    "Model",
    "Operators",
    "Probes",
    "RandomVelocity",
    "Region",
    "Series",
    "Simulation",
    "Spectrum",
    "Statistics",
    "Step",
    "StretchedGrid",
    "Tensor",
    "UniformGrid",
    "Vector",
    "convert",
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
    if name == "__version__":
        return import_module("._core", __name__).build_info()["version"]
    if name == "run":  # a package with the name of its function, which can be called
        return import_module(".run", __name__)
    if name not in _PLACES:
        raise AttributeError(f"module 'tailrace' has no attribute {name!r}")
    value = getattr(import_module(f".{_PLACES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
