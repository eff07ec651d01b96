"""Arrays in XML files of VTK, as text, in base64, appended, compressed: a part is read without decoding all of it.

https://docs.vtk.org/en/latest/vtk_file_formats/vtkxml_file_format.html
"""

from __future__ import annotations

import base64
import binascii
import lzma
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.files.regular import open_regular
from tailrace.grids import Triple
from tailrace.io.placement import Box

COMPRESSORS = {"": "", "vtkZLibDataCompressor": "zlib", "vtkLZMADataCompressor": "lzma"}
_MOST_PACKED = {"": 4, "zlib": 1100, "lzma": 1 << 14}  # bytes of values from one byte of a file; of a text 8 from 2


@dataclass(frozen=True)
class EncodedArray:
    """`shape` (x, y, z) points with `columns` values each, x fastest.

    :param begin: the first byte of its text or its appended values.
    :param end: the first byte behind its text; -1 of appended values, whose length is written before them.
    :param form: "ascii", "base64" or "plain".
    :param dtype: of NumPy, with its byte order.
    :param header: the type of the lengths before the values, with its byte order.
    :param compressor: "", "zlib" or "lzma".
    """

    path: Path
    name: str
    begin: int
    end: int
    form: str
    shape: Triple
    columns: int
    dtype: str
    header: str
    compressor: str

    def read(self, box: Box, column: int, out: NDArray[Any]) -> None:
        """Fill `out` (nz, ny, nx) with a box of one of the columns.

        :raises IoError: the file is too short, damaged or gone.
        """
        (x, y, z), (nx, ny, nz) = box
        if 0 in (nx, ny, nz):
            return
        sx, sy, _ = self.shape
        try:
            with open_regular(self.path, "rb") as file:
                values = _Values(self, file)
                for k in range(nz):
                    first = ((z + k) * sy + y) * sx
                    rows = values.part(first * self.columns, ny * sx * self.columns)
                    out[k] = rows.reshape(ny, sx, self.columns)[:, x : x + nx, column]
        except (OSError, EOFError, ValueError, OverflowError, zlib.error, lzma.LZMAError, binascii.Error) as error:
            if isinstance(error, IoError):
                raise
            raise IoError(f"{self.path}: '{self.name}' cannot be read: {error}") from None

    def fits(self, file_bytes: int) -> bool:
        """Whether a file of so many bytes can hold the values: damaged files say that there are more."""
        return self.size <= file_bytes * _MOST_PACKED[self.compressor]

    @property
    def size(self) -> int:
        """Bytes of all values."""
        x, y, z = self.shape
        return x * y * z * self.columns * np.dtype(self.dtype).itemsize


class _Values:
    """The values of an array in an open file."""

    def __init__(self, array: EncodedArray, file: IO[bytes]) -> None:
        self._array, self._file = array, file
        self._file_bytes = os.fstat(file.fileno()).st_size
        if array.begin > self._file_bytes:
            raise self._damaged(f"their place behind the end of {self._file_bytes} bytes")
        self._text: bytes | None = None  # without blanks, where these are in it
        self._words: NDArray[Any] | None = None
        self._block: tuple[int, bytes] = -1, b""  # the last one that was decompressed
        if array.form == "ascii":
            self._words = self._numbers()
            return
        self._header = np.dtype(array.header)
        if array.form == "base64" and array.end >= 0:
            file.seek(array.begin)
            self._text = b"".join(file.read(array.end - array.begin).split())
        if array.compressor:
            self._blocks()
            return
        self._data = 0  # where the values and their length begin
        (length,) = self._lengths(0, 1)
        if length != array.size:
            raise self._damaged(f"{length} bytes of values")

    def part(self, first: int, count: int) -> NDArray[Any]:
        """`count` values from number `first` on."""
        if self._words is not None:
            return self._words[first : first + count]
        dtype = np.dtype(self._array.dtype)
        begin, end = first * dtype.itemsize, (first + count) * dtype.itemsize
        if not self._array.compressor:
            return np.frombuffer(self._bytes(0, self._header.itemsize + begin, end - begin), dtype)
        low, high = begin // self._block_size, (end - 1) // self._block_size
        found = b"".join(self._decompressed(number) for number in range(low, high + 1))
        start = begin - low * self._block_size
        return np.frombuffer(found[start : start + end - begin], dtype)

    def _damaged(self, found: str) -> IoError:
        array = self._array
        return IoError(
            f"{array.path}: '{array.name}': expected {array.size} bytes of {array.shape} x {array.columns} values, "
            f"found {found}: the file is damaged, or cut off"
        )

    def _numbers(self) -> NDArray[Any]:
        array = self._array
        self._file.seek(array.begin)
        words = self._file.read(max(0, array.end - array.begin)).split()
        count = array.size // np.dtype(array.dtype).itemsize
        if len(words) != count:
            raise self._damaged(f"{len(words)} numbers")
        return np.array(words, "S").astype(np.dtype(array.dtype).newbyteorder("="))

    # ---- bytes -------------------------------------------------------------------------------------------------------
    def _bytes(self, stream: int, at: int, count: int) -> bytes:
        """`count` bytes from byte `at` on of what begins at place `stream` of the text or the file."""
        if count > self._file_bytes:  # which memory may not hold
            raise self._damaged(f"a length of {count} in {self._file_bytes} bytes")
        if self._array.form == "plain":
            self._file.seek(self._array.begin + stream + at)
            found = self._file.read(count)
        else:
            skipped = at % 3
            letters = -(-(skipped + count) // 3) * 4
            text = self._letters(stream + at // 3 * 4, letters)
            found = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)[skipped : skipped + count]
        if len(found) != count:
            raise self._damaged("fewer")
        return found

    def _letters(self, at: int, count: int) -> bytes:
        if self._text is not None:
            return self._text[at : at + count]
        self._file.seek(self._array.begin + at)
        return self._file.read(count)

    def _lengths(self, at: int, count: int) -> list[int]:
        """Lengths from number `at` on."""
        width = self._header.itemsize
        return [int(one) for one in np.frombuffer(self._bytes(0, at * width, count * width), self._header)]

    # ---- compressed blocks -------------------------------------------------------------------------------------------
    def _blocks(self) -> None:
        """Read the lengths of the blocks, which are before them."""
        count, self._block_size, last = self._lengths(0, 3)
        full = count - (1 if last else 0)
        size = self._array.size
        if count > size or full * self._block_size + last != size or (size and not self._block_size):
            raise self._damaged(f"{count} blocks of {self._block_size} bytes, and a last one of {last}")
        self._sizes = [self._block_size] * full + ([last] if last else [])
        packed = self._lengths(3, count)
        ends = np.concatenate([[0], np.cumsum(packed, dtype=np.int64)]).tolist()
        self._places = list(zip(ends[:-1], packed, strict=True))
        header = (3 + count) * self._header.itemsize
        # In base64 the lengths and the blocks are two texts.
        self._data = header if self._array.form == "plain" else -(-header // 3) * 4

    def _decompressed(self, number: int) -> bytes:
        if self._block[0] != number:
            at, length = self._places[number]
            size, packed = self._sizes[number], self._bytes(self._data, at, length)
            if self._array.compressor == "zlib":
                found = zlib.decompressobj().decompress(packed, size + 1)
            else:
                found = lzma.LZMADecompressor(memlimit=1 << 30).decompress(packed, size + 1)
            if len(found) != size:
                raise self._damaged(f"{len(found)} bytes in block {number} instead of {size}")
            self._block = number, found
        return self._block[1]
