"""What functions of (x, y, z) give at the nodes of a rank: velocities, forces and scalars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.case.scripts import Velocity
from tailrace.core import Grid, InputError
from tailrace.io.names import COMPONENTS
from tailrace.parallel import agree, extreme

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mpi4py import MPI
    from numpy.typing import NDArray


def coordinates(grid: Grid, box: tuple[Any, Any]) -> tuple[NDArray[np.float64], ...]:
    """x, y, z of the nodes of a box (start, count in x, y, z), as (1, 1, nx), (1, ny, 1), (nz, 1, 1)."""
    (x, y, z) = (
        np.array(grid.coordinates(d))[start : start + count] for d, (start, count) in enumerate(zip(*box, strict=True))
    )
    return x[None, None, :], y[None, :, None], z[:, None, None]


def scalar_values(work: Callable[..., Any], grid: Grid, box: tuple[Any, Any], name: str) -> NDArray[np.float64]:
    """What a function of x, y and z gives on a box, (nz, ny, nx). Local.

    :raises InputError: it fails, or returns what does not fit or is not finite.
    """
    x, y, z = coordinates(grid, box)
    try:
        found = work(x, y, z)
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        raise InputError(f"{name} failed: {type(error).__name__}: {error}") from error
    result = fitting(found, (z.size, y.size, x.size), name)
    if not np.isfinite(result).all():
        raise InputError(f"{name} returned numbers that are not finite")
    return result


def fitting(found: Any, shape: tuple[int, int, int], what: str) -> NDArray[np.float64]:
    """What was returned, as real numbers of this shape (nz, ny, nx). Local.

    :param what: what it is, and who gave it.
    :raises InputError: it is complex, not numbers, or of another shape.
    """
    if np.iscomplexobj(found):
        raise InputError(f"{what} is complex; give its real part")
    try:
        array = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers; found {type(found).__name__}: {error}") from None
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise InputError(
            f"{what} has the shape {array.shape}; expected {shape}, the nodes of this rank in z, y and x, or what "
            "NumPy extends to it"
        ) from None


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
    own = max(float(np.abs(component).max(initial=0)) for component in components)
    largest = float(extreme(comm, own, largest=True))
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
    for label, found in zip(COMPONENTS, result, strict=True):
        component = fitting(found, shape, f"{label} of {name}")
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
