"""A run says that it is under-resolved or that its step is too large, and says nothing where all is well."""

import itertools
import re

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace.case import templates
from tailrace.consumers.warnings import RESOLVED, Resolution, Warnings, _two_digits, resolution
from tailrace.flow.stability import Stability
from tailrace.io.time_series import read_time_series
from tailrace.simulation.simulation import FlowError

VORTEX = """
[case]
reynolds = {reynolds}
[grid]
points = [20, 16, 24]
lengths = ["2*pi", "2*pi", "2*pi"]
boundaries = ["periodic", "periodic", "periodic"]
[time]
dt = {dt}
end = {end}
[diagnostics]
every = 5
"""


def said(directory, monkeypatch, capsys, reynolds, *, dt='"auto"', end=8.0, error=None):
    """The warnings of a Taylor-Green vortex, and the error that it ended by."""
    (directory / "case.toml").write_text(VORTEX.format(reynolds=reynolds, dt=dt, end=end))
    monkeypatch.chdir(directory)
    simulation = tr.Simulation(tr.load_case("case.toml"), MPI.COMM_SELF, overwrite=True)
    if error is None:
        assert simulation.run() == 0
    else:
        with pytest.raises(error):
            simulation.run()
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith("warning")]


def test_a_resolved_flow_gives_no_warning(tmp_path, monkeypatch, capsys):
    assert said(tmp_path, monkeypatch, capsys, 30.0) == []


