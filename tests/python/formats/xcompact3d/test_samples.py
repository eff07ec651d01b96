"""The runs of Xcompact3D itself."""

import lzma
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import tailrace as tr

SAMPLES = os.environ.get("TAILRACE_SAMPLES")
pytestmark = pytest.mark.skipif(not SAMPLES, reason="TAILRACE_SAMPLES is not set: these are runs of Xcompact3D")
ROOT = Path(SAMPLES or ".") / "xcompact3d"


def test_every_number_is_that_of_numpy():
    with tr.open(ROOT / "tgv33") as series:
        assert [(step.index, step.time) for step in series] == [(2000, 10.0), (4000, 20.0)]
        for step, number in zip(series, (2, 4), strict=True):
            for name in ("ux", "uy", "uz", "pp", "vort", "critq"):
                raw = np.fromfile(ROOT / "tgv33" / "data" / f"{name}-{number}.bin").reshape(33, 33, 33)
                np.testing.assert_array_equal(step.read(name), raw)
    with tr.open(ROOT / "tgv33" / "checkpoint") as state:
        raw = np.fromfile(ROOT / "tgv33" / "checkpoint")
        np.testing.assert_array_equal(state[0].read("uz").ravel(), raw[2 * 33**3 : 3 * 33**3])
        np.testing.assert_array_equal(state[0].read("pp").ravel(), raw[3 * 33**3 :])


def test_enstrophy_is_that_of_the_history():
    with tr.open(ROOT / "tgv33") as series, tr.open(ROOT / "tgv33" / "time_evol.dat") as history:
        times, enstrophy = (history[0].read(name).ravel() for name in ("t", "enstrophy"))
        for step in series:
            w = tr.curl(step.vector("u"))
            row = np.argmin(abs(times - step.time))
            assert times[row] == pytest.approx(step.time, abs=1e-9)
            assert 0.5 * tr.mean(w @ w) == pytest.approx(enstrophy[row], rel=1e-9)


def test_output_through_adios2():
    with tr.open(ROOT / "bp4_33") as series:
        assert [(step.index, step.time) for step in series] == [(10 * n, 10 * n * 0.005) for n in range(1, 6)]
        history = np.loadtxt(ROOT / "bp4_33" / "time_evol.dat")
        for step, row in zip(series, history, strict=True):  # both every 10 steps
            u = step.vector("u")
            assert 0.5 * tr.mean(u @ u) == pytest.approx(row[1], rel=1e-10)


@pytest.mark.parametrize("name", ["chan_s", "lock", "slipbox"])
def test_other_flows(tmp_path, name):
    source = ROOT / "flows" / name
    shutil.copy(source / "input.i3d", tmp_path)
    raw = {
        path.stem: lzma.decompress(path.read_bytes()) for path in source.glob("*-[12].bin.xz") if "raw" not in path.name
    }
    for file, content in raw.items():
        (tmp_path / file).write_bytes(content)
    with tr.open(tmp_path) as series:
        for number, step in enumerate(series, 1):
            for variable in step.variables:
                values = np.frombuffer(raw[f"{variable}-{number}.bin"])
                np.testing.assert_array_equal(step.read(variable).ravel(), values)
        assert {f"{v}-{n}.bin" for n, step in enumerate(series, 1) for v in step.variables} == set(raw)
        if name == "chan_s":
            metrics = np.frombuffer(lzma.decompress((source / "metrics.bin.xz").read_bytes())).reshape(8, -1)
            np.testing.assert_allclose(series.grid.coordinates[1], metrics[0], rtol=0, atol=1e-14)
