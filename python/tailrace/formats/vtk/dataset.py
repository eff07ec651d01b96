"""Read VTK's XML files: images and rectilinear grids, in one file or in pieces, and collections of steps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.formats.xml_text import parse_xml
from tailrace.grids import Triple, UniformGrid, same_places
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored

from .file import VtkFile
from .grid_parts import GridParts, JoinedArray, Parts
from .layout import INDEX, TIME, vectors_of
from .values import EncodedArray

_MOST = 64 << 20  # bytes of a text that names files
_PARALLEL = {".pvti": "PImageData", ".pvtr": "PRectilinearGrid"}


class _Step(NamedTuple):
    number: int
    time: float
    grid: UniformGrid
    has: _StepVariables


class _StepVariables:
    """The variables of a step. Those of cells that have the name of one of points end with `_cells`."""

    def __init__(self, whole: GridParts, lists: Mapping[str, EncodedArray]) -> None:
        self.arrays: dict[str, JoinedArray] = {}
        self.vectors: dict[str, tuple[str, str, str]] = {}
        self._add_all(whole.points, whole.arrays(on_cells=False), "")
        self._add_all(whole.cells, whole.arrays(on_cells=True), "_cells")
        before = set(self.arrays)
        for name, one in lists.items():
            self._add(name, 1, one.shape, (((0, 0, 0), one),), "_list")
        self.lists = frozenset(set(self.arrays) - before)

    def _add_all(self, shape: Triple, known: Mapping[str, tuple[int, Parts]], ending: str) -> None:
        # Of a vector whose components are there too, which is how we write them, nothing new is known.
        alone = {name: Stored("float64", shape, False) for name, (columns, _) in known.items() if columns == 1}
        ours = vectors_of(alone).keys()
        for name, (columns, parts) in known.items():
            if columns == 1 or name not in ours:
                self._add(name, columns, shape, parts, ending)

    def _add(self, name: str, columns: int, shape: Triple, parts: Parts, ending: str) -> None:
        """Add a variable for each component of an array."""
        letters = [""] if columns == 1 else [f"_{axis}" for axis in "xyz"] if columns == 3 else None
        ends = letters or [f"_{column}" for column in range(columns)]
        label = name
        while label in self.vectors or any(f"{label}{end}" in self.arrays for end in ends):
            label += ending or "_2"
        names = [f"{label}{end}" for end in ends]
        self.arrays |= {one: JoinedArray(shape, column, parts) for column, one in enumerate(names)}
        if columns == 3:
            self.vectors[label] = names[0], names[1], names[2]


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
        grids = [step.grid for step in self._steps]
        if any(not same_places(grids[0], grid) for grid in grids):
            self.notes.append("steps have their points at other places than the first one, whose places are taken")

    def _step(self, path: Path, files: list[Path], number: int, time: float | None) -> _Step:
        found = [VtkFile(inner) for file in files for inner in self._parts_of(file)]
        numbers = found[0].numbers
        whole = GridParts(files[0] if len(files) == 1 else path, [piece for file in found for piece in file.pieces])
        has = _StepVariables(whole, found[0].lists)
        told = [*whole.notes, *(note for file in found for note in file.notes)]
        self.notes += [note for note in dict.fromkeys(told) if note not in self.notes]
        index = int(numbers.get(INDEX, number))
        time = numbers.get(TIME, float(number)) if time is None else time
        return _Step(index, time, whole.grid, has)

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
        has = self._steps[position].has
        return {name: Stored(one.dtype.name, one.shape, name in has.lists) for name, one in has.arrays.items()}

    def vectors(self, position: int) -> dict[str, tuple[str, str, str]]:
        """The arrays of three components, which are variables of their own."""
        return self._steps[position].has.vectors

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """Fill `out` with a box of a variable."""
        try:
            self._steps[position].has.arrays[name].read(box, out)
        except OSError as error:
            if isinstance(error, IoError):
                raise
            raise IoError(f"{self.path}: {name} cannot be read: {error}") from None


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
