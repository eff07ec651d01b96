"""Series, steps and fields in other processes, other threads and other directories."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import distributed
import h5py
import numpy as np
import pytest
import xarray as xr
from mpi4py import MPI

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.engines import KINDS
from helpers.programs.elsewhere import length_and_last, mean_of, of_field, of_step
from tailrace.io import series as arrays

GRID = tr.UniformGrid((12, 10, 8), spacing=(2 * np.pi / 12, 0.2, 0.25), boundaries=("periodic",) * 3)


def values(step: int) -> np.ndarray:
    x, y, z = (np.arange(n) for n in (12, 10, 8))
    return np.sin(x * 2 * np.pi / 12) + 0.1 * y[:, None] + z[:, None, None] ** 2 + 10.0 * step


def write(path, engine=None, steps=3):
    with tr.open(path, "w", engine=engine, grid=GRID) as out:
        for step in range(steps):
            out.write_step(0.5 * step, index=7 * step, ux=values(step), scalars={"n": step})
    return path


def foreign(path):
    with h5py.File(path, "w") as file:
        for step in range(3):
            file[f"Step{step}/ux"] = values(step)
            file[f"Step{step}"].attrs["time"] = 0.5 * step
    return path


HELPERS = str(Path(__file__).parents[1])


@pytest.fixture(scope="module", autouse=True)
def found_by_others():
    """The helpers, by processes that are started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", HELPERS)
        yield


@pytest.fixture(scope="module")
def workers():
    """Two processes that share nothing with this one."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("kind", [*KINDS, "foreign"], ids=str)
def test_what_is_pickled_is_read_again(kind, tmp_path, workers, monkeypatch):
    """By a relative path, from a process in another directory."""
    monkeypatch.chdir(tmp_path)
    path = foreign("other.h5") if kind == "foreign" else write(kind.place, kind.name)
    engine = None if kind == "foreign" else kind.name
    with tr.open(path, engine=engine, grid=GRID) as series:
        step = series[2].for_script({"kept": 3})
        want = float(values(2).sum())
        monkeypatch.chdir("/")
        assert series.path == str(path)
        count, last, _, process = workers.submit(length_and_last, series).result(60)
        assert (count, process != os.getpid()) == (3, True) and last == pytest.approx(want, rel=1e-14)
        expected = (step.index, 1.0, pytest.approx(want, rel=1e-14), {"kept": 3})
        assert workers.submit(of_step, step).result(60) == expected
        field = step["ux"]
        derived = float(tr.mean_square(tr.ddx(field)))
        for one in (series[2]["ux"], field, field * 1.0):  # not read, read, and a result
            got = workers.submit(of_field, one).result(60)
            assert got[:2] == (pytest.approx(want, rel=1e-14), pytest.approx(derived, rel=1e-13))
    assert len(pickle.loads(pickle.dumps(series))) == 3  # also after it was closed


def test_steps_of_one_message_share_their_series(tmp_path):
    path = write(tmp_path / "s.h5")
    with tr.open(path) as series:
        first, second = pickle.loads(pickle.dumps([series[0], series[2]]))
        assert first._series is second._series and (first.time, second.time) == (0.0, 1.0)
        u, v = pickle.loads(pickle.dumps((series[0]["ux"], series[2]["ux"])))
        assert float((v - u).mean()) == pytest.approx(20.0)


def test_what_cannot_be_pickled_says_so(tmp_path):
    path = write(tmp_path / "s.h5")
    with (
        tr.open(tmp_path / "w.h5", "w") as out,
        pytest.raises(tr.InputError, match=r"w\.h5: is open to write.*pickled"),
    ):
        pickle.dumps(out)
    with pytest.raises(tr.InputError, match="is of a running simulation or a stream"):
        operators = tr.open(path)[0].operators
        pickle.dumps(tr.Step(0, 0.0, operators, ["ux"], lambda name: values(0), attributes={}))


MANY = """
import pickle, sys
import numpy as np
from mpi4py import MPI
import tailrace as tr
series = tr.open(sys.argv[1], comm=MPI.COMM_WORLD)
said = []
for one in (series, series[0], series[0]["ux"], series[0]["ux"] * 2):
    try:
        pickle.dumps(one)
    except tr.InputError as error:
        said.append("2 ranks" in str(error) and "pickled" in str(error))
