"""The values in a text of an XML checkpoint, base64 of a zlib stream: read in order."""

from __future__ import annotations

import binascii
import os
import zlib
from pathlib import Path

from tailrace.core import IoError

_TEXT = 128 << 10  # letters that are decoded at once
_BYTES = 1 << 20  # that are decompressed at once
_WHITE = b" \t\r\n"
_RATIO = 1032  # zlib makes no text shorter than this


def most_bytes(letters: int) -> int:
    """An upper bound of the bytes in a text of `letters` letters."""
    return (letters * 3 // 4 + 16) * _RATIO


class XmlValues:
    """`size` bytes of values in `length` letters from byte `offset` of a file on."""

    def __init__(self, path: Path, offset: int, length: int, size: int) -> None:
        self.path, self.offset, self.length, self.size = path, offset, length, size
        self._restart()

    def _restart(self) -> None:
        self.position = 0  # byte of the values that comes next
        self._letters = 0
        self._left = b""
        self._waiting = b""
        self._zlib = zlib.decompressobj()

    def read(self, descriptor: int, begin: int, view: memoryview) -> None:
        """Fill `view` with bytes from `begin` on; going back starts again from the first byte.

        :raises IoError: the text is damaged, or has fewer or more bytes.
        """
        if begin < self.position:
            self._restart()
        while self.position < begin:
            self._next(descriptor, begin - self.position)
        done = 0
        while done < len(view):
            piece = self._next(descriptor, len(view) - done)
            view[done : done + len(piece)] = piece
            done += len(piece)
        if self.position == self.size:
            self._check_end(descriptor)

    def _next(self, descriptor: int, most: int) -> bytes:
        piece = self._some(descriptor, min(most, _BYTES))
        if not piece:
            raise self._wrong(f"expected {self.size} bytes of values, found the end after {self.position}")
        self.position += len(piece)
        return piece

    def _some(self, descriptor: int, most: int) -> bytes:
        """Up to `most` bytes of values; b"" at the end."""
        while not self._zlib.eof:
            if not self._waiting:
                self._waiting = self._decoded(descriptor)
            try:
                piece = self._zlib.decompress(self._waiting, most)
            except zlib.error as error:
                raise self._wrong(
                    f"expected a zlib stream, found damage after {self.position} bytes: {error}"
                ) from None
            ended = not self._waiting
            self._waiting = self._zlib.unconsumed_tail
            if piece or ended:
                return piece
        return b""

    def _check_end(self, descriptor: int) -> None:
        if self._some(descriptor, 1):
            raise self._wrong(f"expected {self.size} bytes of values, found more")
        if not self._zlib.eof:
            raise self._wrong("expected the end of a zlib stream behind the values, found the end of the text")

    def _decoded(self, descriptor: int) -> bytes:
        """The next bytes of the zlib stream; b"" at the end of the text."""
        while self._letters < self.length:
            some = min(_TEXT, self.length - self._letters)
            text = os.pread(descriptor, some, self.offset + self._letters)
            if len(text) < some:
                raise self._wrong("expected a text in base64, found the end of the file: it has become shorter")
            self._letters += some
            text = self._left + text.translate(None, _WHITE)
            whole = len(text) if self._letters == self.length else len(text) // 4 * 4
            self._left = text[whole:]
            try:
                decoded = binascii.a2b_base64(text[:whole], strict_mode=True)
            except binascii.Error as error:
                place = self.offset + self._letters - some
                raise self._wrong(f"expected letters of base64 from byte {place} on, found others: {error}") from None
            if decoded:
                return decoded
        return b""

    def _wrong(self, why: str) -> IoError:
        return IoError(f"{self.path}: <ELEMENTS> with its values at byte {self.offset}: {why}")
