"""Fixtures of the tests of the command line."""

import os

import pytest

MPI_MARKS = ("OMPI_", "PMI_", "PMIX_", "PALS_", "SLURM_")


@pytest.fixture
def outside_mpi(monkeypatch, tmp_path):
    """No trace of a launcher in the environment, and a directory of the test's own."""
    for name in [name for name in os.environ if name.startswith(MPI_MARKS)]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("TAILRACE_TRACEBACK", raising=False)
    monkeypatch.chdir(tmp_path)
