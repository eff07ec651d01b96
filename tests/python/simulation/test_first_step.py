"""A run says before its first step that this step means nothing, and says nothing where all is well."""

import re

import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness import mpi_run

REST = """
[case]
reynolds = 1e6
flow = "uniform"
parameters = {{ speed = {speed} }}
[grid]
points = [16, 17, 12]
lengths = [2.0, 1.0, 2.0]
boundaries = ["periodic", "free-slip", "periodic"]
[time]
dt = {dt}
end = {end}
"""
PULLS = {
    "acceleration": "[forcing]\nacceleration = [0.1, 0.0, 0.0]\n",
    "flow rate": "[forcing]\nflow_rate = 0.5\n",
    "buoyancy": '[[scalar]]\ninitial = "front"\nfront = 1.0\nthickness = 0.1\nbuoyancy = [0.0, -1.0, 0.0]\n',
    "force": None,
}


def warned(directory, monkeypatch, capsys, *, dt='"auto"', end=0.02, more="", speed=0.0):
    """The warnings of a run that came before its first line of progress."""
    (directory / "case.toml").write_text(REST.format(dt=dt, end=end, speed=speed) + more)
    monkeypatch.chdir(directory)
    case = tr.load_case("case.toml")
    assert tr.Simulation(case, MPI.COMM_SELF, overwrite=True).run() == 0
    before, *_ = re.split(r"^step 1", capsys.readouterr().out, flags=re.MULTILINE)
    return [line for line in before.splitlines() if line.startswith("warning: the first step")]


@pytest.mark.parametrize("pull", PULLS)
def test_a_flow_from_rest_that_is_set_in_motion_needs_a_largest_step(tmp_path, monkeypatch, capsys, pull):
    (tmp_path / "pull.py").write_text("def force(x, y, z, t):\n    return 0.1 + 0 * x, 0, 0\n")
    more = PULLS[pull] or ""
    if pull == "force":
        monkeypatch.setitem(globals(), "REST", REST.replace("[grid]", 'forcing = "pull.py:force"\n[grid]'))
    (line,) = warned(tmp_path, monkeypatch, capsys, more=more)
    assert "the first step is 926, and the flow, whose velocity is zero before it, is set in motion by" in line
    advice = re.search(r"give time\.dt_max = ([\d.e-]+)", line)[1]
    assert warned(tmp_path, monkeypatch, capsys, dt=f'"auto"\ndt_max = {advice}', more=more) == []


def test_what_stays_at_rest_or_moves_already_needs_none(tmp_path, monkeypatch, capsys):
    assert warned(tmp_path, monkeypatch, capsys) == []
    even = "[[scalar]]\ninitial = 1.0\nbuoyancy = [0.0, -1.0, 0.0]\n"  # which the pressure balances
    assert warned(tmp_path, monkeypatch, capsys, more=even) == []
    assert warned(tmp_path, monkeypatch, capsys, more=PULLS["acceleration"], speed=1.0) == []


def test_a_step_that_is_given_is_looked_at_too(tmp_path, monkeypatch, capsys):
    (line,) = warned(tmp_path, monkeypatch, capsys, dt=3.0, more=PULLS["acceleration"])
    assert "may be 7.2 after it; give time.dt = " in line
    assert warned(tmp_path, monkeypatch, capsys, dt=0.5, more=PULLS["acceleration"]) == []


@pytest.mark.parametrize(("speed", "end"), [(1.0, 1e-7), (0.0, 1.0)])
def test_a_diffusivity_that_allows_no_step_names_its_number(tmp_path, speed, end):
    """The run itself would never end."""
    scalar = "[[scalar]]\nschmidt = 1e-12\n"
    (tmp_path / "case.toml").write_text(REST.format(dt='"auto"', end=end, speed=speed) + scalar)
    model = tr.Model(tr.load_case(tmp_path / "case.toml"), MPI.COMM_SELF)
    (line,) = model.concerns()
    assert line.startswith("the first step is 9.26e-10, since diffusion allows no larger one: ")
    assert "scalar[0].schmidt = 1e-12 is a diffusivity of 1e+06 on a spacing of 0.0625" in line
    assert (f"time.end = {end:g} is {end / 9.26e-10:.2g} steps away") in line
    (tmp_path / "case.toml").write_text(REST.format(dt='"auto"', end=end, speed=speed) + "[[scalar]]\n")
    assert tr.Model(tr.load_case(tmp_path / "case.toml"), MPI.COMM_SELF).concerns() == []


def test_a_given_step_names_the_diffusivities_that_forbid_it(tmp_path):
    scalars = '[[scalar]]\nname = "salt"\nschmidt = 700.0\n[[scalar]]\nname = "heat"\nschmidt = 1e-7\n'
    (tmp_path / "case.toml").write_text(REST.format(dt=0.02, end=0.02, speed=1.0) + scalars)
    result = mpi_run.tailrace("run", "case.toml", cwd=tmp_path, ranks=2, limit=60)
    line = next(line for line in result.out.splitlines() if line.startswith("warning: step 0"))
    assert re.search(r"; diffusion alone allows [\d.e-]+, by scalar\[1\]\.schmidt = 1e-07\): the flow may", line)


def test_a_run_that_goes_on_is_not_at_its_first_step(tmp_path, monkeypatch, capsys):
    more = PULLS["acceleration"] + "[checkpoint]\nevery = 1\n"
    assert len(warned(tmp_path, monkeypatch, capsys, dt=3.0, end=3.0, more=more)) == 1
    case = tr.load_case("case.toml", ["time.end=6.0"])
    tr.Simulation(case, MPI.COMM_SELF, resume=True).run()
    assert "the first step" not in capsys.readouterr().out


@pytest.mark.parametrize(("ends", "enters"), [('"no-flux"', True), ('["no-flux", 0.0]', False)])
def test_what_settles_through_an_end_without_flux_is_told(tmp_path, ends, enters):
    """'no-flux' stops diffusion alone: at the end that it settles from as much comes in as settles."""
    scalar = f'[[scalar]]\ninitial = 1.0\nsettling = [0.0, -0.2, 0.0]\nboundaries = ["periodic", {ends}, "periodic"]\n'
    (tmp_path / "case.toml").write_text(REST.format(dt="0.01", end=1.0, speed=0.0) + scalar)
    model = tr.Model(tr.load_case(tmp_path / "case.toml"), MPI.COMM_SELF)
    lines = [line for line in model.concerns() if "settles through" in line]
    assert len(lines) == 1 and "lower end of y (out of the box)" in lines[0]
    assert ("upper end of y (into the box)" in lines[0]) == enters
    (tmp_path / "case.toml").write_text(
        REST.format(dt="0.01", end=1.0, speed=0.0) + scalar.replace(ends, '["deposit", 0.0]')
    )
    assert not any(
        "settles" in line for line in tr.Model(tr.load_case(tmp_path / "case.toml"), MPI.COMM_SELF).concerns()
    )
