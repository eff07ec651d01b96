"""The sizes of a run of the Pencil Code: `dim.dat`, or the group `settings` of an HDF5 file."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tailrace.core import IoError
from tailrace.formats.texts import read_text
from tailrace.grids import Triple, triple
from tailrace.io.placement import Box

from ..files.hdf5 import has_group, number, plain

if TYPE_CHECKING:
    import h5py

_MOST_POINTS = 1 << 24  # in a direction
_MOST_FIELDS = 10_000
_MOST_PROCESSES = 1 << 20


@dataclass(frozen=True)
class Dimensions:
    """The sizes of the whole grid, or of the part of one process.

    :param points: x, y, z, without ghost zones.
    :param ghosts: layers of ghost zones on each side, x, y, z.
    :param mvar: number of fields that are integrated in time; `maux` are not integrated, `mglobal` are constant.
    :param precision: "S" or "D".
    :param processes: numbers of processes in x, y, z; None for a part.
    :param place: position of the part in the grid of processes; None for the whole grid.
    """

    points: Triple
    ghosts: Triple
    mvar: int
    maux: int
    mglobal: int
    precision: str
    processes: Triple | None = None
    place: Triple | None = None

    @property
    def held(self) -> Triple:
        """Points with ghost zones, x, y, z."""
        return triple(n + 2 * g for n, g in zip(self.points, self.ghosts, strict=True))

    @property
    def fields(self) -> int:
        """The most fields that a snapshot can have."""
        return self.mvar + self.maux + self.mglobal

    @property
    def real(self) -> str:
        """The type of real numbers, without byte order: "f4" or "f8"."""
        return "f4" if self.precision == "S" else "f8"

    @property
    def width(self) -> int:
        """Bytes of a real number."""
        return 4 if self.precision == "S" else 8

    @property
    def dtype(self) -> str:
        """The type of real numbers of a variable: "float32" or "float64"."""
        return "float32" if self.precision == "S" else "float64"

    @property
    def ranks(self) -> int:
        """The number of processes; 1 for a part."""
        return math.prod(self.processes or (1,))

    def local(self) -> Dimensions:
        """The part of one process; all are of the same size."""
        points = self.box_at((0, 0, 0)).count
        return Dimensions(points, self.ghosts, self.mvar, self.maux, self.mglobal, self.precision, None, (0, 0, 0))

    def box_at(self, place: Triple) -> Box:
        """The points of the process at a position in the grid of processes, without ghost zones."""
        assert self.processes is not None
        count = triple(n // p for n, p in zip(self.points, self.processes, strict=True))
        return Box(triple(n * i for n, i in zip(count, place, strict=True)), count)


def read_dim(path: Path) -> Dimensions:
    """Sizes and precision from a `dim.dat`. Raises IoError if it is wrong; the message names the line."""
    lines = [line.split() for line in read_text(path).splitlines()[:8] if line.strip()]
    if len(lines) != 4:
        raise IoError(f"{path}: has {len(lines)} lines; expected 4: sizes, precision, ghost zones, processes")
    sizes = _numbers(path, 1, lines[0], range(5, 7))
    held, (mvar, maux, mglobal) = sizes[:3], (*sizes[3:], 0, 0)[:3]
    if lines[1] not in (["S"], ["D"]):
        raise IoError(f"{path}: line 2 is {' '.join(lines[1])[:40]!r}; expected the precision S or D")
    ghosts = triple(_numbers(path, 3, lines[2], range(3, 4)))
    points = triple(m - 2 * g for m, g in zip(held, ghosts, strict=True))
    last = _numbers(path, 4, lines[3], range(3, 5))
    processes, place = (triple(last[:3]), None) if len(last) == 4 else (None, triple(last))
    return _checked(path, Dimensions(points, ghosts, mvar, maux, mglobal, lines[1][0], processes, place))


def _numbers(path: Path, line: int, words: list[str], counts: range) -> list[int]:
    if len(words) not in counts or not all(re.fullmatch(r"[0-9]{1,9}", word) for word in words):
        found = " ".join(words)[:60]
        expected = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
        raise IoError(f"{path}: line {line} is {found!r}; expected {expected} whole numbers")
    return [int(word) for word in words]


def dim_in(data: Path) -> Dimensions | None:
    """The sizes of a data directory: from its `dim.dat`, else from those of its processes; None if none tells.

    :raises IoError: a `dim.dat` is wrong, or those of the processes do not fit together.
    """
    if (data / "dim.dat").exists():
        return read_dim(data / "dim.dat")
    paths = [path for path in data.glob("proc*/dim.dat") if path.parent.name[4:].isdecimal()]
    parts = {path: read_dim(path) for path in sorted(paths, key=lambda path: int(path.parent.name[4:]))}
    places = [part.place for part in parts.values() if part.place is not None]
    if not places or len(places) < len(parts):
        return None
    first = next(iter(parts.values()))
    for path, part in parts.items():
        if replace(part, place=first.place) != first:
            raise IoError(f"{path}: has other sizes than {next(iter(parts))}; expected the same of all processes")
    processes = triple(max(along) + 1 for along in zip(*places, strict=True))
    if len(set(places)) != math.prod(processes) or len(places) > len(set(places)):
        raise IoError(
            f"{data}: has no dim.dat, and the {len(places)} proc*/dim.dat do not make {processes} processes in x, y, "
            "z: a directory of a process is missing, or is of another run"
        )
    points = triple(n * p for n, p in zip(first.points, processes, strict=True))
    return _checked(data, replace(first, points=points, processes=processes, place=None))


def dim_of_hdf5(file: h5py.File) -> Dimensions | None:
    """The sizes in the group `settings` of a file; None if it has no such group.

    :raises IoError: a number is missing or impossible.
    """
    if not has_group(file, "settings"):
        return None
    path = Path(str(file.filename))
    held, points = (triple(number(file, f"settings/{kind}{axis}", "i") for axis in "xyz") for kind in "mn")
    processes = triple(number(file, f"settings/nproc{axis}", "i", 1) for axis in "xyz")
    mvar, maux, mglobal = (number(file, f"settings/{name}", "i", 0) for name in ("mvar", "maux", "mglobal"))
    letter = plain(file, "settings/precision")
    word = np.asarray(letter[()]).reshape(-1)[0] if letter is not None and letter.size == 1 else b"D"
    ghosts = triple((m - n) // 2 for m, n in zip(held, points, strict=True))
    precision = "S" if (word if isinstance(word, bytes) else str(word).encode()).strip() == b"S" else "D"
    found = Dimensions(points, ghosts, mvar, maux, mglobal, precision, processes)
    if found.held != held or min(*ghosts, mvar, maux, mglobal) < 0:
        raise IoError(
            f"{path}: its settings say {points} points, {held} with ghost zones, and {mvar}, {maux}, {mglobal} fields: "
            "that cannot be"
        )
    return _checked(path, found, evenly=False)


def _checked(path: Path, found: Dimensions, evenly: bool = True) -> Dimensions:
    if min(found.points) < 1 or max(found.held) > _MOST_POINTS or found.fields > _MOST_FIELDS:
        raise IoError(
            f"{path}: says {list(found.held)} points with ghost zones of {found.ghosts}, and {found.fields} fields; "
            f"expected 1 to {_MOST_POINTS} points in each direction, and at most {_MOST_FIELDS} fields"
        )
    processes = found.processes or (1, 1, 1)
    if any(not 1 <= p <= n or (evenly and n % p) for n, p in zip(found.points, processes, strict=True)):
        raise IoError(f"{path}: {found.points} points cannot be divided evenly among {processes} processes")
    if found.ranks > _MOST_PROCESSES:
        raise IoError(f"{path}: says {found.ranks} processes; expected at most {_MOST_PROCESSES}")
    return found


def process_place(data: Path, dim: Dimensions, process: int, y_is_slowest: bool) -> Triple:
    """Position of a process in the grid of processes: from its own `dim.dat`, else by its number.

    :param dim: the sizes of the whole grid.
    :param y_is_slowest: in the numbers of processes, y varies slowest; otherwise z.
    :raises IoError: its `dim.dat` contradicts that of the data directory.
    """
    assert dim.processes is not None
    px, py, pz = dim.processes
    path = data / f"proc{process}" / "dim.dat"
    if not path.exists():
        if y_is_slowest:
            return process % px, process // (px * pz), process // px % pz
        return process % px, process // px % py, process // (px * py)
    own, local = read_dim(path), dim.local()
    if own.place is None or any(not 0 <= i < p for i, p in zip(own.place, dim.processes, strict=True)):
        raise IoError(
            f"{path}: its last line says position {own.place}; expected one in the {px} x {py} x {pz} processes of "
            f"{data / 'dim.dat'}"
        )
    if own.points != local.points or own.precision != dim.precision:
        raise IoError(
            f"{path}: has {own.points} points of precision {own.precision}; expected {local.points} of {dim.precision} "
            f"from {data / 'dim.dat'}"
        )
    return own.place
