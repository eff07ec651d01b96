"""The right to write files, for one program at a time, with a word about what it does not protect from."""

from __future__ import annotations

from pathlib import Path

from tailrace.core import FileLock

_told: set[str] = set()  # notes, each of which is told once


def take(target: str | Path) -> FileLock:
    """Take the lock of a file or directory, which need not exist, and print a note where it cannot be relied on.

    :raises IoError: another program holds it; the message says which.
    """
    lock = FileLock(str(target))
    if lock.note and lock.note not in _told:
        _told.add(lock.note)
        print(f"note: {lock.note}", flush=True)
    return lock
