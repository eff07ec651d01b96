"""What inject_faults.py does with one fault, and what must be true after it. Collective over all ranks."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from faults import Fault, Injector
from mpi4py import MPI

import tailrace as tr
from tailrace.flow.checkpoint import CheckpointStore, State

COMM = MPI.COMM_WORLD
QUICK = {"failure_timeout": 5}
# What no error may say here, where nobody else is and nothing goes away.
FALSE = ("was removed, or replaced", "another program has begun", "a file of something else", "is writing it")


class Setting(NamedTuple):
    """A way to write a series."""

    engine: str
    place: str
    parameters: Mapping[str, Any] = MappingProxyType({})


PLAIN = {
    "raw": Setting("raw", "run"),
    "raw-dist": Setting("raw", "run", {"strategy": "dist"}),
    "mpiio": Setting("mpiio", "run", {"collect_bytes": 0}),
    "mpiio-small": Setting("mpiio", "run"),
    "mpiio-collective": Setting("mpiio", "run", {"transfer": "collective", "collect_bytes": 0, **QUICK}),
    "hdf5": Setting("hdf5", "run.h5"),
    "hdf5-gzip": Setting("hdf5", "run.h5", {"compression": "gzip", "chunk_bytes": 3000}),
    "bp4": Setting("bp4", "run.bp4", QUICK),
    "bp5": Setting("bp5", "run.bp", QUICK),
    "adios_hdf5": Setting("adios_hdf5", "run.adios_hdf5", QUICK),
    "sion": Setting("sion", "run.sion"),
    "sion-files": Setting("sion", "run.sion", {"files": 2, "chunk_bytes": 3000}),
}
MORE = {
    f"{label}-{how}": one._replace(parameters={**one.parameters, **parameter})
    for how, parameter in (("sync", {"sync": True}), ("background", {"buffers": 2}))
    for label, one in PLAIN.items()
    if one is PLAIN.get(one.engine)
}
SETTINGS = {**PLAIN, **MORE, "checkpoint": Setting("raw", "checkpoints")}


def array(index: int, name: str) -> np.ndarray[Any, Any]:
    """The whole array of a step."""
    shape = (4 * COMM.size, 64, 64) if name == "big" else (4 * COMM.size, 6, 5)
    return np.arange(np.prod(shape), dtype=float).reshape(shape) + 1000.0 * index + len(name)


def part(index: int, name: str) -> tr.Block:
    """This rank's part."""
    whole = array(index, name)
    return tr.Block(whole[4 * COMM.rank : 4 * COMM.rank + 4].copy(), whole.shape[::-1], (0, 0, 4 * COMM.rank))


def rows(index: int, rank: int) -> np.ndarray[Any, Any]:
    """The rows of a rank in a list."""
    return np.arange(12.0).reshape(4, 3) + index + 100 * rank


def put(out: tr.Series, index: int) -> None:
    """Write a step."""
    fields = {name: part(index, name) for name in ("ux", "uy", "big")}
    scalars = {"energy": 0.5 * index, "note": f"n{index}"}
    out.write_step(0.1 * index, fields, index=index, scalars=scalars, lists={"probes": rows(index, COMM.rank)})


def wrong_in(step: Any) -> list[str]:
    """What of a step is not what was written."""
    index = step.index
    bad = [name for name in ("ux", "uy", "big") if not np.array_equal(np.asarray(step.read(name)), array(index, name))]
    if not np.array_equal(step.read("probes"), np.concatenate([rows(index, rank) for rank in range(COMM.size)])):
        bad.append("probes")
    if dict(step.scalars) != {"energy": 0.5 * index, "note": f"n{index}"} or step.time != 0.1 * index:
        bad.append("scalars or time")
    return bad


