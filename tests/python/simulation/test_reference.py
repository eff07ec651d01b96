"""Against Xcompact3D: the free-slip 33^3 Taylor-Green vortex, computed from its own input file."""

import os
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness import mpi_run
from helpers.inputs import sidecar
from tailrace.case.case import case_from_document
from tailrace.io.time_series import read_time_series

SAMPLE = Path(__file__).parents[2] / "data" / "xcompact3d" / "tgv33"
SHAPE = (33, 33, 33)
DT = 0.005

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The directory of the finished run: 4000 steps, some 20 s."""
    directory = tmp_path_factory.mktemp("reference")
    text = (SAMPLE / "input.i3d").read_text()
    (directory / "input.i3d").write_text(text)
    result = mpi_run.tailrace("run", "input.i3d", cwd=directory, limit=280)
    assert result.code == 0, result.text
    return directory


@pytest.fixture(scope="module")
def history(run):
    """Our rows at the steps of the reference, and its rows; its column of times is one time step behind."""
    theirs = np.loadtxt(SAMPLE / "time_evol.dat")
    steps = np.rint(theirs[:, 0] / DT).astype(int) + 1
    ours = read_time_series(run / "time_series.csv")
    at = np.searchsorted(ours["step"], steps)
    assert (ours["step"][at] == steps).all()
    return {name: values[at] for name, values in ours.items()}, theirs


def snapshot(directory, step):
    """The file name pattern of our raw snapshot of a step, as its own description tells."""
    for entry in sidecar.read(directory / "data")["steps"]:
        if entry["index"] == step:
            return {variable["name"]: directory / "data" / variable["file"] for variable in entry["variables"]}
    raise AssertionError(f"there is no snapshot of step {step}")


def test_snapshots_have_the_names_of_the_reference(run):
    names = {path.name for path in (run / "data").glob("*-2.*")}
    assert {"ux-2.bin", "uy-2.bin", "uz-2.bin", "pp-2.bin", "vort-2.bin", "critq-2.bin", "snapshot-2.xdmf"} == names
    assert snapshot(run, 2000)["ux"].name == "ux-2.bin"  # t = 10


def difference(ours, theirs):
    one, other = (np.fromfile(path).reshape(SHAPE) for path in (ours, theirs))
    return abs(one - other).max()


# The limits asked for are 1e-6 to t = 10 and 1e-3 to t = 20; we find 5e-12 throughout, the digits printed.
@pytest.mark.parametrize(
    "name, column", [("kinetic_energy", 1), ("dissipation", 2), ("dissipation_laplacian", 3), ("enstrophy", 4)]
)
def test_history_to_the_printed_digits(history, name, column):
    ours, theirs = history
    assert abs(ours["time"] - theirs[:, 0] - DT).max() < 1e-9
    error = abs(ours[name] / theirs[:, column] - 1)
    print(f"{name}: {error[ours['time'] <= 10].max():.1e} to t = 10, {error.max():.1e} to t = 20")
    assert error[ours["time"] <= 10].max() < 1e-10
    assert error.max() < 1e-10


def test_history_without_the_shift_in_time_would_not_agree(history):
    ours, theirs = history
    later = abs(ours["kinetic_energy"][1:] / theirs[:-1, 1] - 1)
    assert later.max() > 1e-3, "the comparison would not notice a shift"


@pytest.mark.parametrize("name", ["ux", "uy", "uz"])
def test_velocity_at_t_10(run, name):
    error = difference(snapshot(run, 2000)[name], SAMPLE / "data" / f"{name}-2.bin")
    print(f"{name}: {error:.1e}")
    assert error < 1e-9  # 1e-11 found; 1e-6 asked for


# `critq` is left out: its values in the reference are -0.5 times a sum of squares of single gradients, which is not Q.
@pytest.mark.parametrize("number, step", [(2, 2000), (4, 4000)])
@pytest.mark.parametrize(
    "name, theirs, limit",
    [("ux", "ux", 1e-9), ("uy", "uy", 1e-9), ("uz", "uz", 1e-9), ("pressure", "pp", 1e-9), ("vorticity", "vort", 1e-7)],
)
def test_all_fields_of_the_samples(run, number, step, name, theirs, limit):
    samples = os.environ.get("TAILRACE_SAMPLES")
    if not samples:
        pytest.skip("TAILRACE_SAMPLES does not say where the samples are")
    path = Path(samples) / "xcompact3d" / "tgv33" / "data" / f"{theirs}-{number}.bin"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    error = difference(snapshot(run, step)[theirs], path)
    print(f"{name} at step {step}: {error:.1e}")
    assert error < limit


def test_divergence_of_the_whole_run(run):
    # U = 1, L = 1 for the vortex.
    assert read_time_series(run / "time_series.csv")["max_divergence"].max() <= 1e-11


def any_modes(x, y, z):
    """Any mixture of modes that free-slip walls allow, different in every direction: it goes on as a periodic one."""
    s, c = np.sin, np.cos
    u = s(x) * c(2 * y) * c(z) + 0.4 * s(2 * x) * c(y) * c(3 * z) + 0.2 * s(3 * x) * c(y)
    v = 0.7 * c(x) * s(y) * c(2 * z) + 0.3 * c(2 * x) * s(2 * y) * c(z)
    w = 0.5 * c(2 * x) * c(y) * s(z) - 0.6 * c(x) * c(3 * y) * s(2 * z)
    return u + 0 * z, v, w


def fifty_steps(points, length, kind):
    """Fields and numbers at the end, and the velocity in x at the beginning."""
    grid = {"points": points, "lengths": [length] * 3, "boundaries": [kind] * 3}
    given = {"case": {"reynolds": 50.0}, "grid": grid, "time": {"dt": 0.01, "steps": 50}}
    case = case_from_document(given, source="test", directory=Path())
    simulation = tr.Simulation(case, MPI.COMM_SELF, flow=any_modes)
    start = simulation.field("ux").copy()
    for _ in range(50):
        simulation.advance()
    return [simulation.field(n) for n in ("ux", "uy", "uz", "pressure", "q")], simulation.measure(), start


def test_free_slip_octant_equals_the_periodic_box():
    nodes = (13, 17, 11)
    part, one, start = fifty_steps(list(nodes), float(np.pi), "free-slip")
    whole, other, _ = fifty_steps([2 * (n - 1) for n in nodes], 2 * float(np.pi), "periodic")
    assert abs(part[0] - start).max() > 0.05, "the flow does not change"
    x, y, z = nodes
    worst = max(abs(a - b[:z, :y, :x]).max() / abs(a).max() for a, b in zip(part, whole, strict=True))
    print("fields differ by", worst)
    assert worst < 1e-12, worst
    for name in ("kinetic_energy", "dissipation", "dissipation_laplacian", "enstrophy", "cfl"):
        assert abs(one[name] / other[name] - 1) < 1e-12, name
