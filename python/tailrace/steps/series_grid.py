"""The grid of the fields of a series: what the series tells, what the user adds, and the operators on it."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace import _core
from tailrace.fields.operators import Operators

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.io.placement import Triple, UniformGrid
    from tailrace.io.step import Step as ArrayStep

    from .grid_file import GridFile

_HOW = (
    'Write a TOML file with a table [grid] of lengths = ["2*pi", 3.0, 1.5] and boundaries = ["periodic", "free-slip", '
    '"periodic"], both in x, y, z, and give it by --grid FILE, or in Python by tr.open(path, grid=FILE)'
)


class SeriesGrid:
    """The grid that the fields of a series share, as far as it is known. All is local but `operators`.

    :param attributes: those of the series.
    :param aliases: our name of a field -> its name in the series, where they differ.
    :param told: the places of the points, where the series has them.
    :param first: a step of the series, by which the points are known where nothing else tells.
    :param given: the user's file; it has priority over what the series says.
    :param precision: the type of the fields, "float32" or "float64"; None: float32 where all are stored so.
    :raises InputError: the user's file does not fit the series.
    """

    def __init__(
        self,
        path: str,
        aliases: dict[str, str],
        comm: MPI.Comm,
        attributes: dict[str, Any],
        told: UniformGrid | None,
        first: ArrayStep,
        given: GridFile,
        precision: str | None = None,
    ) -> None:
        self.path, self.comm, self.given = path, comm, given
        self.attributes = {**attributes, **given.attributes()}
        self._aliases, self._told = aliases, told
        self._made: Operators | None = None
        self._failed: _core.InputError | None = None  # the ranks cannot share the grid
        self.problem: str | None = None  # why the grid is not known
        self.points: Triple | None = None
        self.lengths: tuple[float, ...] = ()
        self.boundaries: tuple[str, str, str] | None = None
        self.precision = precision or "float64"
        try:
            self.points = self._find_points(first)
            self.names(first)  # the names of the user's file are checked
            self.lengths, self.boundaries = self._find_box()
            self._check_whole()
            _core.Grid(self.points, self.lengths, self.boundaries)
        except _core.InputError as error:
            if given.grid or given.variables:
                raise
            self.problem = str(error)
        if precision is None:
            self.precision = self._stored_precision(first)

    # ---- what is known -----------------------------------------------------------------------------------------------
    def _find_points(self, first: ArrayStep) -> Triple:
        """The points of the user's file, else of the series, else of its arrays."""
        shapes = {one.shape for one in first.variables.values() if not one.is_list}
        given = self.given.grid.points if self.given.grid else None
        if given:
            if given not in shapes:
                raise _core.InputError(
                    f"{self.path}: no field has the grid.points = {list(given)} of the grid file; "
                    f"found {_listed(shapes)}, each in x, y, z"
                )
            return given
        if self._told is not None:
            return self._told.points
        if len(shapes) != 1:
            raise _core.InputError(
                f"{self.path}: it is not known which fields are on the grid; they have {_listed(shapes)} points in x, "
                "y, z. Give grid.points in a TOML file, by --grid FILE, or in Python by tr.open(path, grid=FILE)"
            )
        return next(iter(shapes))

    def _find_box(self) -> tuple[tuple[float, ...], tuple[str, str, str]]:
        """Lengths and boundaries, from the user's file or the attributes."""
        for key in ("lengths", "boundaries"):
            if key not in self.attributes:
                raise _core.InputError(f"{self.path}: its {key} are not known: it has no attribute '{key}'. {_HOW}")
        try:
            lengths = tuple(float(length) for length in self.attributes["lengths"])
        except (TypeError, ValueError):
            lengths = ()
        boundaries = tuple(str(self.attributes["boundaries"]).split(","))
        if len(lengths) != 3 or len(boundaries) != 3:
            raise _core.InputError(
                f"{self.path}: the attributes lengths = {self.attributes['lengths']!r} and boundaries = "
                f"{self.attributes['boundaries']!r} do not tell three directions. {_HOW}"
            )
        x, y, z = boundaries
        return lengths, (x, y, z)

    def _check_whole(self) -> None:
        """Check that the series has the whole box, of which every n-th point is enough: derivatives need it."""
        told = self._told
        if told is None or self.given.grid:  # the user's file has priority: some formats have a default spacing only
            return
        for axis, along in zip("xyz", getattr(told, "coordinates", ()), strict=False):
            if len(along):
                raise _core.InputError(
                    f"{self.path}: the points in {axis} are not equally spaced; the schemes need equal spacing"
                )
        begins = self.attributes.get("origin", (0.0, 0.0, 0.0))  # of the box, where another program has it elsewhere
        starts = [at - begin for at, begin in zip(told.origin, begins, strict=True)]
        for axis, points, start, spacing, length, kind in zip(
            "xyz", told.points, starts, told.spacing, self.lengths, self.boundaries or (), strict=True
        ):
            there = spacing * (points if kind == "periodic" else points - 1)
            if abs(there - length) > 1e-6 * length or abs(start) > 1e-6 * length:
                raise _core.InputError(
                    f"{self.path}: holds a part of the field only: {points} points in {axis} from {start:.6g}, "
                    f"{spacing:.6g} apart, of a {kind} box of length {length:.6g}. An analysis needs all of it, or "
                    "every n-th point from 0 on up to the end"
                )

    def _stored_precision(self, step: ArrayStep) -> str:
        kinds = {step.variables[name].dtype for name in self.names(step).values()}
        return "float32" if kinds == {"float32"} else "float64"

    # ---- names and types ---------------------------------------------------------------------------------------------
    def names(self, step: ArrayStep) -> dict[str, str]:
        """The fields on the grid in a step: our name -> the stored name.

        :raises InputError: a name of the user's file is not in the step.
        """
        stored = {name: one for name, one in step.variables.items() if not one.is_list and one.shape == self.points}
        names = {name: name for name in stored}
        names.update({ours: theirs for ours, theirs in self._aliases.items() if theirs in stored})
        for ours, theirs in self.given.variables.items():
            if theirs not in stored:
                near = difflib.get_close_matches(theirs, stored, n=1)
                hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(stored) or 'none on the grid'}"
                raise _core.InputError(f"{self.path}: has no '{theirs}' (variables.{ours} of the grid file); {hint}")
            names.pop(theirs, None)
            names[ours] = theirs
        return names

    def dtype(self, stored: str) -> np.dtype[Any]:
        """The type in which a field is read that is stored in another one: real fields have the same."""
        return np.dtype(self.precision if stored.startswith("float") else stored)

    @property
    def spacing(self) -> tuple[float, float, float]:
        """Distance of the points in x, y, z, where the grid is known. Local."""
        kinds = zip(self.points or (), self.lengths, self.boundaries or (), strict=True)
        x, y, z = (length / (n if kind == "periodic" else n - 1) for n, length, kind in kinds)
        return x, y, z

    def coordinates(self) -> tuple[NDArray[Any], ...] | None:
        """The places of the points in x, y, z; None where they are not known. Local."""
        told = self._told
        if told is not None and told.points == self.points and not self.given.grid:
            own = getattr(told, "coordinates", ((), (), ()))
            along = zip(told.points, told.origin, told.spacing, own, strict=True)
            return tuple(np.asarray(x, float) if len(x) else start + h * np.arange(n) for n, start, h, x in along)
        if self.problem is not None:
            return None
        return tuple(h * np.arange(n) for n, h in zip(self.points or (), self.spacing, strict=True))

    # ---- operators ---------------------------------------------------------------------------------------------------
    @property
    def operators(self) -> Operators:
        """The schemes on the grid. Collective at the first access.

        :raises InputError: the grid is not known, or does not fit the ranks.
        """
        if self.problem is not None or self.points is None or self.boundaries is None:
            raise _core.InputError(self.problem or f"{self.path}: its grid is not known")
        if self._failed is not None:
            raise self._failed
        if self._made is None:
            try:
                self._made = Operators(
                    self.points,
                    self.lengths,
                    self.boundaries,
                    comm=self.comm,
                    interpolation=str(self.attributes.get("interpolation", "aggressive")),
                    dtype=self.precision,
                )
            except _core.InputError as error:
                self._failed = _core.InputError(f"{self.path}: {error}")
                raise self._failed from None
        return self._made


def _listed(shapes: set[Triple]) -> str:
    return ", ".join(" x ".join(map(str, shape)) for shape in sorted(shapes)) or "no fields"
