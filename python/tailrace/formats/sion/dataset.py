"""The streams of a SION container as variables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.formats.generic.parts import our_type, pieces_of
from tailrace.formats.overlaps import overlap
from tailrace.grids import Triple
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored
from tailrace.text import counted

from .container import Container, open_container
from .description import DescribedVariable, read_description

_MOST_TOLD = 64  # tasks up to this number get their own lines in the notes


@dataclass(frozen=True)
class Piece:
    """The part of a variable in one task: its bytes in the stream, (offset, length) each, and its box."""

    task: int
    segments: tuple[tuple[int, int], ...]
    box: Box


@dataclass(frozen=True)
class SionVariable:
    """A variable and its parts."""

    dtype: str  # in the streams
    stored: Stored
    pieces: tuple[Piece, ...]


class SionDataset(Dataset):
    """The streams of a container: one step.

    :param path: the first file.
    :param description: the path of a description in TOML; None: streams, or the values of keys, are lists of bytes.
    :raises IoError: the container was never closed, is incomplete or is damaged.
    :raises InputError, ConfigError: the description is wrong, or does not fit the container.
    """

    format = "sion-other"

    def __init__(self, path: str, description: str | None = None) -> None:
        super().__init__(path)
        container = open_container(Path(path))
        self.files = [str(one) for one in container.files]
        self.steps = [(0, 0.0)]
        self._variables: dict[str, SionVariable] = {}
        if description is None:
            self._add_streams(container)
        else:
            content = read_description(Path(description))
            self.steps = [(content.index, content.time)]
            for one in content.variable:
                self._add_described(container, one)
        self._tell(container, description)
        container.forget_pairs()
        self._container = container

    def variables(self, position: int) -> dict[str, Stored]:
        """See `Dataset`."""
        return {name: one.stored for name, one in self._variables.items()}

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """See `Dataset`."""
        variable = self._variables[name]
        for piece in variable.pieces:
            common = overlap(box, piece.box)
            if common is None:
                continue
            inner, place = common
            array = self._container.array(piece.task, piece.segments, piece.box.count, variable.dtype)
            if np.dtype(variable.dtype).str[1:] != "u8":
                array.read(inner, out[place])
                continue
            for part, here in pieces_of(inner, 8):
                values = np.empty(part.count[::-1], "u8")
                array.read(part, values)
                out[place][here] = values

    # ---- what the streams hold ---------------------------------------------------------------------------------------
    def _add_streams(self, container: Container) -> None:
        for number, task in enumerate(container.tasks):
            pairs = container.pairs(number) if container.has_keys else {}
            for key, segments in pairs.items():
                self._add_bytes(f"task_{number}_key_{key}", number, tuple(segments))
            if not container.has_keys:
                self._add_bytes(f"task_{number}", number, ((0, task.size),))

    def _add_bytes(self, name: str, task: int, segments: tuple[tuple[int, int], ...]) -> None:
        shape = (1, sum(length for _, length in segments), 1)
        piece = Piece(task, segments, Box((0, 0, 0), shape))
        self._variables[name] = SionVariable("|u1", Stored("uint8", shape, True), (piece,))

    def _add_described(self, container: Container, one: DescribedVariable) -> None:
        tasks = list(range(len(container.tasks)) if one.tasks is None else one.tasks)
        for task in tasks:
            if task >= len(container.tasks):
                raise InputError(
                    f"{self.path}: '{one.name}' is said to be in the stream of task {task}; it has the tasks 0 to "
                    f"{len(container.tasks) - 1}"
                )
        dtype = one.type_in(container.header.data_order)
        parts = [self._segments(container, one, task) for task in tasks]
        shapes = [self._shape(one, task, dtype, part) for task, part in zip(tasks, parts, strict=True)]
        wanted = [_cut(part, math.prod(shape) * dtype.itemsize) for part, shape in zip(parts, shapes, strict=True)]
        ours = our_type(dtype)
        assert ours is not None
        if one.joined:
            whole, starts = self._places(one, shapes)
            pieces = zip(tasks, wanted, starts, shapes, strict=True)
            made = tuple(Piece(task, part, Box(start, shape)) for task, part, start, shape in pieces)
            self._variables[one.name] = SionVariable(dtype.str, Stored(ours, whole, one.shape is None), made)
            return
        for task, part, shape in zip(tasks, wanted, shapes, strict=True):
            piece = Piece(task, part, Box((0, 0, 0), shape))
            stored = Stored(ours, shape, one.shape is None)
            self._variables[f"{one.name}_task_{task}"] = SionVariable(dtype.str, stored, (piece,))

    def _segments(self, container: Container, one: DescribedVariable, task: int) -> tuple[tuple[int, int], ...]:
        """The bytes of a stream, or of the value of a key, from the offset on."""
        if one.key is None:
            if container.has_keys:
                raise InputError(
                    f"{self.path}: it is a container of keys and values: '{one.name}' in the description needs its key"
                )
            return _cut(((0, container.tasks[task].size),), None, one.offset)
        if not container.has_keys:
            raise InputError(f"{self.path}: '{one.name}' has a key in the description; the container has no keys")
        pairs = container.pairs(task)
        if one.key not in pairs:
            known = ", ".join(str(key) for key in list(pairs)[:16]) or "none"
            raise InputError(f"{self.path}: task {task} has no key {one.key} ('{one.name}'); it has {known}")
        return _cut(tuple(pairs[one.key]), None, one.offset)

    def _shape(
        self, one: DescribedVariable, task: int, dtype: np.dtype[Any], part: tuple[tuple[int, int], ...]
    ) -> Triple:
        """The shape of the part of a task.

        :raises InputError: the stream has too few bytes, or does not end with a row.
        """
        size = sum(length for _, length in part)
        row = one.columns * dtype.itemsize
        if one.shape is None and one.rows is None:
            if size % row:
                raise InputError(
                    f"{self.path}: '{one.name}': task {task} has {size} bytes from byte {one.offset} on; expected rows "
                    f"of {row} bytes. To fix this, give the rows"
                )
            return one.columns, size // row, 1
        shape = one.shape or (one.columns, one.rows or 0, 1)
        if math.prod(shape) * dtype.itemsize > size:
            raise InputError(
                f"{self.path}: '{one.name}': task {task} has {size} bytes from byte {one.offset} on; expected "
                f"{math.prod(shape) * dtype.itemsize}, for {' x '.join(map(str, shape))} values of {one.dtype}"
            )
        return shape

    def _places(self, one: DescribedVariable, shapes: list[Triple]) -> tuple[Triple, list[Triple]]:
        """The shape of the whole, and the first point of the part of each task."""
        if one.shape is None:
            starts, rows = [], 0
            for _, count, _ in shapes:
                starts.append((0, rows, 0))
                rows += count
            return (one.columns, rows, 1), starts
        px, py, pz = one.processes or (1, 1, len(shapes))
        if px * py * pz != len(shapes):
            raise InputError(
                f"{self.path}: '{one.name}': processes = [{px}, {py}, {pz}] are {px * py * pz} parts; there are "
                f"{counted(len(shapes), 'task')}"
            )
        nx, ny, nz = one.shape
        places = [(i, j, k) for k in range(pz) for j in range(py) for i in range(px)]
        return (px * nx, py * ny, pz * nz), [(i * nx, j * ny, k * nz) for i, j, k in places]

    # ---- what is told ------------------------------------------------------------------------------------------------
    def _tell(self, container: Container, description: str | None) -> None:
        header = container.header
        orders = {"<": "little-endian", ">": "big-endian"}
        self.attributes = {
            "sion_format_version": header.version,
            "sionlib_version": f"{header.library[0] // 1000}.{header.library[0] % 1000}.{header.library[1]}",
            "tasks": len(container.tasks),
            "physical_files": len(container.files),
            "block_bytes": header.block,
            "byte_order_of_data": orders[header.data_order],
            "byte_order_of_metadata": orders[header.order],
            "key_value_mode": "inline" if container.has_keys else "none",
        }
        total = sum(task.size for task in container.tasks)
        self.notes = [
            f"SION container of format {header.version} with {counted(len(container.tasks), 'task stream')}, {total} "
            f"bytes, in {counted(len(container.files), 'file')}"
        ]
        for number, task in enumerate(container.tasks[:_MOST_TOLD]):
            keys = f", {counted(len(container.pairs(number)), 'key')}" if container.has_keys else ""
            chunks = f"{counted(len(task.ends), 'chunk')} of {task.chunk} bytes"
            self.notes.append(f"task {number}: {task.size} bytes in {chunks}{keys}, file {task.file}")
        if len(container.tasks) > _MOST_TOLD:
            self.notes.append(f"and {len(container.tasks) - _MOST_TOLD} more tasks")
        self.notes.append(
            "the streams are read as bytes; to read them as variables, give a description in TOML as the parameter "
            f"'description', or as the file {container.path.name}.toml"
            if description is None
            else f"the variables are those of the description {description}"
        )


def _cut(segments: tuple[tuple[int, int], ...], size: int | None, skip: int = 0) -> tuple[tuple[int, int], ...]:
    """The segments without their first `skip` bytes, and at most `size` bytes of the rest."""
    result = []
    for offset, length in segments:
        drop = min(skip, length)
        skip -= drop
        take = length - drop if size is None else min(length - drop, size)
        size = None if size is None else size - take
        if take:
            result.append((offset + drop, take))
    return tuple(result)
