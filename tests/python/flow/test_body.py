"""Bodies in flows: agreement with Xcompact3D, forces, ranks, shapes."""

import lzma
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness.kept import KEPT
from helpers.programs import body_programs
from tailrace import core as _core
from tailrace.flow import body
from tailrace.flow.measuring import forces
from tailrace.io.time_series import read_time_series

SAMPLES = os.environ.get("TAILRACE_SAMPLES")
needs_samples = pytest.mark.skipif(not SAMPLES, reason="TAILRACE_SAMPLES is not set")
FLOWS = Path(SAMPLES or "") / "xcompact3d" / "flows"


@pytest.fixture(scope="module")
def ranks():
    return KEPT.ranks(4)


@needs_samples
def test_cylinder_of_xcompact3d(ranks):
    assert body_programs.far_from_xcompact3d(MPI.COMM_SELF, FLOWS / "cyl", 1) < 1e-12
    assert ranks.results(body_programs.far_from_xcompact3d, directory=str(FLOWS / "cyl"), rows=2)[0] < 1e-12


@pytest.mark.parametrize(("rows", "method"), [(2, "alltoall"), (1, "shared"), (4, "subarray")])
def test_ranks_give_the_same(ranks, rows, method):
    if method == "shared" and not _core.can_share_memory(MPI.COMM_SELF.py2f()):
        pytest.skip("this machine has no shared memory for ranks")
    for velocity, scalar, force in ranks.results(body_programs.far_from_alone, rows=rows, method=method):
        assert max(velocity, scalar) < 1e-12
        assert force < 1e-10


BOXES = [((2.0, 4.0), (1.9, 3.9), None), ((1.0, 7.0), (1.0, 5.0), None), ((1.25, 6.0), (0.5, 5.5), None)]


def as_xcompact3d(flow, volume, momenta):
    """The force by Xcompact3D's sums: of products of averages of two nodes, and of momentum at all nodes of the box."""
    i0, j0, i1, j1 = 13, 15, 26, 31  # x = 2 .. 4, y = 1.9 .. 3.9
    hx, hy = 10 / 64, 6 / 48
    u = [flow.velocity(0)[:, j0 : j1 + 1, i0 : i1 + 1], flow.velocity(1)[:, j0 : j1 + 1, i0 : i1 + 1]]
    fluid = flow.body_mask()[:, j0 : j1 + 1, i0 : i1 + 1] == 0
    momenta.append(np.array([(each * fluid).sum() * hx * hy / 8 for each in u]))
    if len(momenta) < 3:
        return None

    def average(line):
        return (line[:, 1:] + line[:, :-1]) / 2

    force = -(1.5 * momenta[-1] - 2 * momenta[-2] + 0.5 * momenta[-3]) / body_programs.DT
    parts = volume.balance()  # these are the same: sums of averages and of nodes
    force += np.array(parts["pressure"])[:2] + np.array(parts["viscous"])[:2]
    for i in (0, 1):
        for sign, end in ((1, 0), (-1, -1)):
            for normal, width in ((u[0][:, :, end], hy), (u[1][:, end, :], hx)):
                tangential = u[i][:, :, end] if width == hy else u[i][:, end, :]
                force[i] += sign * (average(tangential) * average(normal)).sum() * width / 8
    return force


@needs_samples
def test_force_on_a_cylinder():
    """By Xcompact3D's sums, in its box, it is what Xcompact3D gives; by ours it depends less on the box."""
    flow, grid = body_programs.cylinder(MPI.COMM_SELF, FLOWS / "cyl", 1)
    volumes = [forces.ControlVolume(flow, grid, box) for box in BOXES]
    xcompact3d = _core.ControlVolume64(flow, (13, 15, 0), (26, 31, 7))
    momenta = []
    for step in range(1, 201):
        flow.step(body_programs.DT, None)
        if step > 197:
            found = [volume(step * body_programs.DT) for volume in volumes]
            theirs = as_xcompact3d(flow, xcompact3d, momenta)
    with lzma.open(FLOWS / "cyl" / "forces.dat.xz", "rt") as table:
        exact = np.loadtxt(table)[-1]
    assert exact[0] == pytest.approx(2)
    with lzma.open(FLOWS / "cyl" / "history.dat.xz", "rt") as table:
        history = np.loadtxt(table)[-1]
    flow.invalidate()
    averages = flow.averages(body_programs.DT)
    assert averages["kinetic_energy"] == pytest.approx(history[4], rel=1e-12)
    assert averages["max_divergence"] == pytest.approx(history[7], rel=1e-10)
    assert 2 * theirs == pytest.approx(exact[1:], abs=1e-9)
    drag = [2 * force[0] for force in found]
    assert max(drag) - min(drag) < 0.01 * drag[0]
    assert drag[0] == pytest.approx(exact[1], rel=0.05)


