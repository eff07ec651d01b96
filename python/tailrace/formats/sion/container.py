"""SION containers of any program: one stream of bytes for each task (rank), in one file or several.

The layout is that of SIONlib, file format versions 1 to 5: a header, then in each block one chunk of each task,
then the number of used bytes of each chunk.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.files.regular import open_regular
from tailrace.formats.file_bytes import fill
from tailrace.formats.flat_array import FlatArray
from tailrace.grids import Triple
from tailrace.text import counted

NO_KEYS, INLINE_KEYS = 50, 51
_HEADER = 1088  # bytes of the first header without its two tables of 8 bytes for each task
_RANKS_AT = 1076
_NEWEST = 5
_LARGEST_BLOCK = 1 << 30  # bytes of a block of a file system
_MOST_ENTRIES = 1 << 23  # of the tables of a file: tasks times blocks
_MOST_PAIRS = 200_000  # keys of all streams together
_PIECE = 1 << 16  # bytes of a stream that are read at once to find keys


@dataclass(frozen=True)
class SionTask:
    """The place of the stream of a task."""

    file: int
    start: int  # offset of its first chunk
    chunk: int  # bytes
    skip: int  # from one chunk to the next
    ends: tuple[int, ...]  # length of the stream up to the end of each chunk

    @property
    def size(self) -> int:
        """Bytes of the stream."""
        return self.ends[-1] if self.ends else 0


class Header(NamedTuple):
    """The first numbers of a file."""

    order: str  # of the metadata, "<" or ">"
    data_order: str  # of what the streams hold
    version: int
    library: tuple[int, int]  # main version and sub version of SIONlib
    block: int
    tasks: int
    files: int
    keys: int
    size: int  # of the file


@dataclass
class Container:
    """The streams of a container, by the number of their task. `path`: the first file."""

    path: Path
    files: list[Path]
    header: Header
    tasks: list[SionTask]
    _pairs: dict[int, dict[int, list[tuple[int, int]]]] = field(default_factory=dict)

    @property
    def has_keys(self) -> bool:
        """Whether the streams are pairs of keys and values."""
        return self.header.keys == INLINE_KEYS

    def read(self, task: int, offset: int, into: memoryview) -> None:
        """Fill `into` with the bytes of a stream from `offset` on.

        :raises IoError: the stream or the file ends before.
        """
        path, done = self.files[self.tasks[task].file], 0
        with open_regular(path, "rb", buffering=0) as file:
            for at, size in self.places(task, offset, len(into)):
                _read_all(file.fileno(), path, into[done : done + size], at)
                done += size

    def places(self, task: int, offset: int, count: int) -> Iterator[tuple[int, int]]:
        """The places of `count` bytes of a stream from `offset` in its file: (offset there, bytes) of each part.

        :raises IoError: the stream ends before.
        """
        one = self.tasks[task]
        if offset < 0 or offset + count > one.size:
            raise IoError(
                f"{self.path}: the stream of task {task} has {one.size} bytes; asked for were {count} from byte "
                f"{offset} on"
            )
        block, end = bisect_right(one.ends, offset), offset + count
        while offset < end:
            begin = one.ends[block - 1] if block else 0
            size = min(end, one.ends[block]) - offset
            if size:
                yield one.start + block * one.skip + offset - begin, size
            offset, block = offset + size, block + 1

    def array(self, task: int, segments: Iterable[tuple[int, int]], shape: Triple, dtype: str) -> FlatArray:
        """The array that lies in parts of a stream, (offset, length) each. Raises IoError if the stream ends before."""
        pieces = tuple(place for offset, length in segments for place in self.places(task, offset, length))
        return FlatArray(self.files[self.tasks[task].file], 0, shape, dtype, pieces)

    def pairs(self, task: int) -> dict[int, list[tuple[int, int]]]:
        """The places (offset, length) of the values of each key in a stream, in the order in which they were written.

        :raises IoError: the stream is damaged.
        """
        if task not in self._pairs:
            self._pairs[task] = self._find_pairs(task)
        return self._pairs[task]

    def forget_pairs(self) -> None:
        """Free the memory of the places of keys."""
        self._pairs.clear()

    def _find_pairs(self, task: int) -> dict[int, list[tuple[int, int]]]:
        found: dict[int, list[tuple[int, int]]] = {}
        known = sum(len(each) for one in self._pairs.values() for each in one.values())
        end, at, low, window = self.tasks[task].size, 0, 0, b""
        heads = struct.Struct(f"{self.header.data_order}QQ")
        while at < end:
            if end - at < heads.size:
                raise IoError(
                    f"{self.path}: the stream of task {task} ends at byte {end}; the key and the length at byte {at} "
                    f"need {heads.size}"
                )
            if at + heads.size > low + len(window) or at < low:
                buffer = bytearray(min(_PIECE, end - at))
                self.read(task, at, memoryview(buffer))
                low, window = at, bytes(buffer)
            key, length = heads.unpack_from(window, at - low)
            at += heads.size
            if length > end - at:
                raise IoError(
                    f"{self.path}: the value of key {key} at byte {at} of the stream of task {task} has {length} "
                    f"bytes; expected at most the {end - at} that follow"
                )
            known += 1
            if known > _MOST_PAIRS:
                raise IoError(f"{self.path}: it has more than {_MOST_PAIRS} values of keys")
            found.setdefault(key, []).append((at, length))
            at += length
        return found


def open_container(path: Path) -> Container:
    """Read the tables of all files of a container.

    :param path: its first file.
    :raises IoError: it was never closed, is incomplete or is damaged.
    """
    first = read_header(path, 0)
    files, tasks, mapping = [path], _tasks_of(path, first, 0), _mapping(path, first)
    for number in range(1, first.files):
        name = path.with_name(f"{path.name}.{number:06d}")
        if not name.exists():
            _refuse(path, f"it is the first of {first.files} files; there is no file {name.name} beside it")
        if name.is_symlink() and not name.resolve().is_relative_to(path.parent.resolve()):
            _refuse(name, f"expected a file beside {path.name}, found a link to {name.readlink()}")
        header = read_header(name, number)
        if (header.data_order, header.files, header.keys) != (first.data_order, first.files, first.keys):
            _refuse(name, f"its header does not agree with that of {path.name}: it has {header}, the first {first}")
        files.append(name)
        for rank, (task, local) in _tasks_of(name, header, number).items():
            if rank in tasks:
                _refuse(name, f"it has a stream of task {rank}; {files[tasks[rank][0].file].name} has one too")
            tasks[rank] = (task, local)
    count = len(tasks)
    if sorted(tasks) != list(range(count)) or (mapping is not None and len(mapping) != count):
        wrong = next((rank for rank in range(count) if rank not in tasks), len(mapping or ()))
        _refuse(path, f"its files have {counted(count, 'stream')}; there is none of task {wrong}")
    for rank, place in enumerate(mapping or ()):
        task, local = tasks[rank]
        if place != (task.file, local):
            _refuse(
                path,
                f"its end puts task {rank} at place {place[1]} of file {place[0]}; it is at {local} of {task.file}",
            )
    return Container(path, files, first, [tasks[rank][0] for rank in range(count)])


def read_header(path: Path, number: int) -> Header:
    """The header of file `number` of a container. Raises IoError if it is damaged, or of another file."""
    with open_regular(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size < _HEADER + 16:
            _refuse(path, f"it has {size} bytes; a SION container has at least {_HEADER + 16}: it is cut off")
        raw = bytearray(52)
        _read_all(file.fileno(), path, memoryview(raw), 0)
    if raw[:4] != b"sion":
        _refuse(path, f"expected 'sion' at byte 0, found {bytes(raw[:4])!r}: it is no SION container")
    marks = raw[4:8]
    if max(marks) > 1 or marks[0] != marks[3] or marks[1] != marks[2]:
        _refuse(path, f"its byte order at byte 4 is {list(marks)}; expected [a, b, b, a] of 0 (little) and 1 (big)")
    order, data_order = ("<>"[marks[0]], "<>"[marks[1]])
    library, patch, version, block, tasks, files, here = struct.unpack_from(f"{order}7i", raw, 8)
    keys = struct.unpack_from(f"{order}q", raw, 36)[0] >> 32
    if not 1 <= version <= _NEWEST:
        _refuse(path, f"its format version at byte 16 is {version}; expected 1 to {_NEWEST}")
    if not 1 <= block <= _LARGEST_BLOCK:
        _refuse(path, f"its block size at byte 20 is {block}; expected 1 to {_LARGEST_BLOCK}")
    if not 1 <= tasks <= (size - _HEADER) // 16:
        _refuse(path, f"it tells of {tasks} tasks at byte 24; its {size} bytes have room for {(size - _HEADER) // 16}")
    if files < 1 or here != number:
        _refuse(path, f"it is file {here} of {files}; expected file {number}. To fix this, open the first file")
    if tasks > _MOST_ENTRIES:
        _refuse(path, f"it has {tasks} tasks; at most {_MOST_ENTRIES} are read")
    if keys not in (0, NO_KEYS, INLINE_KEYS):
        _refuse(path, f"its key-value mode at byte 40 is {keys}; expected {NO_KEYS} (none) or {INLINE_KEYS} (inline)")
    return Header(order, data_order, version, (library, patch), block, tasks, files, keys, size)


def _tables(path: Path, header: Header) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]:
    """Ranks and chunk sizes of the tasks of a file, the used bytes (blocks, tasks), and the end of that table."""
    n = header.tasks
    raw = _bytes_at(path, _RANKS_AT, 16 * n + 12)
    table = np.frombuffer(raw, f"{header.order}i8", 2 * n).reshape(2, n)
    blocks, lengths_at = struct.unpack_from(f"{header.order}iq", raw, 16 * n)
    never = "it was never closed, so it does not tell how many bytes its streams have"
    chunks = [int(one) for one in table[1]]
    if header.version <= 3:
        chunks = [_rounded(one, header.block) for one in chunks]
    for task, chunk in enumerate(chunks):
        if not 0 <= chunk <= header.size:
            _refuse(path, f"task {task} has chunks of {chunk} bytes; expected 0 to the {header.size} of the file")
    skip = sum(chunks)
    start = _rounded(_HEADER + 16 * n, header.block)
    expected = start + blocks * skip
    if blocks < 1 or lengths_at <= 0 or lengths_at != expected:
        _refuse(
            path,
            f"{never}: the number of blocks at byte {_RANKS_AT + 16 * n} is {blocks}, and the place of their lengths "
            f"{lengths_at}; expected at least 1, and {expected}. To fix this, write it again",
        )
    end = lengths_at + 8 * n * (blocks + 1)
    if end > header.size:
        _refuse(path, f"it has {header.size} bytes; the lengths of its streams end at byte {end}: it is cut off")
    if n * (blocks + 1) > _MOST_ENTRIES:
        _refuse(path, f"it has {n} tasks with {blocks} blocks; at most {_MOST_ENTRIES} lengths are read")
    lengths = np.frombuffer(_bytes_at(path, lengths_at, end - lengths_at), f"{header.order}i8").reshape(blocks + 1, n)
    return table[0].astype(np.int64), np.array(chunks, np.int64), lengths.astype(np.int64), end


def _tasks_of(path: Path, header: Header, number: int) -> dict[int, tuple[SionTask, int]]:
    """The streams in a file by task, with their positions in it."""
    ranks, chunks, lengths, _ = _tables(path, header)
    skip, blocks = int(chunks.sum()), len(lengths) - 1
    start = _rounded(_HEADER + 16 * header.tasks, header.block)
    found: dict[int, tuple[SionTask, int]] = {}
    for local, rank in enumerate(ranks.tolist()):
        count, chunk = int(lengths[0, local]), int(chunks[local])
        if rank in found or rank < 0:
            _refuse(path, f"its stream {local} is that of task {rank}; expected each task once, from 0 on")
        if not 0 <= count <= blocks:
            _refuse(path, f"task {rank} has {count} blocks; expected 0 to {blocks}")
        used = lengths[1:, local]
        room = np.where(np.arange(blocks) < count, chunk, 0)
        if (used < 0).any() or (used > room).any():
            block = int(np.argmax((used < 0) | (used > room)))
            _refuse(path, f"task {rank} uses {used[block]} bytes of block {block}; expected 0 to {room[block]}")
        found[rank] = SionTask(number, start, chunk, skip, tuple(accumulate(used[:count].tolist()))), local
        start += chunk
    return found


def _mapping(path: Path, header: Header) -> list[tuple[int, int]] | None:
    """File and position of each task, from the end of the first of several files; None for one file."""
    if header.files == 1:
        return None
    end = _tables(path, header)[3]
    if header.size < end + 4:
        _refuse(path, f"it has {header.size} bytes; the number of all tasks is at byte {end}: it is cut off")
    count = struct.unpack(f"{header.order}i", _bytes_at(path, end, 4))[0]
    if not header.files <= count <= (header.size - end - 4) // 8:
        _refuse(
            path,
            f"it tells of {count} tasks in {header.files} files at byte {end}; the file of {header.size} bytes "
            f"has room for {(header.size - end - 4) // 8}",
        )
    pairs = np.frombuffer(_bytes_at(path, end + 4, 8 * count), f"{header.order}i4").reshape(count, 2)
    return [(file, local) for file, local in pairs.tolist()]


def _bytes_at(path: Path, at: int, count: int) -> bytes:
    with open_regular(path, "rb", buffering=0) as file:
        raw = bytearray(count)
        _read_all(file.fileno(), path, memoryview(raw), at)
    return bytes(raw)


def _read_all(file: int, path: Path, into: memoryview, at: int) -> None:
    done = fill(file, into, at)
    if done < len(into):
        _refuse(path, f"it ends at byte {at + done}; expected {len(into) - done} more bytes there: it is cut off")


def _rounded(size: int, block: int) -> int:
    return -(-size // block) * block


def _refuse(path: Path, why: str) -> NoReturn:
    raise IoError(f"{path}: {why}")
