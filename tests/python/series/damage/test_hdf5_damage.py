"""hdf5 files with eight bytes of zeros, as a disk leaves them: what `verify` calls sound takes more steps, and nothing
ends the program."""

from __future__ import annotations

import os
import re

import h5py
import numpy as np
import pytest

from helpers.harness import mpi_run
from helpers.programs.series import zeroed_files
from tailrace.core import IoError
from tailrace.io import series as tr

DAMAGES = int(os.environ.get("TAILRACE_TEST_DAMAGES", "4"))  # see test_faults.py


def test_zeros_are_found_or_do_no_harm(tmp_path):
    result = mpi_run.finish(mpi_run.start_module(zeroed_files, tmp_path, DAMAGES, cwd=tmp_path), 240)
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
