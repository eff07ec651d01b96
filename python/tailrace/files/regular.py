"""Opening files that a user or another file names.

Only regular files are opened: a program that opens a named pipe waits for another program, and one that reads a device
may never come to its end.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO, Any

_KINDS = {
    stat.S_IFIFO: "it is a named pipe",
    stat.S_IFSOCK: "it is a socket",
    stat.S_IFCHR: "it is a device",
    stat.S_IFBLK: "it is a device",
}


def is_there(path: str | Path) -> bool:
    """Whether there is anything at a path, also a link that leads nowhere.

    :raises OSError: the system does not tell, for which os.path.lexists says that there is nothing.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def refuse_special(path: str | Path) -> None:
    """Check a file before a library opens it.

    :raises OSError: there is a named pipe, a socket or a device at `path`.
    """
    if Path(path).exists():
        _refuse(Path(path).stat().st_mode, str(path))


def _refuse(mode: int, path: str) -> None:
    kind = _KINDS.get(stat.S_IFMT(mode))
    if kind:
        raise OSError(errno.EINVAL, f"{kind}; expected a regular file", path)


def _open(path: str, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a named pipe without a reader
            refuse_special(path)
        raise
    try:
        _refuse(os.fstat(descriptor).st_mode, path)
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_descriptor(path: str | Path) -> int:
    """Open a regular file for reading, without ever waiting; returns the descriptor.

    :raises OSError: also for a named pipe, a socket or a device.
    """
    return _open(str(path), os.O_RDONLY)


def open_regular(path: str | Path, mode: str = "r", **options: Any) -> IO[Any]:
    """Like the built-in `open`, but for regular files only; it never waits.

    :raises OSError: also for a named pipe, a socket or a device.
    """
    return open(path, mode, opener=_open, **options)
