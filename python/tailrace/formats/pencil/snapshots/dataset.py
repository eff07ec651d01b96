"""Snapshots of the Pencil Code as steps of arrays."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.grids import triple
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored
from tailrace.io.values import Scalar

from ..run.attributes import run_attributes
from ..run.run import PencilRun
from ..run.sources import SnapshotSource
from .derived import Computer, Recipe, recipes
from .fortran import FortranSnapshot
from .hdf5 import Hdf5Snapshot

Snapshot = FortranSnapshot | Hdf5Snapshot
_MOST_FILES = 10_000  # that are listed
_USUAL = {"uu": "u", "aa": "a", "bb": "b", "jj": "j", "vort": "o"}  # names of vectors


class PencilSnapshots(Dataset):
    """The snapshots of a run, ordered by time.

    :param ghosts: the arrays have the ghost zones too; then nothing is derived.
    """

    format = "pencil"

    def __init__(self, path: str, run: PencilRun, snapshots: list[Snapshot], ghosts: bool) -> None:
        super().__init__(path)
        self._run, self._ghosts = run, ghosts
        self._whole = run.dim.processes is not None  # otherwise it is the part of one process
        self._snapshots = sorted(snapshots, key=lambda snapshot: snapshot.time)  # the order of the same times is kept
        self.steps = _numbered(self._snapshots)
        self._recipes = [{} if ghosts else recipes(run, snapshot.names) for snapshot in self._snapshots]
        self.aliases = dict(run.aliases)
        if self._whole:
            self.attributes = run_attributes(run)
        self._tell_grid()
        self._tell_parameters()
        self.files = [str(path) for path in self._files()]

    def variables(self, position: int) -> dict[str, Stored]:
        """The stored fields."""
        stored = self._snapshots[position].variables()
        return {name: self._seen(variable) for name, variable in stored.items()}

    def derived(self, position: int) -> dict[str, Stored]:
        """Fields that are computed from the stored ones: bx, by, bz, jx, jy, jz, ox, oy, oz, rho, tt."""
        stored = self._snapshots[position].variables()
        return {name: self._seen(stored[recipe.inputs[0]]) for name, recipe in self._recipes[position].items()}

    def vectors(self, position: int) -> dict[str, tuple[str, str, str]]:
        """uu, aa, bb, jj, vort and others with components x, y, z."""
        names = [*self._snapshots[position].names, *self._recipes[position]]
        usual = {letter: name for name, letter in _USUAL.items()}
        found = {}
        for name in names:
            stem = name[:-1]
            parts = (f"{stem}x", f"{stem}y", f"{stem}z")
            if name.endswith("x") and stem and all(part in names for part in parts):
                vector = usual.get(stem) or (stem * 2 if len(stem) == 1 else stem)
                if vector not in names:
                    found[vector] = parts
        return found

    def scalars(self, position: int) -> dict[str, Scalar]:
        """The persistent variables, as "persist.random_seeds"; those of several processes are a text of numbers."""
        return self._snapshots[position].scalars()

    def _seen(self, stored: Stored) -> Stored:
        return stored if self._ghosts else Stored(stored.dtype, self._run.dim.points, False)

    def _files(self) -> list[Path]:
        every = itertools.chain.from_iterable(snapshot.files() for snapshot in self._snapshots)
        found = list(itertools.islice(every, _MOST_FILES + 1))
        if len(found) > _MOST_FILES:
            self.notes.append(f"Only the first {_MOST_FILES} files are listed.")
        return found[:_MOST_FILES]

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """Fill `out` with a box of a field, stored or derived."""
        snapshot = self._snapshots[position]
        ghosts = (0, 0, 0) if self._ghosts else self._run.dim.ghosts
        held = Box(triple(a + g for a, g in zip(box.start, ghosts, strict=True)), box.count)
        recipe: Recipe | None = self._recipes[position].get(name)
        if recipe is None:
            snapshot.read(name, held, out)
            return
        dtype = snapshot.variables()[recipe.inputs[0]].dtype
        Computer(self._run, snapshot.read).fill(recipe, held, out, dtype)

    def check(self, position: int) -> list[str]:
        """Damaged records and settings, files of another time."""
        return self._snapshots[position].check()

    def _tell_grid(self) -> None:
        points = self._run.points
        if points is None:
            self.notes.append("The coordinates are not known: there is no grid.dat and no grid.h5.")
            return
        sheared = any(snapshot.is_sheared for snapshot in self._snapshots) or _is_sheared(self._run)
        closed = [axis for axis in "xyz" if not _repeats(self._run, axis)]
        periodic = self._run.parameters.get("init_pars/lperi", [])[:3] == [True] * 3 and not sheared and not closed
        equal = all(points.equal(axis) for axis in range(3))
        cartesian = self._run.parameter("init_pars/coord_system") in (None, "cartesian")
        known = periodic and equal and cartesian and self._whole and not self._ghosts
        if sheared:
            self.notes.append(
                "The box is sheared (deltay or Sshear): its boundaries in x are periodic only behind a shift in y, so "
                "that the arrays are no fields."
            )
        elif not periodic:
            self.notes.append(
                "A direction is not periodic, or param.nml is not there to tell it: the arrays are no fields, since "
                "Tailrace does not know such boundaries of the Pencil Code."
            )
        elif not equal or not cartesian:
            self.notes.append("The points are not equally spaced or not cartesian: the arrays are no fields.")
        self.grid = points.placed(self._ghosts, ("periodic",) * 3 if known else None)
        self.places = points.places(self._ghosts)
        self.attributes["origin"] = list(self.grid.origin)
        if known:
            self.attributes["lengths"] = list(points.lengths)
            self.attributes["boundaries"] = "periodic,periodic,periodic"
        if self._ghosts:
            self.attributes["ghosts"] = list(self._run.dim.ghosts)

    def _tell_parameters(self) -> None:
        nu = self._run.parameter("viscosity_run_pars/nu")
        if isinstance(nu, float) and nu > 0:
            self.attributes["reynolds"] = 1.0 / nu
        dt = self._run.parameter("run_pars/dt")
        if isinstance(dt, float) and dt > 0:
            self.attributes["dt"] = dt
        outside = self._run.parameters.get("magnetic_run_pars/b_ext") or self._run.parameters.get(
            "magnetic_init_pars/b_ext", []
        )
        if any(isinstance(value, float) and value for value in outside):
            self.notes.append(f"bb is the curl of aa; the imposed field b_ext = {outside[:3]} is not in it.")


def _is_sheared(run: PencilRun) -> bool:
    """Whether the box is sheared, from the rate of shear in the parameters."""
    names = [f"shear_{when}_pars/{rate}" for when in ("init", "run") for rate in ("sshear", "qshear")]
    return any(run.parameter(name) not in (None, 0, 0.0) for name in names)


def _repeats(run: PencilRun, axis: str) -> bool:
    """Whether the boundary conditions of all fields in a direction are periodic, by the parameters."""
    kinds = [kind for when in ("init", "run") for kind in run.parameters.get(f"{when}_pars/bc{axis}", [])]
    return all(kind in ("", "p", "p:p") for kind in kinds)


def _numbered(snapshots: list[Snapshot]) -> list[tuple[int, float]]:
    """Index and time. The index is the number of the time step if all have different ones, else that of VARn."""
    numbers = [snapshot.source.number for snapshot in snapshots]
    last = max((number for number in numbers if number is not None), default=-1)
    indices = [last + 1 if number is None else number for number in numbers]
    known = [index for snapshot in snapshots if (index := snapshot.iteration()) is not None]
    if len(set(known)) == len(snapshots):
        indices = known
    return [(index, snapshot.time) for index, snapshot in zip(indices, snapshots, strict=True)]


def opened(source: SnapshotSource, run: PencilRun) -> Snapshot:
    """Open a snapshot of any kind. Raises IoError if it is damaged."""
    return Hdf5Snapshot(source, run.dim) if source.is_hdf5 else FortranSnapshot(run, source)


def ghosts_wanted(path: Path, parameters: Mapping[str, str]) -> bool:
    """The parameter "ghosts", or its opposite "trim": "true" or "false". Raises InputError for other values."""
    found = False
    for name, value in parameters.items():
        if name not in ("ghosts", "trim"):
            raise InputError(f"{path}: the parameter '{name}' is unknown; there are ghosts, trim")
        if value.lower() not in ("true", "false"):
            raise InputError(f"{path}: the parameter {name} is {value!r}; expected true or false")
        found = (value.lower() == "true") == (name == "ghosts")
    return found
