"""hdf5 files with eight bytes of zeros, as a disk leaves them: what `verify` calls sound takes more steps, and nothing
ends the program."""

from __future__ import annotations

import os
import re
import sys

import h5py
import numpy as np
import pytest

from helpers.harness import mpi_run
from tailrace._core import IoError
from tailrace.io import series as tr

DAMAGES = int(os.environ.get("TAILRACE_TEST_DAMAGES", "4"))  # see test_faults.py
# Verifies and appends in processes of their own, which end as programs do: HDF5 closes its files at exit.
PROGRAM = """
import ctypes, os, random, re, sys
import numpy as np
from tailrace._core import IoError
from tailrace.io import series as tr

folder, damages = sys.argv[1], int(sys.argv[2])
path = folder + "/run.h5"

def write(mode, steps):
    with tr.open(path, mode, **({"grid": tr.UniformGrid((4, 3, 2))} if mode == "w" else {})) as out:
        for step in steps:
            scalars = {"energy": 0.5 * step, "name": f"step {step}"}
            out.write_step(float(step), index=step, ux=np.full((2, 3, 4), float(step)), scalars=scalars)

def is_sound():
    return not tr.open(path).verify()

def append():
    write("a", (3, 4))
    return True

def is_right():
    series = tr.open(path)
    steps = [(step.index, float(step["ux"].min()), float(step["ux"].max())) for step in series]
    return steps == [(step, float(step), float(step)) for step in range(5)]

def apart(work):
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if work() else 2
        except IoError as error:
            print(work.__name__, repr(error)[:200], flush=True)
        ctypes.CDLL(None).exit(code)
    status = os.waitpid(child, 0)[1]
    assert not os.WIFSIGNALED(status), f"{work.__name__} died of signal {os.WTERMSIG(status)}, zeros at {at}"
    return os.WEXITSTATUS(status) == 0

write("w", range(3))
whole = open(path, "rb").read()
heads = [found.start() for found in re.finditer(b"OHDR|OCHK|TREE|FRHP|BTHD|BTLF|GCOL", whole)]
dice = random.Random(7)
places = sorted({(head + 8 * k) // 8 * 8 for head in heads for k in range(1, 6)})
places += [8 * dice.randrange(len(whole) // 8) for _ in range(20 * damages)]
sound = refused = 0
for at in places:
    open(path, "wb").write(whole[:at] + bytes(8) + whole[at + 8 :])
    if apart(is_sound):
        sound += 1
        assert apart(append), f"verify finds no damage, and appending fails, zeros at {at}"
        assert apart(is_right), f"appending spoilt the file, zeros at {at}"
    else:
        refused += not apart(append)
print("sound", sound, "refused", refused)
"""


def test_zeros_are_found_or_do_no_harm(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    result = mpi_run.finish(mpi_run.start([sys.executable, program, tmp_path, DAMAGES], tmp_path), 240)
    assert result.code == 0, result.text[-3000:]
    sound, refused = (int(word) for word in result.out.splitlines()[-1].split()[1::2])
    assert sound > 10 and refused > 10


def test_a_chunk_that_the_index_has_lost_is_found_before_appending(tmp_path):
    """The index has no checksums, and what HDF5 adds to a damaged one may lie in the place of something else."""
    path = tmp_path / "run.h5"
    with tr.open(path, "w") as out:
        for step in range(3):
            out.write_step(float(step), index=step, ux=np.full((2, 3, 4), float(step)))
    data = bytearray(path.read_bytes())
    counts = [found.end() + 1 for found in re.finditer(b"TREE\1", data)]  # behind the level: entries in use
    (used,) = [at for at in counts if data[at] == 3]
    data[used] = 2
    path.write_bytes(data)
    said = "VTKHDF/PointData/ux: it has 2 chunks instead of 3"
    assert any(said in line for line in tr.open(path).verify())
    with pytest.raises(IoError, match=f"it is damaged .*{said}"):
        tr.open(path, "a")


def test_coordinates_that_cannot_be(tmp_path):
    path = tmp_path / "run.h5"
    with tr.open(path, "w", grid=tr.StretchedGrid((4, 3, 2), coordinates=((), (0.0, 0.1, 0.4), ()))) as out:
        out.write_step(0.0, ux=np.ones((2, 3, 4)))
    with h5py.File(path, "a") as file:
        file["Tailrace/coordinates/y"][...] = [0.0, 0.4, 0.1]
    for mode in ("r", "a"):
        with pytest.raises(IoError, match=r"cannot open .*it is damaged \(grid: coordinate 2 in y is 0\.1, not"):
            tr.open(path, mode)
