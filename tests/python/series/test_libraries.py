"""Failures inside libraries that engines call: ADIOS2, HDF5 and MPI-IO keep ranks waiting, and Tailrace does not."""

import ctypes
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.programs import io_programs

FAILS_INSIDE = """
import os
import sys
from pathlib import Path
from mpi4py import MPI
import tailrace as tr
from helpers.inputs.steps import write_arrays, write_step
comm, path, engine, which, name = MPI.COMM_WORLD, sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
out = tr.open(path, "w", comm=comm, engine=engine, parameters={"failure_timeout": 1})
write_step(out, comm, 1)
out.begin_step(2, 1.0)
if "late" in sys.argv:
    write_arrays(out, comm, 2)
if comm.rank == which:  # the open file fails, and the one of that name shows nothing beforehand
    full = os.open("/dev/full", os.O_RDWR)
    for entry in list(Path("/proc/self/fd").iterdir()):
        if entry.exists() and entry.resolve().name == name:
            os.dup2(full, int(entry.name))
if "late" not in sys.argv:
    write_arrays(out, comm, 2)
out.end_step()
"""


def fail_inside(place: Path, name: str, which: int, file: str, *when: str) -> str:
    """Run FAILS_INSIDE on three ranks, and return what it printed."""
    (place / "program.py").write_text(FAILS_INSIDE)
    helpers = {"PYTHONPATH": str(Path(__file__).parents[1])}
    program = [place / "program.py", place / "run", name, which, file, *when]
    command = [*mpi_run.mpiexec(3), sys.executable, "-m", "mpi4py", *program]
    result = mpi_run.finish(mpi_run.start(command, place, helpers), 30)
    assert result.code != 0, result.text
    assert file in result.text, result.text
    return result.text


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", ["bp4", "bp5"])
def test_one_rank_fails_inside_adios2(tmp_path, one, name, which):
    """ADIOS2 leaves the others waiting: the program ends with a message, if they did not all get the error."""
    text = fail_inside(tmp_path, name, which, f"data.{which}")
    assert f"(on rank {which})" in text, text
    everybody = (name, which) == ("bp4", 0)  # rank 0 writes last there
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


FAILS_MIDWAY = """
import resource
import sys
import threading
import time
from pathlib import Path
import numpy as np
from mpi4py import MPI
import tailrace as tr
comm, path, engine = MPI.COMM_WORLD, sys.argv[1], sys.argv[2]
out = tr.open(path, "w", comm=comm, engine=engine, parameters={"transfer": "collective", "failure_timeout": 1})
n, planes = 256, 64
first = planes * n * n * comm.rank
values = np.arange(first, first + planes * n * n, dtype=float).reshape(planes, n, n)
data = tr.Block(values, (n, n, planes * comm.size), (0, 0, planes * comm.rank))
def written():
    return int(Path("/proc/self/io").read_text().split("wchar: ")[1].split()[0])
def cut(before):  # on the rank that writes for others
    while written() < before + (20 << 20):
        time.sleep(0.001)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
for step in range(2):
    out.begin_step(step, 0.0)
    if step:
        threading.Thread(target=cut, args=(written(),), daemon=True).start()
    out.write("u", data)
    out.end_step()
"""


@pytest.mark.parametrize("name", ["mpiio", "hdf5"])
def test_a_collective_write_fails_midway(tmp_path, name):
    """Open MPI returns on no rank: the program ends with one message, and the step before is there."""
    (tmp_path / "program.py").write_text(FAILS_MIDWAY)
    command = [*mpi_run.mpiexec(3), sys.executable, "-m", "mpi4py", tmp_path / "program.py", tmp_path / "run", name]
    result = mpi_run.finish(mpi_run.start(command, tmp_path), 30)
    said = [line for line in result.text.splitlines() if line.startswith("tailrace: ")]
    assert result.code != 0 and len(said) == 1 and "cannot write" in said[0] and "ending" in said[0], result.text
    with tr.open(tmp_path / "run") as series:
        assert [step.index for step in series] == [0]
        np.testing.assert_array_equal(series[0].read("u").ravel(), np.arange(3 * 64 * 256 * 256))


AFTER_A_KILL = """
import sys
from mpi4py import MPI
import numpy as np
import tailrace as tr
comm, path, engine = MPI.COMM_WORLD, sys.argv[1], sys.argv[2]
with tr.open(path, "w", comm=comm, engine=engine, parameters={"collect_bytes": 0} if engine == "mpiio" else {}) as out:
    out.begin_step(97531, 0.0)
    out.write("u", tr.Block(np.ones((2, 3, 4)), (4, 3, 2 * comm.size), (0, 0, 2 * comm.rank)))
    out.end_step()
"""


@pytest.mark.parametrize(("name", "file"), [("mpiio", "u-97531.bin"), ("adios_hdf5", "step-00097531.h5")])
def test_a_program_was_killed_while_it_opened_the_file(tmp_path, name, file):
    """Open MPI 4 then leaves the semaphore of the file locked, for every later program of the machine."""
    library = ctypes.CDLL("libc.so.6", use_errno=True)
    semaphore = f"OMPIO_{file}".encode()
    library.sem_open.restype = ctypes.c_void_p
    assert library.sem_open(semaphore, os.O_CREAT, 0o600, 0), os.strerror(ctypes.get_errno())
    try:
        (tmp_path / "program.py").write_text(AFTER_A_KILL)
        command = [*mpi_run.mpiexec(3), sys.executable, tmp_path / "program.py", tmp_path / "run", name]
        result = mpi_run.finish(mpi_run.start(command, tmp_path), 30)
    finally:
        library.sem_unlink(semaphore)
    assert result.code == 0, result.text
    assert list((tmp_path / "run").glob(file))
