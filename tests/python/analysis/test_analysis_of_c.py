"""A series written through the C interface is analysed without a grid file."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

from helpers.harness import mpi_run
from tailrace import core as _core
from tailrace.io.time_series import read_time_series


@pytest.mark.parametrize("boundaries", [b"periodic,periodic,free-slip", b"periodic,periodic,free-slip,"])
def test_set_grid_with_lengths_and_boundaries(tmp_path, boundaries):
    library = ctypes.CDLL(str(Path(_core.__file__).with_name("libtailrace.so")))
    library.tailrace_error_text.restype = ctypes.c_char_p
    series = ctypes.c_void_p()

    def call(name: str, *arguments: object) -> None:
        assert getattr(library, f"tailrace_{name}")(*arguments) == 0, library.tailrace_error_text().decode()

    points, lengths = (16, 12, 9), (2 * np.pi, 3.0, 1.5)
    shape, start = (ctypes.c_int64 * 3)(*points), (ctypes.c_int64 * 3)(0, 0, 0)
    spacing = (ctypes.c_double * 3)(lengths[0] / 16, lengths[1] / 12, lengths[2] / 8)
    call("new", ctypes.byref(series))
    call("set_grid", series, shape, (ctypes.c_double * 3)(), spacing, (ctypes.c_double * 3)(*lengths),
         boundaries)  # fmt: skip
    call("open_f", series, MPI.COMM_SELF.py2f(), str(tmp_path / "run.h5").encode(), b"w", b"")
    call("begin_step", series, ctypes.c_int64(3), ctypes.c_double(0.5))
    for number, name in enumerate((b"ux", b"uy", b"uz")):
        values = np.full(points[::-1], float(number))
        call("write", series, name, 8, 3, shape, start, shape, None, values.ctypes.data_as(ctypes.c_void_p))
    call("end_step", series)
    call("close", series)
    library.tailrace_free(ctypes.byref(series))

    script = "def analyse(step):\n    return {'mean': step['ux'].mean() + step['uz'].mean()}\n"
    (tmp_path / "mean.py").write_text(script)
    result = mpi_run.tailrace("analyse", "mean.py", "run.h5", cwd=tmp_path)
    assert result.code == 0, result.text
    found = read_time_series(tmp_path / "analysis" / "mean.csv")
    np.testing.assert_allclose((found["step"], found["time"], found["mean"]), ([3], [0.5], [2.0]))
