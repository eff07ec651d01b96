"""Cold reads: remove files from the page cache of this machine, and prove it by the bytes that the device reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

COLD, DROPPED = (
    "cold",
    "dropped",
)  # caches of reads: the pages of the files were evicted; the machine dropped all caches
_ALL = Path("/proc/sys/vm/drop_caches")
_SECTOR = 512  # bytes: the unit of /proc/diskstats, for every device


def files_below(paths: Iterable[Path]) -> Iterator[Path]:
    """All files of series; a series is a file or a directory."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            for directory, _, names in os.walk(path):
                yield from (Path(directory) / name for name in sorted(names))
        elif path.is_file():
            yield path


def send_to_disk(paths: Iterable[Path]) -> None:
    """Wait until the files are on the disk. Before that, their pages cannot be evicted."""
    for path in files_below(paths):
        with suppress(OSError):
            file = os.open(path, os.O_RDONLY)
            try:
                os.fsync(file)
            finally:
                os.close(file)


def evict(paths: Iterable[Path]) -> None:
    """Ask the kernel to drop the cached pages of files (posix_fadvise). Call it on one rank of each node."""
    for path in files_below(paths):
        with suppress(OSError):
            file = os.open(path, os.O_RDONLY)
            try:
                os.fsync(file)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)


def drop_all() -> None:
    """Let the kernel drop all cached pages, directories and inodes. Call it on one rank of each node.

    :raises OSError: this program does not have the right to do so.
    """
    os.sync()
    _ALL.write_text("3", encoding="ascii")


def check_drop() -> None:
    """Check that `drop_all` may be called.

    :raises ValueError: this program does not have the right to drop all caches, or the system cannot do it.
    """
    try:
        os.close(os.open(_ALL, os.O_WRONLY))
    except OSError as error:
        raise ValueError(
            f"--drop-caches: {_ALL} cannot be written ({error.strerror}); expected the right to, which root has on "
            "Linux outside most containers. Without the option, cold reads evict the pages of their own files"
        ) from None


class Device:
    """The bytes that the device of a directory has read. Network file systems have no such count."""

    def __init__(self, directory: Path) -> None:
        number = directory.stat().st_dev
        self._name = f"{os.major(number)} {os.minor(number)}".split()

    def bytes_read(self) -> int | None:
        """Bytes read since the machine started; None if the kernel does not count them."""
        with suppress(OSError, ValueError, IndexError):
            for line in Path("/proc/diskstats").read_text(encoding="ascii").splitlines():
                words = line.split()
                if words[:2] == self._name:
                    return int(words[5]) * _SECTOR
        return None
