"""What a case gives at the ends of a flow: velocities at walls and inflows, values of scalars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.core import Grid, InputError
from tailrace.parallel import agree

from .initial.values import coordinates

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.case.case import Case

Function = Callable[..., Any]  # of x, y, z, t


@dataclass
class _End:
    """An end of a direction, and where this rank has its values; empty where it has none of it."""

    key: str
    places: tuple[NDArray[np.float64], ...]  # x, y, z
    values: list[NDArray[Any]]
    work: Function
    at_end: bool  # whether it is given for the end of a stage, else for its beginning


class Ends:
    """Sets the values at the ends of a flow. Collective over `comm`.

    Numbers are set once; functions are called for the end of each stage of a step (velocities, and scalars in an
    implicit y), or its beginning (scalars), as the schemes need them. They must not communicate.

    :raises ConfigError: a file of a function fails when it is loaded.
    :raises InputError: a function fails, or returns something else than it should.
    """

    def __init__(self, case: Case, flow: Any, grid: Grid, comm: MPI.Comm) -> None:
        self._comm = comm
        self._velocities: list[_End] = []
        self._scalars: list[_End] = []
        x, y, z = coordinates(grid, flow.box)
        self._axes = (x, y, z)
        self._open_outflows(case, flow)
        own = self._load(case, "boundary.velocity", case.boundary.velocity)
        for d, upper, _ in case.grid.given_ends():
            faces = [flow.face(d, upper, component) for component in range(3)]
            constant = case.boundary.constant(d, upper)
            if constant is not None:
                for values, number in zip(faces, constant, strict=True):
                    values[...] = number
            elif own is not None:
                self._velocities.append(_End("boundary.velocity", self._places(d, upper), faces, own, True))
        for number, scalar in enumerate(case.scalar):
            for d, ends in enumerate(scalar.ends(case.grid)):
                for upper, end in zip((False, True), ends, strict=True):
                    if isinstance(end, float):
                        flow.scalar_face(number, d, upper)[...] = end
                    elif ".py:" in end:
                        key = f"scalar[{number}].boundaries[{d}]"
                        values = [flow.scalar_face(number, d, upper)]
                        work = self._load(case, key, end)
                        assert work is not None
                        at_end = d == 1 and case.numerics.implicit_y
                        self._scalars.append(_End(key, self._places(d, upper), values, work, at_end))
        self.set(0.0, 0.0)

    def _open_outflows(self, case: Case, flow: Any) -> None:
        speed = case.boundary.outflow_speed
        kind, value = (speed, 0.0) if isinstance(speed, str) else ("given", speed)
        for d, words in enumerate(case.grid.ends):
            if words[1] == "outflow":
                flow.make_outflow(d, kind, value, case.boundary.balance)

    def _load(self, case: Case, key: str, word: str | None) -> Function | None:
        return None if word is None else agree(self._comm, lambda: case.function(key, word))

    def _places(self, d: int, upper: bool) -> tuple[NDArray[np.float64], ...]:
        """x, y, z of the nodes of an end, which broadcast to the shape of its values."""
        places = list(self._axes)
        axis = 2 - d
        places[d] = places[d].take([-1 if upper else 0], axis=axis) if places[d].size else places[d]
        return tuple(places)

    @property
    def change(self) -> bool:
        """Whether something depends on the time. Local."""
        return bool(self._velocities or self._scalars)

    def set(self, start: float, end: float) -> None:
        """Set what is given during a stage from one time to another."""
        if not self.change:
            return

        def fill() -> None:
            for one in self._velocities:
                _fill(one, end, 3)
            for one in self._scalars:
                _fill(one, end if one.at_end else start, 1)

        agree(self._comm, fill)


def _fill(end: _End, time: float, count: int) -> None:
    if not end.values[0].size:
        return
    try:
        found = end.work(*end.places, time)
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        raise InputError(f"{end.key} failed at t = {time:g}: {type(error).__name__}: {error}") from error
    parts: Sequence[Any] = found if count > 1 else (found,)
    if count > 1 and (not isinstance(found, tuple | list) or len(found) != count):
        raise InputError(f"{end.key} must return {count} arrays or numbers; found {type(found).__name__}")
    for values, part in zip(end.values, parts, strict=True):
        try:
            given = np.broadcast_to(np.asarray(part, dtype=np.float64), values.shape)
        except (TypeError, ValueError) as error:
            raise InputError(f"{end.key} returned what does not fit the nodes of an end: {error}") from None
        if not np.isfinite(given).all():
            raise InputError(f"{end.key} returned numbers that are not finite, at t = {time:g}")
        values[...] = given


def counts_walls_twice(case: Case) -> list[str]:
    """A line where a kept flow rate is not that of the box. Local."""
    kept, stretched = case.forcing.flow_rate is not None, case.grid.stretching is not None
    if not (kept and stretched and case.boundary.moves_walls(case.grid)):
        return []
    return [
        "the mean that forcing.flow_rate keeps counts nodes of walls as a whole where y is stretched, as Xcompact3D's "
        "does: with walls that move it is not the mean over the box, which the time series has; use "
        "forcing.acceleration, or no stretching"
    ]


def settles_through(case: Case) -> list[str]:
    """A line for each scalar that settles through ends where only its diffusion is stopped. Local."""
    lines = []
    for scalar in case.scalar:
        ends = [
            f"{('lower', 'upper')[side]} end of {'xyz'[d]} ({'out of' if (w < 0) == (side == 0) else 'into'} the box)"
            for d, w in enumerate(scalar.settling)
            for side, word in enumerate(scalar.ends(case.grid)[d])
            if w != 0 and word == "no-flux"
        ]
        if ends:
            lines.append(
                f"the scalar '{scalar.name}' settles through the {' and the '.join(ends)}, since 'no-flux' stops its "
                "diffusion alone; give the number 0 where nothing is to come in, and 'deposit' where it settles out"
            )
    return lines