def driven(steps):
    """A flow around a cylinder, driven through a periodic box, all of which is the box for the force."""
    return tr.Case(
        case={"reynolds": 20.0},
        grid={"points": (24, 20, 8), "lengths": (2.4, 2.0, 0.8), "boundaries": ("periodic",) * 3},
        forcing={"acceleration": (0.5, 0.2, -0.1)},
        body={"shape": "cylinder", "centre": (1.03, 0.91), "radius": 0.3, "box": ("all", "all", "all")},
        time={"dt": 0.01, "steps": steps},
        checkpoint={"every": 3},
        diagnostics={"every": 1},
    )


@pytest.mark.parametrize("ends", [(7,), (1, 7), (3, 7)])
def test_force_of_a_run_and_of_its_parts(tmp_path, monkeypatch, ends):
    """Nothing flows out of a periodic box: what drives the fluid and does not accelerate it is the force. A resumed run
    measures the state of its checkpoint a second time."""
    monkeypatch.chdir(tmp_path)
    for end in ends:
        resume = end != ends[0]
        tr.Simulation(
            driven(end), MPI.COMM_SELF, flow=lambda x, y, z: (1 + 0 * x, 0 * y, 0.3 + 0 * z), resume=resume
        ).run()
    rows = read_time_series("time_series.csv")
    assert list(rows["step"]) == list(range(8))
    x, y = np.arange(24) * 0.1, np.arange(20) * 0.1
    fluid = 0.1**3 * 8 * (np.hypot(x - 1.03, y[:, None] - 0.91) > 0.3).sum()
    for axis, driving in (("x", 0.5), ("y", 0.2), ("z", -0.1)):
        momentum = 2.4 * 2.0 * 0.8 * rows[f"mean_u{axis}"]
        gain = (3 * momentum[2:] - 4 * momentum[1:-1] + momentum[:-2]) / 0.02
        force = rows[f"force_{axis}"]
        assert np.isnan(force[0])
        assert force[1] == pytest.approx(driving * fluid - (momentum[1] - momentum[0]) / 0.01, rel=1e-9)
        assert force[2:] == pytest.approx(driving * fluid - gain, rel=1e-9)


@pytest.fixture
def forces_of(tmp_path, monkeypatch):
    """The force along x by step, of a run of the flow of `driven` that goes on where it is asked to."""

    def run(steps, callback=None, *, resume=False, change=False, **changes):
        case = driven(steps)
        case = case.model_copy(update={key: type(getattr(case, key))(**value) for key, value in changes.items()})
        simulation = tr.Simulation(
            case, MPI.COMM_SELF, flow=lambda x, y, z: (1 + 0 * x, 0 * y, 0.3 + 0 * z), resume=resume, change=change
        )
        if callback is None:
            simulation.run()
        else:
            for _ in range(steps):
                simulation.advance()
                callback(simulation)
            simulation.run()
        rows = read_time_series("time_series.csv")
        return dict(zip(rows["step"].astype(int).tolist(), rows["force_x"].tolist(), strict=True))

    monkeypatch.chdir(tmp_path)
    return run


def test_a_force_does_not_depend_on_where_rows_fall(forces_of):
    every = forces_of(6)
    shutil.rmtree("checkpoints"), Path("time_series.csv").unlink()
    few = forces_of(6, diagnostics={"every": 3})
    assert list(few) == [0, 3, 6] and few[3] == every[3] and few[6] == every[6]


