"""The command `tailrace plot`, once for each kind of picture; options reach the pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tailrace as tr
from helpers.harness.as_click import invoke

N = (12, 16, 20)
GRID = tr.UniformGrid(N, spacing=tuple(2 * np.pi / n for n in N), boundaries=("periodic",) * 3)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory with a series of a velocity, results, and a table."""
    folder = tmp_path_factory.mktemp("place")
    z, y, x = np.meshgrid(*(2 * np.pi / n * np.arange(n) for n in reversed(N)), indexing="ij")
    with tr.open(folder / "run.bp", "w", grid=GRID) as out:
        for number in range(2):
            out.write_step(0.5 * number, index=number, ux=np.sin(x) * np.cos(y), uy=-np.cos(x) * np.sin(y), uz=0 * z)
    with tr.open(folder / "spectrum.h5", "w", grid=GRID) as out:
        out.write_step(0.0, index=0, lists={"k": np.arange(6.0), "energy": np.exp(-np.arange(6.0))})
    (folder / "budget.csv").write_text("step,time,energy\n0,0.0,1.0\n1,0.1,0.5\n")
    return folder


@pytest.mark.parametrize(
    ("words", "picture"),
    [
        ("budget.csv --column energy --log", "budget.png"),
        ("spectrum.h5 --slope -5/3 --slope -3", "spectrum-spectrum.png"),
        ("run.bp --kind spectrum --field u --step 0 --step -1", "run-spectrum.png"),
        ("run.bp --kind histogram --field u --time 0.5", "run-histogram.png"),
        ("run.bp --kind profile --axis x --field q", "run-profile.png"),
        ("run.bp --field vorticity_z --axis y --at 1.0 --step 0", "run-vorticity_z-y3-step0.png"),
        ("run.bp --field q --kind isosurface --value 0.1 --value 0.3", "run-q-isosurface-step1.png"),
        ("run.bp --index -1 -o picture.png", "picture.png"),
        ("run.bp --field sqrt(ux**2/2+q)", "run-sqrt_ux_2_2+q-z10-step1.png"),
    ],
)
def test_every_kind(place, monkeypatch, words, picture):
    if "isosurface" in words:
        pytest.importorskip("vtkmodules")
    monkeypatch.chdir(place)
    result = invoke("plot", *words.split())
    assert (result.exit_code, result.stdout) == (0, f"{picture}\n")
    pixels = np.asarray(Image.open(Path(picture)).convert("L"))
    assert min(pixels.shape) > 200 and (pixels < 230).mean() > 0.005


def test_errors_are_one_line(place, monkeypatch):
    monkeypatch.chdir(place)
    for words, message in (
        ("run.bp --field vortcity", "did you mean 'vorticity'"),
        ("run.bp budget.csv -o a.png", "one picture shows files of one kind"),
        ("run.bp --kind foo", "expected one of time-series"),
        ("run.bp run.bp -o both.png", "-o names one picture"),
    ):
        result = invoke("plot", *words.split())
        assert result.exit_code == 2 and message in result.stderr and len(result.stderr.splitlines()) == 1