def test_the_template_of_turbulence_gives_no_warning(tmp_path, monkeypatch, capsys):
    """On the smaller grid of its comment, up to the maximum of spacing over Kolmogorov length, 2.04 at t = 0.35."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.toml").write_text(templates.case_of("turbulence"))
    smaller = ["grid.points=[48, 48, 48]", "case.reynolds=40.0", "time.end=0.4", "checkpoint.every=0"]
    case = tr.load_case("case.toml", smaller)
    assert tr.Simulation(case, MPI.COMM_SELF).run() == 0
    assert "warning: step" not in capsys.readouterr().out
    rows = read_time_series("time_series.csv")
    each_row = [{name: rows[name][at] for name in rows} for at in range(len(rows["step"]))]
    ratios = [resolution(row, case.grid.lengths, case.viscosity).spacing_over_eta / 48 for row in each_row]
    assert max(ratios) == pytest.approx(2.04, abs=0.01)


def test_a_laminar_flow_gives_no_warning(tmp_path, monkeypatch, capsys):
    """Its Kolmogorov length is small, but there is no motion of that size."""
    assert said(tmp_path, monkeypatch, capsys, 1600.0, end=0.5) == []


def test_an_under_resolved_flow_says_so_early_and_at_the_end(tmp_path, monkeypatch, capsys):
    first, *_, last = lines = said(tmp_path, monkeypatch, capsys, 400.0)
    assert "the flow is under-resolved" in first
    assert float(re.search(r"t = ([\d.]+)", first)[1]) < 4, "the maximum of dissipation comes at 6"
    spacing = [float(re.search(r"spacing is ([\d.]+) Kolmogorov", line)[1]) for line in lines]
    repeated = spacing[:-1]
    assert all(later > 1.49 * earlier for earlier, later in itertools.pairwise(repeated))
    assert spacing[-1] == max(spacing)
    wanted = [int(number) for number in re.search(r"at least (\d+) x (\d+) x (\d+) points", last).groups()]
    assert wanted == pytest.approx([wanted[0]] * 3, abs=1), "the spacing is to be that of all directions"
    assert wanted[0] == pytest.approx(16 * spacing[-1] / 2.094, rel=0.02)


@pytest.mark.parametrize("scheme", ["rk3", "ab3"])
def test_a_flow_that_blows_up_says_so_before_and_the_advice_helps(tmp_path, monkeypatch, capsys, scheme):
    dt = 0.5
    monkeypatch.setitem(globals(), "VORTEX", VORTEX.replace("[time]", f'[time]\nscheme = "{scheme}"'))
    first, *_ = said(tmp_path, monkeypatch, capsys, 30.0, dt=dt, end=500.0, error=FlowError)
    assert "the time step 0.5 is above" in first
    assert "step 0, " in first
    assert ('"auto"' in first) == (scheme == "rk3")
    advice = float(re.search(r"use time\.dt = ([\d.e-]+)", first)[1])
    assert said(tmp_path, monkeypatch, capsys, 30.0, dt=advice, end=50 * advice) == []


def test_a_warning_is_repeated_where_it_is_much_worse():
    warnings = Warnings((0.1, 0.2, 0.1), (10, 20, 30), 1e-3, Stability("rk3", (0.1, 0.2, 0.1), 1e-3), auto=False)

    def look(dissipation, disagreement):
        numbers = {"step": 1, "time": 0.1, "dt": 0.01, "cfl": 0.1}
        by = {"dissipation": dissipation * (1 - disagreement), "dissipation_laplacian": dissipation}
        return warnings.look({**numbers, **by})

    assert look(1e-5, 0.004) == [], "smooth, however small the Kolmogorov length is"
    assert look(1e-6, 0.1) == [], "eta = (1e-9 / 1e-6)^(1/4) = 0.178, and the largest spacing is 0.2"
    assert warnings.summary() == []
    assert len(look(1e-4, 0.1)) == 1
    assert look(4e-4, 0.1) == [], "the fourth root of the dissipation counts: 1.41"
    assert look(1e-4, 0.1) == []
    (again,) = look(6e-4, 0.1)
    assert "5.57 Kolmogorov lengths" in again
    assert warnings.summary() == [again]
    assert look(np.inf, 0.1) == [], "squares of a velocity that is about to be infinite"


def test_the_kolmogorov_length_is_that_of_the_larger_dissipation():
    numbers = {"dissipation": 0.5e-4, "dissipation_laplacian": 1e-4}
    found = resolution(numbers, (0.1, 0.2, 0.15), 1e-3)
    assert found.spacing_over_eta == pytest.approx(0.2 / (1e-9 / 1e-4) ** 0.25, rel=1e-12)
    assert found.disagreement == pytest.approx(0.5)
    rest = resolution({"dissipation": 0.0, "dissipation_laplacian": 0.0}, (0.1,) * 3, 1e-3)
    assert rest.suffices
    assert np.isfinite(rest.disagreement)


@pytest.mark.parametrize(
    ("spacing_over_eta", "disagreement", "suffices"),
    [(RESOLVED, 1.0, True), (np.nextafter(RESOLVED, 9), 0.005, False), (99.0, np.nextafter(0.005, 0), True)],
)
def test_the_bounds_of_a_resolved_flow(spacing_over_eta, disagreement, suffices):
    assert Resolution(spacing_over_eta, disagreement).suffices == suffices


def test_resolution_at_its_limits():
    by_walls = resolution({"dissipation": 1e-4, "dissipation_laplacian": 0.0}, (0.1, 0.2, 0.1), 1e-3)
    assert by_walls.disagreement == 0.0
    assert by_walls.spacing_over_eta == pytest.approx(0.2 / (1e-9 / 1e-4) ** 0.25)
    inviscid = resolution({"dissipation": 1e-4, "dissipation_laplacian": 1e-4}, (0.1,) * 3, 0.0)
    assert inviscid == Resolution(np.inf, 0.0)


def test_the_points_that_are_needed_are_those_of_each_direction():
    """None fewer than there are, where a direction is resolved already."""
    warnings = Warnings((0.1, 0.2, 0.01), (10, 20, 30), 1e-3, Stability("rk3", (0.1, 0.2, 0.01), 1e-3), auto=True)
    numbers = {"step": 7, "time": 0.25, "dt": 1e-4, "cfl": 1e-4}
    (line,) = warnings.look({**numbers, "dissipation": 9e-3, "dissipation_laplacian": 1e-2})
    factor = 0.1 / (1e-9 / 1e-2) ** 0.25 / RESOLVED
    assert line.startswith("warning: step 7, t = 0.25: the flow is under-resolved: the largest spacing is 11.2 ")
    assert f"at least {int(10 * factor) + 1} x {int(40 * factor) + 1} x 30 points" in line
    assert "is 10.0% less than that by the Laplacian" in line
    assert warnings.summary() == [line]


@pytest.mark.parametrize(
    "changed", [{"dt": 0.0}, {"dt": -1.0}, {"dt": np.nan}, {"cfl": np.nan}, {"dissipation": np.inf}]
)
def test_of_numbers_that_are_none_nothing_is_said(changed):
    warnings = Warnings((0.1,) * 3, (10,) * 3, 1e-3, Stability("rk3", (0.1,) * 3, 1e-3), auto=False)
    numbers = {"step": 1, "time": 0.1, "dt": 5.0, "cfl": 50.0, "dissipation": 0.0, "dissipation_laplacian": 0.0}
    assert warnings.look({**numbers, **changed}) == []
    (line,) = warnings.look(numbers)
    assert "the time step 5 is above" in line
    assert "CFL number 50" in line
    assert line.endswith(', or time.dt = "auto"')


def test_of_a_step_that_is_chosen_the_cfl_number_is_to_be_reduced():
    """The velocity grew between two evaluations: a fixed step would be worse advice."""
    warnings = Warnings((0.1,) * 3, (10,) * 3, 1e-3, Stability("rk3", (0.1,) * 3, 1e-3), auto=True)
    numbers = {"step": 4150, "time": 107.7, "dt": 0.0342, "dissipation": 0.0, "dissipation_laplacian": 0.0}
    assert warnings.look({**numbers, "cfl": 0.75}) == []
    (line,) = warnings.look({**numbers, "cfl": 0.902})
    assert "CFL number 0.902" in line
    assert line.endswith("; reduce time.cfl")


def test_the_worst_is_the_first_of_equals():
    warnings = Warnings((0.1,) * 3, (10,) * 3, 1e-3, Stability("rk3", (0.1,) * 3, 1e-3), auto=False)
    numbers = {"time": 0.1, "dt": 5.0, "cfl": 50.0, "dissipation": 0.0, "dissipation_laplacian": 0.0}
    (first,) = warnings.look({**numbers, "step": 1})
    assert warnings.look({**numbers, "step": 2}) == []
    assert warnings.summary() == [first]
    assert [len(warnings._new({"other": (badness, "x")}, 3, 0.3)) for badness in (1.0, 1.5, 1.51)] == [1, 0, 1]


def test_diffusivities_that_forbid_a_step_are_named():
    stability = Stability("rk3", (0.1,) * 3, 0.5)
    given = {"case.reynolds = 10": 0.1, "scalar[0].schmidt = 0.2": 0.5}
    warnings = Warnings((0.1,) * 3, (10,) * 3, 0.1, stability, auto=False, diffusivities=given)
    limit = stability.largest_step(0.0, 1e-3)
    for dt, causes in ((0.9, []), (1.0, []), (1.01, list(given)[1:]), (4.9, list(given)[1:]), (5.1, list(given))):
        (line,) = warnings.look_at_step(0, 0.0, 50.0 / limit, dt * limit)
        assert f"CFL number {50 * dt:.3g}" in line
        told = f"; diffusion alone allows {limit:.3g}, by {' and '.join(causes)})" if causes else ")"
        assert f"{told}: the flow may soon" in line
        assert ("diffusion" in line) == bool(causes)
        warnings = Warnings((0.1,) * 3, (10,) * 3, 0.1, stability, auto=False, diffusivities=given)


@pytest.mark.parametrize(("value", "text"), [(0.01289, "0.012"), (0.0999, "0.099"), (1.0, "1"), (12.9, "12")])
def test_advice_has_two_digits_and_is_never_too_large(value, text):
    assert _two_digits(value) == text
