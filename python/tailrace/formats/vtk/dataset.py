"""Read VTK's XML files: images and rectilinear grids, in one file or in pieces, and collections of steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.formats.xml_text import parse_xml
from tailrace.grids import Triple, UniformGrid
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored

from .file import VtkFile
from .grid_parts import GridParts, JoinedArray
from .layout import INDEX, TIME, vectors_of

_MOST = 64 << 20  # bytes of a text that names files
_OURS = {"int8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64"}
_PARALLEL = {".pvti": "PImageData", ".pvtr": "PRectilinearGrid"}


class _Step(NamedTuple):
    number: int
    time: float
    grid: UniformGrid
    arrays: dict[str, JoinedArray]
    lists: frozenset[str]
    vectors: dict[str, tuple[str, str, str]]


class VtkSteps(Dataset):
    """The steps of a collection, or one file, of one or several pieces, as one step."""

    format = "vtk"

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.files = [str(path)]
        self._steps: list[_Step] = []
        for number, (time, files) in enumerate(_files_of(path)):
            step = self._step(path, files, number, time)
            self._steps.append(step)
            self.steps.append((step.number, step.time))
            self.files += [str(file) for file in files if str(file) not in self.files]
        self.grid = next((step.grid for step in self._steps), None)

    def _step(self, path: Path, files: list[Path], number: int, time: float | None) -> _Step:
        found = [VtkFile(inner) for file in files for inner in self._parts_of(file)]
        numbers = found[0].numbers
        whole = GridParts(files[0] if len(files) == 1 else path, [piece for file in found for piece in file.pieces])
        arrays: dict[str, JoinedArray] = {}
        vectors: dict[str, tuple[str, str, str]] = {}
        for on_cells in (False, True):
            shape = tuple(max(1, n - 1) for n in whole.points) if on_cells else whole.points
            known = whole.arrays(on_cells)
            ours = set(vectors_of({name: Stored("float64", whole.points, False) for name in known}))
            for name, (columns, parts) in known.items():
                if columns == 1:
                    _once(arrays, name, JoinedArray(_three(shape), 0, parts))
                elif name not in ours:  # else its components are there too
                    names = [f"{name}_{'xyz'[c] if columns == 3 else c}" for c in range(columns)]
                    names = [_once(arrays, one, JoinedArray(_three(shape), c, parts)) for c, one in enumerate(names)]
                    if columns == 3:
                        vectors[name] = names[0], names[1], names[2]
        before = set(arrays)
        for name, one in found[0].lists.items():
            rows = one.shape[1]
            for column in range(one.columns):
                label = name if one.columns == 1 else f"{name}_{column}"
                _once(arrays, label, JoinedArray((1, rows, 1), column, (((0, 0, 0), one),)))
        self.notes += [note for file in found for note in file.notes if note not in self.notes]
        index = int(numbers.get(INDEX, number))
        time = numbers.get(TIME, float(number)) if time is None else time
        return _Step(index, time, whole.grid, arrays, frozenset(set(arrays) - before), vectors)

    def _parts_of(self, file: Path) -> list[Path]:
        """The files of the pieces of a parallel file."""
        kind = _PARALLEL.get(file.suffix)
        if kind is None:
            return [file]
        root = parse_xml(file, _MOST)
        pieces = root.findall(f"{kind}/Piece")
        if not pieces:
            raise IoError(f"{file}: expected a <{kind}> with <Piece>, found none")
        parts = [_beside(file, one.get("Source", ""), (file.suffix.replace("p", ""),)) for one in pieces]
        self.files += [str(one) for one in parts]
        return parts

    def variables(self, position: int) -> dict[str, Stored]:
        """Types and shapes."""
        step = self._steps[position]
        return {
            name: Stored(_OURS.get(one.dtype.name, one.dtype.name), one.shape, name in step.lists)
            for name, one in step.arrays.items()
        }

    def vectors(self, position: int) -> dict[str, tuple[str, str, str]]:
        """The arrays of three components, which are variables of their own."""
        return self._steps[position].vectors

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """Fill `out` with a box of a variable."""
        try:
            self._steps[position].arrays[name].read(box, out)
        except OSError as error:
            if isinstance(error, IoError):
                raise
            raise IoError(f"{self.path}: {name} cannot be read: {error}") from None


def _once(arrays: dict[str, JoinedArray], name: str, array: JoinedArray) -> str:
    """Add an array under a name that no other one has: points, cells and lists may have the same ones."""
    free = next(one for one in (name, *(f"{name}_{n}" for n in range(2, len(arrays) + 3))) if one not in arrays)
    arrays[free] = array
    return free


def _three(shape: tuple[int, ...]) -> Triple:
    x, y, z = shape
    return x, y, z


def _files_of(path: Path) -> list[tuple[float | None, list[Path]]]:
    """The time of each step, if a collection tells it, and the files of its parts."""
    if path.suffix != ".pvd":
        return [(None, [path])]
    found: list[tuple[float, dict[str, Path]]] = []
    for one in parse_xml(path, _MOST).iter("DataSet"):
        time, part = _real(path, one.get("timestep", "")), f"{one.get('group', '')} {one.get('part', '')}"
        if not found or found[-1][0] != time or part in found[-1][1]:
            found.append((time, {}))
        found[-1][1][part] = _beside(path, one.get("file", ""), (".vti", ".vtr", *_PARALLEL))
    return [(time, list(files.values())) for time, files in found]


def _real(path: Path, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise IoError(f"{path}: a <DataSet> has timestep={text[:40]!r}; expected a number") from None


def _beside(path: Path, name: str, endings: tuple[str, ...]) -> Path:
    """A file that another one names: it must lie in its directory or below."""
    base = path.parent.resolve()
    file = (base / name).resolve()
    if not name or "\0" in name or not file.is_relative_to(base) or file.suffix not in endings:
        raise IoError(f"{path}: names the file {name[:200]!r}; expected a {' or '.join(endings)} in {base} or below")
    return path.parent / name
