"""Isosurfaces: what VTK draws of a ball, and what is said where it cannot."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tailrace as tr
from tailrace.render import isosurface, surface_program
from tailrace.render.isosurface import draw_isosurface, render
from tailrace.render.style import PlotError

N = (24, 20, 28)
GRID = tr.UniformGrid(N, spacing=(2 / 24, 2 / 20, 2 / 28), boundaries=("periodic",) * 3)


@pytest.fixture(scope="module")
def ball(tmp_path_factory):
    """1 - r, r being the distance from the middle of the box."""
    path = tmp_path_factory.mktemp("ball") / "ball.h5"
    z, y, x = np.meshgrid(*(2 / n * np.arange(n) - 1 for n in reversed(N)), indexing="ij")
    with tr.open(path, "w", grid=GRID) as out:
        out.write_step(0.25, f=1 - np.sqrt(x**2 + y**2 + z**2))
    return path


def blue(image):
    """Which pixels show the surface."""
    r, b = image[..., 0].astype(int), image[..., 2].astype(int)
    return b - r > 40


def test_a_ball_is_a_disc_of_its_size(ball):
    pytest.importorskip("vtkmodules")
    sizes = []
    for value in (0.5, 0.2):
        figure, name = draw_isosurface(ball, "f", values=[value])
        (axes,) = figure.axes
        seen = blue(axes.images[0].get_array())
        rows, columns = np.nonzero(seen)
        high, wide = np.ptp(rows) + 1, np.ptp(columns) + 1
        assert 0.85 < high / wide < 1.18, "it is round"
        assert seen.sum() == pytest.approx(np.pi / 4 * high * wide, rel=0.08), "and full"
        assert axes.get_title(loc="left") == f"f = {value}, t = 0.25"
        sizes.append(wide)
    assert sizes[1] / sizes[0] == pytest.approx(0.8 / 0.5, rel=0.12)
    assert name == "ball-f-isosurface-step0.png"


def test_a_periodic_field_is_drawn_up_to_the_end_of_its_box(ball, monkeypatch):
    seen = []
    monkeypatch.setattr(isosurface, "render", lambda *given: seen.append(given) or np.zeros((4, 4, 3), np.uint8))
    draw_isosurface(ball)
    ((data, places, values),) = seen
    assert data.shape == tuple(n + 1 for n in reversed(N)) and data.dtype == np.float32
    np.testing.assert_array_equal(data[-1], data[0])
    np.testing.assert_allclose([along[-1] for along in places], 2.0)
    inner = data[:-1, :-1, :-1].astype(float)
    assert values == [pytest.approx(inner.mean() + inner.std(), rel=1e-5)]


@pytest.mark.parametrize(
    ("code", "errors", "message"),
    [
        (3, "isosurfaces are drawn by VTK, which does not load", "isosurfaces are drawn by VTK, which does not load"),
        (-11, "", "VTK was ended by SIGSEGV when it drew the isosurface"),
        (1, "Traceback\nValueError: no", "VTK failed when it drew the isosurface: ValueError: no"),
    ],
)
def test_a_graphics_library_that_fails_is_reported(monkeypatch, code, errors, message):
    done = subprocess.CompletedProcess([], code, "", errors)
    monkeypatch.setattr(isosurface.subprocess, "run", lambda *_, **__: done)
    with pytest.raises(PlotError) as error:
        render(np.zeros((2, 2, 2), np.float32), (np.arange(2.0),) * 3, [0.5])
    assert message in str(error.value)


@pytest.mark.parametrize(("library", "code"), [("vtkmodules", 3), ("graphics", 4)])
def test_what_is_missing_is_said(tmp_path, library, code):
    block = "import sys; sys.modules['vtkmodules'] = None\n" if library == "vtkmodules" else ""
    program = f"{block}import runpy, ctypes\n"
    if library == "graphics":
        program += "def none(*_): raise OSError\nctypes.CDLL = none\n"
    program += f"sys = __import__('sys'); sys.argv = ['x', {str(tmp_path)!r}]\n"
    program += f"runpy.run_path({surface_program.__file__!r}, run_name='__main__')\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == code, done.stderr
    assert ("tailrace[render]" if library == "vtkmodules" else "libEGL.so.1") in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"values": [2.0]}, "'f' is -0.7321 to 1; there is no surface at 2"),
        ({"field": "g"}, "there is no field 'g'"),
        ({"step": 1}, "there is no step 1"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(ball, options, message):
    with pytest.raises(PlotError) as error:
        draw_isosurface(ball, **options)
    assert message in str(error.value)
