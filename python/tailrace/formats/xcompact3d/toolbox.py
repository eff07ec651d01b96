"""Snapshots and planes arranged by their shape, as the branch of Xcompact3D with the Python toolbox writes them.

`data/3d_snapshots/ux-000000005.bin` is the field, `data/xy_planes/ux-000000005.bin` a plane of it, of time step 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from .arrays import entries
from .run import Xcompact3dRun, find_input
from .snapshots import NAME, Xcompact3dSnapshots

# The directories, and the direction in which the arrays have one point; 0: in none.
DIRECTORIES = {
    "3d_snapshots": 0,
    "yz_planes": 1,
    "zy_planes": 1,
    "xz_planes": 2,
    "zx_planes": 2,
    "xy_planes": 3,
    "yx_planes": 3,
}


class ToolboxSnapshots(Xcompact3dSnapshots):
    """The files `NAME-STEP.bin` of one of the directories. `only`: read only this file."""

    def __init__(self, path: str, directory: Path, run: Xcompact3dRun, only: str | None = None) -> None:
        plane = DIRECTORIES[directory.name]
        super().__init__(path, directory, replace(run, plane=plane) if plane else run, only)
        if plane:
            self.notes.append(f"planes with one point in {'xyz'[plane - 1]}: the files do not say where they are")

    def step(self, number: int) -> tuple[int, float]:
        """The number in the name is the time step."""
        return number, number * self.run.dt if self.run.dt else float(number)


def directories_in(path: Path) -> Iterator[Path]:
    """The directories with files below that of a run or its `data`, the fields first."""
    for name in DIRECTORIES:
        for directory in (path / "data" / name, path / name):
            if entries(directory, NAME):
                yield directory


def input_above(directory: Path) -> Path | None:
    """The input file of the run that one of the directories, or its `data`, is of."""
    above = directory.absolute().parents
    for place in above[:2] if directory.name in DIRECTORIES else above[:1]:
        if found := find_input(place):
            return found
    return None
