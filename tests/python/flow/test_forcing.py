"""Body forces: against exact solutions, on any number of ranks, resumed, and wrong ones."""

import math
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness.kept import KEPT
from helpers.inputs import cases
from helpers.programs import simulation_programs
from tailrace.io.time_series import read_time_series

VISCOSITY = 0.1


def exact(x, y, z, t):
    """A vortex whose convection is a gradient, free-slip in y, and a mean flow in z."""
    g = math.sin(2 * t)
    return g * np.sin(x) * np.cos(y) + 0 * z, -g * np.cos(x) * np.sin(y) + 0 * z, math.sin(3 * t)


def force(x, y, z, t):
    f = 2 * math.cos(2 * t) + 2 * VISCOSITY * math.sin(2 * t)
    return f * np.sin(x) * np.cos(y), -f * np.cos(x) * np.sin(y), 3 * math.cos(3 * t)


def model(scheme="rk3", dt=0.01, forcing=force, **time):
    case = tr.Case(
        case={"reynolds": 1 / VISCOSITY},
        grid={
            "points": (20, 11, 8),
            "lengths": ("2*pi", "pi", 4.0),
            "boundaries": ("periodic", "free-slip", "periodic"),
        },
        time={"scheme": scheme, "dt": dt, "steps": 10, **time},
    )
    return tr.Model(case, MPI.COMM_SELF, flow=lambda x, y, z: exact(x, y, z, 0.0), forcing=forcing)


@pytest.mark.parametrize("scheme, order", [("euler", 1), ("ab2", 2), ("ab3", 2), ("rk3", 3)])
def test_order_in_time(scheme, order):
    """The force of every stage is that of its time; Adams-Bashforth begins with an Euler step."""
    errors = []
    for steps in (40, 80) if scheme == "ab3" else (20, 40):  # within its limits of viscous stability
        one = model(scheme, 0.8 / steps)
        for _ in range(steps):
            one.advance()
        assert one.time == pytest.approx(0.8, rel=1e-12)
        expected = exact(*one.velocity.x.coordinates(), one.time)
        errors.append(max(abs(u - e).max() for u, e in zip(one.velocity, expected, strict=True)))
    assert errors[1] < 0.1
    assert math.log2(errors[0] / errors[1]) > order - 0.25, errors


def test_a_uniform_force_accelerates_the_mean():
    one = model(forcing=lambda x, y, z, t: (2.0, 0.0, -1.0))
    before = one.velocity.mean()
    for _ in range(10):
        one.advance()
    np.testing.assert_allclose(one.velocity.mean() - before, [0.2, 0.0, -0.1], atol=1e-13)


def test_the_gradient_of_a_force_is_pressure():
    """Before the first step too: f = grad phi moves nothing, and the pressure is phi."""
    one = model(forcing=lambda x, y, z, t: (np.cos(x) * np.cos(y), -np.sin(x) * np.sin(y), 0.0))
    x, y, z = one.velocity.x.coordinates()
    for _ in range(2):
        pressure = one.field("pressure")
        assert abs(pressure - np.sin(x) * np.cos(y) - 0 * z).max() < 1e-5
        one.advance()
    assert abs(one.velocity.x).max() < 1e-7, "0.02 times the error of the schemes"


@pytest.fixture(scope="module", params=[2, 3])
def ranks(request):
    return KEPT.ranks(request.param)


def test_any_number_of_ranks_gives_the_same_bits(ranks, tmp_path):
    case = str(cases.write_case(tmp_path, steps=3, scheme="ab2"))
    alone = simulation_programs.forced(MPI.COMM_SELF, case, 1)
    for rows in (1, 2) if ranks.size == 2 else (1,):
        assert ranks.results(simulation_programs.forced, case=case, rows=rows)[0] == alone
    assert simulation_programs.forced(MPI.COMM_SELF, case, 1, forced=False) != alone


@pytest.mark.parametrize("scheme", ["rk3", "ab2"])
def test_a_resumed_run_goes_on_to_the_last_bit(tmp_path, monkeypatch, scheme):
    (tmp_path / "force.py").write_text("import numpy as np\n\n\ndef f(x, y, z, t):\n    return np.sin(x + t), 0, t\n")

    def compute(name, steps, resume=False):
        case = cases.write_case(tmp_path / name, "periodic", steps=steps, scheme=scheme, every=2)
        text = case.read_text().replace("[case]", '[case]\nforcing = "../force.py:f"')
        case.write_text(text)
        monkeypatch.chdir(case.parent)
        assert tr.run(tr.load_case(case), resume=resume) == 0
        return cases.state(case.parent, steps)

    straight = compute("straight", 5)
    compute("parts", 2)
    cases.assert_same_state(compute("parts", 5, resume=True), straight)


def test_a_resume_needs_the_forcing_again(tmp_path, monkeypatch):
    case = tr.load_case(cases.write_case(tmp_path, "periodic", steps=2, every=2))
    monkeypatch.chdir(tmp_path)
    tr.Simulation(case, MPI.COMM_SELF, forcing=force, flow=lambda x, y, z: (np.sin(y), 0 * x, 0 * x)).run()
    with pytest.raises(tr.InputError, match=r"forcing = not given \(before: 'force' of Python\)"):
        tr.Simulation(case, MPI.COMM_SELF, resume=True)
    assert tr.Simulation(case, MPI.COMM_SELF, resume=True, forcing=force).step == 2
    text = Path("time_series.csv").read_text()
    assert "flow: <lambda> of " in text
    assert "forcing: force of " in text
    assert "test_forcing.py, given in Python" in text


