"""Failures inside libraries that engines call: ADIOS2, HDF5 and MPI-IO keep ranks waiting, and Tailrace does not."""

import ctypes
import os
from pathlib import Path

import numpy as np
import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.programs.series import io_programs, library_failures


def failed(place: Path, how: str, *words: object) -> mpi_run.Result:
    """The end of a program of `library_failures` on three ranks."""
    process = mpi_run.start_module(library_failures, how, *words, cwd=place, ranks=3, aborting=True)
    return mpi_run.finish(process, 30)


def fail_inside(place: Path, name: str, which: int, file: str, *when: str) -> str:
    """Write on three ranks, one of which fails, and return what they printed."""
    result = failed(place, "inside", place / "run", name, which, file, *when)
    assert result.code != 0, result.text
    assert file in result.text, result.text
    return result.text


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", ["bp4", "bp5"])
def test_one_rank_fails_inside_adios2(tmp_path, one, name, which):
    """ADIOS2 leaves the others waiting: the program ends with a message, if they did not all get the error."""
    text = fail_inside(tmp_path, name, which, f"data.{which}")
    assert f"(on rank {which})" in text, text
    everybody = (name, which) == ("bp4", 0)  # engine: rank 0 writes last there
    assert text.count("ADIOS2 has not told the other ranks") == (0 if everybody else 1), text
    assert one.results(io_programs.check_series, path=str(tmp_path / "run"))[0] == [1]


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("when", ["early", "late"])
def test_one_rank_fails_inside_hdf5(tmp_path, one, when, which):
    """A file whose write failed is not closed either; a write that fails at the end keeps its rank inside."""
    text = fail_inside(tmp_path, "adios_hdf5", which, "step-00000002.h5", when)
    said = [line for line in text.splitlines() if line.startswith("tailrace: ")]
    assert len(said) == 1 and "Nothing was written for " in said[0], text
    assert when == "late" or f"(on rank {which})" in said[0], said
    assert one.results(io_programs.check_series, path=str(tmp_path / "run"))[0] == [1]


@pytest.mark.parametrize("name", ["mpiio", "hdf5"])
def test_a_collective_write_fails_midway(tmp_path, name):
    """Open MPI returns on no rank: the program ends with one message, and the step before is there."""
    result = failed(tmp_path, "midway", tmp_path / "run", name)
    said = [line for line in result.text.splitlines() if line.startswith("tailrace: ")]
    assert result.code != 0 and len(said) == 1 and "cannot write" in said[0] and "ending" in said[0], result.text
    with tr.open(tmp_path / "run") as series:
        assert [step.index for step in series] == [0]
        np.testing.assert_array_equal(series[0].read("u").ravel(), np.arange(3 * 64 * 256 * 256))


@pytest.mark.parametrize(("name", "file"), [("mpiio", "u-97531.bin"), ("adios_hdf5", "step-00097531.h5")])
def test_a_program_was_killed_while_it_opened_the_file(tmp_path, name, file):
    """Open MPI 4 then leaves the semaphore of the file locked, for every later program of the machine."""
    library = ctypes.CDLL("libc.so.6", use_errno=True)
    semaphore = f"OMPIO_{file}".encode()
    library.sem_open.restype = ctypes.c_void_p
    assert library.sem_open(semaphore, os.O_CREAT, 0o600, 0), os.strerror(ctypes.get_errno())
    try:
        result = failed(tmp_path, "after_a_kill", tmp_path / "run", name)
    finally:
        library.sem_unlink(semaphore)
    assert result.code == 0, result.text
    assert list((tmp_path / "run").glob(file))