class Try:
    """One try: what was done under the fault, and the violations found."""

    def __init__(self, setting: Setting, folder: Path) -> None:
        self.setting, self.folder = setting, folder
        self.path = folder / setting.place
        self.well: list[int] = []  # steps that the program was told are written
        self.errors: list[str] = []
        self.violations: list[str] = []

    def attempt(self, work: Callable[[], object]) -> bool:
        """Whether it succeeded. An error that is not an IoError is a violation."""
        try:
            work()
        except tr.IoError as error:
            self.errors.append(str(error))
            if "filesystem error" in str(error):
                self.violations.append(f"text of the C++ library: {error}")
            if any(text in str(error) for text in FALSE):
                self.violations.append(f"what is not so: {error}")
            return False
        except Exception as error:
            self.errors.append(str(error))
            self.violations.append(f"{type(error).__name__}: {error}")
            return False
        return True

    def open(self, mode: str, **more: Any) -> tr.Series:
        """The series, to write."""
        given = {"engine": self.setting.engine, "parameters": self.setting.parameters, "comm": COMM}
        return tr.open(self.path, mode, **given, **more)

    def write(self, mode: str, indices: tuple[int, ...], **more: Any) -> None:
        """Open, write steps and close, each of which may fail."""
        series: list[tr.Series] = []
        if self.attempt(lambda: series.append(self.open(mode, **more))):
            self.put(series[0], indices)

    def put(self, out: tr.Series, indices: tuple[int, ...]) -> None:
        """Write steps and close."""
        self.well += [index for index in indices if self.attempt(lambda index=index: put(out, index))]
        self.attempt(out.close)
        if self.errors and "buffers" in self.setting.parameters:
            self.well.clear()  # the error of a step in the background comes later

    def look(self) -> dict[int, list[str]]:
        """The steps that are there, with what is wrong in each."""
        found = {}
        with tr.open(self.path, comm=COMM) as stored:
            for step in stored:
                found[step.index] = wrong_in(step)
            self.violations += [f"verify: {line}" for line in stored.verify()]
        self.look_at_drawing([*found])
        return found

    def look_at_drawing(self, indices: list[int]) -> None:
        """Other programs find the same steps in the drawing of a series, if it is there and was begun."""
        drawing = self.path / "series.xdmf" if self.path.is_dir() else Path(f"{self.path}.xdmf2")
        if COMM.rank > 0 or not drawing.exists() or drawing.stat().st_size == 0:
            return
        drawn = ElementTree.parse(drawing).findall(".//Grid[@GridType='Uniform']/Time")
        if (times := [float(time.get("Value")) for time in drawn]) != [0.1 * index for index in indices]:
            self.violations.append(f"steps of the times {times} are drawn, and {indices} are there")

    def indices(self) -> list[int]:
        """The steps that are there; none if it cannot be opened."""
        try:
            with tr.open(self.path, comm=COMM) as stored:
                return [step.index for step in stored.steps]
        except tr.IoError:
            return []

    def judge(self, old: tuple[int, ...], may_go: tuple[int, ...] = ()) -> None:
        """After the fault: what was there is there, what was told is true, and nothing else is there."""
        try:
            found = self.look()
        except Exception as error:
            if old or self.well:
                self.violations.append(f"cannot be read: {type(error).__name__}: {error}")
            return
        for index in {*old, *self.well} - {*may_go}:
            if index not in found:
                self.violations.append(f"step {index} is lost{'' if self.errors else ' without an error'}")
        for index, wrong in found.items():
            if wrong:
                self.violations.append(f"step {index} is wrong in {wrong}{'' if self.errors else ' without an error'}")
            if index not in {*old, *self.well, *may_go} and "buffers" not in self.setting.parameters:
                self.violations.append(f"step {index} was said to have failed, and is there")

    def go_on(self, old: tuple[int, ...]) -> None:
        """The series takes another step, and keeps the others."""
        try:
            with self.open("a") as out:
                put(out, 9)
            found = self.look()
        except Exception as error:
            self.violations.append(f"appending after it: {type(error).__name__}: {error}")
            return
        lost = [index for index in (*old, 9) if index not in found or found[index]]
        if lost:
            self.violations.append(f"appending after it lost {lost}")


def write(one: Try, armed: Callable[[], None], disarm: Callable[[], None]) -> None:
    """Steps 3 and 4 of a series that is open."""
    out = one.open("w")
    put(out, 1)
    put(out, 2)
    out.flush()
    armed()
    one.put(out, (3, 4))
    disarm()
    del out
    gc.collect()
    one.judge((1, 2))
    one.go_on((1, 2))


def begin(one: Try, armed: Callable[[], None], disarm: Callable[[], None]) -> None:
    """A new series."""
    armed()
    one.write("w", (1, 2))
    disarm()
    gc.collect()
    one.judge(())


def append(one: Try, armed: Callable[[], None], disarm: Callable[[], None]) -> None:
    """A series that exists is appended to."""
    one.write("w", (1, 2))
    one.well.clear()
    armed()
    one.write("a", (3,))
    disarm()
    gc.collect()
    one.judge((1, 2))
    one.go_on((1, 2))


def rewind(one: Try, armed: Callable[[], None], disarm: Callable[[], None]) -> None:
    """The last step of a series is dropped and another one written."""
    one.write("w", (1, 2, 3))
    one.well.clear()
    armed()
    one.write("a", (4,), rewind_to=2)
    disarm()
    gc.collect()
    one.judge((1, 2), may_go=(3,))
    one.go_on((1, 2))


