"""A run that goes on with another case: what computes something else is refused, or is told in all that is written."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import xarray
from mpi4py import MPI

import tailrace as tr
from helpers.harness import mpi_run
from helpers.inputs import cases
from helpers.inputs.xcompact3d_files import input_text, make_run
from tailrace.cli.as_before import kept_overrides
from tailrace.io.time_series import read_provenance, read_time_series

WALLS = """
[case]
flow = "flow.py:velocity"
reynolds = 100.0
forcing = "flow.py:force"
[grid]
points = [16, 17, 10]
lengths = [2.0, 2.0, 1.5]
boundaries = ["periodic", "wall", "periodic"]
stretching = "walls"
beta = 1.0
[boundary]
y_upper = [0.5, 0.0, 0.0]
[time]
dt = 0.005
steps = 2
[numerics]
interpolation = "aggressive"
[[scalar]]
name = "dye"
schmidt = 0.7
initial = "flow.py:dye"
boundaries = ["periodic", [0.0, 1.0], "periodic"]
[diagnostics]
every = 1
[checkpoint]
every = 2
[[output]]
name = "out"
fields = ["ux"]
every = 1
engine = "hdf5"
path = "out.h5"
"""
FLOW = """
import numpy as np
def velocity(x, y, z):
    return np.sin(np.pi * y) + 0 * x * z, 0 * x * y * z, 0 * x * y * z
def force(x, y, z, t):
    return 0.1 + 0 * x * y * z, 0 * x * y * z, 0 * x * y * z
def other(x, y, z, t):
    return 0.2 + 0 * x * y * z, 0 * x * y * z, 0 * x * y * z
def dye(x, y, z):
    return y / 2 + 0 * x * z
