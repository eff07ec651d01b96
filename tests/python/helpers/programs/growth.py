"""What it costs to write, open, read, append to and list a series of many tiny steps: bytes, calls and processor time.

Each operation is measured in this process, with the children that it waits for.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tailrace as tr

GRID = tr.UniformGrid((4, 3, 2), spacing=(0.5, 0.25, 0.125))
HOUR = 3600


@dataclass(frozen=True)
class Cost:
    """What the system counted: bytes and calls of read and write, and seconds of the processor."""

    read_bytes: int
    written_bytes: int
    reads: int
    writes: int
    seconds: float

    def as_dict(self) -> dict[str, float]:
        """The names and numbers."""
        return asdict(self)


def _now() -> Cost:
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    counts = (int(lines[name]) for name in ("rchar", "wchar", "syscr", "syscw"))
    used = os.times()
    return Cost(*counts, used.user + used.system + used.children_user + used.children_system)


def cost_of(work: Callable[[], object]) -> Cost:
    """The cost of a call."""
    before = _now()
    work()
    after = _now()
    return Cost(
        *(late - early for early, late in zip(before.as_dict().values(), after.as_dict().values(), strict=True))
    )


def bytes_of_an_opening(comm: Any, path: str) -> int:
    """What this rank reads to open a series and to look at its last step. Collective."""

    def look() -> None:
        with tr.open(path, comm=comm) as series:
            assert series[-1].variables

    look()  # which imports modules
    return cost_of(look).read_bytes


# ---- the operations --------------------------------------------------------------------------------------------------
def _step(out: tr.Series, number: int) -> None:
    ux = np.full((2, 3, 4), 0.5 + number)
    out.write_step(0.01 * number, index=number, scalars={"energy": 0.25 * number}, ux=ux, p=-ux)


def write(path: Path, engine: str, steps: int) -> None:
    """Write a new series."""
    with tr.open(path, "w", engine=engine, grid=GRID) as out:
        for number in range(steps):
            _step(out, number)


def append(path: Path, engine: str, steps: int) -> None:
    """Open to append, and write one step."""
    with tr.open(path, "a", engine=engine) as out:
        _step(out, steps + 1)  # "read live" has added one


def open_only(path: Path, engine: str, steps: int) -> None:
    """Open to read."""
    with tr.open(path, engine=engine) as series:
        assert len(series) >= steps


def read(path: Path, engine: str, steps: int) -> None:
    """Read an array and the numbers of each step."""
    with tr.open(path, engine=engine) as series:
        count = 0
        for number, step in enumerate(series):
            assert step.read("ux")[1, 2, 3] == 0.5 + number
            assert step.scalars["energy"] == 0.25 * number
            count += 1
        assert count >= steps


def read_new(path: Path, engine: str, steps: int) -> None:
    """The same where the files have just changed, and no writer says more; here they say so for an hour."""
    _date(path, HOUR)
    read(path, engine, steps)


def xarray(path: Path, engine: str, steps: int) -> None:
    """Open with xarray, and look at the coordinates."""
    import xarray as xr

    with xr.open_dataset(path, engine="tailrace") as found:
        assert len(found["time"].values) == len(found["step"].values) >= steps
        assert len(found["x"].values) == 4


def info(path: Path, engine: str, steps: int) -> None:
    """What `tailrace info` does."""
    from tailrace.cli import listing
    from tailrace.inspection import contents

    found = contents.contents(path)
    assert found.engine == engine and len(found.steps) >= steps
    listing.show(found, False)


OPERATIONS: dict[str, Callable[[Path, str, int], None]] = {
    "write": write,
    "open": open_only,
    "read": read,
    "read new": read_new,
    "read live": read,
    "xarray": xarray,
    "info": info,
    "append": append,
}


def _date(path: Path, seconds: float) -> None:
    """Give all files a time of modification so many seconds from now."""
    moment = time.time() + seconds
    for one in [path, *path.rglob("*")] if path.is_dir() else [path]:
        os.utime(one, (moment, moment))


def measure(path: Path, engine: str, steps: int, operation: str) -> Cost:
    """The cost of one operation; all but "write" need its series. Only "read new" and "read live" meet files that are
    new; the latter reads beside a writer, which has just added a step.

    What a first use loads is not counted: the operation is done on a short series before.
    """
    work = OPERATIONS[operation]
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        short = Path(folder) / path.name
        write(short, engine, 3)
        work(short, engine, 3)
    if operation != "write":
        _date(path, -HOUR)
    if operation == "read live":
        with tr.open(path, "a", engine=engine) as out:
            _step(out, steps)
            return cost_of(lambda: work(path, engine, steps))
    return cost_of(lambda: work(path, engine, steps))
