"""Films that are made while a flow is computed: every due step once, after kills and restarts too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from matplotlib.image import imread

from helpers.harness import mpi_run
from helpers.inputs import cases
from tailrace.core import InputError, IoError
from tailrace.io.time_series import last_step, read_time_series
from tailrace.pictures.film import FORMATS, Film

av = pytest.importorskip("av")
pytest.importorskip("vtkmodules")
PICTURE = """
[[picture]]
name = "q"
every = 2
size = [128, 96]
png = true
layers = [{ surface = "q", colour = "uz" }, { slice = "ux", at = { z = 1.0 } }]
"""


def frames(path):
    with av.open(str(path)) as film:
        return [frame.to_ndarray(format="rgb24") for frame in film.decode(film.streams.video[0])]


def image(number, size=(64, 48)):
    """A picture that tells its number by its brightness."""
    return np.full((size[1], size[0], 3), 20 + 10 * number, np.uint8)


def numbers(path):
    return [round((int(frame.mean()) - 20) / 10) for frame in frames(path)]


@pytest.mark.parametrize("form", FORMATS)
def test_frames_are_on_the_disk_when_the_next_one_is_added(tmp_path, form):
    film = Film(tmp_path / f"a.{form}", (64, 48), 10)
    for number in range(5):
        film.add(image(number))
    assert numbers(tmp_path / f"a.{form}") == [0, 1, 2, 3]  # as after a kill: it is not closed
    film.flush()
    assert numbers(tmp_path / f"a.{form}") == [0, 1, 2, 3, 4]
    film.add(image(5))
    film.close()
    film.close()
    assert numbers(tmp_path / f"a.{form}") == [0, 1, 2, 3, 4, 5]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"a.{form}"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_film_goes_on(tmp_path, form):
    first = Film(tmp_path / f"a.{form}", (64, 48), 10)
    for number in range(6):
        first.add(image(number))
    first.flush()
    second = Film(tmp_path / f"a.{form}", (64, 48), 10, kept=4)
    for number in (10, 11):
        second.add(image(number))
    second.close()
    assert numbers(tmp_path / f"a.{form}") == [0, 1, 2, 3, 10, 11]
    with pytest.raises(InputError, match="has 6 frames, and the run has drawn 9"):
        Film(tmp_path / f"a.{form}", (64, 48), 10, kept=9)
    assert numbers(tmp_path / f"a.{form}") == [0, 1, 2, 3, 10, 11]


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_of_somebody_else_stays(tmp_path, form):
    (tmp_path / f"a.{form}").write_bytes(b"mine")
    with pytest.raises(IoError, match="is no film of Tailrace"):
        Film(tmp_path / f"a.{form}", (64, 48), 10)
    assert (tmp_path / f"a.{form}").read_bytes() == b"mine"


def due(place, steps):
    """The table, the film and the pictures have these steps, each once."""
    assert list(read_time_series(place / "pictures/q.csv")["step"]) == steps
    assert len(frames(place / "pictures/q.mp4")) == len(steps)
    names = sorted(path.name for path in (place / "pictures").glob("*.png"))
    assert names == [f"q-{step:06d}.png" for step in steps]


def test_a_run_on_two_ranks_makes_a_film(tmp_path):
    case = cases.write_case(tmp_path, "mixed", steps=6, every=4, extra=PICTURE)
    result = cases.run(case, ranks=2)
    assert result.code == 0, result.text
    assert "pictures/q.mp4: 4 pictures" in result.out, result.text
    due(tmp_path, [0, 2, 4, 6])
    shown = frames(tmp_path / "pictures/q.mp4")
    assert shown[0].shape == (96, 128, 3) and all(np.ptp(frame) > 100 for frame in shown)
    again = mpi_run.tailrace("run", "case.toml", cwd=tmp_path)
    assert again.code != 0 and "pictures/q" in again.err, again.text
    assert mpi_run.tailrace("run", "case.toml", "--overwrite", cwd=tmp_path).code == 0
    due(tmp_path, [0, 2, 4, 6])


def test_a_killed_run_leaves_a_film_and_goes_on(tmp_path):
    cases.write_case(tmp_path, "mixed", steps=100000, every=6, extra=PICTURE)
    job = mpi_run.start(mpi_run.tailrace_command("run", "case.toml", "-n", "2"), tmp_path)
    end = time.monotonic() + 240
    while not (tmp_path / "checkpoints/step-00000006").exists():
        assert time.monotonic() < end and job.poll() is None
        time.sleep(0.05)
    time.sleep(0.5)
    mpi_run.kill_session(job)
    mpi_run.finish(job, 60)
    assert len(frames(tmp_path / "pictures/q.mp4")) >= 4
    newest = max(int(path.name[5:]) for path in (tmp_path / "checkpoints").glob("step-????????"))
    last = newest + 4
    result = mpi_run.tailrace("run", "case.toml", "--resume", f"--set=time.steps={last}", cwd=tmp_path, ranks=3)
    assert result.code == 0, result.text
    steps = list(range(0, last + 1, 2))
    assert list(read_time_series(tmp_path / "pictures/q.csv")["step"]) == steps
    assert len(frames(tmp_path / "pictures/q.mp4")) == len(steps)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGUSR1"])
def test_a_signal_to_the_whole_job_costs_no_picture(tmp_path, name):
    """Ctrl-C reaches the programs that draw as well, and batch systems send theirs to all processes."""
    case = cases.write_case(tmp_path, "mixed", steps=100000, dt=1e-4, every=1000, extra=PICTURE)
    job = mpi_run.start(mpi_run.tailrace_command("run", case.name), tmp_path)
    table, end = tmp_path / "pictures/q.csv", time.monotonic() + 240
    while not table.exists() or len(read_time_series(table)["step"]) < 2:
        assert time.monotonic() < end and job.poll() is None
        time.sleep(0.05)
    for number in [*mpi_run.rank_processes(job, "painter_program.py"), job.pid]:
        os.kill(number, getattr(signal, name))
    result = mpi_run.finish(job, 60)
    assert result.code == 143 and "left out" not in result.text, result.text
    due(tmp_path, list(range(0, last_step(tmp_path / "time_series.csv") + 1, 2)))


@pytest.mark.parametrize(
    ("library", "words"),
    [
        (
            "vtkmodules",
            ["is left out: pictures are drawn by VTK, which does not load", "3 pictures of 'q' are left out"],
        ),
        ("av", ["warning: picture 'q' is switched off: films are made by PyAV, which does not load"]),
    ],
)
def test_without_a_library_the_run_goes_on(tmp_path, library, words):
    case = cases.write_case(tmp_path, "mixed", steps=4, extra=PICTURE)
    block = tmp_path / "block"
    block.mkdir()
    (block / f"{library}.py").write_text("raise ImportError('none here')\n")
    result = mpi_run.finish(
        mpi_run.start(mpi_run.tailrace_command("run", case.name), tmp_path, {"PYTHONPATH": str(block)}), 60
    )
    assert result.code == 1, "not all is there"
    assert all(word in result.text for word in [*words, "tailrace[render]"]), result.text
    assert last_step(tmp_path / "time_series.csv") == 4, "the run goes on"


def test_a_program_that_draws_may_crash(tmp_path):
    """The picture is lost, and the next one is drawn by a new program."""
    case = cases.write_case(tmp_path, "mixed", steps=100000, dt=1e-4, extra=PICTURE)
    job = mpi_run.start(mpi_run.tailrace_command("run", case.name), tmp_path)
    table = tmp_path / "pictures/q.csv"
    end = time.monotonic() + 240
    while not table.exists() or len(read_time_series(table)["step"]) < 2:
        assert time.monotonic() < end and job.poll() is None
        time.sleep(0.05)
    os.kill(mpi_run.rank_processes(job, "painter_program.py")[0], signal.SIGSEGV)
    before = len(read_time_series(table)["step"])
    while len(read_time_series(table)["step"]) < before + 3:
        assert time.monotonic() < end and job.poll() is None
        time.sleep(0.05)
    os.kill(job.pid, signal.SIGINT)
    result = mpi_run.finish(job, 60)
    assert "is left out: the program that draws was ended by SIGSEGV" in result.text, result.text


def test_a_rank_that_is_killed_leaves_no_files_of_its_pictures(tmp_path):
    program = (
        "import numpy, os, signal\n"
        "from tailrace.pictures.painter import Painter, PainterError\n"
        "painter = Painter()\n"
        "painter.keep('values', numpy.ones(5))\n"
        "painter.ask({'layers': []})\n"
        "try:\n"
        "    painter.answer()\n"
        "except PainterError as error:\n"
        "    assert 'background' in str(error), error\n"
        "assert os.listdir(os.environ['TMPDIR'])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    assert done.returncode == -signal.SIGKILL
    end = time.monotonic() + 240
    while list(tmp_path.iterdir()):
        assert time.monotonic() < end, list(tmp_path.iterdir())
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ('{ surface = "Q" }', ["layers[0].surface", "did you mean 'q'?"]),
        ('{ slice = "ux" }', ["a slice needs one place"]),
        ('{ surface = "q", slice = "ux" }', ["give surface", "or slice"]),
        ('{ slice = "ux", at = { z = 1.0 }, values = [1.0] }', ["values goes with surface"]),
        ('{ surface = "q", range = [1.0, 0.0] }', ["two rising numbers"]),
        ('{ surface = "sqrt(Ux)" }', ["'Ux' is no field", "did you mean 'ux'?"]),
        ('{ surface = "ux.real" }', ["ux.real cannot be used"]),
        ('{ surface = "no.py:sum" }', ["there is no file"]),
        ('{ vectors = "v", at = { z = 1.0 } }', ["'v' is no vector; there are u, vorticity"]),
        ('{ vectors = "u" }', ["vectors need one place"]),
        ('{ surface = "q", spacing = 2 }', ["spacing goes with vectors"]),
        ('{ surface = "q", normal = [1.0, 0.0, 0.0] }', ["normal goes with slice"]),
        ('{ slice = "q", normal = [0.0, 0.0, 0.0] }', ["other than zero"]),
        ('{ slice = "q", at = { z = 1.0 }, through = [0.0, 0.0, 0.0] }', ["through goes with normal"]),
        ('{ surface = "q", colours = "virids" }', ["did you mean viridis?"]),
        ('{ volume = "q", at = { z = 1.0 } }', ["at goes with slice"]),
        ('{ slice = "q", at = { z = 1.0 }, opacity = 0.5 }', ["opacity goes with volume"]),
    ],
)
def test_wrong_blocks(tmp_path, change, words):
    text = PICTURE.replace('{ surface = "q", colour = "uz" }, { slice = "ux", at = { z = 1.0 } }', change)
    result = cases.run(cases.write_case(tmp_path, "mixed", steps=1, extra=text))
    assert result.code == 2 and all(word in result.err for word in words), result.text


def test_the_same_pictures_inside_beside_and_after(tmp_path):
    """Of a run on two ranks, of the velocity that it streams, and of the velocity that it stores, on three."""
    layers = [
        '{ surface = "q", values = [0.2], colour = "uz", range = [-0.5, 0.5] }',
        '{ slice = "lambda2", at = { z = 1.0 }, range = [-1.0, 1.0] }',
        '{ vectors = "u", at = { y = 1.0 }, spacing = 3, range = [0.0, 1.0] }',
    ]
    block = PICTURE.partition("layers")[0] + f"layers = [{', '.join(layers)}]\n"
    block = block.replace("[128, 96]", "[320, 240]")  # pixels on the seams of blocks: a smaller part
    output = '[[output]]\nname = "u"\nfields = ["ux", "uy", "uz"]\nevery = 1\nengine = "{engine}"\n'
    stream = output.replace("name =", 'path = "sst:live"\nname =').replace("{engine}", "sst")
    case = cases.write_case(
        tmp_path, "mixed", steps=20, extra=block + output.replace("{engine}", "bp5") + stream.replace('"u"', '"live"')
    )
    (tmp_path / "beside.toml").write_text(block.replace("[[picture]]", '[[picture]]\nout = "beside"'))
    beside = mpi_run.start(mpi_run.tailrace_command("render", "beside.toml", "sst:live"), tmp_path)
    result = cases.run(case, ranks=2)
    assert result.code == 0, result.text
    assert (done := mpi_run.finish(beside, 60)).code == 0, done.text
    (tmp_path / "after.toml").write_text(block.replace("[[picture]]", '[[picture]]\nout = "after"'))
    after = mpi_run.tailrace("render", "after.toml", "u.bp", cwd=tmp_path, ranks=3)
    assert after.code == 0 and "after/q.mp4: 11 pictures" in after.out, after.text
    inside = sorted((tmp_path / "pictures").glob("*.png"))
    assert len(inside) == 11
    for path in inside:
        whole = imread(path)
        for place in ("beside", "after"):
            other = tmp_path / place / path.name
            if place == "after" or other.exists():  # a stream begins when both sides are there
                assert (imread(other) != whole).any(axis=2).mean() <= 1e-3, other
    assert len(list((tmp_path / "beside").glob("*.png"))) >= 2
    refused = mpi_run.tailrace("render", "after.toml", "u.bp", cwd=tmp_path)
    assert refused.code != 0 and "after/q.mp4 is there already; give --overwrite" in refused.err, refused.text
    (tmp_path / "none.toml").write_text("[time]\ndt = 1.0\n")
    refused = mpi_run.tailrace("render", "none.toml", "u.bp", cwd=tmp_path)
    assert refused.code != 0 and "none.toml: has no [[picture]]" in refused.err, refused.text


OWN = """
def speed(step, factor=1.0):
    return factor * step.vector("u").norm()