def test_a_force_does_not_depend_on_who_measures(forces_of):
    every = forces_of(6)
    shutil.rmtree("checkpoints"), Path("time_series.csv").unlink()
    asked = forces_of(6, lambda run: run.measure() if run.step == 4 else None, diagnostics={"every": 3})
    assert asked[6] == every[6]


def test_a_force_begins_anew_with_another_box(forces_of):
    """The momentum of a larger box is no momentum that its fluid had."""
    box = ([0.6, 1.5], [0.4, 1.4], "all")
    body = {"shape": "cylinder", "centre": (1.03, 0.91), "radius": 0.3, "box": box}
    whole = forces_of(9, body=body)
    shutil.rmtree("checkpoints"), Path("time_series.csv").unlink()
    forces_of(6)
    changed = forces_of(9, resume=True, change=True, body=body)
    assert [changed[step] for step in (8, 9)] == [whole[step] for step in (8, 9)]


@needs_samples
def test_pressure_of_all_stages():
    """Around a body each stage of a Runge-Kutta step has another pressure; only their mean balances the momentum."""
    flow, _ = body_programs.cylinder(MPI.COMM_SELF, FLOWS / "cyl", 1, "rk3")
    volume = _core.ControlVolume64(flow, (13, 15, 0), (26, 31, 7))
    weights = np.ones(17)
    weights[[0, -1]] = 0.5

    def pressure():
        faces = flow.derive("pressure")[:, 15:32, [13, 26]] * weights[:, None]
        return (faces[..., 0] - faces[..., 1]).sum() * (6 / 48) * (1 / 8)

    flow.step(body_programs.DT, None)
    ends, found = [], []
    flow.step(body_programs.DT, lambda start, end: (ends.append(end), found.append(pressure())))
    found = [*found[1:], pressure()]
    mean = np.dot(np.diff([0, *ends]), found) / body_programs.DT
    assert volume.balance()["pressure"][0] == pytest.approx(mean, rel=1e-10)
    assert max(found) > 1.2 * min(found)


@needs_samples
def test_scalars_vanish_on_a_body(monkeypatch):
    """The right-hand side of a scalar in the fluid is that of dense matrices, made independently."""
    monkeypatch.setattr(sys, "path", [str(FLOWS), *sys.path])
    import ibm
    import verify

    n, lengths, kappa = (24, 20, 16), (2.4, 2.0, 1.6), 0.05
    grid = _core.Grid(n, lengths, ("periodic",) * 3)
    options = _core.FlowOptions(0.1, "euler", "aggressive")
    options.add_scalar(
        _core.ScalarOptions(kappa, ("periodic",) * 3, [["given", "given"]] * 3, (0, 0, 0), (0, 0, 0), None, None)
    )
    flow = _core.Flow64(grid, _core.ProcessGrid(MPI.COMM_SELF.py2f(), 1, 1), options, "alltoall")
    shape = body.Sphere((1.21, 0.97, 0.8), 0.33)
    body.put_into(flow, shape, "sphere")
    random = np.random.default_rng(3)
    phi = random.normal(size=n[::-1])
    velocity = [random.normal(size=n[::-1]) for _ in range(3)]
    for i in range(3):
        flow.velocity(i)[...] = velocity[i]
    flow.scalar(0)[...] = phi
    flow.step(0.001, None)
    x, y, z = (np.array(grid.coordinates(d)) for d in range(3))
    fluid = ~shape(x[None, None, :], y[None, :, None], z[:, None, None])
    expected = np.zeros_like(phi)
    for d, axis in enumerate((2, 1, 0)):
        lines = np.moveaxis(phi, axis, -1).copy()
        for place in np.ndindex(lines.shape[:2]):
            at = dict(zip([e for e in (2, 1, 0) if e != d], place, strict=True))

            def inside(s, at=at, d=d):
                return shape(*(s if e == d else np.full_like(s, (x, y, z)[e][at[e]]) for e in range(3)))

            for entry, leave in ibm.bounds(inside, n[d], grid.spacing(d), True):
                lines[place] = ibm.rebuild(lines[place], grid.spacing(d), entry, leave)
        spacing = grid.spacing(d)
        slope = np.moveaxis(lines @ verify.first(n[d], spacing, 0, 1).T, -1, axis)
        bend = np.moveaxis(lines @ verify.second(n[d], spacing, 0, 1, 4).T, -1, axis)
        expected += kappa * bend - velocity[d] * slope
    error = np.abs(flow.scalar_history(0, 1) - expected)[fluid].max()
    assert error < 1e-12 * np.abs(expected[fluid]).max()


