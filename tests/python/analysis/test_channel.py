"""The ready-made analysis `channel`: against exact moments, NumPy and Poiseuille's flow."""

import itertools

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.inputs import cases
from tailrace.io.time_series import read_time_series

NU = 0.02
TIMES = (1.0, 1.5, 1.75, 3.0)
WEIGHTS = np.array([0.5, 0.5, 0.25, 1.25]) / 2.5  # the time since the step before; the first has that of the second
SPEED = np.array([1.0, 1.1, 0.9, 1.05])  # of the mean flow in each step
SWING = np.array([1.0, 0.5, 1.5, 1.2])  # of v


# ---- known moments: u = SPEED U + a cos kX, v = SWING b cos kX, w = e cos qZ, phi = P + f cos kX ---------------------
def mean_speed(y):
    return 1 - (y - 1) ** 2


def a(y):
    return 0.4 * mean_speed(y) * (1 + 0.1 * (y - 1))


def b(y):
    return -0.2 * mean_speed(y) * (y - 1)


def e(y):
    return 0.1 * mean_speed(y) ** 2


def mean_phi(y):
    return 0.6 + 0.4 * (y - 1) ** 3


def f(y):
    return 0.3 * mean_speed(y) * (y - 1)


MEAN = float(WEIGHTS @ SPEED)
SWUNG = float(WEIGHTS @ SWING)
EXACT = {  # name: (function of y, sign in the mirror)
    "mean_u": (lambda y: MEAN * mean_speed(y), 1),
    "mean_v": (lambda y: 0 * y, -1),
    "uu": (lambda y: a(y) ** 2 / 2 + (WEIGHTS @ SPEED**2 - MEAN**2) * mean_speed(y) ** 2, 1),
    "uv": (lambda y: SWUNG * a(y) * b(y) / 2, -1),
    "vv": (lambda y: (WEIGHTS @ SWING**2) * b(y) ** 2 / 2, 1),
    "ww": (lambda y: e(y) ** 2 / 2, 1),
    "uw": (lambda y: 0 * y, 1),
    "u_phi": (lambda y: a(y) * f(y) / 2, -1),
    "v_phi": (lambda y: SWUNG * b(y) * f(y) / 2, 1),
    "phi_phi": (lambda y: f(y) ** 2 / 2, 1),
    "pp": (lambda y: y**2 / 2, 1),
}


def write(path, across="y", stream="x", *, stretched=True, ends="dirichlet", points=33):
    """A series of it, with walls across a direction."""
    span = "xyz".replace(across, "").replace(stream, "")
    nodes = {across: points, stream: 16, span: 12}
    lengths = {across: 2.0, stream: 3.0, span: 1.5}
    stretching = {"stretching": "walls", "beta": 0.26} if stretched else {}
    bounds = [ends if axis == across else "periodic" for axis in "xyz"]
    ops = tr.Operators([nodes[axis] for axis in "xyz"], [lengths[axis] for axis in "xyz"], bounds, **stretching)
    places = dict(zip("xyz", np.meshgrid(*ops.coordinates(), indexing="ij"), strict=True))
    along, y, aside = (places[axis].T for axis in (stream, across, span))
    if ends.startswith("free-slip"):
        y = 2.0 - y
    wave, other = np.cos(2 * np.pi * along / 3.0 + 0.2), np.cos(2 * np.pi * aside / 1.5)
    away = -1 if ends.startswith("free-slip") else 1
    with tr.open(path, "w", grid=ops.grid) as out:
        out.set_attribute("reynolds", 1 / NU)
        out.set_attribute("phi/parity", [1, 1, 1])
        out.set_attribute("phi/schmidt", 0.5)
        for at, time in enumerate(TIMES):
            fields = {
                f"u{stream}": SPEED[at] * mean_speed(y) + a(y) * wave,
                f"u{across}": away * SWING[at] * b(y) * wave,
                f"u{span}": e(y) * other,
                "pressure": y * wave,
                "phi": mean_phi(y) + f(y) * wave,
            }
            fields = {name: np.ascontiguousarray(values) for name, values in fields.items()}
            out.write_step(time, {name: fields[name] for name in ("ux", "uy", "uz", "pressure", "phi")}, index=10 * at)
    return path