def broken(step):
    return step["ux"][0]
"""


def test_a_function_that_fails_on_one_rank_costs_the_picture_only(tmp_path):
    """The other ranks would wait for it, as long as the job may run."""
    (tmp_path / "own.py").write_text(
        "def bad(step):\n    if step.comm.rank == 1 and step.index == 2:\n        raise ValueError('no')\n"
        "    return step['ux']\n"
    )
    blocks = PICTURE.partition("layers")[0] + 'layers = [{ surface = "own.py:bad", values = [0.1] }]\n'
    result = cases.run(cases.write_case(tmp_path, "mixed", steps=4, extra=blocks), ranks=2)
    assert result.code == 1, result.text
    assert "of step 2 is left out: own.py:bad failed at step 2" in result.text and "ValueError: no" in result.text
    assert result.text.count("is left out:") == 1, result.text


def test_functions_and_expressions_of_users(tmp_path):
    """Each layer is drawn, inside and after, and what is wrong with a function costs the picture only."""
    (tmp_path / "own.py").write_text(OWN)
    layers = [
        '{ surface = "own.py:speed", values = [0.4], colour = "0.5*(ux**2 + uy**2)", label = "energy" }',
        '{ slice = "ux / (uy - uy)", at = { y = 0.0 } }',
        '{ slice = "sqrt(ux**2 + uz**2)", normal = [1.0, 1.0, 0.0], through = [0.5, 0.5, 0.5] }',
    ]
    head, _, _ = PICTURE.partition("layers")
    blocks = head + f"view = [1.0, 2.0, 0.5]\nlayers = [{', '.join(layers)}]\n"
    blocks += head.replace('"q"', '"broken"') + 'layers = [{ surface = "own.py:broken" }]\n'
    output = '[[output]]\nname = "u"\nfields = ["ux", "uy", "uz"]\nevery = 2\nengine = "bp5"\n'
    case = cases.write_case(tmp_path, "mixed", steps=2, extra=blocks + output)
    result = cases.run(case, ranks=2)
    assert result.code == 1, result.text
    assert "'broken' of step 0 is left out: own.py:broken must return a field of the step" in result.text, result.text
    holes = "'q' of step 0: 'ux / (uy - uy)' is not finite at 100.00% of the points"
    assert result.text.count("is not finite") == 1 and holes in result.text, result.text
    (tmp_path / "after.toml").write_text(blocks.replace("[[picture]]", '[[picture]]\nout = "after"'))
    after = mpi_run.tailrace("render", "after.toml", "u.bp", cwd=tmp_path, ranks=3)
    assert after.code == 1 and "own.py:broken must return" in after.text, after.text
    for step in (0, 2):
        inside, there = (imread(tmp_path / place / f"q-{step:06d}.png") for place in ("pictures", "after"))
        assert (inside != there).any(axis=2).mean() <= 1e-3
        assert (inside.reshape(-1, inside.shape[2]).std(axis=0) > 0.05).all()


BODY = """
[case]
reynolds = 100.0
flow = "uniform"
[grid]
points = [33, 24, 8]
lengths = [8.0, 6.0, 2.0]
boundaries = [["inflow", "outflow"], "periodic", "periodic"]
[time]
dt = 0.01
steps = {steps}
[boundary]
x_lower = [1.0, 0.1, 0.0]
[body]
shape = "cylinder"
centre = [3.0, 3.0]
radius = 0.5
[checkpoint]
every = 2
[[picture]]
name = "q"
every = 2
size = [320, 200]
png = true
film = false
layers = [
    {{ surface = "vorticity", values = [0.7], colour = "uy", range = [-0.3, 0.3] }},
    {{ slice = "ux", at = {{ z = 1.0 }}, range = [0.0, 1.5] }},
]
"""


def test_around_a_body_on_any_ranks_and_after_a_restart(tmp_path):
    """The pictures of a whole run on one rank, and of runs that are resumed on other numbers of ranks."""
    for first, second in ((1, 1), (2, 3), (6, 2)):
        place = tmp_path / str(first)
        place.mkdir()
        (place / "case.toml").write_text(BODY.format(steps=4 if first > 1 else 6))
        result = mpi_run.tailrace("run", "case.toml", cwd=place, ranks=first)
        assert result.code == 0, result.text
        if first > 1:
            more = mpi_run.tailrace("run", "case.toml", "--resume", "--set=time.steps=6", cwd=place, ranks=second)
            assert more.code == 0, more.text
        for step in (0, 2, 4, 6):
            found, alone = (imread(tmp_path / str(ranks) / f"pictures/q-{step:06d}.png") for ranks in (first, 1))
            assert (found != alone).any(axis=2).mean() <= 1e-3, (first, step)
    assert (alone.std(axis=(0, 1)) > 0.05).all()
