"""File systems without locks: what HDF5 says of them reaches the user, with the way out."""

import os
import subprocess
import sys

import pytest

from helpers.harness import mpi_run

NO_LOCKS = "#include <errno.h>\nint flock(int file, int how) { errno = ENOSYS; return -1; }\n"
WRITE = """
import numpy as np, tailrace as tr
try:
    with tr.open("s", "w", engine={engine!r}) as out:
        out.write_step(0.0, u=np.ones((2, 3, 4)))
    print(float(tr.open("s")[0].read("u").sum()))
except tr.IoError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("engine", "needs_locks"), [("adios_hdf5", True), ("hdf5", False), ("raw", False), ("bp5", False)]
)
def test_a_file_system_without_locks(tmp_path, engine, needs_locks):
    (tmp_path / "no_locks.c").write_text(NO_LOCKS)
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", "no_locks.so", "no_locks.c"], cwd=tmp_path, check=True)
    results = []
    for locking in ("TRUE", "FALSE"):
        more = {"HDF5_USE_FILE_LOCKING": locking, "LD_PRELOAD": str(tmp_path / "no_locks.so")}
        process = subprocess.run(
            [sys.executable, "-c", WRITE.format(engine=engine)], cwd=tmp_path, env=mpi_run.environment() | more,
            capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        results.append(process.stdout.strip())
    assert results[1] == "24.0", results
    if needs_locks:
        assert "lock" in results[0] and "set HDF5_USE_FILE_LOCKING=FALSE" in results[0], results
    else:
        assert results[0] == "24.0", results
