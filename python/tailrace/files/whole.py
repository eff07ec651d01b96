"""Write files as a whole or not at all: under another name, synced, then renamed."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailrace.core import InputError

from .marks import Mark, why_foreign
from .regular import is_there, open_regular


@contextmanager
def drafted(path: Path, mark: Mark | None = None, ending: str = "", *, durable: bool = True) -> Iterator[Path]:
    """Give the block another name for its file. The file gets its own name when the block ends without an error.

    After an error nothing is changed.

    :param mark: an existing file is replaced only if it has the mark; without a mark it is always replaced.
    :param ending: of the other name. A killed program may leave a file of this name; the next one replaces it if it has
        the mark. "": a hidden name that nothing else has.
    :param durable: wait until the bytes are on the disk; not for what is replaced soon.
    :raises InputError: something else has one of the names.
    """
    draft = path.with_name(path.name + ending if ending else f".{secrets.token_hex(4)}.{path.name}")
    for each in (path, draft):
        if mark is not None and (reason := why_foreign(each, mark)):
            raise InputError(reason)
    try:
        yield draft
        if durable:
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
    """Make a new file of `size` bytes, and reserve its space on the disk.

    :raises OSError: the file exists, or the disk has no space for it; no new file is left.
    """
    with path.open("xb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size) if size else None
        except OSError:
            path.unlink()
            raise


def refuse_existing(path: Path) -> None:
    """Check that there is nothing at a path. Raises InputError if there is something."""
    if is_there(path):
        raise InputError(f"{path} is there already, and nothing is replaced: move it away, or choose another target")


def publish(draft: Path, path: Path) -> None:
    """Rename a finished file or directory to its final path, which must be free, and sync the name to the disk.

    :raises InputError: there is something.
    """
    refuse_existing(path)
    draft.rename(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until the bytes of a file, or the names in a directory, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # without O_NONBLOCK a named pipe would wait
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
