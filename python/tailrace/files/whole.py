"""Files that are there as a whole or not at all: written under another name, synced, renamed."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailrace.core import InputError

from .marks import Mark, why_foreign
from .regular import open_regular


@contextmanager
def drafted(path: Path, mark: Mark | None = None, ending: str = "") -> Iterator[Path]:
    """Gives another name, under which the block makes a file; it gets its own when the block ends without an error.

    After an error everything is as it was before.

    :param mark: what is there already is replaced if it has the mark; without one, whatever it is: the caller knows it.
    :param ending: of the other name. A file that a kill leaves under this name is replaced by the next one, so it needs
        the mark too. "": a hidden name that nothing else has.
    :raises InputError: something else has one of the names.
    """
    draft = path.with_name(path.name + ending if ending else f".{secrets.token_hex(4)}.{path.name}")
    for each in (path, draft):
        if mark is not None and (reason := why_foreign(each, mark)):
            raise InputError(reason)
    try:
        yield draft
        sync(draft)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str, mark: Mark | None = None, ending: str = "") -> None:
    """Write a text as a whole or not at all; see `drafted`."""
    with drafted(path, mark, ending) as draft, open_regular(draft, "w", encoding="utf-8") as file:
        file.write(text)


def allocate(path: Path, size: int) -> None:
    """Make a new file of a size, whose room on the disk is taken.

    :raises OSError: there is a file, or no room; then nothing stays.
    """
    with path.open("xb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size) if size else None
        except OSError:
            path.unlink()
            raise


def refuse_existing(path: Path) -> None:
    """Check that there is nothing at a path.

    :raises InputError: there is something.
    """
    if os.path.lexists(path):
        raise InputError(f"{path} is there already, and nothing is replaced: move it away, or choose another target")


def publish(draft: Path, path: Path) -> None:
    """Give a finished file or directory its name, on the disk too, where nothing may be by now.

    :raises InputError: there is something.
    """
    refuse_existing(path)
    draft.rename(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until the bytes of a file, or the names in a directory, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # which a named pipe would else wait for
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a file, a link, or a directory with all that it holds, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
