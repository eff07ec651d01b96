"""What a data directory of the Pencil Code says of all its files: sizes, precision, names, parameters. All is local."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailrace.core import IoError
from tailrace.files.regular import open_regular
from tailrace.io.placement import Box, Triple, triple

from .parameters import Value, read_parameters

_MOST_BYTES = 1 << 20  # of a text
_MOST_POINTS = 1 << 24  # in a direction
_MOST_FIELDS = 10_000
_MOST_PROCESSES = 1 << 20
_PLAIN = re.compile(r"^\s*i(\w+)\s*=\s*(\d{1,9})\s*$")
_LIST = re.compile(r"^\s*i(\w+)\s*=\s*indgen\((\d{1,9})\)\s*\+\s*(\d{1,9})\s*$")


@dataclass(frozen=True)
class Dim:
    """What a `dim.dat` says: of the whole grid, or of the part of one process.

    :param points: x, y, z, without ghost zones.
    :param ghosts: layers of ghost zones on each side, x, y, z.
    :param mvar: number of fields that are integrated in time; `maux` that are not, `mglobal` that are constant.
    :param precision: "S" or "D".
    :param processes: in x, y, z, of the whole grid; None of a part.
    :param place: position of the part in the grid of processes; None of the whole grid.
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
    def real(self) -> str:
        """The type of real numbers, without byte order: "f4" or "f8"."""
        return "f4" if self.precision == "S" else "f8"

    def local(self) -> Dim:
        """The part of one process; all are of the same size."""
        assert self.processes is not None
        points = triple(n // p for n, p in zip(self.points, self.processes, strict=True))
        return Dim(points, self.ghosts, self.mvar, self.maux, self.mglobal, self.precision, None, (0, 0, 0))

    def box_at(self, place: Triple) -> Box:
        """The points of the process at a position in the grid of processes, without ghost zones."""
        assert self.processes is not None
        count = triple(n // p for n, p in zip(self.points, self.processes, strict=True))
        return Box(triple(n * i for n, i in zip(count, place, strict=True)), count)


@dataclass(frozen=True)
class Run:
    """What belongs to all files of a data directory.

    :param data: the data directory.
    :param dim: of the whole grid.
    :param fields: names of the fields of a snapshot in their order, as far as `index.pro` and `varname.dat` tell them.
    :param aliases: another usual name of a field -> the name in `fields`.
    :param parameters: of `param.nml` and, where both have one, of `param2.nml`: "init_pars/lperi" -> values.
    """

    data: Path
    dim: Dim
    fields: tuple[str, ...]
    aliases: Mapping[str, str]
    parameters: Mapping[str, list[Value]]
    _places: dict[int, Triple] = field(default_factory=dict, repr=False, compare=False)  # those that were read

    def parameter(self, *names: str) -> Any:
        """The first value of the first of these parameters that there is; None where there is none."""
        return next((self.parameters[name][0] for name in names if self.parameters.get(name)), None)

    def place(self, process: int) -> Triple:
        """Position of a process in the grid of processes: from its own `dim.dat`, else by its number.

        :raises IoError: its `dim.dat` contradicts that of the data directory.
        """
        if process not in self._places:
            self._places[process] = self._read_place(process)
        return self._places[process]

    def _read_place(self, process: int) -> Triple:
        assert self.dim.processes is not None
        px, py, pz = self.dim.processes
        path = self.data / f"proc{process}" / "dim.dat"
        if not path.exists():
            if self.parameter("init_pars/lprocz_slowest") is False:  # then y varies slowest
                return process % px, process // (px * pz), process // px % pz
            return process % px, process // px % py, process // (px * py)
        own = read_dim(path)
        if own.place is None or any(not 0 <= i < p for i, p in zip(own.place, (px, py, pz), strict=True)):
            raise IoError(
                f"{path}: its last line says position {own.place}; expected one in the {px} x {py} x {pz} processes of "
                f"{self.data / 'dim.dat'}"
            )
        if own.points != self.dim.local().points or own.precision != self.dim.precision:
            raise IoError(
                f"{path}: has {own.points} points of precision {own.precision}; expected {self.dim.local().points} of "
                f"{self.dim.precision} from {self.data / 'dim.dat'}"
            )
        return own.place


def find_data(path: Path) -> Path | None:
    """The data directory at a path: itself, or its `data`; None where it is neither."""
    for directory in (path, path / "data"):
        if directory.is_dir() and _is_data(directory):
            return directory
    return None


def _is_data(directory: Path) -> bool:
    if (directory / "dim.dat").is_file():
        try:
            read_dim(directory / "dim.dat")
        except IoError:
            return any((directory / name).is_file() for name in ("index.pro", "param.nml"))
        return True
    return (directory / "index.pro").is_file() and (directory / "param.nml").is_file()


def read_run(data: Path, dim: Dim) -> Run:
    """All that belongs to the files of a data directory.

    :raises IoError: one of its texts is damaged.
    """
    fields, aliases = read_names(data, dim.mvar + dim.maux + dim.mglobal)
    parameters = {**read_parameters(data / "param.nml"), **read_parameters(data / "param2.nml")}
    return Run(data, dim, fields, aliases, parameters)


def read_dim(path: Path) -> Dim:
    """Sizes and precision from a `dim.dat`.

    :raises IoError: it is not one, with the line that is wrong.
    """
    lines = [line.split() for line in read_text(path).splitlines()[:8] if line.strip()]
    if len(lines) != 4:
        raise IoError(f"{path}: has {len(lines)} lines; expected 4: sizes, precision, ghost zones, processes")
    sizes = _numbers(path, 1, lines[0], range(5, 7))
    held, (mvar, maux, mglobal) = sizes[:3], (*sizes[3:], 0, 0)[:3]
    if lines[1] not in (["S"], ["D"]):
        raise IoError(f"{path}: line 2 is {' '.join(lines[1])[:40]!r}; expected the precision S or D")
    ghosts = triple(_numbers(path, 3, lines[2], range(3, 4)))
    points = triple(m - 2 * g for m, g in zip(held, ghosts, strict=True))
    if min(points) < 1 or max(held) > _MOST_POINTS or mvar + maux + mglobal > _MOST_FIELDS:
        raise IoError(
            f"{path}: line 1 says {held} points with ghost zones of {ghosts}, and {mvar + maux + mglobal} fields; "
            f"expected 1 to {_MOST_POINTS} points in each direction, and at most {_MOST_FIELDS} fields"
        )
    last = _numbers(path, 4, lines[3], range(3, 5))
    if len(last) == 3:
        return Dim(points, ghosts, mvar, maux, mglobal, lines[1][0], None, triple(last))
    processes = triple(last[:3])
    if min(processes) < 1 or any(n % p for n, p in zip(points, processes, strict=True)):
        raise IoError(f"{path}: {points} points cannot be divided evenly among {processes} processes")
    if math.prod(processes) > _MOST_PROCESSES:
        raise IoError(f"{path}: says {math.prod(processes)} processes; expected at most {_MOST_PROCESSES}")
    return Dim(points, ghosts, mvar, maux, mglobal, lines[1][0], processes)


def _numbers(path: Path, line: int, words: list[str], counts: range) -> list[int]:
    if len(words) not in counts or not all(re.fullmatch(r"[0-9]{1,9}", word) for word in words):
        found = " ".join(words)[:60]
        expected = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
        raise IoError(f"{path}: line {line} is {found!r}; expected {expected} whole numbers")
    return [int(word) for word in words]


def read_text(path: Path) -> str:
    """A text file of at most 1 MiB.

    :raises IoError: it is larger, or cannot be read.
    """
    try:
        with open_regular(path, "rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise IoError(f"{path}: cannot be read: {error.strerror}") from None
    if len(raw) > _MOST_BYTES:
        raise IoError(f"{path}: has more than {_MOST_BYTES} bytes; expected a short text")
    return str(raw.decode("latin-1"))


def read_names(data: Path, count: int) -> tuple[tuple[str, ...], dict[str, str]]:
    """Names of the fields in the order of a snapshot, as its HDF5 files have them, and other names for them.

    :param count: the most fields that there can be; those without a name are `field1`, ...
    """
    listed: dict[int, list[str]] = {}
    if (data / "index.pro").exists():
        for line in read_text(data / "index.pro").splitlines():
            if (plain := _PLAIN.match(line)) and 0 < int(plain[2]) <= count:
                listed.setdefault(int(plain[2]), []).append(plain[1])
            elif (array := _LIST.match(line)) and int(array[2]) + int(array[3]) - 1 <= count:
                for at in range(int(array[2])):
                    listed.setdefault(int(array[3]) + at, []).append(f"{array[1]}{at + 1}")
    written = _written_names(data / "varname.dat")
    names: list[str] = []
    aliases: dict[str, str] = {}
    for position in range(1, count + 1):
        name = _best(listed.get(position, []), written.get(position))
        if not name or name in names:
            name = f"field{position}"
        names.append(name)
        usual = written.get(position)
        if usual and usual != name and not usual[-1].isdigit():
            aliases[usual] = name
    return tuple(names), {usual: name for usual, name in aliases.items() if usual not in names}


def _best(listed: list[str], written: str | None) -> str | None:
    """A vector has two names at its first component: iuu, iux."""
    if written is None or not listed:
        return listed[-1] if listed else _component(written)
    for name in (_component(written), written, f"{written}1"):
        if name in listed:
            return name
    return listed[-1]


def _component(written: str | None) -> str | None:
    """The name of a component: ux of uu1."""
    if written and (match := re.fullmatch(r"([a-z])\1([123])", written)):
        return match[1] + "xyz"[int(match[2]) - 1]
    return written


def _written_names(path: Path) -> dict[int, str]:
    names = {}
    if path.exists():
        for line in read_text(path).splitlines():
            if match := re.fullmatch(r"\s*(\d{1,6})\s+(\w{1,60})\s*", line):
                names[int(match[1])] = match[2]
    return names
