"""Writes HDF5 files of the Pencil Code, in the schema of its io_hdf5. Collective, except `PencilWriter.write`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.files.whole import publish
from tailrace.formats.contiguous_hdf5 import allocate
from tailrace.formats.writer import Writer
from tailrace.grids import Triple, UniformGrid, triple
from tailrace.io.placement import Box, Stored
from tailrace.io.values import Attribute, Scalar
from tailrace.parallel import on_root

from . import texts
from .appended import AppendedFile
from .columns import ColumnsFile
from .schema import GHOSTS, PencilSettings, is_of, points_of, put, real_type
from .target import PARTIAL, WholeFile

_NAME = re.compile(r"\w{1,64}", re.ASCII)
_KIND = re.compile(r"averages/\w+|slices/\w+|time_series|PVAR\d*|pvar|PSTALK|VAR|var", re.ASCII)
_PROC = ("distribution", "bounds_x", "bounds_y", "bounds_z")  # datasets of particles that describe the processes


class PencilWriter(Writer):
    """Files of a run of the Pencil Code: `allprocs/VARn.h5` (n is the index of the step), `grid.h5` and the texts.

    A source that was a file of averages, slices, particles or a time series of that code (by its attribute
    "pencil/file") becomes the same file of the new directory: `averages/z.h5`, `slices/bb1_xy.h5`,
    `allprocs/PVARn.h5`, `allprocs/PSTALKn.h5`, `time_series.h5`. Several sources may share the directory.

    Ghost zones come from the source if its arrays have them (by its attribute "ghosts"). Otherwise they are filled as
    for periodic boundaries; `notes` names the directions where this is an assumption. There are no options.
    """

    format = "pencil-hdf5"
    family = "pencil"

    def prepare(self) -> None:
        """See `Writer.prepare`."""
        kind = self.attributes.get("pencil/file", "VAR")
        if not isinstance(kind, str) or not _KIND.fullmatch(kind):
            raise InputError(f"format 'pencil-hdf5': the attribute pencil/file is {kind!r}, no kind of file")
        self.kind, self.data = kind, Path(self.path)
        self._open: WholeFile | AppendedFile | ColumnsFile | None = None
        self._appended: AppendedFile | None = None
        self._snapshots: dict[str, float] = {}
        self._fields: tuple[str, ...] = ()
        self._settings: PencilSettings | None = None
        self._real = "f8"
        self._periodic: str | None = None  # periodic directions of a box other than that of the source

    @classmethod
    def reading(cls, attributes: Mapping[str, Attribute]) -> dict[str, str]:
        """The parameter for ghost zones, if the source had them."""
        return {"ghosts": "true"} if attributes.get("ghosts") else {}

    # ---- a step ------------------------------------------------------------------------------------------------------
    def begin_step(
        self, index: int, time: float, variables: Mapping[str, Stored], scalars: Mapping[str, Scalar]
    ) -> None:
        """See `Writer.begin_step`."""
        if not variables:
            raise InputError(f"{self.path}: a step without arrays cannot be a file of the Pencil Code")
        for name in variables:
            if not _NAME.fullmatch(name):
                raise InputError(f"{self.path}: {name!r} cannot be a name there; letters, digits and _ can")
        if self.kind.startswith(("averages/", "slices/")):
            self._begin_appended(time, variables, scalars)
        elif self.kind == "time_series":
            self._open = ColumnsFile(self.data / "time_series.h5", self.comm, variables)
        elif self.kind in ("VAR", "var"):
            self._begin_snapshot(index, time, variables, scalars)
        else:
            self._begin_particles(index, time, variables)

    def write(self, name: str, box: Box, values: NDArray[Any]) -> None:
        """See `Writer.write`."""
        assert self._open is not None
        if 0 not in box.count:
            self._open.write(name, box, values)

    def end_step(self) -> None:
        """See `Writer.end_step`."""
        assert self._open is not None
        self._open.finish()
        self._open = None

    def abandon_step(self) -> None:
        """See `Writer.abandon_step`."""
        if self._open is not None:
            self._open.abandon()
            self._open = None

    def close(self) -> None:
        """Write the missing texts of the directory, and `grid.h5`."""
        self.abandon_step()
        on_root(self.comm, self._write_texts)

    # ---- kinds of files ----------------------------------------------------------------------------------------------
    def _begin_snapshot(
        self, index: int, time: float, variables: Mapping[str, Stored], scalars: Mapping[str, Scalar]
    ) -> None:
        real = real_type([stored.dtype for stored in variables.values()], self.path)
        shapes = {stored.shape for stored in variables.values()}
        if len(shapes) != 1 or any(stored.is_list for stored in variables.values()):
            found = ", ".join(f"{name} {stored.shape}" for name, stored in list(variables.items())[:8])
            raise InputError(
                f"{self.path}: all arrays of a snapshot of the Pencil Code have the same points; found {found}. Choose "
                "the fields that belong together"
            )
        held, inside = self._ghosts(shapes.pop())
        points = triple(m - 2 * g for m, g in zip(held, inside, strict=True))
        if self.grid is not None and self.grid.points not in (held, points):
            raise InputError(f"{self.path}: arrays of {held} points do not fit a grid of {self.grid.points}")
        settings = PencilSettings(self.attributes, self._grid_of(points, inside), points, real, len(variables))
        self._note_ghosts(inside)
        self._tell_box(points)
        name = "var" if self.kind == "var" else f"VAR{index}"

        def layout(file: h5py.File) -> None:
            shape = tuple(n + 2 * GHOSTS for n in reversed(points))
            for field in variables:
                allocate(file, f"data/{field}", shape, f"<{real}")
            put(file, "time", time, real)
            settings.write(file)
            _put_persist(file, scalars, real)

        extra = triple(GHOSTS - g for g in inside)
        large = {field: f"data/{field}" for field in variables}
        self._open = WholeFile(self.data / "allprocs" / f"{name}.h5", self.comm, layout, large, extra, held)
        self._fields, self._settings = tuple(variables), settings
        if self.kind == "VAR":
            self._snapshots[name] = time

    def _begin_particles(self, index: int, time: float, variables: Mapping[str, Stored]) -> None:
        whole = [name for name, stored in variables.items() if stored.dtype.startswith("int")]
        values = [stored.dtype for name, stored in variables.items() if name not in whole and name not in _PROC]
        real = self._real = real_type(values, self.path) if values else "f8"
        wrong = next(
            (n for n, s in variables.items() if s.shape[0] != 1 or s.shape[2] != 1 or s.dtype == "int64"), None
        )
        if wrong is not None:
            raise InputError(f"{self.path}: {wrong} is no list of real numbers or of int32 with one column")
        group = "stalker" if self.kind == "PSTALK" else "part"
        large = {name: f"{'proc' if name in _PROC else group}/{name}" for name in variables}
        points = self.grid.points if self.grid is not None else points_of(self.attributes)
        settings = None
        if group == "part" and points is not None:
            settings = PencilSettings(self.attributes, self.grid, points, real, 0)

        def layout(file: h5py.File) -> None:
            for name, stored in variables.items():
                allocate(file, large[name], (stored.shape[1],), "<i4" if name in whole else f"<{real}")
            put(file, "time", time, real)
            if settings is not None:
                settings.write(file)

        name = self.kind if self.kind == "pvar" else f"{self.kind.rstrip('0123456789')}{index}"
        filled = {name: place for name, place in large.items() if variables[name].shape[1]}
        self._open = WholeFile(self.data / "allprocs" / f"{name}.h5", self.comm, layout, filled)

    def _begin_appended(self, time: float, variables: Mapping[str, Stored], scalars: Mapping[str, Scalar]) -> None:
        real = real_type([stored.dtype for stored in variables.values()], self.path)
        self._real = real
        is_slice = self.kind.startswith("slices/")
        if is_slice and len(variables) != 1:
            raise InputError(f"{self.path}: a file of slices has one field; found {', '.join(variables)}")
        if self._appended is None:
            said = self.kind.rpartition("_" if is_slice else "/")[2]  # the plane of a slice; what is averaged
            flat = "".join(axis for axis in "xyz" if (axis in said) != is_slice)
            self._appended = AppendedFile(self.data / f"{self.kind}.h5", self.comm, 1 if is_slice else 0, flat)

        def put_small(group: h5py.Group) -> None:
            put(group, "time", time, real)
            if is_slice:
                put(group, "position", float(scalars.get("position", 0.0)), real)
                put(group, "coordinate", int(scalars.get("coordinate", 0)))

        names = {name: "data" if is_slice else name for name in variables}
        dtype = "float64" if real == "f8" else "float32"
        all_real = {name: Stored(dtype, stored.shape, stored.is_list) for name, stored in variables.items()}
        self._appended.begin(time, all_real, names, put_small)
        self._open = self._appended

    # ---- ghost zones and grid ----------------------------------------------------------------------------------------
    def _ghosts(self, held: Triple) -> tuple[Triple, Triple]:
        """The points of the arrays, and their layers of ghost zones."""
        given = self.attributes.get("ghosts", [0, 0, 0])
        inside = triple(given) if not isinstance(given, str | int | float) and len(given) == 3 else (0, 0, 0)
        if any(g not in (0, GHOSTS) or m - 2 * g < 1 for g, m in zip(inside, held, strict=True)):
            raise InputError(
                f"{self.path}: arrays of {held} points with {inside} layers of ghost zones on each side; the Pencil "
                f"Code has {GHOSTS}, or open the source without ghost zones"
            )
        return held, inside

    def _grid_of(self, points: Triple, inside: Triple) -> UniformGrid | None:
        """The grid without ghost zones; for a source with ghost zones, from the coordinates in its attributes."""
        if self.grid is None or self.grid.points == points:
            return self.grid
        origin = tuple(o + g * h for o, g, h in zip(self.grid.origin, inside, self.grid.spacing, strict=True))
        return UniformGrid(
            points, (origin[0], origin[1], origin[2]), self.grid.spacing, boundaries=self.grid.boundaries
        )

    def _tell_box(self, points: Triple) -> None:
        """Note if the box is only a part of that of the source, or coarser: the parameters do not describe it then."""
        given = texts.text_of(self.attributes, "pencil/param.nml")
        if self._periodic is not None or (given and is_of(self.attributes, points)):
            return
        known = self.grid is not None and self.grid.boundaries is not None
        if given and known:
            return
        self._periodic = self.grid.periodic if self.grid is not None else ""
        if given:
            self.notes.append(
                "The arrays are not the whole box of the run, so that their boundaries are not known: param.nml says "
                "that they are not periodic (LPERI=F), and the place, size and boundaries of the box of the run are "
                "left out of it."
            )

    def _note_ghosts(self, inside: Triple) -> None:
        if self.notes or all(inside):
            return
        periodic = self.grid.periodic if self.grid is not None else ""
        assumed = [axis for axis, g in zip("xyz", inside, strict=True) if not g and axis not in periodic]
        if assumed:
            self.notes.append(
                f"The ghost zones in {', '.join(assumed)} are filled as for periodic boundaries, which the source does "
                "not say; the Pencil Code sets them anew when it starts from the snapshot."
            )

    # ---- what belongs to all steps -----------------------------------------------------------------------------------
    def _write_texts(self) -> None:
        settings, fields = self._settings, self._fields
        points = points_of(self.attributes)
        if settings is None and points is not None:  # averages and the like need the sizes of their run, too
            settings = PencilSettings(self.attributes, None, points, self._real, 0)
        if settings is not None:
            given = texts.text_of(self.attributes, "pencil/index.pro")
            if fields or given:
                texts.write_new(self.data / "index.pro", texts.index(fields, given) if fields else given)
            dim = texts.dim(settings.points, settings.ghosts, settings.real, settings.counts)
            texts.write_new(self.data / "dim.dat", dim)
            written = texts.text_of(self.attributes, "pencil/varname.dat")
            fits = not fields or len(written.splitlines()) == len(fields)
            if fields or written:
                texts.write_new(self.data / "varname.dat", written if fits else texts.names(fields))
            texts.append_snapshots(self.data / "allprocs" / "varN.list", self._snapshots)
            if not (self.data / "grid.h5").exists():
                partial = self.data / f"grid.h5{PARTIAL}"
                partial.unlink(missing_ok=True)
                with h5py.File(partial, "x", libver=("earliest", "latest")) as file:
                    settings.write(file)
                publish(partial, self.data / "grid.h5")
        given = texts.text_of(self.attributes, "pencil/param.nml")
        texts.write_new(self.data / "param.nml", texts.parameters(given, self._periodic))
        for name in ("param2.nml", "particle_index.pro", "legend.dat", "pdim.dat"):
            text = texts.text_of(self.attributes, f"pencil/{name}")
            if text and name.endswith(".nml"):
                text = texts.parameters(text if self._periodic is None else texts.without_box(text))
            if text:
                texts.write_new(self.data / name, text)


def _put_persist(file: h5py.File, scalars: Mapping[str, Scalar], real: str) -> None:
    """The persistent variables: a number, or a text of the numbers of all processes."""
    found = {name.removeprefix("persist."): value for name, value in scalars.items() if name.startswith("persist.")}
    for name, value in found.items():
        words = value.split() if isinstance(value, str) else [str(value)]
        whole = all(re.fullmatch(r"[+-]?\d+", word) for word in words)
        try:
            values = np.array([int(word) for word in words], "i4") if whole else np.array([float(w) for w in words])
        except (ValueError, OverflowError):
            raise InputError(f"persist.{name}: expected real numbers or numbers of int32, found {value!r}") from None
        put(file.require_group("persist"), name, values, real)
