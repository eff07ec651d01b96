"""The grid of the fields of a series: what the series tells, what the user adds, and the operators on it."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.core import Grid, InputError
from tailrace.fields.operators import Operators
from tailrace.grids import SAME_PLACE

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.grids import Triple, UniformGrid
    from tailrace.io.step import ArrayStep

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
    :param places: those of the points as the files have them.
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
        places: tuple[NDArray[Any], ...] | None = None,
    ) -> None:
        self._stored_places = places
        self.path, self.comm, self.given = path, comm, given
        theirs = {name: one for name, one in attributes.items() if not (given.grid and name in ("stretching", "beta"))}
        self.attributes = {**theirs, **given.attributes()}
        self._aliases, self._told = aliases, told
        self._made: Operators | None = None
        self._failed: InputError | None = None  # the ranks cannot share the grid
        self.problem: str | None = None  # why the grid is not known
        self.points: Triple | None = None
        self.grid: Grid | None = None
        self.precision = precision or "float64"
        try:
            self.points = self._find_points(first)
            self.grid = self._find_grid(self.points)
        except InputError as error:
            if given.grid or (given.variables and self.points is None):
                raise
            self.problem = str(error)
        if self.points is not None:
            self.names(first)  # the names of the user's file are checked
        if precision is None:
            self.precision = self._stored_precision(first)

    # ---- what is known -----------------------------------------------------------------------------------------------
    def _find_points(self, first: ArrayStep) -> Triple:
        """The points of the user's file, else of the series, else of its arrays."""
        shapes = {one.shape for one in first.variables.values() if not one.is_list}
        given = self.given.grid.points if self.given.grid else None
        if given:
            if given not in shapes:
                raise InputError(
                    f"{self.path}: no field has the grid.points = {list(given)} of the grid file; "
                    f"found {_listed(shapes)}, each in x, y, z"
                )
            return given
        if self._told is not None:
            return self._told.points
        if len(shapes) != 1:
            raise InputError(
                f"{self.path}: it is not known which fields are on the grid; they have {_listed(shapes)} points in x, "
                "y, z. Give grid.points in a TOML file, by --grid FILE, or in Python by tr.open(path, grid=FILE)"
            )
        return next(iter(shapes))

    def _find_grid(self, points: Triple) -> Grid:
        """The grid by its lengths, boundaries and stretching, from the user's file or the attributes."""
        for key in ("lengths", "boundaries"):
            if key not in self.attributes:
                raise InputError(f"{self.path}: its {key} are not known: it has no attribute '{key}'. {_HOW}")
        try:
            lengths = tuple(float(length) for length in self.attributes["lengths"])
        except (TypeError, ValueError):
            lengths = ()
        boundaries = tuple(str(self.attributes["boundaries"]).split(","))
        if len(lengths) != 3 or len(boundaries) != 3:
            raise InputError(
                f"{self.path}: the attributes lengths = {self.attributes['lengths']!r} and boundaries = "
                f"{self.attributes['boundaries']!r} do not tell three directions. {_HOW}"
            )
        self._check_whole(lengths, boundaries)
        stretching, beta = self.attributes.get("stretching", ""), self.attributes.get("beta", 0.0)
        if not isinstance(stretching, str) or not isinstance(beta, int | float):
            raise InputError(
                f"{self.path}: the attributes stretching = {stretching!r} and beta = {beta!r} are no name of a "
                "stretching and a number"
            )
        try:
            grid = Grid(points, lengths, boundaries, stretching, beta)
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None
        self._check_places(grid)
        return grid

    def _places(self) -> tuple[NDArray[Any], ...] | None:
        """Where the series says that its points are, from the beginning of the box on.

        The user's file has priority: some formats have a default spacing only.
        """
        if self._told is None or self.given.grid:
            return None
        begins = self.attributes.get("origin", (0.0, 0.0, 0.0))  # of the box, where another program has it elsewhere
        return tuple(along - begin for along, begin in zip(self._told.coordinates, begins, strict=True))

    def _check_whole(self, lengths: tuple[float, ...], boundaries: tuple[str, ...]) -> None:
        """Check that the series has the whole box, of which every n-th point is enough: derivatives need it."""
        told, places = self._told, self._places()
        if told is None or places is None:
            return
        for axis, along, spacing, length, kind in zip("xyz", places, told.spacing, lengths, boundaries, strict=True):
            start, reach = float(along[0]), float(along[-1] - along[0])
            there = reach + spacing if kind == "periodic" else reach
            if abs(there - length) > SAME_PLACE * length or abs(start) > SAME_PLACE * length:
                apart = reach / (len(along) - 1) if len(along) > 1 else spacing
                raise InputError(
                    f"{self.path}: holds a part of the field only: {len(along)} points in {axis} from {start:.6g}, "
                    f"{apart:.6g} apart, of a {kind} box of length {length:.6g}. An analysis needs all of it, or "
                    "every n-th point from 0 on up to the end"
                )

    def _check_places(self, grid: Grid) -> None:
        """Check that the points are those of the schemes."""
        for d, along in enumerate(self._places() or ()):
            if np.abs(along - grid.coordinates(d)).max() > SAME_PLACE * grid.lengths[d]:
                law = (
                    "nor are they those of its attributes stretching and beta"
                    if d == 1 and grid.stretching
                    else (
                        "the schemes need equal spacing"
                        + (", or in y the attributes stretching and beta" if d == 1 else "")
                    )
                )
                raise InputError(f"{self.path}: the points in {'xyz'[d]} are not equally spaced; {law}")

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
                raise InputError(f"{self.path}: has no '{theirs}' (variables.{ours} of the grid file); {hint}")
            names.pop(theirs, None)
            names[ours] = theirs
        return names

    def dtype(self, stored: str) -> np.dtype[Any]:
        """The type in which a field is read that is stored in another one: real fields have the same."""
        return np.dtype(self.precision if stored.startswith("float") else stored)

    def coordinates(self) -> tuple[NDArray[Any], ...] | None:
        """The places of the points in x, y, z; None where they are not known. Local."""
        told, stored = self._told, self._stored_places
        if stored is not None and not self.given.grid and self.points == tuple(map(len, stored)):
            return stored
        if told is not None and told.points == self.points and not self.given.grid:
            return told.coordinates
        if self.grid is None:
            return None
        return tuple(np.array(self.grid.coordinates(d)) for d in range(3))

    # ---- operators ---------------------------------------------------------------------------------------------------
    @property
    def operators(self) -> Operators:
        """The schemes on the grid. Collective at the first access.

        :raises InputError: the grid is not known, or does not fit the ranks.
        """
        grid = self.grid
        if grid is None:
            raise InputError(self.problem or f"{self.path}: its grid is not known")
        if self._failed is not None:
            raise self._failed
        if self._made is None:
            try:
                self._made = Operators(
                    grid.nodes,
                    grid.lengths,
                    grid.boundaries,
                    stretching=grid.stretching,
                    beta=grid.beta,
                    comm=self.comm,
                    interpolation=str(self.attributes.get("interpolation", "aggressive")),
                    dtype=self.precision,
                )
            except InputError as error:
                self._failed = InputError(f"{self.path}: {error}")
                raise self._failed from None
        return self._made


def _listed(shapes: set[Triple]) -> str:
    return ", ".join(" x ".join(map(str, shape)) for shape in sorted(shapes)) or "no fields"
