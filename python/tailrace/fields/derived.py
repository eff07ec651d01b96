"""Fields that follow from the velocity, by the names under which they are asked for."""

from __future__ import annotations

from collections.abc import Callable

from .calculus import curl, div
from .field import Field
from .invariants import lambda2, q_criterion
from .vector import Vector

DERIVED: dict[str, Callable[[Vector], Field]] = {
    "vorticity": lambda u: curl(u).norm(),
    "vorticity_x": lambda u: curl(u).x,
    "vorticity_y": lambda u: curl(u).y,
    "vorticity_z": lambda u: curl(u).z,
    "q": q_criterion,
    "lambda2": lambda2,
    "divergence": div,
}