def replace(one: Try, armed: Callable[[], None], disarm: Callable[[], None]) -> None:
    """A series takes the place of another: the old one is there, or the new one, or an error says where the old is."""
    one.write("w", (1, 2))
    one.well.clear()
    armed()
    one.write("w", (3, 4))
    disarm()
    gc.collect()
    if one.well:
        one.judge(())
        return
    one.attempt(lambda: one.open("a").close())  # the next writer puts the old series back
    new_one_began = "buffers" in one.setting.parameters and 1 not in one.indices()
    one.judge(() if new_one_began else (1, 2))


def read(one: Try, armed: Callable[[], None], disarm: Callable[[], None]) -> None:
    """A series is read: right values or an error, and no array of the program but the one asked for changes."""
    one.write("w", (1, 2))
    one.well.clear()
    armed()
    opened: list[tr.Series] = []
    one.attempt(lambda: opened.append(tr.open(one.path, comm=COMM)))
    wrong = _wrong_in_all(one, opened)
    disarm()
    gc.collect()
    others = [np.full((4 * COMM.size, 6, 5), -1.0) for _ in range(8)]  # one gets the memory of an array that failed
    wrong += _wrong_in_all(one, opened)
    one.violations += wrong
    if any((other != -1.0).any() for other in others):
        one.violations.append("an array of the program was overwritten")
    opened.clear()
    one.judge((1, 2))


def _wrong_in_all(one: Try, opened: list[tr.Series]) -> list[str]:
    """What is wrong in the steps of a series that could be opened."""
    wrong: list[str] = []
    for stored in opened:
        if [step.index for step in stored.steps] != [1, 2]:
            wrong.append(f"steps {[step.index for step in stored.steps]} without an error")
        for step in stored.steps:
            bad: list[str] = []
            one.attempt(lambda step=step, bad=bad: bad.extend(wrong_in(step)))
            wrong += [f"step {step.index} is wrong in {bad}"] if bad else []
    return wrong


def _store(folder: Path, store: CheckpointStore, index: int) -> None:
    state = State(index, 0.1 * index, 1, COMM.size, "none", COMM.size)
    fields = {name: part(index, name) for name in ("ux", "uy")} | {"uz": part(index, "uz")}
    store.write(state, fields, {"case": "none"}, {"probes": rows(index, COMM.rank)})


def _stored(folder: Path) -> int:
    """The step of the newest checkpoint, whose values are right."""
    found = CheckpointStore(folder, 2, COMM).newest(lambda _line: None)
    index = found.state.step
    whole = array(index, "ux").shape
    for name in ("ux", "uy", "uz"):
        expected = array(index, name)
        if not np.array_equal(found.read(name, ((0, 0, 0), whole[::-1])), expected):
            raise AssertionError(f"checkpoint of step {index}: {name} is wrong")
    return index


def checkpoint(one: Try, armed: Callable[[], None], disarm: Callable[[], None]) -> None:
    """Checkpoints of which two stay: whatever fails, the newest complete one is right."""
    store = CheckpointStore(one.path, 2, COMM)
    _store(one.path, store, 1)
    _store(one.path, store, 2)
    armed()
    well = one.attempt(lambda: _store(one.path, store, 3))
    disarm()
    newest = _stored(one.path)
    if newest not in (2, 3) or (well and newest != 3):
        one.violations.append(f"the newest checkpoint is of step {newest}; step 3 was{'' if well else ' not'} written")
    one.attempt(lambda: _store(one.path, store, 4))
    if _stored(one.path) != 4:
        one.violations.append("the next checkpoint was not written")


def resume(one: Try, armed: Callable[[], None], disarm: Callable[[], None]) -> None:
    """A checkpoint is read: right values of one of both, or an error."""
    store = CheckpointStore(one.path, 2, COMM)
    _store(one.path, store, 1)
    _store(one.path, store, 2)
    armed()
    one.attempt(lambda: _stored(one.path))
    disarm()
    if _stored(one.path) != 2:
        one.violations.append("reading has damaged the newest checkpoint")


PHASES = {"series": (write, begin, append, rewind, replace, read), "checkpoint": (checkpoint, resume)}


def run(label: str, phase: Any, fault: Fault, number: int, rank: int, injector: Injector, folder: Path) -> Try:
    """One try, with the fault on one rank. `called` of the result is the call that failed; "" if none did."""
    if COMM.rank == 0:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    COMM.Barrier()
    injector.watch(folder)
    one = Try(SETTINGS[label], folder)
    one.called = ""

    def arm() -> None:
        COMM.Barrier()
        if COMM.rank == rank:
            injector.arm(fault, number)

    def disarm() -> None:
        one.called = COMM.bcast(injector.disarm() if COMM.rank == rank else "", root=rank)

    phase(one, arm, disarm)
    gc.collect()
    one.violations = [line for lines in COMM.allgather(one.violations) for line in lines]
    return one
