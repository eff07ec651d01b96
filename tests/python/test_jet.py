"""A research task from beginning to end, as a user does it: a jet between walls with a dye, its own noise, slices, a
probe and its own statistics; interrupted, continued on other ranks, computed for three Reynolds numbers, drawn at once.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from matplotlib.image import imread

from helpers.harness import mpi_run

TASK = Path(__file__).parent / "helpers/inputs/jet"
REYNOLDS = (200, 500, 1000)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    directory = tmp_path_factory.mktemp("jet") / "task"
    shutil.copytree(TASK, directory)
    return directory


def run(place, *words, ranks=2):
    result = mpi_run.tailrace("run", "jet.toml", "-n", str(ranks), *words, cwd=place, limit=300)
    assert result.code == 0, result.text
    assert "warning" not in result.text.lower(), result.text
    return result


def rows(place):
    lines = (place / "time_series.csv").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def steps_of(path):
    """All arrays of a series of HDF5, by name, read by h5py."""
    with h5py.File(path) as file:
        found = {}
        file.visititems(lambda name, one: found.update({name: one[...]}) if isinstance(one, h5py.Dataset) else None)
    return found


@pytest.fixture(scope="module")
def whole(place):
    run(place, "--directory", "whole")
    return place / "whole"


def test_it_goes_on_after_ctrl_c_on_other_ranks(place, whole):
    command = mpi_run.tailrace_command("run", "jet.toml", "-n", "2", "--directory", "cut")
    job = mpi_run.start(command, place)
    end = time.monotonic() + 240
    while not (table := place / "cut/time_series.csv").exists() or len(rows(place / "cut")) < 3:
        assert time.monotonic() < end and job.poll() is None, table
        time.sleep(0.05)
    os.kill(job.pid, signal.SIGINT)
    stopped = mpi_run.finish(job, 120)
    assert stopped.code in (128 + signal.SIGINT, 128 + signal.SIGTERM), stopped.text
    assert "go on with --resume, from checkpoints/step-" in stopped.text
    assert "killed" not in stopped.text and "Forwarding signal" not in stopped.text, stopped.text
    run(place, "--directory", "cut", "--resume", ranks=3)
    assert rows(place / "cut") == rows(whole)
    for name in ("slice.h5", "probe.h5", "analysis/moments.h5"):
        here, there = steps_of(place / "cut" / name), steps_of(whole / name)
        assert here.keys() == there.keys() and here
        for key, values in there.items():
            if values.dtype.kind == "f":  # means along axes may differ in their last digit
                np.testing.assert_allclose(here[key], values, rtol=1e-12, atol=1e-15, err_msg=f"{name}: {key}")


def test_slices_and_probe_are_at_their_places(whole):
    import tailrace as tr

    with tr.open(whole / "slice.h5") as slices, tr.open(whole / "probe.h5") as probe:
        assert slices[0]["dye"].shape == (1, 96, 64)
        assert [step.time for step in slices] == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])
        assert probe[0]["dye"].shape == (1, 1, 1)
        x, y, z = (along[0] for along in probe.grid.coordinates)
        assert (x, z) == (4.0, 2.0) and abs(y - 3) < 0.04
        at = int(np.abs(np.asarray(slices.grid.coordinates[1]) - y).argmin())
        for step in slices:  # the probe has every step, the slice the one plane through it
            one = next(other for other in probe if other.index == step.index)
            assert np.asarray(one["ux"])[0, 0, 0] == np.asarray(step["ux"])[0, at, 32]


def test_the_dye_obeys_its_budget(whole):
    """Walls without flux keep it, and diffusion with Schmidt number 0.7 takes its variance away."""
    from tailrace.io.time_series import read_time_series

    table = read_time_series(whole / "time_series.csv")
    assert abs(np.ptp(table["dye_mean"])) < 1e-5 * table["dye_mean"][0]
    assert (np.diff(table["dye_square"]) < 0).all()
    assert table["dye_max"].max() < 1.01 and table["dye_min"].min() > -0.02
    assert abs(np.asarray(table["energy_residual"])[1:]).max() < 0.01 * table["dissipation"][0]


def test_three_reynolds_numbers_in_one_picture(place):
    final = {}
    for reynolds in REYNOLDS:
        run(place, "--directory", f"re_{reynolds}", f"--set=case.reynolds={reynolds}", "--set=time.end=0.6")
        moments = steps_of(place / f"re_{reynolds}/analysis/moments.h5")
        lists = {int(name.rpartition("/")[2]): values for name, values in moments.items() if "Lists/u/" in name}
        final[reynolds] = np.ravel(lists[max(lists)])
        assert final[reynolds].shape == (96,)
    for less, more in itertools.pairwise(REYNOLDS):  # viscosity lowers the jet
        assert final[less].max() < final[more].max()
    files = [f"re_{reynolds}/analysis/moments.h5" for reynolds in REYNOLDS]
    drawn = mpi_run.tailrace("plot", *files, "--column", "flux", "-o", "jets.png", cwd=place)
    assert drawn.code == 0, drawn.text
    picture = imread(place / "jets.png")[..., :3]
    shades = {tuple(np.round(colour, 1)) for colour in picture.reshape(-1, 3) if np.ptp(colour) > 0.4}
    assert len(shades) >= 3  # a colour each
