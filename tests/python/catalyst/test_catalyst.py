"""Pipelines of ParaView: the pictures of the real program from our files, on any ranks, inside, beside and after."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from helpers.harness import mpi_run, paraview
from helpers.inputs import cases
from tailrace.case import templates
from tailrace.catalyst.packages import packages

SCRIPT = Path(__file__).parents[1] / "helpers/programs/pipeline.py"
BUILT = Path(__file__).parents[3] / "build/python/examples"
VIEWER = Path(__file__).parents[1] / "helpers/programs/live_viewer.py"
pytestmark = pytest.mark.skipif(packages() is None or not paraview.is_there(), reason=paraview.MISSING)
BLOCK = """
[[catalyst]]
script = "pipeline.py"
every = 1
"""
OUTPUT = """
[[output]]
name = "u"
fields = ["ux", "uy", "uz", "q"]
every = 2
engine = "{engine}"
"""
WALLS = """
[grid]
points = [16, 17, 12]
lengths = [3.0, 2.4, 2.0]
boundaries = ["periodic", "wall", "periodic"]
stretching = "walls"
beta = 0.4
"""


def case_of(place: Path, extra: str, *, walls: bool = False, steps: int = 4) -> Path:
    """A case with a pipeline, on a grid that is not a cube."""
    path = cases.write_case(place, "mixed", steps=steps, every=2, extra=extra)
    shutil.copy(SCRIPT, place / "pipeline.py")
    if walls:
        head, rest = path.read_text().split("[grid]")
        path.write_text(head + WALLS + "[time]" + rest.partition("[time]")[2])
        (place / "flow.py").write_text(
            "import numpy as np\n"
            "def velocity(x, y, z):\n"
            "    wall = np.sin(np.pi * y / 2.4) ** 2\n"
            "    ux = wall * (1 + np.sin(2 * np.pi * x / 3 + y)) * np.cos(np.pi * z)\n"
            "    return ux, wall * np.cos(2 * np.pi * x / 3 + z), 0.4 * wall * np.sin(2 * np.pi * z / 2 + x)\n"
        )
    return path


def unlike(one: Path, other: Path) -> float:
    """The share of pixels that are seen to differ."""
    a, b = imread(one), imread(other)
    assert a.shape == b.shape == (240, 320, 3) and min(np.ptp(a), np.ptp(b)) > 0.5
    return float((np.abs(a - b) > 0.05).any(axis=2).mean())


def by_pvbatch(file: Path, out: Path) -> list[Path]:
    """The pictures of ParaView itself from a file of ours."""
    out.mkdir()
    program = ["pvbatch", SCRIPT, file, out]
    done = subprocess.run(program, capture_output=True, text=True, timeout=240, env=paraview.environment(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(out.glob("*.png"))


@pytest.mark.parametrize("walls", [False, True], ids=["uniform", "stretched"])
def test_the_picture_is_that_of_the_real_program_from_our_file(tmp_path, walls):
    inside = []
    for ranks in (1, 2, 3):
        place = tmp_path / str(ranks)
        case_of(place, BLOCK + OUTPUT.format(engine="hdf5"), walls=walls)
        result = mpi_run.tailrace("run", "case.toml", cwd=place, ranks=ranks)
        assert result.code == 0 and "catalyst/pipeline: 3 executions of pipeline.py" in result.out, result.text
        assert "XIO" not in result.text and "ERR|" not in result.text, result.text
        inside.append(sorted((place / "catalyst/pipeline").glob("*.png")))
        assert [path.name for path in inside[-1]] == ["s-000000.png", "s-000002.png", "s-000004.png"]
    drawn = by_pvbatch(tmp_path / "1/u.h5.xdmf2", tmp_path / "pvbatch")
    assert len(drawn) == 3
    for number in range(3):
        pictures = [paths[number] for paths in inside] + [drawn[number]]
        assert max(unlike(pictures[0], other) for other in pictures[1:]) < 0.01, pictures
    assert unlike(drawn[0], drawn[2]) > 0.001  # the flow moves
    lines = [json.loads(line) for line in (tmp_path / "2/catalyst/pipeline.jsonl").read_text().splitlines()]
    assert [(line["step"], line["files"]) for line in lines[1:]] == [(at, [f"s-{at:06d}.png"]) for at in (0, 2, 4)]


def test_the_same_beside_and_after(tmp_path):
    stream = (
        OUTPUT.format(engine="sst").replace('"u"', '"live"\npath = "sst:live"')
        + "parameters = { wait_for_reader = 60 }\n"
    )
    case_of(tmp_path, BLOCK + OUTPUT.format(engine="bp5") + stream, steps=12)
    for place in ("beside", "after"):
        (tmp_path / f"{place}.toml").write_text(BLOCK + f'out = "{place}"\n')
    beside = mpi_run.start(mpi_run.tailrace_command("render", "beside.toml", "sst:live", "-n", "2"), tmp_path)
    result = mpi_run.tailrace("run", "case.toml", cwd=tmp_path)
    assert result.code == 0, result.text
    assert (done := mpi_run.finish(beside, 90)).code == 0, done.text
    after = mpi_run.tailrace("render", "after.toml", "u.bp", cwd=tmp_path, ranks=3)
    assert after.code == 0 and "after/pipeline: 7 executions of pipeline.py" in after.out, after.text
    pictures = sorted((tmp_path / "catalyst/pipeline").glob("*.png"))
    assert len(pictures) == 7
    seen = 0
    for path in pictures:
        for place in ("beside", "after"):
            other = tmp_path / place / "pipeline" / path.name
            if place == "after" or other.exists():  # a stream begins when both sides are there
                assert unlike(path, other) < 0.01, other
                seen += place == "beside"
    assert seen >= 2
    refused = mpi_run.tailrace("render", "after.toml", "u.bp", cwd=tmp_path)
    assert refused.code != 0 and "s-000000.png is there already; give --overwrite" in refused.err, refused.text
    again = mpi_run.tailrace("render", "after.toml", "u.bp", "--overwrite", cwd=tmp_path)
    assert again.code == 0, again.text


def test_a_resumed_run_executes_the_steps_that_are_due(tmp_path):
    case_of(tmp_path, BLOCK)
    assert mpi_run.tailrace("run", "case.toml", cwd=tmp_path, ranks=2).code == 0
    more = mpi_run.tailrace("run", "case.toml", "--resume", "--set=time.steps=9", cwd=tmp_path, ranks=3)
    assert more.code == 0 and "catalyst/pipeline: 2 executions" in more.out, more.text
    found = sorted(path.name for path in (tmp_path / "catalyst/pipeline").iterdir())
    assert found == [f"s-{step:06d}.png" for step in (0, 2, 4, 6, 8)]
    refused = mpi_run.tailrace("run", "case.toml", cwd=tmp_path)
    assert refused.code != 0 and "catalyst/pipeline" in refused.err, refused.text
    (tmp_path / "catalyst/pipeline/mine.png").write_bytes(b"mine")
    refused = mpi_run.tailrace("run", "case.toml", "--overwrite", cwd=tmp_path)
    assert refused.code != 0 and "has files that no run of this case has made: mine.png" in refused.err, refused.text
    assert sorted(path.name for path in (tmp_path / "catalyst/pipeline").iterdir()) == ["mine.png", *found]
    (tmp_path / "catalyst/pipeline/mine.png").unlink()
    again = mpi_run.tailrace("run", "case.toml", "--overwrite", cwd=tmp_path)
    assert again.code == 0, again.text
    assert sorted(path.name for path in (tmp_path / "catalyst/pipeline").iterdir()) == found[:3]


RAISES = """
from paraview import catalyst
from paraview.simple import *
grid = TrivialProducer(registrationName="mine")
options = catalyst.Options()
def catalyst_execute(info):
    print(f"arrays {info.timestep} {sorted(grid.PointData.keys())} {catalyst.get_args()}\\n", end="", flush=True)
    if info.timestep == 2:
        raise ValueError("no such luck")
