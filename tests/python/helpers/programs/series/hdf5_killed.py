"""Writes a series again and again, and is killed after one call more each time, until it is not killed any more.

Argument: the folder. The library of tests/cpp/record_calls.cpp must be loaded before the others.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.io import series as tr


def write_step(out: Any, step: int) -> None:
    names = ["ux", "uy", "uz"] if step else ["ux"]  # from step 1 on there is the view of a vector
    values = {name: np.full((2, 3, 4), float(step)) for name in names}
    out.write_step(0.5 * step, values, index=step, scalars={"energy": 0.5 * step})


def write(path: Path) -> None:
    with tr.open(path, "w", grid=tr.UniformGrid((4, 3, 2))) as out:
        for step in range(3):
            write_step(out, step)
    with tr.open(path, "a", rewind_to=1) as out:
        for step in (2, 3):
            write_step(out, step)


def main(top: str) -> None:
    status, calls = 1, 0
    while status:
        calls += 1
        folder = Path(top) / str(calls)
        folder.mkdir()
        child = os.fork()
        if not child:
            ctypes.CDLL(None).record_calls_until(calls)
            write(folder / "run.h5")
            os._exit(0)
        status = os.waitpid(child, 0)[1]


if __name__ == "__main__":
    main(sys.argv[1])
