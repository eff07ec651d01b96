"""`dt = "auto"`: stable steps, and the same ones wherever a run is cut."""

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.inputs import cases
from tailrace.flow.model import FlowError
from tailrace.flow.stability import FIRST, SECOND, Stability, amplification
from tailrace.flow.time_step import settling_rate
from tailrace.io.time_series import read_time_series


# ---- stability -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("scheme", "real", "imaginary"),  # where the axes leave the region of stability, from the literature
    [("euler", 2, 0), ("ab2", 1, 0), ("ab3", 6 / 11, 0.7236), ("rk3", 2.5127, np.sqrt(3))],
)
def test_regions_of_stability(scheme, real, imaginary):
    inside, outside = amplification(scheme, np.array([-0.999 * real, -1.001 * real], dtype=complex))
    assert inside <= 1 < outside
    if imaginary:
        inside, outside = amplification(scheme, 1j * np.array([0.999, 1.001]) * imaginary)
        assert inside <= 1 + 1e-12 < outside
    else:
        assert amplification(scheme, np.array([0.3j])) > 1


def test_modified_wave_numbers_are_those_of_the_operators():
    n = 64
    operators = tr.Operators((n, 8, 8), (2 * np.pi,) * 3, ("periodic",) * 3, comm=MPI.COMM_SELF)
    for mode in (3, 20, 23):
        wave = tr.Field.from_function(operators, lambda x, y, z, mode=mode: np.sin(mode * x) + 0 * y + 0 * z)
        w = mode * 2 * np.pi / n
        angles = np.linspace(0, np.pi, 129)[1:]
        first = tr.ddx(wave).data[0, 0, 0] / mode * w  # the derivative at x = 0
        assert first == pytest.approx(np.interp(w, angles, FIRST), rel=1e-3)
        second = -tr.laplacian(wave).data[0, 0, 1] / wave.data[0, 0, 1]
        assert second * (2 * np.pi / n) ** 2 == pytest.approx(np.interp(w, angles, SECOND), rel=1e-3)


def test_the_largest_step_of_convection_and_of_viscosity_alone():
    spacing = (0.1, 0.2, 0.05)
    assert Stability("rk3", spacing, 1e-12).largest_step(5.0) == pytest.approx(np.sqrt(3) / 1.9894 / 5.0, rel=1e-3)
    total = sum(1 / h**2 for h in spacing)
    assert Stability("rk3", spacing, 0.3).largest_step(0.0) == pytest.approx(2.5127 / (0.3 * 48 / 7 * total), rel=1e-3)
    # Euler's forward step is stable up to 2 nu / u^2 where viscosity damps more than the step excites.
    assert Stability("euler", (0.1,) * 3, 1e-3).largest_step(2 / 0.1) == pytest.approx(2 * 1e-3 / 4, rel=0.05)


@pytest.mark.parametrize("share", [0.97, 1.1])
def test_the_solver_is_stable_up_to_there(tmp_path, share):
    """A uniform flow with a disturbance of the worst wave number: it decays, or grows."""
    n, u, nu = 16, 1.0, 1e-6
    (tmp_path / "wave.py").write_text(
        "import numpy as np\ndef velocity(x, y, z):\n"
        f"    return {u} + 0 * x, 1e-6 * np.cos(2 * np.pi * 6 / 16 * x + 0 * y), 0 * z\n"
    )
    text = (
        f'[case]\nflow = "wave.py:velocity"\nreynolds = {1 / nu}\n[grid]\npoints = [{n}, 8, 8]\n'
        f"lengths = [{n}.0, 8.0, 8.0]\nboundaries = ['periodic', 'periodic', 'periodic']\n[time]\nsteps = 150\n"
    )
    step = share * Stability("rk3", (1.0,) * 3, nu).largest_step(u)
    (tmp_path / "case.toml").write_text(f"{text}dt = {step}\n")
    model = tr.Model(tr.load_case(tmp_path / "case.toml"), MPI.COMM_SELF)
    for _ in range(150):
        model.advance()
    size = abs(model.field("uy")).max() / 1e-6
    assert size < 1 if share < 1 else size > 10


# ---- choosing the step -----------------------------------------------------------------------------------------------
def auto(directory, *, steps=40, scheme="rk3", every=0, more="", **options):
    return cases.write_case(directory, steps=steps, scheme=scheme, dt='"auto"\n' + more, every=every, **options)


def columns(directory):
    return read_time_series(directory / "time_series.csv")


def simulate(case, *overrides, resume=False, change=False):
    simulation = tr.Simulation(tr.load_case(case, overrides), MPI.COMM_SELF, resume=resume, change=change)
    assert simulation.run() == 0
    return simulation


