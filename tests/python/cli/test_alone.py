"""Programs that no launcher started: each of them with its own files of MPI."""

import os
import subprocess
import sys

from helpers.harness import mpi_run
from tailrace.machine import MPI_FILES, mpi_alone, without_own_files

OPENS = """
import subprocess, sys
from mpi4py import MPI
subprocess.run([sys.executable, "-c", "from mpi4py import MPI"], check=True, env={other!r})
MPI.File.Open(MPI.COMM_WORLD, {path!r}, MPI.MODE_CREATE | MPI.MODE_RDWR).Close()
"""


def test_a_program_that_ends_takes_nothing_from_another(tmp_path):
    """Open MPI gave all of a user one directory, which the first that ended removed: MPI-IO of the others met that."""
    program = OPENS.format(other=mpi_run.environment(), path=str(tmp_path / "file"))
    done = mpi_run.finish(mpi_run.start([sys.executable, "-c", program], tmp_path), 60)
    assert (done.code, done.err) == (0, "")


def test_no_two_programs_share_a_directory(monkeypatch):
    (one,), (other,) = (set(made.values()) - {"1"} for made in (mpi_alone(), mpi_alone()))
    assert one != other
    for name, value in mpi_alone().items():
        monkeypatch.setenv(name, value)
    kept = without_own_files()
    assert "OMPI_MCA_ess_singleton_isolated" in kept and set(os.environ) - set(kept) == set(mpi_alone()) - set(kept)


def test_what_a_user_gives_stays(tmp_path):
    """The directory of a user reaches the command; that of another command does not."""
    program = "import os, sys; from tailrace.cli import main; sys.argv = ['tailrace', '--help']\n"
    program += "try: main.main()\nexcept SystemExit: print(os.environ['OMPI_MCA_orte_jobfam_session_dir'])"
    for given, kept in ((f"{tmp_path}/mine", True), (f"{tmp_path}/tailrace-mpi-1-0", False)):
        environment = mpi_run.environment() | {MPI_FILES: given}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert (done.stdout.splitlines()[-1] == given) is kept