def final(directory):
    with tr.open(directory / "channel-final.h5") as stored:
        (step,) = stored
        names = [name for name, one in step.variables.items() if one.is_list]
        return {name: step.read(name) for name in names} | dict(step.scalars)


@pytest.mark.parametrize(
    ("across", "stream", "ranks"), [("y", "x", 1), ("y", "x", 2), ("y", "z", 3), ("x", "z", 2), ("z", "x", 3)]
)
def test_moments_are_exact(tailrace, tmp_path, across, stream, ranks):
    write(tmp_path / "flow.h5", across, stream, stretched=across == "y", points=65)
    said = tailrace(tmp_path, "analyse", "channel", "flow.h5", ranks=ranks).out
    found = final(tmp_path / "analysis")
    y = found["y"]
    assert (len(y), y[0], y[-1]) == (33, 0.0, pytest.approx(1.0))
    for name, (exact, sign) in EXACT.items():
        folded = 0.5 * (exact(y) + sign * exact(2 - y))
        np.testing.assert_allclose(found[name], folded, atol=1e-13, err_msg=name)
    np.testing.assert_allclose(found["mean_phi"], mean_phi(y), atol=1e-13)
    tau = NU * MEAN * 2
    assert found["u_tau"] == pytest.approx(np.sqrt(tau), rel=1e-4)
    assert found["re_tau"] == pytest.approx(np.sqrt(tau) / NU, rel=1e-4)
    assert (found["samples"], found["duration"]) == (4, 2.5)
    assert found["u_bulk"] == pytest.approx(MEAN * 2 / 3, rel=1e-3)
    assert found["phi_nusselt"] == pytest.approx(3, rel=1e-3)
    assert found["phi_flux"] == pytest.approx(NU / 0.5 * 1.2, rel=1e-3)
    uv = 0.5 * (EXACT["uv"][0](y) - EXACT["uv"][0](2 - y))
    total = NU * MEAN * 2 * (1 - y) - uv
    np.testing.assert_allclose(found["total_stress_plus"], total / tau, atol=1e-3)
    np.testing.assert_allclose(found["straight_stress_plus"], 1 - y, atol=1e-12)
    worst = np.abs(uv).max() / tau
    assert found["stress_deviation"] == pytest.approx(worst, rel=2e-3)
    assert f"converged within {100 * found['stress_deviation']:.3g} %" in said
    for name in ("y", "u_rms"):
        assert np.isfinite(found[f"{name}_plus"]).all()
    np.testing.assert_allclose(found["u_rms_plus"] ** 2 * found["u_tau"] ** 2, found["uu"], atol=1e-13)
    rows = read_time_series(tmp_path / "analysis/channel.csv")
    assert list(rows["samples"]) == [1, 2, 3, 4] and rows["u_tau"][-1] == found["u_tau"]
    units = found["u_tau"] ** 2 / NU
    wave, slope = 2 * np.pi / 3.0, 1e-4  # the derivatives of a and e by central differences
    da, de = ((one(y + slope) - one(y - slope)) / (2 * slope) for one in (a, e))
    mirrored = (a(2 - y + slope) - a(2 - y - slope)) / (2 * slope)
    z = (WEIGHTS @ SWING**2) * (wave * b(y)) ** 2 / 2 + (da**2 + mirrored**2) / 4
    z += (WEIGHTS @ SPEED**2 - MEAN**2) * (2 * (1 - y)) ** 2
    np.testing.assert_allclose(found["omega_x_rms_plus"] * units, np.abs(de) / np.sqrt(2), atol=1e-3)
    np.testing.assert_allclose(found["omega_y_rms_plus"], 0, atol=1e-12)
    np.testing.assert_allclose(found["omega_z_rms_plus"] * units, np.sqrt(z), atol=1e-3)