def test_the_step_keeps_to_the_cfl_number(tmp_path, monkeypatch):
    case = auto(tmp_path, more="cfl = 0.35\n", steps=31)
    monkeypatch.chdir(tmp_path)
    simulate(case)
    found = columns(tmp_path)
    assert found["cfl"][0] == pytest.approx(0.35, rel=1e-12)
    assert abs(found["cfl"][1:] / 0.35 - 1).max() < 0.2
    dt = found["dt"][1:]
    changes = np.flatnonzero(np.diff(dt)) + 1  # the step number after which it changes
    assert set(changes) - set(range(1, 10)) == {10, 20, 30}, "evaluated in the first ten steps, then at every tenth"
    assert (dt[1:] / dt[:-1]).max() <= 1.1 * (1 + 1e-12)


def test_a_step_shortened_for_an_output_does_not_slow_down_the_next(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = '[[output]]\nname = "a"\nfields = ["ux"]\ntimes = [0.6, 0.65]\nengine = "null"\n'
    simulate(auto(tmp_path / "landing", steps=19, extra=output), "diagnostics.path=landing.csv")
    landing = read_time_series(tmp_path / "landing.csv")
    assert {0.6, 0.65} <= set(landing["time"].tolist())
    steps = landing["dt"][11:]  # which follow one evaluation, before step 11
    short = steps < 0.999 * steps.max()
    assert short.sum() >= 2
    assert steps[~short] == pytest.approx(steps.max(), rel=0)


@pytest.mark.parametrize("scheme", ["rk3", "euler"])
def test_a_run_cut_between_two_evaluations_takes_the_same_steps(tmp_path, monkeypatch, scheme):
    for name, steps in (("straight", (40,)), ("parts", (17, 30, 40))):
        case = auto(tmp_path / name, scheme=scheme, every=100)
        monkeypatch.chdir(case.parent)
        for end in steps:
            simulate(case, f"time.steps={end}", resume=end != steps[0])
    assert cases.checkpoints(tmp_path / "parts") == [30, 40]
    cases.assert_same_state(cases.state(tmp_path / "parts", 40), cases.state(tmp_path / "straight", 40))
    assert cases.table(tmp_path / "parts" / "time_series.csv") == cases.table(tmp_path / "straight" / "time_series.csv")
    assert len(set(columns(tmp_path / "straight")["dt"])) > 3, "the step changes"


def test_the_number_of_ranks_does_not_matter(tmp_path, monkeypatch, tailrace):
    straight, parts = (auto(tmp_path / name, every=100) for name in ("straight", "parts"))
    monkeypatch.chdir(straight.parent)
    simulate(straight)
    tailrace(parts.parent, "run", "case.toml", "--set", "time.steps=25", ranks=3)
    monkeypatch.chdir(parts.parent)
    simulate(parts, resume=True)
    cases.assert_same_state(cases.state(parts.parent, 40), cases.state(straight.parent, 40))
    ours, theirs = columns(parts.parent), columns(straight.parent)
    assert (ours["dt"] == theirs["dt"]).all()
    assert (ours["time"] == theirs["time"]).all()


def test_a_flow_at_rest(tmp_path):
    (tmp_path / "rest.py").write_text("def velocity(x, y, z):\n    return 0.0, 0.0, 0.0\n")
    model = tr.Model(tr.load_case(auto(tmp_path, flow="rest.py:velocity")), MPI.COMM_SELF)
    assert model.dt == pytest.approx(
        0.9 * Stability("rk3", [model.grid.spacing(d) for d in range(3)], 0.01).largest_step(0)
    )
    limited = tr.load_case(auto(tmp_path, flow="rest.py:velocity", more="dt_max = 0.01\n"))
    assert tr.Model(limited, MPI.COMM_SELF).dt == 0.01


@pytest.mark.parametrize("ends", [(24,), (4, 24)], ids=["straight", "resumed"])
def test_a_flow_that_is_set_in_motion(tmp_path, monkeypatch, ends):
    """A uniform flow that begins at rest has the velocity t times its acceleration, by which the step is limited from
    the second step on: not only from the eleventh, before which it would be unstable."""
    monkeypatch.chdir(tmp_path)
    for end in ends:
        case = tr.Case(
            case={"reynolds": 20.0},
            grid={"points": (10, 8, 12), "lengths": (1.0, 1.2, 2.4), "boundaries": ("periodic",) * 3},
            forcing={"acceleration": (160.0, 0.0, 120.0)},
            time={"dt": "auto", "cfl": 0.4, "dt_max": 0.02, "steps": end},
            checkpoint={"every": 4},
            diagnostics={"every": 1},
        )
        rest = tuple(np.zeros((12, 8, 10)) for _ in range(3))
        tr.Simulation(case, MPI.COMM_SELF, flow=rest, resume=end != ends[0]).run()
    found = columns(tmp_path)
    sizes = [0.02]
    for step in range(1, 24):
        rate = found["time"][step] * (160.0 / 0.1 + 120.0 / 0.2)
        due = step < 10 or step % 10 == 0
        sizes.append(min(0.4 / rate, 0.02) if due else sizes[-1])
    assert found["dt"][1:] == pytest.approx(sizes, rel=1e-9)
    assert sizes[1] < 0.5 * sizes[0] and sizes[9] < 0.2 * sizes[0], "the step is shortened at once"


def test_a_checkpoint_of_a_given_step_is_resumed_with_a_chosen_one(tmp_path, monkeypatch):
    case = cases.write_case(tmp_path, steps=15, dt=0.01, every=100)
    monkeypatch.chdir(tmp_path)
    simulate(case)
    simulate(case, "time.dt=auto", "time.steps=40", resume=True, change=True)
    dt = columns(tmp_path)["dt"]
    assert (dt[:21] == 0.01).all()
    assert dt[21:31] == pytest.approx(0.011, rel=1e-12)


def test_a_velocity_that_a_program_changes_shortens_the_step_at_once(tmp_path):
    model = tr.Model(tr.load_case(auto(tmp_path)), MPI.COMM_SELF)
    for _ in range(13):
        model.advance()
    before = model.dt
    for component in model.velocity:
        component.data[...] *= 4
    model.project()
    assert model.measure()["cfl"] == pytest.approx(0.6, rel=1e-12)
    assert model.dt < 0.5 * before


def test_what_grows_without_bound_is_an_error(tmp_path):
    model = tr.Model(tr.load_case(auto(tmp_path)), MPI.COMM_SELF)
    model.advance()
    for _ in range(9):
        model.advance()
    model.flow.velocity(1)[2, 3, 4] = np.inf
    with pytest.raises(FlowError, match="uy at node"):
        model.advance()


# ---- cases -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("overrides", "key", "reason"),
    [
        (["time.dt=automatic"], "time.dt", 'must be a number, or "auto"'),
        (["time.scheme=ab2"], "time", 'dt = "auto" changes the step, which ab2 cannot'),
        (["time.cfl=0.9"], "time.cfl", "must be at most 0.75"),
        (["time.cfl=0"], "time.cfl", "must be greater than 0"),
        (["time.dt_max=-1.0"], "time.dt_max", "must be greater than 0"),
        (["time.dt=0.1", "time.cfl=0.5"], "time", 'cfl goes with dt = "auto" only'),
    ],
)
def test_problems(tmp_path, overrides, key, reason):
    with pytest.raises(tr.ConfigError) as caught:
        tr.load_case(auto(tmp_path), overrides)
    (problem,) = caught.value.problems
    assert problem.key == key
    assert reason in problem.reason