"""


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run that ended at step 2."""
    place = tmp_path_factory.mktemp("walls")
    (place / "flow.py").write_text(FLOW)
    (place / "case.toml").write_text(WALLS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        tr.Simulation(tr.load_case("case.toml"), MPI.COMM_SELF).run()
    return place


REFUSED = [
    "case.reynolds=50.0", 'case.forcing="flow.py:other"', "boundary.y_upper=[0.25,0.0,0.0]",
    "boundary.y_lower=[0.1,0.0,0.0]", "forcing.linear=0.1", "forcing.coriolis=[0.5,0.0,0.0]", "forcing.flow_rate=0.5",
    "forcing.acceleration=[0.1,0.0,0.0]", "time.dt=0.0025", 'time.dt="auto"', "scalar[0].schmidt=1.0",
    "scalar[0].boundaries[1]=[0.0,2.0]", "scalar[0].buoyancy=[0.0,1.0,0.0]", "scalar[0].limits=[0.0,1.0]",
    'numerics.interpolation="classic"', 'numerics.wall_divergence="one-sided"', "numerics.hyperviscosity.middle=0.4",
    'numerics.eddy_viscosity.model="wale"',
]  # fmt: skip
STATE = [
    "grid.points=[16,17,12]", "grid.points[0]=20", "grid.lengths[0]=2.5", "grid.beta=0.9", 'grid.stretching="centre"',
    'time.scheme="euler"', "numerics.implicit_y=true",
    'numerics.precision="single"', 'scalar[0].name="ink"',
]  # fmt: skip
NOTED = [
    'case.name="other"', "time.steps=4", "time.end=0.05", "diagnostics.every=2", 'diagnostics.path="rest.csv"',
    "output[0].every=2", "output[0].interval=0.01", 'output[0].fields=["ux","uy"]', 'output[0].path="rest.h5"',
    "output[0].precision='float32'", "checkpoint.every=1", "checkpoint.keep=3", "checkpoint.minutes=1.0",
    "parallel.rows=1", 'parallel.transpose="alltoall"',
]  # fmt: skip
BEGINNING = ['case.flow="flow.py:other_flow"', "case.project=false", 'scalar[0].initial="flow.py:velocity"']


def resumed(place, monkeypatch, capsys, override, **more):
    """The simulation that goes on with a changed key, and what it said."""
    monkeypatch.chdir(place)
    simulation = tr.Simulation(tr.load_case("case.toml", [override]), MPI.COMM_SELF, resume=True, **more)
    return simulation, capsys.readouterr().out


@pytest.mark.parametrize("override", REFUSED)
def test_what_computes_something_else_is_refused(stopped, monkeypatch, capsys, override):
    key = override.partition("=")[0]
    with pytest.raises(tr.InputError, match="was computed by another case") as error:
        resumed(stopped, monkeypatch, capsys, override)
    said = str(error.value)
    assert f"\n  {key.partition('[')[0]}" in said and "(before: " in said and "give the old value, " in said
    assert "--change" in said and "after step 2" in said


@pytest.mark.parametrize("override", STATE)
def test_what_a_checkpoint_cannot_give_is_refused_also_on_purpose(stopped, monkeypatch, capsys, override):
    with pytest.raises(tr.InputError, match="cannot be gone on from") as error:
        resumed(stopped, monkeypatch, capsys, override, change=True)
    assert f"\n  {override.partition('=')[0].partition('[')[0]}" in str(error.value)


@pytest.mark.parametrize("override", NOTED)
def test_what_steers_is_noted(stopped, monkeypatch, capsys, override):
    simulation, said = resumed(stopped, monkeypatch, capsys, override)
    assert simulation.step == 2
    lines = [line for line in said.splitlines() if line.startswith("note: ")]
    assert len(lines) == 1 and override.partition("=")[0] in lines[0] and "(before: " in lines[0]
    assert lines[0].startswith("note: the run goes on with ")


@pytest.mark.parametrize("override", BEGINNING)
def test_what_is_of_the_beginning_has_no_effect_and_is_noted(stopped, monkeypatch, capsys, override):
    (stopped / "flow.py").write_text(FLOW + "other_flow = velocity\n")
    _, said = resumed(stopped, monkeypatch, capsys, override)
    (stopped / "flow.py").write_text(FLOW)
    assert f"note: without effect in a run that goes on: {override.partition('=')[0]} = " in said
    assert "note: the Python file of case.forcing is not as it was" in said


def test_the_same_case_goes_on_without_a_note(stopped, monkeypatch, capsys):
    _, said = resumed(stopped, monkeypatch, capsys, "case.reynolds=100")
    assert "note" not in said


def test_a_forcing_of_python_is_given_again_or_changed_on_purpose(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = tr.load_case(cases.write_case(tmp_path, steps=2, every=2))

    def push(x, y, z, t):
        return 0.1 + 0 * x * y * z, 0 * x * y * z, 0 * x * y * z

    tr.Simulation(case, MPI.COMM_SELF, forcing=push).run()
    with pytest.raises(tr.InputError, match=r"forcing = not given \(before: 'push' of Python\)"):
        tr.Simulation(case, MPI.COMM_SELF, resume=True)
    tr.Simulation(case, MPI.COMM_SELF, resume=True, forcing=push)
    tr.Simulation(case, MPI.COMM_SELF, resume=True, change=True)
    with pytest.raises(tr.InputError, match="change goes with resume"):
        tr.Simulation(case, MPI.COMM_SELF, change=True)


@pytest.mark.parametrize("ranks", [None, 3])
def test_all_files_of_a_changed_run_say_both_parts(tmp_path, ranks):
    engines = ("hdf5", "bp4", "bp5", "adios_hdf5", "raw", "sion")
    (tmp_path / "count.py").write_text(
        "def analyse(step):\n    return {'viscosity': step.viscosity, 'u': step['ux']}\n"
    )
    case = cases.write_case(
        tmp_path, steps=4, every=2, outputs=engines, extra='[[analysis]]\nscript = "count.py"\nevery = 2\n'
    )
    assert cases.run(case, "--set=case.reynolds=50", ranks=ranks).code == 0
    assert cases.run(case, "--resume", "--change", "--set=time.steps=8", ranks=ranks).code == 0
    again = cases.run(case, "--resume", "--change", "--set=case.reynolds=20", "--set=time.steps=10", ranks=ranks)
    assert again.code == 0, again.text
    expected = [1 / 50, 1 / 50, 1 / 50, 1 / 100, 1 / 100, 1 / 20]
    suffix = {"adios_hdf5": ".adios_hdf5", "bp4": ".bp4", "hdf5": ".h5", "bp5": ".bp", "raw": "", "sion": ".sion"}
    told = "after step 4: case.reynolds = 100 (before: 50); after step 8: case.reynolds = 20 (before: 100)"
    for path in (*(f"out{suffix[engine]}" for engine in engines), "analysis/count.h5"):
        with tr.open(tmp_path / path) as series:
            assert [step.viscosity for step in series] == expected, path
            assert series.attributes["changes"] == told
            assert (
                "reynolds = 50.0" in series[0].attributes["case"] and "reynolds = 20.0" in series[5].attributes["case"]
            )
    assert read_provenance(tmp_path / "time_series.csv")["changes"] == told
    assert list(read_time_series(tmp_path / "time_series.csv")["step"]) == list(range(11))
    assert list(read_time_series(tmp_path / "analysis/count.csv")["viscosity"]) == expected
    checkpoint = tr.open(tmp_path / "checkpoints/step-00000010")
    assert checkpoint.attributes["changes"] == told
    checkpoint.close()
    shown = mpi_run.tailrace("info", "out.h5", "time_series.csv", cwd=tmp_path)
    for line in told.split("; "):
        assert shown.out.count(f"changed {line}") == 2


def test_a_changed_run_computes_with_the_new_value(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = cases.write_case(tmp_path, steps=2, every=2, outputs=("hdf5",))
    tr.Simulation(tr.load_case(case), MPI.COMM_SELF).run()
    other = tr.load_case(case, ["case.reynolds=10.0", "time.steps=4"])
    tr.Simulation(other, MPI.COMM_SELF, resume=True, change=True).run()
    with tr.open("out.h5") as series:
        after = np.array(series[-1]["ux"])
        dataset = series.to_xarray()
    assert "reynolds" not in dataset.attrs and "changes" in dataset.attrs
    fresh = tr.Simulation(other, MPI.COMM_SELF)
    with tr.open("checkpoints/step-00000002") as stored:
        fresh.velocity = stored[0]
    for _ in range(2):
        fresh.advance()
    assert np.abs(after - fresh.field("ux")).max() < 1e-14


def test_a_set_holds_for_the_block_of_its_name(tmp_path):
    """Between the runs a block is put before the others, one is renamed, one is taken out."""
    case = cases.write_case(tmp_path, steps=6, every=2, outputs=("hdf5",))
    text = case.read_text()
    assert cases.run(case, "--set=output[0].fields=['ux']", "--set=time.steps=2").code == 0
    new = '[[output]]\nname = "new"\nfields = ["uy", "uz"]\nevery = 2\nengine = "hdf5"\npath = "new.h5"\n'
    case.write_text(text.replace("[[output]]", f"{new}\n[[output]]", 1))
    result = cases.run(case, "--resume", "--set=time.steps=4")
    assert result.code == 0 and "as in the run before: --set output[1].fields=['ux']\n" in result.err
    with tr.open(tmp_path / "out.h5") as first, tr.open(tmp_path / "new.h5") as second:
        assert all("ux" in step.names and "uy" not in step.names for step in first)
        assert all("uy" in step.names and "ux" not in step.names for step in second)
    case.write_text(case.read_text().replace('name = "hdf5"', 'name = "renamed"'))
    result = cases.run(case, "--resume", "--set=time.steps=6")
    assert result.code == 0 and "as in the run before: --set output[1].fields=['ux']\n" in result.err
    case.write_text(text[: text.index("[[output]]")])
    result = cases.run(case, "--resume", "--set=time.steps=8")
    assert result.code == 0, result.text
    assert "not as in the run before: --set output[1].fields=['ux'], whose block is gone\n" in result.err


def test_a_run_that_goes_on_remembers_its_set(tmp_path):
    case = cases.write_case(tmp_path, steps=6, every=2, outputs=("hdf5",))
    given = ("--set=case.reynolds=50", "--set=output[0].every=1", "--set=diagnostics.every=2")
    assert cases.run(case, *given, "--set=time.steps=2").code == 0
    result = cases.run(case, "--resume", "--set=diagnostics.every=1", ranks=2)
    assert result.code == 0, result.text
    assert "note: as in the run before: --set case.reynolds=50, --set output[0].every=1\n" in result.err
    with tr.open(tmp_path / "out.h5") as series:
        assert [step.index for step in series] == [0, 1, 2, 3, 4, 5, 6]
        assert {step.viscosity for step in series} == {1 / 50}
    loaded = tr.load_case(case)
    loaded = loaded.model_copy(
        update={"checkpoint": loaded.checkpoint.model_copy(update={"path": str(tmp_path / "checkpoints")})}
    )
    assert kept_overrides(loaded, ["case.reynolds=7"]) == (["output[0].every=1", "diagnostics.every=1"], [])
    (tmp_path / "checkpoints/step-00000006/series.jsonl").write_text("[1, {")
    assert kept_overrides(loaded, []) == ([], [])
    shutil.rmtree(tmp_path / "checkpoints")
    assert kept_overrides(loaded, []) == ([], [])


def test_a_namelist_goes_on_as_it_began(tmp_path):
    case = tmp_path / "input.i3d"
    case.write_text(input_text(points=(12, 9, 10), ends=((0, 0), (1, 1), (0, 0)), options="itimescheme = 5"))
    assert cases.run(case, "--set=case.reynolds=50", "--set=time.steps=2", "--set=checkpoint.every=2").code == 0
    said = cases.message(cases.run(case, "--resume", "--set=case.reynolds=100"))
    assert "case.reynolds = 100 (before: 50)" in said and "--change" in said


def test_a_directory_of_xcompact3d_is_left_as_it_is(tmp_path):
    make_run(tmp_path, ends=((0, 0), (1, 1), (0, 0)))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    said = cases.message(cases.run(tmp_path / "input.i3d"))
    assert "data has files of another program" in said and "pp-1.bin, pp-2.bin, ux-1.bin, ux-2.bin and 4 more" in said
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_what_a_run_wrote_goes_before_its_namelist(tmp_path, monkeypatch):
    """The box, the points and the Reynolds number are those of `--set`, which the namelist does not know."""
    case = tmp_path / "input.i3d"
    case.write_text(input_text(points=(12, 9, 10), ends=((0, 0), (1, 1), (0, 0))))
    other = ("--set=grid.lengths=[7.0,3.0,5.0]", "--set=grid.points=[16,9,10]", "--set=case.reynolds=50")
    assert cases.run(case, *other, "--set=time.steps=20").code == 0
    monkeypatch.chdir(tmp_path)
    with tr.open(".") as series:
        assert series.engine == "raw" and [step.index for step in series] == [0, 20]
        assert series[1].viscosity == 1 / 50 and tuple(series[1].grid.points) == (16, 9, 10)
        assert tuple(series[1].grid.lengths) == (7.0, 3.0, 5.0)
    shown = mpi_run.tailrace("info", ".", cwd=tmp_path)
    assert shown.code == 0 and "16 x 9 x 10 points" in shown.out and "7.0, 3.0, 5.0" in shown.out
    assert mpi_run.tailrace("verify", ".", cwd=tmp_path).code == 0
    target = tmp_path.parent / f"{tmp_path.name}.h5"
    converted = mpi_run.tailrace("convert", ".", target, cwd=tmp_path)
    assert converted.code == 0, converted.text
    with tr.open(target) as series:
        assert tuple(series[1].grid.points) == (16, 9, 10)
    assert mpi_run.tailrace("plot", ".", "-o", "ux.png", cwd=tmp_path).code == 0
    with xarray.open_dataset(".", engine="tailrace") as dataset:
        assert dataset.sizes["x"] == 16


def test_a_new_time_step_is_looked_at_before_the_next_row(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    case = cases.write_case(tmp_path, steps=2, every=2, outputs=("hdf5",))
    tr.Simulation(tr.load_case(case), MPI.COMM_SELF).run()
    longer = tr.load_case(case, ["time.dt=5.0", "time.steps=4", "diagnostics.every=1000"])
    tr.Simulation(longer, MPI.COMM_SELF, resume=True, change=True).run()
    assert "warning: step 2, t =" in (said := capsys.readouterr().out) and "the time step 5 is above" in said
