"""Cold reads: files that are out of the page cache of this machine, and proof of it by what the device has read."""

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
_SECTOR = 512  # bytes of /proc/diskstats, whatever the device has


def files_below(paths: Iterable[Path]) -> Iterator[Path]:
    """The files of series, which are files or directories."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            for directory, _, names in os.walk(path):
                yield from (Path(directory) / name for name in sorted(names))
        elif path.is_file():
            yield path


def send_to_disk(paths: Iterable[Path]) -> None:
    """Wait until the disk has the files: pages that it lacks cannot be given up."""
    for path in files_below(paths):
        with suppress(OSError):
            file = os.open(path, os.O_RDONLY)
            try:
                os.fsync(file)
            finally:
                os.close(file)


def evict(paths: Iterable[Path]) -> None:
    """Ask the kernel to give up the cached pages of files (posix_fadvise). Local: on one rank of each node."""
    for path in files_below(paths):
        with suppress(OSError):
            file = os.open(path, os.O_RDONLY)
            try:
                os.fsync(file)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)


def drop_all() -> None:
    """Let the kernel give up all cached pages, directories and inodes. Local: on one rank of each node.

    :raises OSError: without the right to.
    """
    os.sync()
    _ALL.write_text("3", encoding="ascii")


def check_drop() -> None:
    """Check that `drop_all` may be called.

    :raises ValueError: this program has not the right to drop all caches, or the system has no such thing.
    """
    try:
        os.close(os.open(_ALL, os.O_WRONLY))
    except OSError as error:
        raise ValueError(
            f"--drop-caches: {_ALL} cannot be written ({error.strerror}); expected the right to, which root has on "
            "Linux outside most containers. Without the option, cold reads evict the pages of their own files"
        ) from None


class Device:
    """What the device of a directory reads. Nothing is known of network file systems."""

    def __init__(self, directory: Path) -> None:
        number = directory.stat().st_dev
        self._name = f"{os.major(number)} {os.minor(number)}".split()

    def bytes_read(self) -> int | None:
        """Since the machine began; None where the kernel does not count them."""
        with suppress(OSError, ValueError, IndexError):
            for line in Path("/proc/diskstats").read_text(encoding="ascii").splitlines():
                words = line.split()
                if words[:2] == self._name:
                    return int(words[5]) * _SECTOR
        return None
