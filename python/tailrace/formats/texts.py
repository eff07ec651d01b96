"""Short texts of other programs."""

from __future__ import annotations

from pathlib import Path

from tailrace.core import IoError
from tailrace.files.regular import open_regular


def read_text(path: Path, most: int = 1 << 20) -> str:
    """A text file; "" if it does not exist. Raises IoError if it has more than `most` bytes, or cannot be read."""
    try:
        with open_regular(path, "rb") as file:
            raw = file.read(most + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise IoError(f"{path}: cannot be read: {error.strerror}") from None
    if len(raw) > most:
        raise IoError(f"{path}: has more than {most} bytes; expected a shorter text")
    return str(raw.decode("latin-1"))
