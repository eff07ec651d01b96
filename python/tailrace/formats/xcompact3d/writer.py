"""Write a run directory of Xcompact3D: snapshots with XDMF, the input file, and a restart file."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.files.regular import is_there
from tailrace.files.whole import allocate, publish, refuse_existing, sync, write_text
from tailrace.formats.flat_array import FlatArray
from tailrace.formats.writer import Writer
from tailrace.grids import Triple
from tailrace.io.placement import Box, Stored
from tailrace.io.values import Scalar
from tailrace.parallel import agree, on_root

from . import restart
from .checkpoint import INFO, layout, placed
from .run import Xcompact3dRun, read_run
from .texts import WrittenRun, info_text, input_text, run_of, with_istret, xdmf_text

_NAME = re.compile(r"\w[\w.+-]{0,99}")
_TYPES = {"float32": "<f4", "float64": "<f8"}
_ONLY_IN_CHECKPOINTS = re.compile(r"d(u[xyz]|phi-\d\d|b[xyz])-\d|phi-\d\d|d?rho-\d\d|mu")


class Xcompact3dWriter(Writer):
    """A run directory of Xcompact3D: `input.i3d`, `data/NAME-N.bin`, `data/snapshot-N.xdmf`, at the end `checkpoint`.

    N is the index of the step divided by ioutput. A step of a restart file (pressure on cells) becomes a restart file.

    Options: `ioutput` and `dt` (by default those of the source, else 1 and time / index), `itimescheme` of the restart
    file, and `checkpoint=false`, to write none.
    """

    format = "xcompact3d"
    known: ClassVar = {"checkpoint": (), "dt": (), "ioutput": (), "itimescheme": ()}

    def prepare(self) -> None:  # noqa: D102 # as in the base class
        self._directory = Path(self.path)
        self._told: WrittenRun | None = None
        self._step: tuple[int, float] = (0, 0.0)
        self._drafts: dict[str, FlatArray] = {}
        self._finals: dict[Path, Path] = {}  # draft -> its place
        self._open: dict[Path, int] = {}
        self._last: dict[str, FlatArray] = {}  # arrays of the last snapshot
        self._is_checkpoint = self._ours = False
        self._wanted = _flag(self.options.get("checkpoint", "true"))
        on_root(self.comm, self._check_free)

    def _check_free(self) -> None:
        for name in ("checkpoint", INFO) if self._wanted else ():
            if is_there(self._directory / name):
                raise InputError(
                    f"{self._directory / name} is there already, and nothing is replaced: move it away, or give "
                    "the option checkpoint=false"
                )

    # ---- a step ------------------------------------------------------------------------------------------------------
    def begin_step(  # noqa: D102 # as in the base class
        self, index: int, time: float, variables: Mapping[str, Stored], scalars: Mapping[str, Scalar]
    ) -> None:
        self._check(variables)
        if scalars:
            self._note(f"single numbers ({', '.join(sorted(scalars))[:200]}) are left out: the format has none")
        before = self._told, self._step
        told = self._told or self._begin(index, time, variables)
        self._is_checkpoint = _is_checkpoint(variables, told.run)
        try:
            if self._is_checkpoint:
                self._place_checkpoint(told, index, variables)
            else:
                self._place_snapshot(told, index, variables)
            self._told, self._step = told, (index, time)
            on_root(self.comm, self._make_drafts)
            self._open = agree(
                self.comm, lambda: {one: os.open(one, os.O_WRONLY | os.O_CLOEXEC) for one in self._finals}
            )
        except BaseException:
            self.abandon_step()
            self._told, self._step = before
            raise

    def write(self, name: str, box: Box, values: NDArray[Any]) -> None:  # noqa: D102 # as in the base class
        array = self._drafts[name]
        array.write(self._open[array.path], box, values)

    def end_step(self) -> None:  # noqa: D102 # as in the base class
        try:
            agree(self.comm, self._sync)
            on_root(self.comm, self._place)
        except BaseException:
            self.abandon_step()
            raise
        told = self._told
        assert told is not None
        told.last = max(told.last, self._step[0])
        if not self._is_checkpoint:
            directory = self._directory / "data"
            self._last = {
                name: replace(array, path=directory / self._finals[array.path].name)
                for name, array in self._drafts.items()
            }
        self._drafts, self._finals = {}, {}

    def abandon_step(self) -> None:  # noqa: D102 # as in the base class
        for file in self._open.values():
            os.close(file)
        if self.comm.rank == 0:
            for draft in self._finals:
                draft.unlink(missing_ok=True)
        self._open, self._drafts, self._finals = {}, {}, {}

    def close(self) -> None:  # noqa: D102 # as in the base class
        if self._told is None:
            return
        if self._wanted and not self._is_checkpoint:
            self._make_checkpoint(self._told)
        if self._ours:
            on_root(self.comm, lambda: write_text(self._directory / "input.i3d", input_text(self._of(self._told))))
        self._told = None

    # ---- what is checked ---------------------------------------------------------------------------------------------
    def _check(self, variables: Mapping[str, Stored]) -> None:
        for name, one in variables.items():
            if not _NAME.fullmatch(name) or name.startswith("snapshot"):
                raise InputError(
                    f"variable {name!r}: cannot be the name of a file of Xcompact3D: expected letters, digits "
                    "and _ . + -"
                )
            if one.is_list or one.dtype not in _TYPES:
                found = "a list" if one.is_list else one.dtype
                raise InputError(
                    f"variable {name!r}: files of Xcompact3D hold fields of float64 or float32; found {found}. Choose "
                    "other variables, or another format"
                )
        if not variables:
            raise InputError(f"{self.path}: a step of Xcompact3D must have a variable")

    def _begin(self, index: int, time: float, variables: Mapping[str, Stored]) -> WrittenRun:
        named = next((one for name, one in variables.items() if name != "pp"), next(iter(variables.values())))
        points: Triple = self.grid.points if self.grid else named.shape
        attributes = with_istret(self.attributes)
        run = run_of(self._directory, self.grid, points, attributes)
        dt = self._number("dt", float, self.attributes.get("dt") or (time / index if index > 0 and time > 0 else None))
        scheme = self._number("itimescheme", int, self.attributes.get("itimescheme", 5))
        every = self.attributes.get("ioutput", 1)
        if not isinstance(every, int) or every < 1 or index % every:
            every = 1
        every = self._number("ioutput", int, every)
        scalars = sum(re.fullmatch(r"phi-?\d\d", name) is not None for name in variables)
        kept = tuple((key, attributes[key]) for key in ("istret", "beta") if key in attributes)
        run = replace(run, dt=dt, scheme=scheme, scalars=scalars, attributes=kept)
        induction = "bx" in variables and _is_checkpoint(variables, run)  # other programs have a bx as well
        run = replace(
            run,
            density="mu" in variables or bool(attributes.get("ilmn")),
            induction=induction or attributes.get("mhd_equation") == "induction",
        )
        told = WrittenRun(run, every, attributes, scalars)
        self._ours = on_root(self.comm, lambda: not self._agrees(told))
        return told

    def _number(self, name: str, kind: type[Any], default: Any) -> Any:
        text = self.options.get(name)
        if text is None:
            return default
        try:
            value = kind(text)
            if value > 0:
                return value
        except ValueError:
            pass
        raise InputError(f"option {name} = {text!r}: expected a number greater than 0")

    def _agrees(self, told: WrittenRun) -> bool:
        path = self._directory / "input.i3d"
        if not is_there(path):
            return False
        there = read_run(path)
        same = (there.points, there.ends, there.ioutput, there.dt) == (
            told.run.points, told.run.ends, told.every, told.run.dt,
        )  # fmt: skip
        if not same or not np.allclose(there.lengths, told.run.lengths, rtol=1e-9):
            raise InputError(
                f"{path} is there already, of another run: its points, lengths, boundaries, ioutput or dt are not "
                "those of the source. Choose another target"
            )
        return True

    # ---- files -------------------------------------------------------------------------------------------------------
    def _place_snapshot(self, told: WrittenRun, index: int, variables: Mapping[str, Stored]) -> None:
        if index < 0 or index % told.every:
            raise InputError(
                f"step {index}: is no multiple of ioutput = {told.every}, by which files of Xcompact3D are numbered; "
                "give the option ioutput=1, or a number that divides all indices"
            )
        token, number = self._token(), index // told.every
        for name, one in variables.items():
            if one.shape != told.run.points:
                raise InputError(
                    f"variable {name!r}: has {one.shape} points; Xcompact3D needs the {told.run.points} of the grid"
                )
            final = self._directory / "data" / f"{name}-{number}.bin"
            draft = final.with_name(f".{final.name}.{token}")
            self._drafts[name] = FlatArray(draft, 0, one.shape, _TYPES[one.dtype])
            self._finals[draft] = final

    def _place_checkpoint(self, told: WrittenRun, index: int, variables: Mapping[str, Stored]) -> None:
        if self._told is not None:
            raise InputError(f"step {index}: a run directory has one restart file; choose one step")
        names, dtypes = layout(told.run), {one.dtype for one in variables.values()}
        if set(names) != set(variables) or len(dtypes) != 1 or told.run.ends is None:
            raise InputError(
                f"step {index}: a restart file for itimescheme = {told.run.scheme} has {', '.join(names)} of one type "
                f"and known boundaries; found {', '.join(variables)} of {', '.join(sorted(dtypes))}, boundaries "
                f"{told.run.boundaries}"
            )
        final = self._directory / "checkpoint"
        draft = final.with_name(f".checkpoint.{self._token()}")
        self._drafts = placed(draft, told.run, _TYPES[dtypes.pop()], told.run.cells)
        for name, array in self._drafts.items():
            if array.shape != variables[name].shape:
                raise InputError(f"variable {name!r}: has {variables[name].shape} points; expected {array.shape}")
        self._finals = {draft: final}

    def _token(self) -> str:
        return on_root(self.comm, lambda: secrets.token_hex(4))

    def _make_drafts(self) -> None:
        (self._directory / "data").mkdir(parents=True, exist_ok=True)
        others = [] if self._is_checkpoint else [self._xdmf()]
        for final in [*self._finals.values(), *others]:
            refuse_existing(final)
        ends = {array.path: 0 for array in self._drafts.values()}
        for array in self._drafts.values():
            ends[array.path] = max(ends[array.path], array.end)
        for draft, size in ends.items():
            allocate(draft, size)

    def _xdmf(self) -> Path:
        assert self._told is not None
        return self._directory / "data" / f"snapshot-{self._step[0] // self._told.every}.xdmf"

    def _sync(self) -> None:
        opened, self._open = self._open, {}
        try:
            for file in opened.values():
                os.fsync(file)
        finally:
            for file in opened.values():
                os.close(file)

    def _place(self) -> None:
        """Give the files their names; the XDMF file comes last."""
        told = self._told
        assert told is not None
        (index, time), run = self._step, told.run
        if self._ours:
            write_text(self._directory / "input.i3d", input_text(self._of(told)))
            if run.y:
                write_text(self._directory / "yp.dat", "".join(f" {place!r}\n" for place in run.y))
        placed = []
        try:
            for draft, final in self._finals.items():
                refuse_existing(final)
                draft.rename(final)
                placed.append(final)
            if self._is_checkpoint:
                write_text(self._directory / INFO, info_text(run, index, time))
            else:
                widths = {name: np.dtype(array.dtype).itemsize for name, array in self._drafts.items()}
                write_text(self._xdmf(), xdmf_text(run.grid(run.points), index // told.every, time, widths))
        except BaseException:
            for final in placed:
                final.unlink()
            raise
        for directory in (self._directory, self._directory / "data"):
            sync(directory)

    def _of(self, told: WrittenRun | None) -> WrittenRun:
        assert told is not None
        return replace(told, last=max(told.last, self._step[0]), notes=self.notes)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    # ---- a restart file from the last snapshot -----------------------------------------------------------------------
    def _make_checkpoint(self, told: WrittenRun) -> None:
        run, last = told.run, self._last
        why = (
            "there is no velocity" if not all(name in last for name in ("ux", "uy", "uz"))
            else "the boundaries are not known" if run.ends is None
            else "snapshots do not have the densities of earlier steps" if run.density
            else "of the magnetic field, a restart file needs more than snapshots have" if run.induction
            else f"itimescheme = {run.scheme} needs earlier right-hand sides; itimescheme=5 makes one for RK3"
            if run.scheme not in restart.PRESSURE_PARTS else ""
        )  # fmt: skip
        if why:
            self._note(f"no restart file is written: {why}")
            return
        sources = {name: last[name] for name in ("ux", "uy", "uz")}
        sources |= {f"phi-{name[3:]}": array for name, array in last.items() if re.fullmatch(r"phi\d\d", name)}
        pressure = last.get("pp", last.get("pressure"))
        if pressure is not None and run.dt:
            sources["pp"] = pressure
            self._note("the pressure in the restart file is interpolated from the nodes to the cells")
        else:
            self._note("the pressure in the restart file is zero: the source does not have it")
        run = replace(run, scalars=sum(name.startswith("phi-") for name in sources))
        final = self._directory / "checkpoint"
        draft = final.with_name(f".checkpoint.{self._token()}")
        size = max(array.end for array in placed(draft, run, sources["ux"].dtype, run.cells).values())
        on_root(self.comm, lambda: allocate(draft, size))
        try:
            agree(self.comm, lambda: restart.fill(draft, run, sources, self.comm.rank, self.comm.size))
        except BaseException:
            if self.comm.rank == 0:
                draft.unlink(missing_ok=True)
            raise

        def place() -> None:
            refuse_existing(self._directory / INFO)
            publish(draft, final)
            write_text(self._directory / INFO, info_text(run, *self._step))
            sync(self._directory)

        on_root(self.comm, place)


def _is_checkpoint(variables: Mapping[str, Stored], run: Xcompact3dRun) -> bool:
    pressure = variables.get("pp")
    on_cells = pressure is not None and pressure.shape == run.cells != run.points
    return on_cells or any(_ONLY_IN_CHECKPOINTS.fullmatch(name) for name in variables)


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InputError(f"option checkpoint = {text!r}: expected true or false")
    return text.lower() == "true"
