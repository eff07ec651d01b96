"""Where the page gets parts of fields from: a series of steps, or a run that computes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tailrace.core import InputError
from tailrace.io.placement import Box
from tailrace.live_run.part import Part, part_at, picked
from tailrace.render.quantities import Quantity, arrays, known_names, quantity
from tailrace.render.slices import coordinates_of
from tailrace.render.stored import open_stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailrace.live_run.board import BoardReader
    from tailrace.live_run.wanted import Wanted
    from tailrace.steps.stored_step import StoredStep

    from .watched_run import WatchedRun

NOW = "now, in memory"  # what a viewer chooses for the fields of a run
_MOST = 200_000_000  # points of a field that is computed from others, all of which are read


class FieldSource(Protocol):
    """Fields of steps. Errors are InputError, IoError, PlotError or OSError.

    :param is_live: there is one step, which changes.
    """

    is_live: bool

    def about(self) -> tuple[int, list[str]]:
        """How many steps there are, and the names of the fields of the last one."""

    def part(self, wanted: Wanted, step: int) -> Part | None:
        """A part of a field of a step; None if it is there later."""


class StoredFields:
    """The fields of a series of any engine or format."""

    is_live = False

    def __init__(self, path: Path) -> None:
        self.path = path

    def about(self) -> tuple[int, list[str]]:
        """See `FieldSource`."""
        with open_stored(self.path) as stored:
            return len(stored), known_names(stored[-1]) if len(stored) else []

    def part(self, wanted: Wanted, step: int) -> Part:
        """See `FieldSource`. Of a stored field only what is chosen is read, plane by plane."""
        with open_stored(self.path) as stored:
            one = stored[step]
            found = quantity(one, wanted.field, str(self.path))
            self._check(one, found)
            along = coordinates_of(one, found) or tuple(np.arange(n, dtype=float) for n in found.shape)
            picks = picked(along, wanted)
            values = _read(found, picks, "xyz".index(wanted.axis))
            return part_at(values, along, picks, wanted, one.index, one.time)

    def _check(self, step: StoredStep, found: Quantity) -> None:
        points = int(np.prod(found.shape, dtype=np.int64))
        if points > _MOST and found.name not in arrays(step):
            raise InputError(
                f"{self.path}: '{found.name}' must be computed from whole fields of {points:.3g} points, which is too "
                "much for a page; choose a stored field, or let the run draw it by a [[picture]] block"
            )


def _read(found: Quantity, picks: list[NDArray[np.int64]], d: int) -> NDArray[np.float32]:
    """The values at the nodes that are chosen, plane by plane along a direction."""
    planes = []
    for node in picks[d]:
        start, count = [0, 0, 0], list(found.shape)
        start[d], count[d] = int(node), 1
        box = Box((start[0], start[1], start[2]), (count[0], count[1], count[2]))
        cut = [np.array([0]) if e == d else picks[e] for e in range(3)]
        planes.append(np.asarray(found.read(box), np.float32)[np.ix_(cut[2], cut[1], cut[0])])
    return np.concatenate(planes, axis=2 - d)


class RunFields:
    """The fields that a run has in its memory."""

    is_live = True

    def __init__(self, board: BoardReader) -> None:
        self._board = board

    def about(self) -> tuple[int, list[str]]:
        """See `FieldSource`; there is one step, the present one."""
        facts = self._board.facts()
        return (1, facts.names) if facts and facts.state == "running" and not facts.has_died() else (0, [])

    def part(self, wanted: Wanted, step: int) -> Part | None:
        """See `FieldSource`. The run answers after one of its next steps."""
        if wanted.field not in self.about()[1]:
            raise InputError("the run has ended; its stored steps are in the other series")
        self._board.want(wanted)
        found = self._board.answer(wanted)
        if isinstance(found, str):
            raise InputError(found)
        return found


def sources_of(run: WatchedRun) -> dict[str, FieldSource]:
    """The sources of a run, by the names that a viewer chooses from."""
    there: dict[str, FieldSource] = {}
    if run.board is not None:
        there[NOW] = RunFields(run.board)
    return {**there, **{name: StoredFields(path) for name, path in sorted(run.series.items())}}