def test_a_case_that_is_written_out_is_the_same(tmp_path):
    case = tr.load_case(auto(tmp_path, more="dt_max = 0.25\n"))
    assert case.time.cfl == 0.6
    (tmp_path / "again.toml").write_text(case.to_toml())
    assert tr.load_case(tmp_path / "again.toml") == case
    assert tr.load_case(tmp_path / "case.toml", ["time.dt=0.1"]).time.dt_max is None, "it goes with auto"
    assert tr.load_case(tmp_path / "case.toml", ["time.end=3.0", "checkpoint.every=1000"]).warnings() == []


def test_what_settles_limits_the_step(tmp_path, monkeypatch):
    """A scalar moves through a fluid at rest by its own velocity; without a limit it would blow up."""
    monkeypatch.chdir(tmp_path)
    case = tr.Case(
        case={"flow": "taylor-green", "reynolds": 100.0},
        grid={"points": (16, 12, 8), "lengths": (2 * np.pi,) * 3, "boundaries": ("periodic",) * 3},
        scalar=[{"name": "phi", "settling": (3.0, -1.0, 0.0)}],
        time={"dt": "auto", "cfl": 0.5, "steps": 1},
    )
    spacing = [2 * np.pi / n for n in (16, 12, 8)]
    settling = 3 / spacing[0] + 1 / spacing[1]
    assert settling_rate(case, tr.Model(case).grid) == pytest.approx(settling)
    model = tr.Model(case)
    assert model.rate() == pytest.approx(float(model.flow.rate()) + settling)


def test_a_scalar_that_blows_up_ends_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = tr.Model(
        tr.Case(
            case={"flow": "taylor-green", "reynolds": 100.0},
            grid={"points": (16, 12, 8), "lengths": (2 * np.pi,) * 3, "boundaries": ("periodic",) * 3},
            scalar=[{"name": "a"}, {"name": "phi"}],
            time={"dt": 0.01, "steps": 9},
        )
    )
    model.advance()
    model.check_finite()
    model.advance()
    model.flow.scalar(1)[3, 2, 1] = np.nan
    with pytest.raises(FlowError, match=r"the scalar 'phi' is not finite at step 2, .* at step 1 it was"):
        model.check_finite()
