"""The velocities and scalars with which cases begin by name. All is local."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.case.scripts import Velocity
from tailrace.case.sections.case_section import ISOTROPIC, TAYLOR_GREEN, XCOMPACT3D
from tailrace.core import Grid

from .isotropic import isotropic
from .shear_flows import shear_flow
from .xcompact3d_flows import evenly, xcompact3d_flow

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tailrace.case.case import Case
    from tailrace.case.sections.scalar_section import ScalarSection


def ready_made(case: Case, grid: Grid) -> Velocity:
    """The flow that a case names and that is not a user's. Local."""
    told = case.case
    if told.flow == ISOTROPIC:
        assert told.parameters is not None  # `CaseSection` sees to it
        return isotropic(told.parameters, case.grid)
    if told.flow == TAYLOR_GREEN:
        return taylor_green(grid)
    if told.flow == XCOMPACT3D:
        return xcompact3d_flow(told.parameters, grid)
    return shear_flow(str(told.flow), told.parameters, grid)


def scalar(section: ScalarSection, key: str, case: Case, grid: Grid) -> Callable[..., Any] | float:
    """The initial values of a scalar: a function of x, y and z, or a number. Local.

    :param key: where the case names them.
    :raises ConfigError: the file of a user's function fails when it is loaded.
    """
    if not isinstance(section.initial, str):
        return section.initial
    if section.initial == "front":
        assert section.front is not None and section.thickness is not None  # `ScalarSection` sees to it
        half, front, thickness = 0.5 if section.level is None else 0.5 * section.level, section.front, section.thickness
        return lambda x, y, z: half * (1 - np.tanh((x - front) / thickness)) + 0 * (y + z)
    if section.initial == "waves":
        return lambda x, y, z: np.sin(x) * np.sin(evenly(grid, y)) * np.cos(z)
    if section.initial == "linear":
        lower, upper = map(float, section.ends(case.grid)[1])  # numbers: the case was checked
        return lambda x, y, z: lower + (upper - lower) * y / grid.lengths[1] + 0 * (x + z)
    work: Callable[..., Any] = case.function(key, section.initial)
    return work


def taylor_green(grid: Grid) -> Velocity:
    """The Taylor-Green vortex on a box of any size.

    u = sin ax cos by cos cz,  v = -(a/b) cos ax sin by cos cz,  w = 0, which is free of divergence and obeys free-slip
    boundaries. a, b, c are the wave numbers nearest to 1 that fit the box: 2 pi / L times a whole number where
    periodic, pi / L times one where free-slip. On boxes of 2 pi (or pi, free-slip) this is the classic vortex.
    """
    a, b, c = (_wave_number(grid.lengths[d], grid.boundaries[d]) for d in range(3))

    def velocity(x: NDArray[Any], y: NDArray[Any], z: NDArray[Any]) -> tuple[Any, Any, Any]:
        u = np.sin(a * x) * np.cos(b * y) * np.cos(c * z)
        v = -(a / b) * np.cos(a * x) * np.sin(b * y) * np.cos(c * z)
        return u, v, np.zeros_like(u)

    return velocity


def _wave_number(length: float, boundary: str) -> float:
    base = (2 if boundary == "periodic" else 1) * math.pi / length
    return base * max(1, round(1 / base))