sys.stdout.write(f"said {said}" + chr(10))
"""


def test_a_live_communicator_is_a_clear_error(tmp_path):
    path = write(tmp_path / "s.h5")
    (tmp_path / "many.py").write_text(MANY)
    process = mpi_run.start([*mpi_run.mpiexec(2), sys.executable, tmp_path / "many.py", path], tmp_path)
    result = mpi_run.finish(process, 120)
    assert result.out.count("said [True, True, True, True]") == 2, result.text


def test_forked_processes(tmp_path):
    """`multiprocessing` forks by default: a child opens the series of its parent again."""
    path = write(tmp_path / "s.h5")
    program = f"""
import multiprocessing, sys
sys.path.insert(0, {HELPERS!r})
import tailrace as tr
from helpers.programs.elsewhere import length_and_last, of_step
series = tr.open({str(path)!r})
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(of_step, list(series)), len({{one[3] for one in pool.map(length_and_last, [series] * 4)}}) > 0)
"""
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=mpi_run.environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    sums = [float(values(step).sum()) for step in range(3)]
    assert result.stdout.endswith("True\n"), result.stderr[-2000:]
    assert [row[2] for row in eval(result.stdout.rsplit(" ", 1)[0])] == pytest.approx(sums)


@pytest.mark.parametrize("kind", [*KINDS, "foreign"], ids=str)
def test_dask_in_processes_and_threads(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = foreign("other.h5") if kind == "foreign" else write(kind.place, kind.name)
    with xr.open_dataset(path, engine="tailrace", chunks={"time": 1, "z": 4}) as data:
        monkeypatch.chdir("/")
        mean = data["ux"].mean()
        for scheduler in ("processes", "threads"):
            assert float(mean.compute(scheduler=scheduler, num_workers=2)) == pytest.approx(
                np.mean([values(step) for step in range(3)]), rel=1e-13
            )


def test_dask_distributed(tmp_path):
    """Workers are processes of their own, in directories of their own."""
    path = write(tmp_path / "s.bp", steps=4)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None, local_directory=tmp_path / "dask"
    )
    with cluster, distributed.Client(cluster) as client:
        with xr.open_dataset(path, engine="tailrace", chunks={}) as data:
            mean = data["ux"].mean("time").compute()
        np.testing.assert_allclose(mean, np.mean([values(step) for step in range(4)], axis=0), rtol=1e-13)
        with tr.open(path) as series:
            told = client.gather(client.map(of_step, list(series)))
        assert [row[0] for row in told] == [0, 7, 14, 21]


def test_a_pool_of_threads(tmp_path):
    path = write(tmp_path / "s.h5")
    with ThreadPoolExecutor(8) as pool, tr.open(path) as series:
        assert set(pool.map(mean_of, [path] * 24)) == {float(series[1]["ux"].mean())}
        got = list(pool.map(lambda at: float(series[at % 3]["ux"].mean()), range(48)))
    assert got == got[:3] * 16


# ---- os.chdir --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [*KINDS, "foreign"], ids=str)
def test_another_directory_after_opening_to_read(kind, tmp_path, monkeypatch):
    """Also one that has another series of the same name."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        path = (
            foreign("other.h5") if kind == "foreign" else write(kind.place, kind.name, steps=3 if name == "here" else 1)
        )
    monkeypatch.chdir(tmp_path / "here")
    with tr.open(path) as series, arrays.open(path) if kind != "foreign" else tr.open(path) as plain:
        assert series.path == str(path)
        data = series.to_xarray()
        monkeypatch.chdir(tmp_path / "there")
        for step in range(3):
            np.testing.assert_array_equal(series[step].read("ux"), values(step))
            np.testing.assert_array_equal(plain[step].read("ux"), values(step))
        assert series.verify() == [] and data.sizes["time"] == 3
        np.testing.assert_array_equal(data["ux"][2], values(2))
        assert all(Path(file).exists() for file in series.files)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("buffers", [0, 2])
def test_another_directory_while_writing(kind, tmp_path, monkeypatch, buffers):
    for name in ("here", "there", "gone"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    parameters = dict(kind.parameters) | {"buffers": buffers, "trace": "trace.json"}
    with tr.open(kind.place, "w", engine=kind.name, parameters=parameters, comm=MPI.COMM_SELF) as out:
        out.write_step(0.0, ux=values(0))
        monkeypatch.chdir(tmp_path / "there")
        out.write_step(0.5, ux=values(1))
        monkeypatch.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        out.set_attribute("late", 1)
        out.write_step(1.0, ux=values(2))
    monkeypatch.chdir(tmp_path)
    assert list((tmp_path / "there").iterdir()) == [] and (tmp_path / "here/trace.json").exists()
    with tr.open(kind.path(tmp_path / "here")) as series:
        assert series.verify() == [] and series.attributes["late"] == 1
        for step in range(3):
            np.testing.assert_array_equal(series[step].read("ux"), values(step))
