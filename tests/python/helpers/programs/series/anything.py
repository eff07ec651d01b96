"""Write random series with an engine and read them back: what is written is read as it was, or is refused by its name.

    mpiexec -n 3 python -m helpers.programs.series.anything DIRECTORY ENGINE FIRST COUNT

Prints how much was kept and refused. Names, shapes (with 0 and 1), types, numbers, texts and attributes are such as a
careless user may hand over; the expected values are kept here, never asked of the library.
"""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.engines import ENGINES, Engine
from tailrace.text import visible

TYPES = ("f4", "f8", "i4", "i8", *("i1", "u1", "i2", "u2", "u4", "u8", "f2", "c8", "c16", "?")) * 4 + (
    *(">f8", ">i4", ">c16", ">u2", "U3", "O", "g", "G", "M8[s]"),
)
LETTERS = "abcxyzTU019_-."
LONG = (1, 2, 3, 8, 20, 48, 49, 50, 51, 60, 63, 64, 65, 100, 200, 244, 250, 255, 256, 300)
WILD = ("", "a b", "a/b", "ä", ".a", "time", "step", "a\0b", "a\nb", "..", "*", "x", "y", "z", "name", "-", "a" * 1000)
TEXTS = ("", "a", "ein Maß", "two\nlines", "a\0b", "\0", " ", "tail ", "x" * 3000, "y" * 70_000, "\ud800", '"<&>\\')
NUMBERS = (0, -1, 1 << 62, -(1 << 63), (1 << 63) - 1, 1 << 63, 1 << 70, 0.0, -0.0, 0.1, 5e-324, 1.7e308)
LIMITS = (math.nan, math.inf, -math.inf, True, False, np.float32(0.1), np.int16(-3), np.float64(2.5), np.bool_(True))
OTHERS = (None, 1j, b"ab", b"", (), [], object, {"a": 1}, [b"a", "b"], [1, "a"], [None], [[1, 2], [3, 4]], {1, 2})
LISTS = (
    [1],
    [1, 2],
    (3, 4),
    [0.5],
    [1, 2.5],
    [True, 2],
    [math.nan, math.inf],
    np.arange(3),
    np.ones(2, "f4"),
    [1 << 63],
    ["a", "b"],
    ("ux", "", "ein Maß", "two\nlines"),
    [""],
    ["a\0b"],
    ["a", "y" * 70_000],
    [f"name {i}" for i in range(5000)],
    np.array(["text", "more"]),
)

Placed = tuple[np.ndarray[Any, Any], tr.Block | np.ndarray[Any, Any]]  # the whole, and this rank's part


class Case:
    """The series of a seed, the same on all ranks."""

    def __init__(self, seed: int, comm: MPI.Comm) -> None:
        self.random, self.comm = random.Random(seed), comm
        self.shapes: dict[str, tuple[tuple[int, ...], str]] = {}
        names = [self.name() for _ in range(self.random.randint(0, 4))]
        self.kinds = {name: (self.shape(), self.random.choice(TYPES)) for name in names}
        self.lists = {self.name(): (self.random.randint(1, 3), self.random.choice(TYPES)) for _ in range(2)}

    def name(self) -> str:
        """A name, mostly of characters that may be in one."""
        if self.random.random() < 0.15:
            return self.random.choice(WILD)
        count = self.random.choice(LONG[:5]) if self.random.random() < 0.7 else self.random.choice(LONG)
        return "".join(self.random.choice(LETTERS) for _ in range(count))

    def shape(self) -> tuple[int, ...]:
        """(nz, ny, nx), rarely with another number of dimensions."""
        count = self.random.choice((3, 3, 3, 3, 3, 3, 3, 4, 4, 2, 1, 5))
        return tuple(self.random.choice((1, 1, 2, 3, 5, 7, 7, 4, 0)) for _ in range(count))

    def values(self, shape: tuple[int, ...], kind: str, salt: int) -> np.ndarray[Any, Any]:
        """An array that is the same on all ranks, with what floats can hold."""
        numbers = np.random.default_rng(salt)
        dtype = np.dtype(kind)
        if dtype.kind in "fc":
            values = numbers.standard_normal(shape).astype(dtype)
            if values.size > 2 and salt % 3 == 0:
                values.reshape(-1)[:3] = [np.nan, np.inf, -0.0]
            return values
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            return numbers.integers(limits.min, limits.max, shape, dtype.newbyteorder("="), endpoint=True).astype(dtype)
        return numbers.integers(0, 2, shape).astype(dtype)

    def part(self, whole: np.ndarray[Any, Any]) -> tr.Block | np.ndarray[Any, Any]:
        """This rank's part, along z, y or x."""
        if self.comm.size == 1 or whole.ndim not in (3, 4):
            return whole
        axis = whole.ndim - 1 - self.random.randint(0, 2)
        count = whole.shape[axis]
        ends = sorted(self.random.randint(0, count) for _ in range(self.comm.size - 1))
        low, high = [0, *ends][self.comm.rank], [*ends, count][self.comm.rank]
        where = tuple(slice(low, high) if d == axis else slice(None) for d in range(whole.ndim))
        start = [0, 0, 0]
        start[whole.ndim - 1 - axis] = low
        x, y, z = reversed(whole.shape[-3:])
        return tr.Block(np.ascontiguousarray(whole[where]), (x, y, z), (start[0], start[1], start[2]))

    def rows(self, columns: int, kind: str, salt: int) -> Placed:
        """A list, and this rank's rows of it."""
        counts = [self.random.randint(0, 3) for _ in range(self.comm.size)]
        whole = self.values((sum(counts), columns) if columns > 1 else (sum(counts),), kind, salt)
        first = sum(counts[: self.comm.rank])
        return whole, whole[first : first + counts[self.comm.rank]]

    def value(self) -> Any:
        """A number, a text, or what is neither."""
        kinds = [TEXTS, NUMBERS, LIMITS, ("text", "more text", 1, 2.5)]
        return self.random.choice(self.random.choice(kinds if self.random.random() < 0.85 else [OTHERS]))

    def attribute(self) -> Any:
        """A value, or a list."""
        return self.random.choice(LISTS) if self.random.random() < 0.3 else self.value()


