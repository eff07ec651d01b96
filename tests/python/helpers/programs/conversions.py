"""Sources for conversions, and a format made up for them. What runs on ranks is called by `workers`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import tailrace as tr
from tailrace.formats import recognise, writers
from tailrace.formats.writer import Writer
from tailrace.io import series
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Stored
from tailrace.parallel import agree, on_root

SHAPE = (7, 6, 5)
GRID = tr.StretchedGrid(SHAPE, (0.5, 0, -1), (0.1, 0.2, 0.25), ([], [0.0, 1.0, 3.0, 7.0, 8.0, 9.5], []))
ATTRIBUTES = {
    "reynolds": 1600.0, "lengths": [0.7, 1.2, 1.0], "boundaries": "periodic,dirichlet,free-slip", "count": 3,
    "ux/units": "m/s", "made_by": "run", "history": "made by hand",
}  # fmt: skip


def values(index: int, shape: tuple[int, int, int] = SHAPE, dtype: str = "float64") -> NDArray[Any]:
    """Numbers of a step, no two alike, with all that bits can be."""
    nx, ny, nz = shape
    found = np.random.default_rng(index).standard_normal((nz, ny, nx))
    found[0, 0, :4] = [-0.0, np.inf, 5e-324, 1e300]
    found[-1, -1, -1:] = np.frombuffer(b"\1\2\3\4\5\6\xff\x7f")  # NaN with a payload
    if dtype == "float32":
        found[0, 0, 3] = 1e30
    if dtype[0] == "f":
        return found.astype(dtype)
    return np.rint(1000 * np.nan_to_num(found, posinf=0, neginf=0) % 7e8).astype(dtype)


def write_source(path: str | Path, engine: str | None = None, steps: int = 3) -> None:
    """A series with arrays of several types and places, lists, numbers and texts."""
    from mpi4py import MPI

    with series.open(path, "x", comm=MPI.COMM_SELF, engine=engine, grid=GRID) as out:
        for name, value in ATTRIBUTES.items():
            out.set_attribute(name, value)
        for number in range(steps):
            out.begin_step(10 * number + 3, 0.1 * number)
            out.write("ux", values(number))
            out.write("single", values(number + 50, dtype="float32"))
            out.write("count", values(number + 60, dtype="int64"))
            out.write("f", np.stack([values(number + 70 + i) for i in range(2)]))
            out.write("plane", values(number + 80)[:1].copy())
            out.write_list("rows", values(number + 90)[0])
            out.write_list("ids", np.arange(number, dtype="int32"))
            out.write_scalar("energy", 0.1 + number)
            out.write_scalar("note", f"step {number}")
            out.end_step()


def table(path: str | Path) -> list[Any]:
    """All that a series has, its arrays as bytes."""
    with series.open(path) as found:
        return [
            (step.index, step.time, {n: (step.variables[n], step[n].tobytes()) for n in step.names}, step.scalars)
            for step in found
        ]


def convert(comm: Any, here: str = "", format: str | None = None, **how: Any) -> list[Any]:
    """Convert on the ranks."""
    with made_up():
        return list(tr.convert(comm=comm, format=format, **how))


# ---- a format made up: a directory with an array of NumPy for each variable and step, and a text ---------------------
class Numbered(Dataset):
    format = "numbered"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._texts = sorted(Path(path).glob("step-*.json"))
        self._found = [json.loads(text.read_text()) for text in self._texts]
        self.steps = [(one["index"], one["time"]) for one in self._found]
        self.files = [str(file) for file in Path(path).iterdir()]

    def variables(self, position: int) -> dict[str, Stored]:
        return {n: Stored(t, tuple(s), is_list) for n, (t, s, is_list) in self._found[position]["variables"].items()}

    def derived(self, position: int) -> dict[str, Stored]:
        return {"double": self.variables(position)["ux"]}

    def vectors(self, position: int) -> dict[str, tuple[str, str, str]]:
        return {"u": ("ux", "count", "double")}

    def scalars(self, position: int) -> dict[str, Any]:
        return dict(self._found[position]["scalars"])

    def read(self, position: int, name: str, box: Any, out: NDArray[Any]) -> None:
        (x, y, z), (nx, ny, nz) = box
        stored = "ux" if name == "double" else name
        found = np.load(self._texts[position].with_name(f"{stored}-{position}.npy"), mmap_mode="r")
        out[...] = found[z : z + nz, y : y + ny, x : x + nx]
        if name == "double":
            out *= 2


class NumberedWriter(Writer):
    format = "numbered"
    family = "numbered"
    known: ClassVar = {"fail_at": ()}

    def prepare(self) -> None:
        self._fail_at = int(self.options.get("fail_at", -1))
        self._number = 0
        self._arrays: dict[str, Any] = {}
        on_root(self.comm, lambda: Path(self.path).mkdir())

    def _place(self, name: str) -> Path:
        return Path(self.path) / f"{name}-{self._number}.npy"

    def begin_step(self, index: int, time: float, variables: Any, scalars: Any) -> None:
        said = {"index": index, "time": time, "scalars": dict(scalars)}
        self._said = {**said, "variables": {name: list(one) for name, one in variables.items()}}

        def make() -> None:
            for name, one in variables.items():
                np.lib.format.open_memmap(self._place(name), "w+", one.dtype, one.shape[::-1])

        on_root(self.comm, make)
        self._arrays = {n: np.load(self._place(n), mmap_mode="r+") for n in variables}

    def write(self, name: str, box: Any, values: NDArray[Any]) -> None:
        if self._number == self._fail_at and self.comm.rank == self.comm.size - 1:
            raise OSError("the disk of the last rank is full")
        (x, y, z), (nx, ny, nz) = box
        self._arrays[name][z : z + nz, y : y + ny, x : x + nx] = values

    def end_step(self) -> None:
        def flush() -> None:
            for array in self._arrays.values():
                array.flush()

        agree(self.comm, flush)
        text = json.dumps(self._said)
        on_root(self.comm, lambda: (Path(self.path) / f"step-{self._number}.json").write_text(text))
        self._number += 1

    def abandon_step(self) -> None:
        self._arrays = {}

    def close(self) -> None:
        pass


class made_up:  # noqa: N801 # as a function that makes a context manager
    """The format is one of those that Tailrace knows."""

    saved: ClassVar[Any] = None

    def __enter__(self) -> None:
        from tailrace.conversion import request

        module = ModuleType("tailrace.formats.numbered")
        module.dataset_at = lambda path, _: Numbered(str(path)) if list(path.glob("step-*.json")) else None  # type: ignore[attr-defined]
        sys.modules[module.__name__] = module
        self.saved = recognise.FAMILIES, recognise.check_in_child
        recognise.check_in_child = lambda path: None  # a child process does not know the format
        recognise.FAMILIES = request.FAMILIES = ("numbered",)
        writers.WRITERS["numbered"] = (__name__, "NumberedWriter")

    def __exit__(self, *_: object) -> None:
        from tailrace.conversion import request

        recognise.FAMILIES, recognise.check_in_child = self.saved
        request.FAMILIES = recognise.FAMILIES
        del writers.WRITERS["numbered"], sys.modules["tailrace.formats.numbered"]