def box_flow():
    grid = _core.Grid((12, 14, 16), (1.2, 1.4, 1.6), ("periodic",) * 3)
    options = _core.FlowOptions(0.1, "rk3", "aggressive")
    return grid, _core.Flow64(grid, _core.ProcessGrid(MPI.COMM_SELF.py2f(), 1, 1), options, "alltoall")


@pytest.mark.parametrize(
    "shape",
    [
        body.Cylinder((0.6, 0.8), 0.31, "y"),
        body.of_distance(lambda x, y, z: np.hypot(x - 0.6, z - 0.8) - 0.31),
        lambda x, y, z: (np.hypot(x - 0.6, z - 0.8) <= 0.31).astype(np.uint8),
    ],
)
def test_shapes(shape):
    _, flow = box_flow()
    assert flow.body_mask() is None
    body.put_into(flow, shape, "cylinder")
    x, z = np.arange(12) * 0.1, np.arange(16) * 0.1
    expected = np.hypot(x[None, :] - 0.6, z[:, None] - 0.8) <= 0.31
    assert expected.sum() > 20
    assert (flow.body_mask() == expected[:, None, :]).all()


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (lambda x, y, z: x - 0.5, "signed distance, compare it with zero"),
        (lambda x, y, z: True, "truth value for each of"),
        (lambda x, y, z: x > 7, "no node of the grid"),
        (lambda x, y: x > 7, "mine failed: TypeError"),
    ],
)
def test_what_is_no_shape(shape, words):
    _, flow = box_flow()
    with pytest.raises(_core.InputError, match=words):
        body.put_into(flow, shape, "mine")
    assert flow.body_mask() is None


def test_all_ranks_hear_of_a_failure(ranks):
    for outcome in ranks.run(body_programs.one_rank_fails):
        assert outcome.error == "InputError"
        assert "body.py: inside failed: ZeroDivisionError: no radius (on rank 3)" in outcome.text


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: body.Cylinder((0, 1), 0.5, "w"), "axis"),
        (lambda: body.Cylinder((0, 1, 2), 0.5), "2 finite numbers"),
        (lambda: body.Sphere((0, 1, 2), -1), "radius"),
        (lambda: body.Sphere((0, 1, float("nan")), 1), "centre"),
    ],
)
def test_what_is_no_size(make, words):
    with pytest.raises(_core.InputError, match=words):
        make()


@pytest.mark.parametrize("span", [(0.5, 0.2), (0.51, 0.52), (-1.0, 0.5), (0.2, 9.0)])
def test_what_is_no_box(span):
    grid, flow = box_flow()
    with pytest.raises(_core.InputError, match="a box for forces"):
        forces.ControlVolume(flow, grid, (None, span, None))


def test_an_analysis_says_that_it_goes_through_the_body(tmp_path, monkeypatch, capsys):
    """Its derivatives see zeros in the body; the solver rebuilds the lines at its surface."""
    monkeypatch.chdir(tmp_path)
    Path("mean.py").write_text("import tailrace as tr\ndef analyse(step): return tr.mean(step['ux'])\n")
    case = driven(2).model_dump(exclude_none=True) | {
        "analysis": [{"script": name, "every": 1} for name in ("budget", "mean.py")],
        "output": [{"name": "u", "fields": ["ux", "uy", "uz"], "every": 1, "engine": "bp5"}],
    }
    tr.Simulation(tr.Case(**case), MPI.COMM_SELF, flow=lambda x, y, z: (1 + 0 * x, 0 * y, 0.3 + 0 * z)).run()
    said = capsys.readouterr().out
    assert said.count("note: analysis 'budget' takes derivatives through the body") == 1
    assert "analysis 'mean' takes" not in said
    after = KEPT(tmp_path, "analyse", "budget", "u.bp", "-o", "after")
    assert after.text.count("note: analysis 'budget' takes derivatives through the body") == 1
