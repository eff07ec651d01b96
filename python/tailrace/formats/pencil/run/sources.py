"""The snapshots of a data directory, by their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_NAME = re.compile(r"(VAR(\d{1,9})|var\.dat|var)(\.h5)?")


@dataclass(frozen=True)
class SnapshotSource:
    """A snapshot, by its name.

    :param number: the number in VARn; None for var.dat, which is written again and again.
    :param path: its file in `allprocs`, or the file of process 0.
    """

    number: int | None
    path: Path

    @property
    def is_hdf5(self) -> bool:
        """Whether it is an HDF5 file, by its name."""
        return self.path.suffix == ".h5"

    @property
    def is_shared(self) -> bool:
        """Whether all processes have one file."""
        return self.path.parent.name == "allprocs"

    def of_process(self, process: int) -> Path:
        """The file of a process."""
        return self.path if self.is_shared else self.path.parent.parent / f"proc{process}" / self.path.name


def source_at(path: Path) -> SnapshotSource | None:
    """The snapshot with the name of a path; None if it is another name."""
    match = _NAME.fullmatch(path.name)
    if match is None or (match[1] == "var" and not match[3]):
        return None
    return SnapshotSource(int(match[2]) if match[2] else None, path)


def snapshots_in(data: Path) -> tuple[list[SnapshotSource], list[str]]:
    """The snapshots of a data directory in the order of their numbers, var.dat last, and notes.

    If one exists twice, as after a conversion, the one in `allprocs` is taken, HDF5 files first.
    """
    sources: dict[str, SnapshotSource] = {}
    notes = []
    for directory in (data / "proc0", data / "allprocs"):
        files = sorted(directory.iterdir()) if directory.is_dir() else []
        for path in sorted(files, key=lambda path: path.suffix == ".h5"):
            source = source_at(path)
            if source is None or not path.is_file():
                continue
            key = "var.dat" if source.number is None else f"VAR{source.number}"
            if key in sources:
                notes.append(f"{source.path} is read; {sources[key].path}, another form of {key}, is not.")
            sources[key] = source
    return sorted(sources.values(), key=lambda source: (source.number is None, source.number)), notes