@pytest.mark.parametrize(
    "returned, said",
    [
        ("1 / 0", "ZeroDivisionError"),
        ("(x, y)", "must return three arrays (x, y, z of a vector); found 2 values"),
        ("(np.zeros(3), 0, 0)", "has the shape (3,); expected ("),
        ("(0, np.nan, 0)", "returned uy = nan at x = 0, y = "),
        ("(0, 0, 1j)", "is complex; give its real part"),
        ("(0, 1.0, 0)", "y boundary, which is free-slip; the velocity normal to it must be 0 there"),
    ],
)
def test_a_wrong_force_of_one_rank_is_an_error_on_all(ranks, tmp_path, returned, said):
    case = cases.write_case(tmp_path, steps=3)
    for outcome in ranks.run(simulation_programs.forced_wrongly, case=str(case), returned=returned):
        assert outcome.error == "InputError"
        assert "forcing 'wrong' at t = 0.0" in outcome.text
        assert said in outcome.text


@pytest.mark.parametrize(
    "forcing, said",
    [
        ("force.py", "must name a Python function as 'file.py:function'"),
        ("none.py:f", "there is no file"),
        ("flow.py:velocty", "has no function 'velocty'; it has"),
    ],
)
def test_a_wrong_forcing_of_a_case_is_found_before_anything_starts(tmp_path, forcing, said):
    case = cases.write_case(tmp_path)
    with pytest.raises(tr.ConfigError) as caught:
        tr.load_case(case, [f"case.forcing={forcing}"])
    assert caught.value.problems[0].key == "case.forcing"
    assert said in str(caught.value)


def turning(scheme, steps, until):
    """A uniform flow of speed 1 that turns with the angular velocity 1: du/dt = -c x u has c = (0, 0, 1)."""
    return tr.Case(
        case={"reynolds": 100},
        grid={"points": (8, 10, 12), "lengths": (1.0, 2.0, 3.0), "boundaries": ("periodic",) * 3},
        forcing={"coriolis": (0.0, 0.0, 1.0), "coriolis_until": until},
        time={"scheme": scheme, "dt": 0.01, "steps": steps},
        checkpoint={"every": 5},
    )


def along_x(x, y, z):
    return 1 + 0 * x, 0 * x, 0 * x


def test_rotation_ends_in_time():
    """Thirty steps begin before t = 0.3, though thirty times 0.01 is not 0.3 in binary numbers."""
    one = tr.Model(turning("rk3", 50, 0.3), MPI.COMM_SELF, flow=along_x)
    for _ in range(50):
        one.advance()
    np.testing.assert_allclose(one.velocity.mean(), [math.cos(0.3), -math.sin(0.3), 0.0], atol=1e-8)


def test_rotation_that_has_ended_stays_so_in_a_resumed_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tr.Simulation(turning("ab2", 10, 0.08), MPI.COMM_SELF, flow=along_x).run()
    resumed = tr.Simulation(turning("ab2", 20, 0.08), MPI.COMM_SELF, flow=along_x, resume=True)
    resumed.run()
    straight = tr.Model(turning("ab2", 20, 0.08), MPI.COMM_SELF, flow=along_x)
    for _ in range(20):
        straight.advance()
    for ours, theirs in zip(resumed.velocity, straight.velocity, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("forcing", "mean"),
    [
        ({"acceleration": (0.0, 0.0, -2.0)}, lambda t: (0.5 + 0 * t, 0.25 + 0 * t, -2 * t)),
        ({"flow_rate": 0.75, "direction": "x"}, lambda t: (np.where(t > 0, 0.75, 0.5), 0.25 + 0 * t, 0 * t)),
        ({}, None),
    ],
    ids=["acceleration", "flow rate", "none"],
)
def test_a_flow_that_is_driven_shows_its_mean_velocity(tmp_path, monkeypatch, forcing, mean):
    """Between periodic ends too, where nothing else gives rise to these columns."""
    monkeypatch.chdir(tmp_path)
    case = tr.Case(
        case={"reynolds": 100},
        grid={"points": (8, 10, 12), "lengths": (1.0, 2.0, 3.0), "boundaries": ("periodic",) * 3},
        forcing=forcing,
        time={"dt": 0.01, "steps": 4},
        diagnostics={"every": 1},
    )
    tr.Simulation(case, MPI.COMM_SELF, flow=lambda x, y, z: (0.5 + 0.1 * np.sin(np.pi * y), 0.25 + 0 * x, 0 * x)).run()
    rows = read_time_series("time_series.csv")
    names = [f"mean_{name}" for name in ("ux", "uy", "uz")]
    assert [name for name in rows if name.startswith("mean_")] == (names if mean else [])
    for name, exact in zip(names, mean(rows["time"]) if mean else (), strict=False):
        np.testing.assert_allclose(rows[name], exact, atol=1e-13, err_msg=name)
