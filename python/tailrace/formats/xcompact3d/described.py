"""Data sets that an `input.json` of Py4Incompact3D describes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tailrace.core import IoError
from tailrace.formats.file_bytes import peek
from tailrace.formats.flat_array import FlatArray
from tailrace.io.values import Attribute

from .arrays import FlatDataset, fitting, known_aliases
from .run import BETAS, LARGEST, MOST_POINTS, Xcompact3dRun, read_places, stretched
from .xdmf import inside

_MOST_BYTES = 1 << 20
_SIZES = ("Nx", "Ny", "Nz")
_LENGTHS = ("Lx", "Ly", "Lz")
_KINDS = ("BCx", "BCy", "BCz")


class Py4Dataset(FlatDataset):
    """Fields whose file names, sizes and boundaries are in a JSON file.

    A field has a file of its name, or files of its name with a number: `ux12`, `ux0012`, `ux-12.bin`.
    """

    format = "py4incompact3d"

    def __init__(self, path: Path, text: dict[str, Any], run: Xcompact3dRun | None) -> None:
        super().__init__(str(path))
        self._where = path
        self._run = self._read_mesh(text["mesh"])
        found: dict[int, dict[str, Path]] = {}
        for key, one in text.items():
            if isinstance(one, dict) and one.get("type") == "data":
                for number, file in self._find(key, one).items():
                    found.setdefault(number, {})[key] = file
        if not found:
            raise IoError(f"{path}: names no file that is there; expected those of a field beside it")
        self._files = [files for _, files in sorted(found.items())]
        timed = run if run is not None and run.points == self._run.points else None
        if timed is None:
            self.notes.append(f"{path}: has no times, and there is no input.i3d of this mesh: numbers are taken")
        self.steps = [timed.step(number) if timed else (number, float(number)) for number in sorted(found)]
        self.attributes = {**(timed.dataset_attributes() if timed else {}), **self._run.dataset_attributes()}
        self.aliases = known_aliases(self._files)
        self.grid = self._run.grid(self._run.points)
        self.files = [str(path), *(str(file) for files in self._files for file in files.values())]

    def arrays(self, position: int) -> dict[str, FlatArray]:
        """The arrays of a step."""
        return {name: fitting(file, [self._run.points]) for name, file in self._files[position].items()}

    def _read_mesh(self, mesh: dict[str, Any]) -> Xcompact3dRun:
        properties = mesh["properties"]
        points = [self._whole(properties, key, 1, MOST_POINTS) for key in _SIZES]
        lengths = [self._positive(properties, key) for key in _LENGTHS]
        kinds = [self._whole(properties, key, 0, 2) for key in _KINDS]
        kind = self._whole(properties, "stretched", 0, 3) if properties.get("stretched") else 0
        y: tuple[float, ...] = ()
        if kind and isinstance(properties.get("yp"), str):
            y = read_places(self._inside(properties["yp"]), points[1])
        if kind and not y:
            cells = points[1] - (kinds[1] != 0)
            y = stretched(points[1], cells, lengths[1], kind, self._positive(properties, "beta", BETAS))
        beta = properties.get("beta")  # may be missing if the coordinates are given
        known = kind and isinstance(beta, int | float) and BETAS[0] <= beta <= BETAS[1]
        law: tuple[tuple[str, Attribute], ...] = (("istret", kind), ("beta", float(beta))) if known else ()
        x, ly, z = lengths
        nx, ny, nz = points
        return Xcompact3dRun(self._where, (nx, ny, nz), (x, ly, z), tuple((k, k) for k in kinds), y, attributes=law)

    def _find(self, key: str, field: dict[str, Any]) -> dict[int, Path]:
        properties = field.get("properties")
        name = properties.get("filename") if isinstance(properties, dict) else None
        if not isinstance(name, str):
            raise IoError(f"{self._where}: {key[:60]!r} has no properties.filename; expected the name of its files")
        root = self._inside(name)
        pattern = re.compile(re.escape(root.name) + r"-?(\d{1,12})(\.bin)?")
        found = {0: root} if root.is_file() else {}
        try:
            for entry in sorted(root.parent.iterdir(), key=lambda one: len(one.name)):
                match = pattern.fullmatch(entry.name)
                if match and int(match[1]) not in found:
                    found[int(match[1])] = inside(self._where, str(entry))
        except IoError:
            raise
        except OSError as error:
            raise IoError(f"{self._where}: the files {name[:100]!r} cannot be found: {error.strerror}") from None
        if not found:
            self.notes.append(f"{self._where}: {key[:60]!r}: there are no files {name[:100]!r}: left out")
        return found

    def _inside(self, name: str) -> Path:
        """A file that the text names. An absolute name from another machine means a file beside the text."""
        try:
            return inside(self._where, name)
        except IoError:
            if not name.startswith("/"):
                raise
            self.notes.append(f"{self._where}: {name[:200]!r} is taken as {Path(name).name!r} beside it")
            return inside(self._where, Path(name).name)

    def _whole(self, properties: dict[str, Any], key: str, least: int, most: int) -> int:
        return int(self._number(properties, key, least, most, int, "a whole number"))

    def _positive(self, properties: dict[str, Any], key: str, bounds: tuple[float, float] = (1e-30, LARGEST)) -> float:
        return float(self._number(properties, key, *bounds, (int, float), "a number"))

    def _number(self, properties: dict[str, Any], key: str, least: float, most: float, kind: Any, word: str) -> Any:
        value = properties.get(key)
        if isinstance(value, bool) or not isinstance(value, kind) or not least <= value <= most:
            raise IoError(
                f"{self._where}: mesh.properties.{key} is {str(value)[:40]!r}; expected {word} from {least:.12g} to "
                f"{most:.12g}"
            )
        return value


def described_at(path: Path, run: Callable[[], Xcompact3dRun | None]) -> Py4Dataset | None:
    """The data set that a JSON file of Py4Incompact3D describes; None for another file.

    :raises IoError: a value is missing or wrong.
    """
    if not peek(path, 64).lstrip().startswith(b"{"):
        return None
    text = peek(path, _MOST_BYTES + 1)
    if len(text) > _MOST_BYTES or b'"mesh"' not in text or b'"Nx"' not in text:
        return None
    try:
        # Examples of Py4Incompact3D have commas before closing brackets.
        content = json.loads(re.sub(rb",(\s*[}\]])", rb"\1", text))
    except (ValueError, RecursionError) as error:
        raise IoError(f"{path}: is not valid JSON: {error}") from None
    mesh = content.get("mesh") if isinstance(content, dict) else None
    if not isinstance(mesh, dict) or not isinstance(mesh.get("properties"), dict):
        return None
    return Py4Dataset(path, content, run())
