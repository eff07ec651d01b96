"""Paths of up to 900 characters with every engine. Open MPI's MPI-IO ended the program on more than 244."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tailrace as tr
from helpers.harness.engines import ENGINES
from helpers.harness.kept import KEPT
from helpers.programs.series import anything


def long_folder(tmp_path, length):
    """A folder whose path has so many characters."""
    folder = tmp_path
    while len(str(folder)) < length - 200:
        folder /= "d" * 99
    folder /= "e" * max(length - len(str(folder)) - 1, 1)
    folder.mkdir(parents=True)
    return folder


# The first three are around the limit with the names that the engines add.
@pytest.mark.parametrize("length", [225, 235, 244, 900])
@pytest.mark.parametrize("ranks", [1, 2])
def test_every_engine_writes_and_reads_there(tmp_path, ranks, length):
    folder = long_folder(tmp_path, length)
    found = KEPT.ranks(ranks).results(anything.write_once, folder=str(folder), engines=[str(one) for one in ENGINES])
    assert found == ranks * [{str(engine): 2.5 * 24 for engine in ENGINES}]


def test_a_program_that_wants_shared_file_pointers_is_told(tmp_path):
    """They are what the limit comes from; a program of C or Fortran has them if nobody says otherwise."""
    text = """
import sys, numpy as np, tailrace as tr
try:
    with tr.open(sys.argv[1], "w", engine="mpiio", parameters={"collect_bytes": 0}) as series:
        series.write_step(0.0, {"u": np.ones((2, 3, 4))})
except tr.IoError as error:
    print(error)
"""
    path = long_folder(tmp_path, 300) / "run"
    done = subprocess.run(
        [sys.executable, "-c", text, path], env=os.environ | {"OMPI_MCA_sharedfp": "sm,lockedfile,individual"},
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0 and "ends a program on more than 244" in done.stdout, done
    assert not tr.open(path).verify()
    assert np.size(tr.open(path).steps) == 0