class Refusals:
    """Counts what was refused, and checks that the message says what it was."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()

    def take(self, error: Exception, names: list[str]) -> str:
        """The name of what was refused."""
        if type(error) is not tr.InputError:
            raise AssertionError(f"{type(error).__name__}: {error}; expected an InputError") from error
        text = str(error)
        shown = {name: (name, json.dumps(name, ensure_ascii=False)[1:-1], visible(name)) for name in names}
        told = [
            name for name, forms in shown.items() if any(f"'{form}'" in text or f"{form}:" in text for form in forms)
        ]
        told = told or [name for name, forms in shown.items() if name and any(form in text for form in forms)]
        if not told:
            raise AssertionError(f"names none of {names}: {text}") from error
        self.count["refused"] += 1
        return max(told, key=len)


def same(kept: Any, given: Any) -> bool:
    """Whether a number, text or list is what was given; a truth value is stored as a number."""
    if isinstance(given, np.ndarray | np.generic):
        given = given.tolist()
    if isinstance(given, list | tuple):
        real = any(isinstance(one, float) for one in given)
        given = [float(one) if real else one for one in given]
        return isinstance(kept, list) and len(kept) == len(given) and all(map(same, kept, given))
    if isinstance(given, float):
        if not isinstance(kept, float) or math.isnan(given):
            return isinstance(kept, float) and math.isnan(kept)
        return kept == given and math.copysign(1, kept) == math.copysign(1, given)
    return (isinstance(kept, str) == isinstance(given, str)) and not isinstance(kept, float) and bool(kept == given)


def run(path: Path, engine: Engine, seed: int, comm: MPI.Comm, refusals: Refusals) -> None:
    """Write and read one series."""
    case = Case(seed, comm)
    attributes: dict[str, Any] = {}
    steps: list[tuple[int, dict[str, Any], dict[str, Any]]] = []
    with tr.open(path, "w", comm=comm, engine=engine.name, parameters=engine.parameters) as out:
        for _ in range(case.random.randint(0, 3)):
            name, value = case.name(), case.attribute()
            try:
                out.set_attribute(name, value)
                attributes[name] = value
            except Exception as error:
                refusals.take(error, [name])
        for index in range(case.random.randint(1, 3)):
            wholes = {name: case.values(*kind, seed + 7 * index) for name, kind in case.kinds.items()}
            arrays: dict[str, Any] = {name: (whole, case.part(whole)) for name, whole in wholes.items()}
            lists: dict[str, Any] = {name: case.rows(*kind, seed + index) for name, kind in case.lists.items()}
            scalars: dict[str, Any] = {case.name(): case.value() for _ in range(2)}
            while True:
                try:
                    out.write_step(
                        0.5 * index, {name: part for name, (_, part) in arrays.items()}, index=3 * index,
                        scalars=scalars, lists={name: rows for name, (_, rows) in lists.items()},
                    )  # fmt: skip
                    break
                except Exception as error:
                    refused = refusals.take(error, [*arrays, *lists, *scalars])
                    for kind in (arrays, lists, scalars):
                        kind.pop(refused, None)
            found = {name: whole for name, (whole, _) in (arrays | lists).items()}
            steps.append((3 * index, found, scalars))
    check(path, comm, attributes, steps)
    if comm.rank == 0 and seed % 4 == 0:
        tr.open(path).to_xarray().load()
    refusals.count["kept"] += len(attributes) + sum(len(found) + len(scalars) for _, found, scalars in steps)


def check(path: Path, comm: MPI.Comm, attributes: dict[str, Any], steps: list[Any]) -> None:
    """Compare with what was given; every rank reads all."""
    with tr.open(path, comm=comm) as series:
        told = series.attributes
        assert told.keys() == attributes.keys(), (sorted(told), sorted(attributes))
        for name, value in attributes.items():
            assert same(told[name], value), f"attribute {name}: {told[name]!r} instead of {value!r}"
        assert [step.index for step in series] == [index for index, _, _ in steps]
        assert series.verify() == [], series.verify()
        for step, (_, found, scalars) in zip(series, steps, strict=True):
            for name, whole in found.items():
                kept = step.read(name)
                whole = whole.astype(whole.dtype.newbyteorder("="))
                assert kept.dtype == whole.dtype and kept.shape == whole.shape, (name, kept.shape, whole.shape)
                assert np.array_equal(kept.view("u1"), whole.view("u1")) if kept.size else True, name
            assert step.scalars.keys() == scalars.keys(), (sorted(step.scalars), sorted(scalars))
            for name, value in scalars.items():
                assert same(step.scalars[name], value), f"scalar {name}: {step.scalars[name]!r} instead of {value!r}"


def write_once(comm: MPI.Comm, folder: str, engines: list[str]) -> dict[str, float]:
    """Write a step with each engine and read it; the sums of what was read."""
    sums = {}
    for engine in ENGINES:
        if engine.label in engines:
            path = engine.path(Path(folder) / engine.label)
            if comm.rank == 0:
                path.parent.mkdir()
            comm.Barrier()
            mine = tr.Block(np.full((2, 3, 4), 2.5 / comm.size), (4, 3, 2 * comm.size), (0, 0, 2 * comm.rank))
            with tr.open(path, "w", comm=comm, engine=engine.name, parameters=engine.parameters) as series:
                series.write_step(0.5, {"u": mine}, scalars={"n": 1})
            with tr.open(path, comm=comm) as series:
                sums[engine.label] = float(series[0].read("u").sum())
    return sums


def run_on_ranks(folder: Path, label: str, first: int, count: int, ranks: int, limit: float) -> tuple[int, int]:
    """Run series of an engine in processes of their own; how many values were kept and refused.

    :raises AssertionError: one is wrong.
    """
    process = mpi_run.start_module(sys.modules[__name__], folder, label, first, count, cwd=folder, ranks=ranks)
    result = mpi_run.finish(process, limit)
    found = re.search(r"(\d+) kept, (\d+) refused", result.out)
    assert result.code == 0 and found is not None, result.text[-3000:]
    return int(found[1]), int(found[2])


def main() -> None:
    """See the top."""
    folder, label, first, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    engine = next(one for one in ENGINES if one.label == label)
    comm, refusals = MPI.COMM_WORLD, Refusals()
    for seed in range(first, first + count):
        place = folder / f"{label}-{seed}"
        if comm.rank == 0:
            place.mkdir()
        comm.Barrier()
        try:
            run(engine.path(place), engine, seed, comm, refusals)
        except BaseException as error:
            print(f"{label}, seed {seed}, rank {comm.rank}: {type(error).__name__}: {error}"[:2000], flush=True)
            comm.Abort(1)
        comm.Barrier()
        if comm.rank == 0:
            shutil.rmtree(place)
    if comm.rank == 0:
        kept, refused = refusals.count["kept"], refusals.count["refused"]
        print(f"{label}: {count} series on {comm.size} ranks: {kept} kept, {refused} refused")


if __name__ == "__main__":
    main()