"""


def test_what_fails_costs_a_step_and_the_run_goes_on(tmp_path):
    blocks = [
        '[[catalyst]]\nscript = "raises.py"\nevery = 1\nfields = ["ux", "0.5*ux**2", "flow.py:own"]\n'
        'parameters = { a = 3, b = "x y" }\n',
        '[[catalyst]]\nscript = "broken.py"\nevery = 1\nfields = ["u" ]\n'.replace('"u" ', '"velocity"'),
        '[[catalyst]]\nscript = "unknown.py"\nevery = 4\nfields = ["ux"]\n',
    ]
    path = case_of(tmp_path, "".join(blocks))
    (tmp_path / "raises.py").write_text(RAISES)
    (tmp_path / "broken.py").write_text("import paraview.simple\n1 / 0\n")
    unknown = (tmp_path / "pipeline.py").read_text().replace('["POINTS", "q"]', '["POINTS", "temperature"]')
    (tmp_path / "unknown.py").write_text(unknown)
    with (tmp_path / "flow.py").open("a") as file:
        file.write("\n\ndef own(step):\n    return 2 * step['uy']\n")
    result = mpi_run.tailrace("run", path, cwd=tmp_path, ranks=2)
    assert result.code == 1 and "this is a defect" not in result.text, result.text
    assert (
        f"catalyst 'raises' of step 2 is left out: {tmp_path}/raises.py, line 9: ValueError: no such luck"
        in result.text
    )
    assert "catalyst/raises: 4 executions of raises.py" in result.out, result.text
    assert "arrays 3 ['0.5*ux**2', 'flow.py:own', 'ux'] ['--a=3', '--b=x y']" in result.text
    assert "'broken' of step 0 is left out" in result.text and "broken.py, line 2: ZeroDivisionError" in result.text
    assert "1 executions of 'broken' failed" in result.text
    for name in ("temperature", "uz", "velocity"):
        assert f"unknown.py uses the array '{name}', which it does not get" in result.text, result.text


def test_without_a_display_and_without_xvfb(tmp_path):
    case_of(tmp_path, BLOCK)
    programs = tmp_path / "bin"
    programs.mkdir()
    for path in Path("/usr/bin").iterdir():
        if path.name != "Xvfb":
            (programs / path.name).symlink_to(path)
    more = {"PATH": f"{programs}", "DISPLAY": ""}
    result = mpi_run.finish(mpi_run.start(mpi_run.tailrace_command("run", "case.toml"), tmp_path, more), 60)
    assert result.code == 1, result.text
    words = "warning: catalyst 'pipeline' is switched off: this ParaView draws on a display only, and there is none"
    assert words in result.out and "install Xvfb" in result.out, result.text


def test_a_full_disk(tmp_path, small_disk):
    path = case_of(tmp_path, BLOCK + f'out = "{small_disk("8k")}"\n')
    result = mpi_run.tailrace("run", path, cwd=tmp_path, ranks=2)
    assert result.code == 1, result.text
    assert "catalyst 'pipeline' of step 2 is left out: vtkPNGWriter" in result.out, result.text
    assert "Ran out of disk space" in result.out and "3 executions of 'pipeline' failed" in result.out, result.text


def test_the_template_runs(tmp_path):
    path = case_of(tmp_path, BLOCK + "parameters = { value = 0.05 }\n", walls=True)
    (tmp_path / "pipeline.py").write_text(templates.pipeline())
    result = mpi_run.tailrace("run", path, cwd=tmp_path, ranks=2)
    assert result.code == 0 and "catalyst/pipeline: 5 executions" in result.out, result.text
    assert "WARN" not in result.text and "ERR" not in result.text, result.text
    image = imread(tmp_path / "catalyst/pipeline/q-000003.png")
    assert image.shape == (720, 1280, 3) and image.std(axis=(0, 1)).max() > 0.05


def test_paraview_connects_to_a_running_simulation(tmp_path):
    """Catalyst Live: a viewer gets the surface of several steps, and goes away; the run goes on."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    path = case_of(tmp_path, BLOCK, steps=150)
    path.write_text(path.read_text().replace("[checkpoint]\nevery = 2", "[checkpoint]\nevery = 0"))
    script = (tmp_path / "pipeline.py").read_text()
    live = f'options.EnableCatalystLive = 1\noptions.CatalystLiveURL = "localhost:{port}"\n'
    (tmp_path / "pipeline.py").write_text(
        script.replace("png.Trigger.Frequency = 2", "png.Trigger.Frequency = 400") + live
    )
    program = ["pvpython", VIEWER, str(port)]
    said = tmp_path / "viewer.log"
    with said.open("w") as log:
        viewer = subprocess.Popen(program, stdout=log, stderr=subprocess.STDOUT, env=paraview.environment())
    try:
        end = time.monotonic() + 240
        while "Listening" not in said.read_text():
            assert time.monotonic() < end and viewer.poll() is None, said.read_text()
            time.sleep(0.1)
        result = mpi_run.tailrace("run", path, cwd=tmp_path, ranks=2)
        viewer.wait(60)
    finally:
        viewer.kill()
    seen = said.read_text()
    assert result.code == 0, result.text
    points = [int(line.split()[1]) for line in seen.splitlines() if line.startswith("points ")]
    assert len(points) == 3 and min(points) > 100, seen + result.text


@pytest.mark.parametrize("language", ["fortran", "cpp"])
def test_a_program_in_another_language_gets_this_beside(tmp_path, language):
    program = BUILT / f"5_stream_send_{language}"
    if not program.exists():
        pytest.skip("the examples are not built")
    (tmp_path / "waves.toml").write_text('[[catalyst]]\nscript = "pipeline.py"\nevery = 1\n')
    script = SCRIPT.read_text().replace('"q"', '"ux"').replace('"uz"', '"ux"')
    (tmp_path / "pipeline.py").write_text("\n".join(line for line in script.splitlines() if "arrows" not in line))
    command = [*mpi_run.mpiexec(2), program, "sst:waves"]
    sender = mpi_run.start(command, tmp_path)
    result = mpi_run.tailrace("render", "waves.toml", "sst:waves", cwd=tmp_path, ranks=2)
    assert (sent := mpi_run.finish(sender, 60)).code == 0, sent.text
    assert result.code == 0 and "catalyst/pipeline: 10 executions of pipeline.py" in result.out, result.text
