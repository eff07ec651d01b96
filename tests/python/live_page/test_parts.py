"""What the page shows without a browser: parts of stored fields, surfaces, the state of a run in words."""

from __future__ import annotations

import io
import json
import os
import queue
import socket
import time
import zipfile
from base64 import b64decode, b64encode
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("bokeh")

import tailrace as tr
from helpers.harness import mpi_run
from helpers.inputs import cases
from tailrace.io.time_series import TimeSeries
from tailrace.live_page import field_source
from tailrace.live_page.curve_panel import CurvePanel
from tailrace.live_page.field_source import RunFields, StoredFields
from tailrace.live_page.picture_panel import PicturePanel
from tailrace.live_page.run_state import RunState
from tailrace.live_page.scenes import Scenes
from tailrace.live_page.surface_panel import SurfacePanel
from tailrace.live_page.watched_run import WatchedRun
from tailrace.live_run.board import Board, BoardReader, board_of
from tailrace.live_run.part import Part
from tailrace.live_run.wanted import Wanted

SHAPE = (200, 9, 130)  # in x, y, z


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A series of two steps with values that tell their place."""
    path = tmp_path_factory.mktemp("stored") / "out.h5"
    with tr.open(path, "w", grid=tr.UniformGrid(SHAPE, spacing=(0.5, 1.0, 0.25))) as out:
        for number in range(2):
            z, y, x = np.indices(SHAPE[::-1])
            out.write_step(0.5 * number, f=1000.0 * number + x + 0.001 * y + 1e-6 * z)
    return path


@pytest.mark.parametrize("axis", ["x", "y", "z"])
@pytest.mark.parametrize("node", [None, 0, 7, 10_000])
def test_planes_of_stored_fields(stored, axis, node):
    source = StoredFields(stored)
    assert source.about() == (2, ["f"])
    found = source.part(Wanted("plane", "f", axis, node), 1)
    d = "xyz".index(axis)
    expected = {None: SHAPE[d] // 2, 10_000: SHAPE[d] - 1}.get(node, node)
    assert (found.node, found.count, found.time) == (expected, SHAPE[d], 0.5)
    with tr.open(stored) as series:
        whole = np.asarray(series[1]["f"].data)
    cut = [slice(None)] * 3
    cut[2 - d] = slice(expected, expected + 1)
    np.testing.assert_allclose(found.values, whole[tuple(cut)], rtol=1e-6)


def test_a_box_has_few_points_from_end_to_end(stored):
    found = StoredFields(stored).part(Wanted("box", "f"), 0)
    assert found.values.shape == (96, 9, 96)
    x, y, z = found.places
    assert (x[0], x[-1], z[0], z[-1], len(y)) == (0.0, 99.5, 0.0, 32.25, 9)
    np.testing.assert_allclose(found.values[0, 0], x / 0.5, rtol=1e-6)


def test_a_field_that_is_too_large_to_be_computed_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(field_source, "_MOST", 100)
    path = cases.write_case(tmp_path, "periodic", steps=1, outputs=("hdf5",), output_every=1)
    assert cases.run(path).code == 0
    source = StoredFields(tmp_path / "out.h5")
    assert source.part(Wanted("plane", "ux", "x"), 0).values.shape == (10, 12, 1)
    with pytest.raises(tr.InputError, match=r"'q' must be computed.*picture"):
        source.part(Wanted("plane", "q", "x"), 0)


def sphere(count):
    along = np.linspace(-1, 1, count)
    values = np.sqrt(sum(one**2 for one in np.meshgrid(along, along, along, indexing="ij"))).astype(np.float32)
    return Part(values, (along, along, along), 0, count, 0, 0.0)


def test_a_surface_is_where_the_level_is_and_never_too_large():
    pytest.importorskip("vtkmodules")
    pytest.importorskip("trame_vtk")
    from tailrace.live_page import surface

    for count, most in ((12, 3000), (160, surface._MOST)):
        part = sphere(count)
        found = surface.surface_of(part, 0.7, part, dark=False)
        assert 100 < found.triangles <= most and found.level == 0.7 and len(found.scene) < 1_200_000
    with zipfile.ZipFile(io.BytesIO(found.scene)) as file:
        told = json.loads(file.read("index.json"))
    points = next(one for one in told["hashes"].values() if one["vtk"] == "vtkPoints" and len(one["content"]) > 10_000)
    places = np.frombuffer(b64decode(points["content"]), np.float32).reshape(-1, 3)
    assert np.abs(np.linalg.norm(places, axis=1) - 0.7).max() < 0.02
    with pytest.raises(ValueError, match="there is no surface at 9: the values go from 0"):
        surface.surface_of(sphere(11), 9.0, sphere(11), dark=True)


def test_the_level_of_a_surface_is_of_what_is_there():
    """For lambda2, vortices are below the mean; no surface is around holes and infinite values."""
    pytest.importorskip("vtkmodules")
    pytest.importorskip("trame_vtk")
    from tailrace.live_page import surface

    part = sphere(21)
    mean, spread = float(part.values.mean()), float(part.values.std())
    for name, level in (("", mean + spread), ("lambda2", mean - spread)):
        assert surface.surface_of(part, None, part, dark=False, name=name).level == pytest.approx(level, rel=1e-6)
    holed = replace(part, values=np.where(part.values < 0.3, np.nan, part.values + 10).astype(np.float32))
    holed.values[0, 0, 0] = np.inf
    assert np.isfinite(surface.surface_of(holed, None, holed, dark=False).level)
    with pytest.raises(ValueError, match="there is no surface at 5: the values go from 10"):
        surface.surface_of(holed, 5.0, holed, dark=False)


def test_a_run_that_does_not_answer_is_waited_for(tmp_path):
    board = Board(board_of(tmp_path / "time_series.csv"), control=False)
    source = RunFields(BoardReader(board.path))
    assert source.about() == (0, [])
    board.tell({"state": "running", "names": ["ux"]})
    assert source.about() == (1, ["ux"])
    wanted = Wanted("plane", "ux", "x", 0)
    assert source.part(wanted, 0) is None and board.asked() == [wanted]
    with pytest.raises(tr.InputError):
        source.part(Wanted("plane", "__import__", "x", 0), 0)
    assert board.asked() == [wanted], "a page asks for what is offered only"
    board.tell({"state": "finished", "names": ["ux"]})
    with pytest.raises(tr.InputError, match="ended"):
        source.part(wanted, 0)


@pytest.fixture
def run(tmp_path):
    with TimeSeries(tmp_path / "time_series.csv", columns=("step", "time", "cfl")) as out:
        out.append({"step": 4, "time": 0.4, "cfl": 0.5})
    board = Board(board_of(tmp_path / "time_series.csv"), control=False)

    def look(**facts):
        board.tell({"host": socket.gethostname(), "process": os.getpid(), **facts})
        watched = WatchedRun(tmp_path, "run")
        watched.update()
        state = RunState(watched)
        state.look()
        return state

    return look


def test_the_state_in_words(run):
    state = run(state="running", step=6, time=0.6, end={"step": 12, "time": None}, warnings=["too coarse"])
    assert state.headline() == "running, step 6, t = 0.6, 50% done" and state.warnings() == ["too coarse"]
    assert run(state="failed: ux is NaN").headline() == "failed: ux is NaN, step 4, t = 0.4"
    assert run(state="finished", end={"time": 0.4}).headline() == "finished, step 4, t = 0.4, 100% done"
    assert run(state="running", process=2**22 + 1).state().startswith("died")
    assert run(state="running", process=2**22 + 1, host="elsewhere").state() == "running", "it cannot be seen from here"


def test_phases_outputs_and_machine(run):
    state = run(
        state="running", elapsed=10.0, phases={"a": (1, 2, 3), "b": (4, 5, 6)}, memory=(2**20, 2**20, 2**21),
        written=2**20, consumers=[{"output": "out.h5", "steps": 12345678, "bytes of rank 0": 1024.0}, {}],
    )  # fmt: skip
    assert [(name, share) for name, _, share in state.phases()] == [("b", 0.5), ("a", 0.2)]
    assert ("output out.h5", "steps 12345678, bytes of rank 0 1.0 KiB") in list(state.written())
    assert ("all", "1.0 MiB, 102.4 KiB/s") in list(state.written())
    assert ("memory of a rank", "1.0 MiB to 2.0 MiB") in state.machine()


def test_what_an_earlier_run_told_is_not_taken_for_this_one(run, tmp_path):
    assert run(state="finished").state() == "finished"
    os.utime(tmp_path / ".time_series.csv.live/now.json", (time.time() - 100, time.time() - 100))
    watched = WatchedRun(tmp_path, "run")
    watched.update()
    assert watched.facts is None and "last row" in RunState(watched).state()


def test_what_must_be_typed_on_the_desk_in_a_job(monkeypatch, tmp_path):
    found = mpi_run.finish(mpi_run.start(mpi_run.tailrace_command("live", ".", "--job"), tmp_path), 60)
    assert found.code == 2 and "SLURM_JOB_ID is not set" in found.err, found.text
    from tailrace.cli import live

    monkeypatch.setenv("SLURMD_NODENAME", "n17")
    monkeypatch.setenv("SLURM_SUBMIT_HOST", "login2")
    monkeypatch.setattr(live.getpass, "getuser", lambda: "ada")
    assert live._from_desk(5006) == "ssh -J ada@login2 -L 5006:localhost:5006 ada@n17"
    monkeypatch.setenv("SLURM_SUBMIT_HOST", "n17")
    assert live._from_desk(5007) == "ssh -L 5007:localhost:5007 ada@n17"


def test_a_long_curve_travels_in_parts(tmp_path):
    """All of it travels at first and when it has become twice as long as a screen shows, else only what was added."""
    with TimeSeries(tmp_path / "time_series.csv", columns=("step", "time", "cfl")) as out:

        def add(first, count):
            for step in range(first, first + count):
                out.append({"step": step, "time": 0.1 * step, "cfl": np.sin(0.01 * step)})
            out.sync()

        add(0, 6000)
        run = WatchedRun(tmp_path, "run")
        run.update()
        panel = CurvePanel([run], ["#000000"])
        (source,) = panel._sources
        panel.update()
        assert 3900 < len(source.data["x"]) <= 4000 and source.data["x"][-1] == pytest.approx(599.9)
        shown = len(source.data["x"])
        for first in (6000, 6010):
            add(first, 10)
            run.update()
            panel.update()
        assert len(source.data["x"]) == shown + 20 and source.data["x"][-1] == pytest.approx(601.9)
        add(6020, 4000)
        run.update()
        panel.update()
        assert 3900 < len(source.data["x"]) <= 4000 and source.data["x"][-1] == pytest.approx(1001.9)


def test_only_files_of_the_run_are_shown(tmp_path):
    (tmp_path / "secret").write_text("mine")
    place = tmp_path / "run"
    place.mkdir()
    os.mkfifo(place / "pipe.png")
    (place / "link.png").symlink_to(tmp_path / "secret")
    (place / "film.mp4").symlink_to(tmp_path / "secret")
    (place / "text.png").write_text("mine")
    Image.new("RGB", (4, 3)).save(place / "z.png")
    run = WatchedRun(place, "run")
    run.update()
    assert [path.name for path in run.pictures] == ["text.png", "z.png"] and run.films == {}
    panel = PicturePanel([run])
    for name in ("text.png", "z.png"):
        panel._show(name, place / name)
    assert "data:image/png" in panel._image.text and b64encode(b"mine").decode() not in panel._image.text
    panel._shown = ("", 0.0)
    panel._show("pipe.png", place / "pipe.png")  # which would wait for ever


@pytest.mark.parametrize("told", ["NaN", "-Infinity", str(10**400), '"x"'])
@pytest.mark.parametrize("name", ["told", "step", "time", "elapsed"])
def test_no_number_of_a_run_stops_the_page(tmp_path, told, name):
    with TimeSeries(tmp_path / "time_series.csv", columns=("step", "time", "cfl")) as out:
        out.append({"step": 4, "time": 0.4, "cfl": 0.5})
    board = Board(board_of(tmp_path / "time_series.csv"), control=False)
    board.tell({"state": "running", "step": 3, "time": 0.3, "elapsed": 1.0})
    path = board.path / "now.json"
    found = json.loads(path.read_text())
    path.write_text(json.dumps({**found, name: 0}).replace(f'"{name}": 0', f'"{name}": {told}'))
    run = WatchedRun(tmp_path, "run")
    run.update()
    state = RunState(run)
    state.look()
    assert state.headline() and state.numbers() and list(state.phases()) == []


def test_a_surface_that_cannot_be_made_is_tried_once(stored):
    pytest.importorskip("vtkmodules")
    pytest.importorskip("trame_vtk")
    run, later, again = WatchedRun(stored, "run"), queue.SimpleQueue(), []
    run.update()
    panel = SurfacePanel([run], later.put, Scenes(), dark=False)
    panel.update()
    while not panel._stored.name:
        later.get(timeout=30)()
    panel._level.value = 1e9
    panel._begin()
    while "no surface at 1e+09" not in panel._stored.told.text:
        later.get(timeout=30)()
    panel._show = again.append
    panel.update()
    assert again == [] and panel._view.text == ""