def test_one_wall_is_seen_from_the_wall(tailrace, tmp_path):
    """Open channels with the wall below and above are mirror images, and are not folded."""
    for name, ends in (("below", "dirichlet|free-slip"), ("above", "free-slip|dirichlet")):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "flow.h5", ends=ends, stretched=False)
        tailrace(tmp_path / name, "analyse", "channel", "flow.h5")
    below, above = (final(tmp_path / name / "analysis") for name in ("below", "above"))
    assert below["half_height"] == 2 and len(below["y"]) == 33
    assert below.keys() == above.keys()
    for name, values in below.items():
        np.testing.assert_allclose(above[name], values, atol=1e-11, err_msg=name)
    np.testing.assert_allclose(below["uv"], EXACT["uv"][0](below["y"]), atol=1e-13)
    np.testing.assert_allclose(below["straight_stress_plus"], 1 - below["y"] / 2, atol=1e-12)


def test_parameters(tailrace, tmp_path):
    write(tmp_path / "flow.h5", stretched=False)
    words = ("--set", "start=1.5", "--set", "symmetry=off", "--set", "stream=z", "--set", "vorticity=false")
    tailrace(tmp_path, "analyse", "channel", "flow.h5", *words, "--set", "profiles_every=1")
    found = final(tmp_path / "analysis")
    weights = np.array([0.25, 0.25, 1.25]) / 1.75
    y = found["y"]
    np.testing.assert_allclose(found["mean_w"], (weights @ SPEED[1:]) * mean_speed(y), atol=1e-13)
    np.testing.assert_allclose(found["vw"], (weights @ SWING[1:]) * a(y) * b(y) / 2, atol=1e-13)
    assert len(y) == 33 and not any(name.startswith("omega") for name in found)
    with tr.open(tmp_path / "analysis/channel.h5") as stored:
        assert ["y" in step.variables for step in stored] == [False, False, True]


@pytest.mark.parametrize(
    ("ends", "words", "message"),
    [
        ("free-slip", (), "there is no wall; the boundaries are periodic, free-slip, periodic"),
        ("periodic", (), "its boundaries are periodic, periodic, periodic"),
        ("dirichlet", ("stream=y",), "stream must be 'auto', 'x' or 'z' (found 'y')"),
        ("dirichlet", ("symmetry=yes",), "symmetry must be 'auto', 'on' or 'off' (found 'yes')"),
        ("dirichlet|free-slip", ("symmetry=on",), "needs walls and equal nodes at both ends"),
        ("dirichlet", ("profiles_every=-1",), "profiles_every = -1"),
    ],
)
def test_what_is_no_channel_is_an_error(tailrace, tmp_path, ends, words, message):
    write(tmp_path / "flow.h5", stretched=False, ends=ends)
    options = [f"--set={word}" for word in words]
    assert message in tailrace(tmp_path, "analyse", "channel", "flow.h5", *options, code=1).text


# ---- runs ------------------------------------------------------------------------------------------------------------
def make_case(steps=6, **more):
    scalar = {"name": "phi", "schmidt": 0.7, "initial": "linear", "boundaries": ["periodic", [0.0, 1.0], "periodic"]}
    told = {
        "case": {"flow": "channel", "parameters": {"noise": 0.1}, "reynolds": 100},
        "grid": {
            "points": [16, 33, 12], "lengths": [4, 2, 2], "boundaries": ["periodic", "wall", "periodic"],
            "stretching": "walls", "beta": 0.26,
        },
        "forcing": {"flow_rate": 2 / 3},
        "time": {"dt": 0.005, "steps": steps},
        "scalar": [scalar],
        "analysis": [{"script": "channel", "every": 1, "parameters": {"start": 0.005}}],
        "output": [{"name": "out", "engine": "hdf5", "fields": ["ux", "uy", "uz", "pressure", "phi"], "every": 1}],
        "parallel": {"rows": 1},
    }  # fmt: skip
    return tr.Case(**(told | more))


def in_process(directory, monkeypatch, case, **more):
    directory.mkdir(exist_ok=True)
    monkeypatch.chdir(directory)
    assert tr.Simulation(case, MPI.COMM_SELF, **more).run() == 0


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """An unbroken run."""
    directory = tmp_path_factory.mktemp("straight")
    with pytest.MonkeyPatch.context() as patch:
        in_process(directory, patch, make_case())
    return directory


