"""Whole runs of Xcompact3D from its own input files: fields and histories are those that it wrote."""

from __future__ import annotations

import lzma
import os
from pathlib import Path

import numpy as np
import pytest

from tailrace.case.xcompact3d.input import read_input
from tailrace.flow.model import Model

SAMPLES = os.environ.get("TAILRACE_SAMPLES")
pytestmark = pytest.mark.skipif(not SAMPLES, reason="TAILRACE_SAMPLES is not set")
FLOWS = Path(SAMPLES or ".") / "xcompact3d" / "flows"
BEGINNINGS = {"chan_s_cpg": "chan_s", "tgv_phi5": "tgv_phi4"}
# Columns of the histories, by ours. Where x or z are not periodic, the shear of the reference is a mean over nodes.
COLUMNS = {"mean_ux": 1, "mean_uy": 2, "kinetic_energy": 4, "shear_y_lower_ux": 5, "shear_y_upper_ux": 6}
SCALARS = {"phi01_mean": 9, "phi01_square": 10, "phi01_min": 11, "phi01_max": 12}


def values(path: Path) -> np.ndarray:
    return np.frombuffer(lzma.open(path).read())


def begin(name: str) -> Model:
    case, _ = read_input(FLOWS / name / "input.i3d")
    nx, ny, nz = case.grid.points
    fields = values(FLOWS / BEGINNINGS.get(name, name) / "init.bin.xz").reshape(-1, nz, ny, nx)
    model = Model(case, flow=list(fields[:3]))
    if case.scalar:
        model.flow.scalar(0)[...] = fields[3]
    return model


def outside(model: Model) -> np.ndarray:
    """Where no body is: inside it the velocity means nothing."""
    body = model.case.body
    if body is None:
        return np.array(True)
    x, y = (np.array(model.grid.coordinates(d)) for d in range(2))
    return (x[None, None, :] - body.centre[0]) ** 2 + (y[None, :, None] - body.centre[1]) ** 2 > body.radius**2


def trapezoidal(model: Model) -> dict[str, float]:
    """The means of a flow on a stretched grid as the reference takes them: weighted by the distances of the nodes."""
    if not model.grid.stretching:
        return {}
    y = np.array(model.grid.coordinates(1))
    weights = np.convolve(np.diff(y), [0.5, 0.5]) / (y[-1] - y[0])
    u = [model.flow.velocity(i) for i in range(3)]

    def mean(values: np.ndarray) -> float:
        return float(values.mean(axis=(0, 2)) @ weights)

    found = {f"mean_{name}": mean(values) for name, values in zip(("ux", "uy", "uz"), u, strict=True)}
    found["kinetic_energy"] = mean(0.5 * (u[0] ** 2 + u[1] ** 2 + u[2] ** 2))
    for number, scalar in enumerate(model.case.scalar):
        values = model.flow.scalar(number)
        found |= {f"{scalar.name}_mean": mean(values), f"{scalar.name}_square": mean(values**2)}
    return found


@pytest.mark.parametrize("name", ["chan_u5", "chan_s_cpg", "chan_phi", "tgv_phi5", "slipbox", "lock", "mix_s", "cyl"])
def test_a_run_ends_as_the_reference_does(name):
    model = begin(name)
    steps = model.case.time.steps
    with lzma.open(FLOWS / name / "history.dat.xz", "rt") as file:
        rows = np.loadtxt(file)
    columns = COLUMNS | SCALARS
    if name == "lock":
        del columns["shear_y_lower_ux"]
    most = 0.0
    while model.step < steps:
        model.advance()
        most = max(most, model.flow.max_divergence()) if model.step % 20 == 0 else most
        if model.step in (1, steps // 2, steps) and name != "cyl":  # whose history counts what is inside the body
            row = rows[np.argmin(np.abs(rows[:, 0] - model.time))]
            for key, found in (model.measure() | trapezoidal(model)).items():
                if key in columns:
                    assert found == pytest.approx(row[columns[key]], rel=1e-10, abs=1e-12), (key, model.step)
        if name == "cyl" and model.step > steps - 3:  # momentum is differentiated over the last calls
            measured = model.measure()
    if name == "cyl":
        with lzma.open(FLOWS / name / "forces.dat.xz", "rt") as file:
            drag, lift = np.loadtxt(file)[-1, 1:3]
        # The reference sums over products of averages: other boxes change its drag by 8 % on this mesh.
        assert 2 * measured["force_x"] == pytest.approx(drag, rel=0.06)
        assert 2 * measured["force_y"] == pytest.approx(lift, abs=0.06)
    assert most < 1e-11 or name == "cyl"
    found = {"ux": model.flow.velocity(0), "uy": model.flow.velocity(1), "uz": model.flow.velocity(2)}
    if model.case.scalar:
        found["phi01"] = model.flow.scalar(0)
    compared = 0
    for field, ours in found.items():
        path = FLOWS / name / f"{field}-2.bin.xz"
        if path.exists():
            compared += 1
            difference = np.abs(ours - values(path).reshape(ours.shape)) * outside(model)
            assert difference.max() < 1e-12, field
    assert compared
