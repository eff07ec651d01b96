"""Making files so that they are there as a whole or not at all. All is local."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from tailrace import _core


def refuse_existing(path: Path) -> None:
    """Raise an InputError where there is something at a path."""
    if os.path.lexists(path):
        raise _core.InputError(
            f"{path} is there already, and nothing is replaced: move it away, or choose another target"
        )


def make(path: Path, size: int) -> None:
    """Make a new file of a size, whose room on the disk is taken."""
    with path.open("xb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size) if size else None
        except OSError:
            path.unlink()
            raise


def write_text(path: Path, text: str) -> None:
    """Write a text that this run has made, or makes now, so that it is there as a whole or not at all."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