def test_a_run_agrees_with_numpy(straight):
    """All moments of a flow without any symmetry; the profiles are averaged over both halves."""
    found = final(straight / "analysis")
    names = {"ux": "u", "uy": "v", "uz": "w", "pressure": "p", "phi": "phi"}
    with tr.open(straight / "out.h5") as stored:
        fields = {one: np.array([np.asarray(step[name]) for step in stored[1:]]) for name, one in names.items()}
        assert len(stored) == 7
    sign = {"u": 1, "v": -1, "w": 1, "p": 1, "phi": -1}
    mean = {name: values.mean(axis=(0, 1, 3)) for name, values in fields.items()}
    pairs = list(itertools.combinations_with_replacement(fields, 2))
    assert len(pairs) == 15
    for one, other in pairs:
        full = (fields[one] * fields[other]).mean(axis=(0, 1, 3)) - mean[one] * mean[other]
        folded = 0.5 * (full + sign[one] * sign[other] * full[::-1])[:17]
        name = one + other if "phi" not in (one, other) else f"{one}_{other}"
        np.testing.assert_allclose(found[name], folded, atol=1e-14, err_msg=name)
    for name in ("u", "v", "w", "p"):
        folded = 0.5 * (mean[name] + sign[name] * mean[name][::-1])[:17]
        np.testing.assert_allclose(found[f"mean_{name}"], folded, atol=1e-14, err_msg=name)
    assert found["phi_nusselt"] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("cut", [1, 3])
def test_a_resumed_run_is_the_same_to_the_last_bit(straight, tmp_path, monkeypatch, cut):
    more = {"checkpoint": {"every": 10}}  # and at the end of a run
    in_process(tmp_path / "halves", monkeypatch, make_case(cut, **more))
    in_process(tmp_path / "halves", monkeypatch, make_case(**more), resume=True)
    ours, theirs = final(tmp_path / "halves/analysis"), final(straight / "analysis")
    assert ours.keys() == theirs.keys()
    for name, values in theirs.items():
        assert np.asarray(ours[name]).tobytes() == np.asarray(values).tobytes(), name
    assert cases.table(tmp_path / "halves/analysis/channel.csv") == cases.table(straight / "analysis/channel.csv")


def test_files_give_what_the_run_gave(straight, tailrace, tmp_path):
    tailrace(tmp_path, "analyse", "channel", straight / "out.h5", "--set", "start=0.005", ranks=3)
    ours, theirs = final(tmp_path / "analysis"), final(straight / "analysis")
    assert ours.keys() == theirs.keys()
    for name, values in theirs.items():
        np.testing.assert_allclose(ours[name], values, atol=1e-11, err_msg=name)


def test_poiseuille(tmp_path, monkeypatch):
    """A pressure gradient of 2 nu keeps u = y (2 - y): the wall shear is 2 nu, and the stress is on its line."""
    case = make_case(
        20, forcing={"acceleration": [0.02, 0, 0]}, scalar=[], output=[],
        case={"flow": "channel", "reynolds": 100},
    )  # fmt: skip
    in_process(tmp_path, monkeypatch, case)
    found = final(tmp_path / "analysis")
    y = found["y"]
    np.testing.assert_allclose(found["mean_u"], y * (2 - y), atol=1e-5)
    assert found["u_tau"] == pytest.approx(np.sqrt(0.02), rel=1e-4)
    assert found["skin_friction"] == pytest.approx(2 * 0.02 / (2 / 3) ** 2, rel=1e-3)
    assert found["stress_deviation"] < 1e-3
    np.testing.assert_allclose(found["u_plus"], y * (2 - y) / np.sqrt(0.02), rtol=1e-3)
    np.testing.assert_allclose(found["total_stress_plus"], 1 - y, atol=1e-3)
    np.testing.assert_allclose([found[name] for name in ("uu", "vv", "ww", "uv")], 0, atol=1e-10)


def test_other_statistics_do_not_continue(tmp_path, monkeypatch):
    more = {"checkpoint": {"every": 10}, "output": []}
    in_process(tmp_path, monkeypatch, make_case(2, **more))
    less = [{"script": "channel", "every": 1, "parameters": {"vorticity": False}}]
    with pytest.raises(RuntimeError, match="and this run those of ux, uy, uz, pressure, phi; they cannot be continued"):
        in_process(tmp_path, monkeypatch, make_case(4, **more, analysis=less), resume=True)
