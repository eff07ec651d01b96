"""Temporary directories of the benchmark, and whether they have enough space."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tailrace.core import IoError
from tailrace.files.locks import take
from tailrace.parallel import on_root
from tailrace.text import size

if TYPE_CHECKING:
    from mpi4py import MPI

_PREFIX = "tailrace-bench-"
_MARK = "this directory was made by tailrace bench and may be removed\n"
_ROOM = 1.2  # needed free bytes on the disk, over the bytes that are written


class ScratchDirectory:
    """A new directory below one of the user's. It is removed with its content when the benchmark ends.

    The next benchmark removes the directory of a killed one: it has our mark, and no program holds its lock.

    :raises OSError: the directory cannot be written in.
    """

    def __init__(self, below: Path) -> None:
        _remove_left(below)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=below))
        with ExitStack() as undo:  # a directory without a mark would stay for ever
            undo.callback(shutil.rmtree, self.path, ignore_errors=True)
            self._lock = take(self.path / "data")  # before the mark: others remove what is marked and not locked
            undo.callback(self._lock.release)
            (self.path / "mark").write_text(_MARK, encoding="utf-8")
            undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._lock.release()
        shutil.rmtree(self.path, ignore_errors=True)


def _remove_left(below: Path) -> None:
    for path in below.glob(f"{_PREFIX}*"):
        with suppress(OSError, IoError):  # another one is running there
            if not path.is_symlink() and (path / "mark").read_text(encoding="utf-8") == _MARK:
                lock = take(path / "data")
                shutil.rmtree(path, ignore_errors=True)
                lock.release()


def check_room(comm: MPI.Comm, directory: Path, needed: int) -> None:
    """Check that a directory has space. Collective.

    :param needed: bytes that are written.
    :raises OSError: there is no space for them and a fifth more; on all ranks.
    """
    free = on_root(comm, lambda: shutil.disk_usage(directory).free)
    if free < _ROOM * needed:
        raise OSError(f"{size(free)} are free in the directory, and {size(_ROOM * needed)} are needed")
