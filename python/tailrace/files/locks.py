"""Locks: one program at a time may write a file. A note warns where locks cannot be relied on."""

from __future__ import annotations

from pathlib import Path

from tailrace.core import FileLock
from tailrace.text import visible

_told: set[str] = set()  # notes that were printed; each is printed once


def take(target: str | Path) -> FileLock:
    """Take the lock of a file or directory, which need not exist. Prints a note if the lock cannot be relied on.

    :raises IoError: another program holds it; the message says which.
    """
    lock = FileLock(str(target))
    if lock.note and lock.note not in _told:
        _told.add(lock.note)
        print(visible(f"note: {lock.note}"), flush=True)
    return lock
