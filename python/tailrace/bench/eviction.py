"""Cold reads: files that are out of the page cache of this machine, and proof of it by what the device has read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

How = Literal["evicted", "dropped"]
_SECTOR = 512  # bytes of /proc/diskstats, whatever the device has


def files_below(paths: Iterable[Path]) -> Iterator[Path]:
    """The files of series, which are files or directories. Local."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            for directory, _, names in os.walk(path):
                yield from (Path(directory) / name for name in sorted(names))
        elif path.is_file():
            yield path


def send_to_disk(paths: Iterable[Path]) -> None:
    """Wait until the disk has the files: pages that it lacks cannot be given up. Local."""
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


def drop_all() -> bool:
    """Let the kernel give up all cached pages, directories and inodes; False without the right to. Local."""
    try:
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3", encoding="ascii")
    except OSError:
        return False
    return True


class Device:
    """What the device of a directory reads. Nothing is known of network file systems."""

    def __init__(self, directory: Path) -> None:
        number = directory.stat().st_dev
        self._name = f"{os.major(number)} {os.minor(number)}".split()

    def bytes_read(self) -> int | None:
        """Since the machine began; None where the kernel does not count them. Local."""
        with suppress(OSError, ValueError, IndexError):
            for line in Path("/proc/diskstats").read_text(encoding="ascii").splitlines():
                words = line.split()
                if words[:2] == self._name:
                    return int(words[5]) * _SECTOR
        return None
