"""Writes an hdf5 file, puts eight bytes of zeros in one of many places, looks at it and appends to it.

Each time it does so in a process of its own, which ends as programs do: HDF5 closes its files at exit.
Arguments: the folder, and how many places more.
"""

from __future__ import annotations

import ctypes
import os
import random
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from tailrace.core import IoError
from tailrace.io import series as tr


def write(path: Path, mode: str, steps: Iterable[int]) -> None:
    with tr.open(path, mode, **({"grid": tr.UniformGrid((4, 3, 2))} if mode == "w" else {})) as out:
        for step in steps:
            scalars = {"energy": 0.5 * step, "name": f"step {step}"}
            out.write_step(float(step), index=step, ux=np.full((2, 3, 4), float(step)), scalars=scalars)


def is_sound(path: Path) -> bool:
    return not tr.open(path).verify()


def append(path: Path) -> bool:
    write(path, "a", (3, 4))
    return True


def is_right(path: Path) -> bool:
    series = tr.open(path)
    steps = [(step.index, float(step["ux"].min()), float(step["ux"].max())) for step in series]
    return steps == [(step, float(step), float(step)) for step in range(5)]


def apart(work: Callable[[Path], bool], path: Path, at: int) -> bool:
    """Whether `work` was true, in a process of its own."""
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if work(path) else 2
        except IoError as error:
            print(work.__name__, repr(error)[:200], flush=True)
        ctypes.CDLL(None).exit(code)
    status = os.waitpid(child, 0)[1]
    assert not os.WIFSIGNALED(status), f"{work.__name__} died of signal {os.WTERMSIG(status)}, zeros at {at}"
    return os.WEXITSTATUS(status) == 0


def main(folder: str, damages: str) -> None:
    path = Path(folder) / "run.h5"
    write(path, "w", range(3))
    whole = path.read_bytes()
    heads = [found.start() for found in re.finditer(b"OHDR|OCHK|TREE|FRHP|BTHD|BTLF|GCOL", whole)]
    dice = random.Random(7)
    places = sorted({(head + 8 * k) // 8 * 8 for head in heads for k in range(1, 6)})
    places += [8 * dice.randrange(len(whole) // 8) for _ in range(20 * int(damages))]
    sound = refused = 0
    for at in places:
        path.write_bytes(whole[:at] + bytes(8) + whole[at + 8 :])
        if apart(is_sound, path, at):
            sound += 1
            assert apart(append, path, at), f"verify finds no damage, and appending fails, zeros at {at}"
            assert apart(is_right, path, at), f"appending spoilt the file, zeros at {at}"
        else:
            refused += not apart(append, path, at)
    print("sound", sound, "refused", refused)


if __name__ == "__main__":
    main(*sys.argv[1:])
