"""Steps from a series: files, or a stream. Those of a running simulation are made in `run.inline_analyses`."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace import _core
from tailrace.case.names import RAW_NAMES
from tailrace.fields.operators import Operators
from tailrace.io import series

from .grid_file import GridFile
from .step import AnalysisStep

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.io.coupling import Coupling
    from tailrace.io.placement import Triple


class SeriesSource:
    """A series, read in parallel: each rank reads its part of every field. Collective over `comm`.

    :param grid_file: what the series does not have, or has wrong.
    :param precision: the type of the fields, "float32" or "float64"; None: as stored.
    :raises InputError: it is no series, has no steps, or its grid is not known.
    :raises IoError: nothing came in time.
    """

    def __init__(
        self, path: str, comm: MPI.Comm, *, grid_file: GridFile | None = None, precision: str | None = None
    ) -> None:
        self.path, self.comm = path, comm
        self._given = grid_file or GridFile()
        self._series = series.open(path, "r", comm=comm)
        self.streaming, self.engine = self._series.streaming, self._series.engine
        self._stored = [] if self.streaming else self._series.steps
        self._pending = self._first()
        self.first_index = self._pending.index
        self.attributes: dict[str, Any] = {**self._series.attributes, **self._given.attributes()}
        self._points = self._grid_points()
        self._names = self._known_names(self._pending)
        self._precision = precision or self._stored_precision(self._pending)
        self.operators = self._make_operators()

    def _first(self) -> series.Step:
        if self.streaming:
            step = self._series.next_step()
            if step is None:
                raise _core.IoError(f"{self.path}: the stream ended without a step")
            return step
        if not self._stored:
            raise _core.InputError(f"{self.path}: has no steps to analyse")
        return self._stored[0]

    # ---- the grid ----------------------------------------------------------------------------------------------------
    def _grid_points(self) -> Triple:
        """The points of the user's file, else of the series, else of its arrays."""
        shapes = {one.shape for one in self._pending.variables.values() if not one.is_list}
        given = self._given.grid.points if self._given.grid else None
        if given:
            if given not in shapes:
                raise _core.InputError(
                    f"{self.path}: no field has the grid.points = {list(given)} of the grid file; "
                    f"found {_shapes(shapes)}, each in x, y, z"
                )
            return given
        told = self._series.grid
        if told is not None:
            return told.points
        if len(shapes) != 1:
            raise _core.InputError(
                f"{self.path}: it is not known which fields are on the grid; they have {_shapes(shapes)} points in x, "
                "y, z. Give grid.points in a TOML file, by --grid FILE"
            )
        return next(iter(shapes))

    def _make_operators(self) -> Operators:
        for key in ("lengths", "boundaries"):
            if key not in self.attributes:
                raise _core.InputError(
                    f"{self.path}: its {key} are not known: it has no attribute '{key}'. Write a TOML file with a "
                    'table [grid] of lengths = ["2*pi", 3.0, 1.5] and boundaries = ["periodic", "free-slip", '
                    '"periodic"], both in x, y, z, and give it by --grid FILE'
                )
        lengths = [float(length) for length in self.attributes["lengths"]]
        boundaries = str(self.attributes["boundaries"]).split(",")
        self._check_whole(lengths, boundaries)
        interpolation = str(self.attributes.get("interpolation", "aggressive"))
        return Operators(
            self._points, lengths, boundaries, comm=self.comm, interpolation=interpolation, dtype=self._precision
        )

    def _check_whole(self, lengths: list[float], boundaries: list[str]) -> None:
        """Check that the series has the whole box, of which every n-th point is enough: derivatives need it."""
        told = self._series.grid
        if told is None or self._given.grid:  # the user's file has priority: some formats have a default spacing only
            return
        for axis, points, start, spacing, length, kind in zip(
            "xyz", told.points, told.origin, told.spacing, lengths, boundaries, strict=True
        ):
            there = spacing * (points if kind == "periodic" else points - 1)
            if abs(there - length) > 1e-6 * length or abs(start) > 1e-6 * length:
                raise _core.InputError(
                    f"{self.path}: holds a part of the field only: {points} points in {axis} from {start:.6g}, "
                    f"{spacing:.6g} apart, of a {kind} box of length {length:.6g}. An analysis needs all of it, or "
                    "every n-th point from 0 on up to the end"
                )

    def _stored_precision(self, step: series.Step) -> str:
        kinds = {step.variables[name].dtype for name in self._names.values()}
        return "float32" if kinds == {"float32"} else "float64"

    # ---- steps -------------------------------------------------------------------------------------------------------
    def _known_names(self, step: series.Step) -> dict[str, str]:
        """The fields on the grid: our name -> the stored name."""
        stored = {name: one for name, one in step.variables.items() if not one.is_list and one.shape == self._points}
        names = {name: name for name in stored}
        if self.engine == "raw":
            names.update({ours: theirs for ours, theirs in RAW_NAMES.items() if theirs in stored})
        for ours, theirs in self._given.variables.items():
            if theirs not in stored:
                near = difflib.get_close_matches(theirs, stored, n=1)
                hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(stored) or 'none on the grid'}"
                raise _core.InputError(f"{self.path}: has no '{theirs}' (variables.{ours} of the grid file); {hint}")
            names.pop(theirs, None)
            names[ours] = theirs
        return names

    def positions(self, chosen: slice) -> range:
        """The positions of the chosen steps; for files only. Local."""
        return range(len(self._stored))[chosen]

    def index(self, position: int) -> int:
        """Index of a stored step; for files only. Local."""
        return self._stored[position].index

    def read(self, position: int) -> AnalysisStep:
        """A stored step; for files only."""
        return self._make(self._stored[position], self._stored[position - 1].index if position else None)

    def stream(self, chosen: slice) -> Iterator[AnalysisStep]:
        """The chosen steps of a stream."""
        wanted = itertools.islice(itertools.count(), chosen.start, chosen.stop, chosen.step)
        next_wanted = next(wanted, None)
        before: int | None = None
        for number in itertools.count():
            found = self._pending if number == 0 else self._series.next_step()
            if found is None or next_wanted is None:
                return
            if number == next_wanted:
                yield self._make(found, before)
                next_wanted = next(wanted, None)
            before = found.index

    def _make(self, stored: series.Step, before: int | None) -> AnalysisStep:
        names, box = self._known_names(stored), self.operators.box()
        kinds = stored.variables

        def read(name: str) -> NDArray[Any]:
            theirs = names[name]
            real = kinds[theirs].dtype.startswith("float")
            return stored.read(theirs, box, dtype=str(np.dtype(self._precision)) if real else None)

        every = int(self.attributes.get("every", 0))
        missed = range(before + every, stored.index, every) if before is not None and every else ()
        return AnalysisStep(
            stored.index, self._time(stored), self.operators, list(names), read,
            attributes=self.attributes, scalars=stored.scalars, missed=missed,
        )  # fmt: skip

    def _time(self, stored: series.Step) -> float:
        """The time of a step: that of the user's file where the source has none and counts its steps instead."""
        told = self._given.time
        return told.start + stored.index * told.dt if told and stored.time == stored.index else stored.time

    @property
    def coupling(self) -> Coupling:
        """What a stream has cost both of its ends, in rank 0; also after `close`. Local."""
        return self._series.coupling

    def waited(self) -> float:
        """Seconds that the ranks waited for steps of a stream, on average. Collective."""
        return sum(phase.mean_seconds for phase in self._series.summary() if phase.phase == "wait")

    def close(self) -> None:
        """Close the series."""
        self._series.close()


def _shapes(shapes: set[Triple]) -> str:
    return ", ".join(" x ".join(map(str, shape)) for shape in sorted(shapes)) or "no fields"
