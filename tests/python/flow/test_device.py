"""Steps that a device computes: fields, series, checkpoints and pages are those of the processor, to rounding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailrace as tr
from helpers.harness.kept import Kept
from helpers.inputs.case_texts import problems
from helpers.inputs.core_flows import name_of_device

needs_kernels = pytest.mark.skipif(not name_of_device(), reason="this process has no device")

CHANNEL: dict[str, Any] = {
    "case": {"name": "channel", "flow": "channel", "reynolds": 150.0},
    "grid": {
        "points": [16, 33, 12],
        "lengths": [4.0, 2.0, 3.0],
        "boundaries": ["periodic", "wall", "periodic"],
        "stretching": "walls",
        "beta": 0.4,
    },
    "forcing": {"flow_rate": 0.7},
    "time": {"dt": 0.01, "steps": 6},
    "diagnostics": {"every": 2},
}
VORTEX = """
[case]
name = "vortex"
reynolds = 200
[grid]
points = [20, 17, 14]
lengths = ["2*pi", "pi", "2*pi"]
boundaries = ["periodic", "free-slip", "periodic"]
[time]
scheme = "ab3"
dt = 0.02
steps = 8
[checkpoint]
every = 2
[[output]]
name = "run"
fields = ["ux", "uy", "uz", "pressure", "q"]
every = 2
engine = "hdf5"
"""


def on(device: str, **changes: Any) -> tr.Case:
    return tr.Case(**(CHANNEL | changes), numerics={"device": device})


def disturbed(case: tr.Case) -> tr.Model:
    model, numbers = tr.Model(case), np.random.default_rng(3)
    for name in ("ux", "uy", "uz"):
        values = model.field(name)
        values += 0.1 * numbers.standard_normal(values.shape)
    model.project()
    return model


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference, in units of the largest value."""
    return float(np.abs(a - b).max() / np.abs(a).max())


@needs_kernels
def test_a_channel_has_the_processors_fields_and_numbers() -> None:
    cpu, gpu = disturbed(on("cpu")), disturbed(on("gpu"))
    for _ in range(6):
        cpu.advance()
        gpu.advance()
    for name in ("ux", "uy", "uz", "pressure", "vorticity"):
        assert apart(cpu.field(name), gpu.field(name)) < 1e-11, name
    expected, found = cpu.measure(), gpu.measure()
    for name in set(expected) - {"max_divergence", "energy_residual"}:
        assert found[name] == pytest.approx(expected[name], rel=1e-9, abs=1e-12), name


@needs_kernels
def test_what_a_caller_changes_goes_on() -> None:
    """An array of the velocity is the caller's until the next step."""
    found = []
    for device in ("cpu", "gpu"):
        model = disturbed(on(device, forcing={"acceleration": [0.1, 0.0, 0.0]}))
        model.advance()
        model.field("uz")[4, 10:20, 3] += 0.25
        model.velocity_changed()
        model.advance()
        found.append(model.field("uz").copy())
    assert apart(*found) < 1e-12


@needs_kernels
def test_a_velocity_that_is_kept_is_the_solvers() -> None:
    """`model.velocity` reads and changes the flow in place, however long ago it was asked for."""
    found = []
    for device in ("cpu", "gpu"):
        model = disturbed(on(device))
        kept = model.velocity
        for _ in range(3):
            model.advance()
            kept.x.data[...] *= 0.99
            model.project()
            model.advance()
            assert np.array_equal(kept.y.data, model.field("uy"))
        found.append(np.array(kept.x.data))
    assert apart(*found) < 1e-11


@needs_kernels
def test_a_run_goes_on_from_one_to_the_other(tailrace: Kept, tmp_path: Path) -> None:
    """From the device to the processor and back, on 3, 2 and 1 ranks, with the right-hand sides of earlier steps."""
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "case.toml").write_text(VORTEX)
    tailrace(tmp_path / "whole", "run", "case.toml")
    parts = tmp_path / "parts"
    tailrace(parts, "run", "case.toml", "--set", "time.steps=4", "--set", "numerics.device=gpu", ranks=3)
    words = ("--resume", "--set", "time.steps=6", "--set", "numerics.device=cpu")
    result = tailrace(parts, "run", "case.toml", *words, ranks=2)
    assert "numerics.device = cpu (before: gpu)" in result.text
    words = ("--resume", "--set", "time.steps=8", "--set", "numerics.device=gpu")
    result = tailrace(parts, "run", "case.toml", *words)
    assert "numerics.device = gpu (before: cpu)" in result.text
    with tr.open(tmp_path / "whole" / "run.h5") as whole, tr.open(parts / "run.h5") as resumed:
        assert len(whole) == len(resumed) == 5
        assert resumed.verify() == []
        for a, b in zip(whole, resumed, strict=True):
            for name in ("ux", "uy", "uz", "pressure", "q"):
                assert apart(np.asarray(a[name]), np.asarray(b[name])) < 1e-10, (a.index, name)


@needs_kernels
def test_a_run_names_its_device(tailrace: Kept, tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text(VORTEX)
    result = tailrace(tmp_path, "run", "case.toml", "--set", "numerics.device=gpu", "--set", "time.steps=1")
    assert f", on {name_of_device()}, step 0" in result.text


@pytest.mark.parametrize(
    ("key", "lines"),
    [
        ("body", '[body]\nshape = "sphere"\ncentre = [1.0, 1.0, 1.0]\nradius = 0.3'),
        ("numerics.eddy_viscosity", ""),
        ("grid.points of more than 1056", ""),
    ],
)
def test_what_a_device_does_not_compute_is_refused_by_key(tmp_path: Path, key: str, lines: str) -> None:
    text = VORTEX + lines + "\n"
    overrides = ["numerics.device=gpu"]
    if key.startswith("grid"):
        overrides.append("grid.points=[1100,17,14]")
    elif not lines:
        overrides.append('numerics.eddy_viscosity={model="wale"}')
    assert f"'gpu' does not go with {key} yet" in problems(tmp_path, text, overrides)["numerics.device"]
