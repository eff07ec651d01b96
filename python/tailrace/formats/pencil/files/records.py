"""Records of Fortran files: each has its size before and after it.

A record of more than 2 GiB is written as sub-records: a negative size before one says that more follow, a negative size
after one says that others came before.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.files.regular import open_regular
from tailrace.formats.file_bytes import fill

_MOST_PIECES = 1 << 16  # of a record; real ones have 2 GiB each
_MARKER = 4  # bytes


@dataclass(frozen=True)
class Record:
    """A record, in one or several pieces.

    :param pieces: (offset in the file, bytes) of each.
    :param begin: offset of its first marker.
    :param end: the first byte behind its last marker.
    """

    pieces: tuple[tuple[int, int], ...]
    begin: int
    end: int

    @property
    def size(self) -> int:
        """The number of its bytes without markers."""
        return sum(count for _, count in self.pieces)


class Records:
    """A file of records, open to read.

    :param order: "<" little-endian, ">" big-endian, None: found from the markers of the first record.
    :param first: offset of the first record.
    :raises IoError: there is no whole record at `first`, in any byte order.
    """

    def __init__(self, path: Path, order: str | None = None, first: int = 0) -> None:
        self.path, self.first = path, first
        try:
            self._file = open_regular(path, "rb", buffering=0)
        except OSError as error:
            raise IoError(f"{path}: cannot be read: {error.strerror}") from None
        self.size = os.fstat(self._file.fileno()).st_size
        try:
            self.order = order or self._find_order()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Records:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Record]:
        offset = self.first
        while offset < self.size:
            record = self.at(offset)
            yield record
            offset = record.end

    def at(self, offset: int, order: str | None = None) -> Record:
        """The record whose first marker is at `offset`.

        :raises IoError: its markers disagree, or the file ends inside it.
        """
        order = order or self.order
        pieces: list[tuple[int, int]] = []
        at, more = offset, True
        while more:
            head = self._marker(at, order)
            count, more = abs(head), head < 0
            if at + count + 2 * _MARKER > self.size:
                raise IoError(
                    f"{self.path}: ends at byte {self.size}, where the record of {count} bytes at byte {at} must reach "
                    f"to byte {at + count + 2 * _MARKER}: it is cut off, or no file of Fortran records"
                )
            tail = self._marker(at + _MARKER + count, order)
            if tail != (-count if pieces else count):
                raise IoError(
                    f"{self.path}: the record at byte {at} has the size {count} before it and {tail} after it, at byte "
                    f"{at + _MARKER + count}: the file is damaged"
                )
            pieces.append((at + _MARKER, count))
            at += count + 2 * _MARKER
            if len(pieces) > _MOST_PIECES:
                raise IoError(f"{self.path}: the record at byte {offset} has more than {_MOST_PIECES} parts")
        return Record(tuple(pieces), offset, at)

    def values(self, record: Record, dtype: str, most: int = 1 << 24) -> NDArray[Any]:
        """All values of a record.

        :param dtype: of NumPy without byte order: "f8", "i4".
        :param most: bytes that it may have.
        :raises IoError: it has more, or no whole number of values.
        """
        kind = np.dtype(self.order + dtype)
        if record.size > most or record.size % kind.itemsize:
            raise IoError(
                f"{self.path}: the record at byte {record.begin} has {record.size} bytes; expected values of "
                f"{kind.itemsize} bytes, at most {most} bytes"
            )
        return np.frombuffer(self.content(record), kind)

    def content(self, record: Record) -> bytes:
        """All bytes of a record; not for records of fields, which are too large."""
        return b"".join(self._exactly(offset, count) for offset, count in record.pieces)

    def _find_order(self) -> str:
        problems = []
        for order in "<>":
            try:
                self.at(self.first, order)
                return order
            except IoError as error:
                problems.append((abs(self._marker(self.first, order)), str(error)))
        raise IoError(min(problems)[1])

    def _marker(self, offset: int, order: str) -> int:
        value: int
        (value,) = struct.unpack(order + "i", self._exactly(offset, _MARKER))
        return value

    def _exactly(self, offset: int, count: int) -> bytes:
        raw = bytearray(count)
        got = fill(self._file.fileno(), memoryview(raw), offset)
        if got != count:
            raise IoError(f"{self.path}: ends at byte {offset + got}; expected {count} bytes from byte {offset} on")
        return bytes(raw)
