"""Initial velocities and scalars: the Taylor-Green vortex, and functions of users of (x, y, z)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.case.scripts import Velocity
from tailrace.case.sections import ISOTROPIC, TAYLOR_GREEN, XCOMPACT3D
from tailrace.core import Grid, InputError
from tailrace.io.names import COMPONENTS
from tailrace.parallel import agree

from .isotropic import isotropic
from .shear_flows import shear_flow
from .xcompact3d_flows import evenly, xcompact3d_flow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.case.case import Case
    from tailrace.case.flow_sections import ScalarSection


def coordinates(grid: Grid, box: tuple[Any, Any]) -> tuple[NDArray[np.float64], ...]:
    """x, y, z of the nodes of a box (start, count in x, y, z), as (1, 1, nx), (1, ny, 1), (nz, 1, 1)."""
    (x, y, z) = (
        np.array(grid.coordinates(d))[start : start + count] for d, (start, count) in enumerate(zip(*box, strict=True))
    )
    return x[None, None, :], y[None, :, None], z[:, None, None]


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


def scalar(
    section: ScalarSection, number: int, case: Case, grid: Grid, box: tuple[Any, Any], comm: MPI.Comm
) -> NDArray[np.float64] | float:
    """The initial values of a scalar on this rank's box, (nz, ny, nx), or a number. Collective.

    :raises ConfigError: the file of its function fails when it is loaded.
    :raises InputError: on any rank the function fails, or returns what does not fit or is not finite.
    """
    if not isinstance(section.initial, str):
        return section.initial
    x, y, z = coordinates(grid, box)
    if section.initial == "front":
        assert section.front is not None and section.thickness is not None  # `ScalarSection` sees to it
        half = 0.5 if section.level is None else 0.5 * section.level
        return np.asarray(half * (1 - np.tanh((x - section.front) / section.thickness)) + 0 * (y + z))
    if section.initial == "waves":
        return np.asarray(np.sin(x) * np.sin(evenly(grid, y)) * np.cos(z))
    if section.initial == "linear":
        lower, upper = (end if isinstance(end, float) else 0.0 for end in section.ends(case.grid)[1])
        return np.asarray(lower + (upper - lower) * y / grid.lengths[1] + 0 * (x + z))
    key = f"scalar[{number}].initial"
    work = agree(comm, lambda: case.function(key, str(section.initial)))
    return agree(comm, lambda: _values(work, grid, box, f"{section.initial} ({key})"))


def _values(work: Callable[..., Any], grid: Grid, box: tuple[Any, Any], name: str) -> NDArray[np.float64]:
    x, y, z = coordinates(grid, box)
    try:
        found = work(x, y, z)
        values = np.broadcast_to(np.asarray(found, dtype=np.float64), (z.size, y.size, x.size))
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        raise InputError(f"{name} failed: {type(error).__name__}: {error}") from error
    if not np.isfinite(values).all():
        raise InputError(f"{name} returned numbers that are not finite")
    return values


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


def evaluate(
    velocity: Velocity | Sequence[NDArray[Any]],
    grid: Grid,
    box: tuple[Any, Any],
    name: str,
    comm: MPI.Comm,
    walls: bool = True,
) -> list[NDArray[np.float64]]:
    """The three components of `velocity` on each rank's box, each (nz, ny, nx). Collective.

    :param velocity: a function of x, y, z, or its three arrays.
    :param walls: whether the velocity normal to a free-slip boundary must be zero there.
    :raises InputError: on any rank the function fails or returns something else, or numbers that are not finite; or the
        velocity normal to a free-slip boundary is not zero there.
    """
    components = agree(comm, lambda: _components(velocity, grid, box, name))
    # Relative to the largest velocity of all ranks: one rank may have only a plane where the flow is at rest.
    largest = max(comm.allgather(max(float(np.abs(component).max(initial=0)) for component in components)))
    if walls:
        agree(comm, lambda: _check_walls(components, largest, grid, box, name))
    return components


def _components(
    velocity: Velocity | Sequence[NDArray[Any]], grid: Grid, box: tuple[Any, Any], name: str
) -> list[NDArray[np.float64]]:
    x, y, z = coordinates(grid, box)
    shape = (z.size, y.size, x.size)
    try:
        result: Any = velocity(x, y, z) if callable(velocity) else velocity
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        raise InputError(f"{name} failed: {type(error).__name__}: {error}") from error
    if not isinstance(result, tuple | list) or len(result) != 3:
        found = f"{len(result)} values" if isinstance(result, tuple | list) else type(result).__name__
        verb = "return" if callable(velocity) else "be"
        raise InputError(f"{name} must {verb} three arrays (x, y, z of a vector); found {found}")
    components = []
    for label, values in zip(COMPONENTS, result, strict=True):
        if np.iscomplexobj(values):
            raise InputError(f"{name} returned complex numbers for {label}; return their real part")
        try:
            component = np.broadcast_to(np.asarray(values, dtype=np.float64), shape)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} returned {label} that does not fit the grid (nz, ny, nx): {error}") from None
        bad = np.argwhere(~np.isfinite(component))
        if bad.size:
            k, j, i = bad[0]
            place = f"x = {x[0, 0, i]:.4g}, y = {y[0, j, 0]:.4g}, z = {z[k, 0, 0]:.4g}"
            raise InputError(f"{name} returned {label} = {component[k, j, i]} at {place}")
        components.append(component)
    return components


def _check_walls(
    components: list[NDArray[np.float64]], largest: float, grid: Grid, box: tuple[Any, Any], name: str
) -> None:
    for d, component in enumerate(components):
        start, count = box[0][d], box[1][d]
        lower, _, upper = grid.boundaries[d].partition("|")
        for end, node, kind in (("first", 0, lower), ("last", grid.nodes[d] - 1, upper or lower)):
            if kind == "free-slip" and start <= node < start + count:
                through = float(np.abs(component.take(node - start, axis=2 - d)).max(initial=0))
                if through > 1e-10 * largest:
                    raise InputError(
                        f"{name}: u{'xyz'[d]} is {through:.3g} on the {end} {'xyz'[d]} boundary, which is free-slip; "
                        "the velocity normal to it must be 0 there"
                    )
