"""What is appended to a series is on its grid: lengths and boundaries hold for all steps of it."""

import numpy as np
import pytest

import tailrace as tr
from helpers.harness.engines import KINDS
from tailrace.core import InputError

PERIODIC, WALLS = ("periodic",) * 3, ("periodic", "dirichlet", "periodic")
POINTS = (16, 12, 8)
Y = np.linspace(0.0, 1.0, 12) ** 2


def grid(spacing=0.25, boundaries=PERIODIC, points=POINTS, origin=(0.0, 0.0, 0.0)):
    return tr.UniformGrid(points, origin, (0.5, spacing, 0.125), boundaries=boundaries)


def values(points=POINTS):
    return np.arange(np.prod(points), dtype=float).reshape(points[::-1])


OTHERS = {
    "spacing": (grid(0.5), r"y\[11\] = 2.75, and the grid that is given has 5.5"),
    "boundaries": (grid(boundaries=WALLS), "boundaries = periodic,periodic,periodic, .* periodic,dirichlet,periodic"),
    "points": (grid(points=(16, 12, 9)), r"points = \(16, 12, 8\), .* \(16, 12, 9\)"),
    "origin": (grid(origin=(1.0, 0.0, 0.0)), r"x\[0\] = 0.0, .* 1.0"),
    "coordinates": (tr.StretchedGrid(POINTS, (0.0,) * 3, (0.5, 0.25, 0.125), ((), Y, ())), r"y\[11\] = 2.75"),
}


@pytest.fixture(params=KINDS, ids=str)
def stored(request, tmp_path):
    how = {"engine": request.param.name, "parameters": request.param.parameters}
    path = request.param.path(tmp_path)
    with tr.open(path, "w", grid=grid(), **how) as out:
        out.write_step(0.0, f=values())
    return path, how


@pytest.mark.parametrize("other", OTHERS)
def test_another_grid_is_refused(stored, other):
    path, how = stored
    given, said = OTHERS[other]
    with pytest.raises(InputError, match=f"its 1 steps have {said}"):
        tr.open(path, "a", grid=given, **how)
    with tr.open(path) as series:
        assert len(series) == 1 and tuple(series.attributes["lengths"]) == (8.0, 3.0, 1.0)


def test_the_same_grid_goes_on(stored):
    path, how = stored
    for given in (grid(), None, tr.UniformGrid(POINTS, (0.0,) * 3, (0.5, 0.25, 0.125))):
        with tr.open(path, "a", grid=given, **how) as out:
            out.write_step(float(len(out)), f=values())
    with tr.open(path) as series:
        assert len(series) == 4 and series.grid.boundaries == PERIODIC


def test_only_the_steps_that_are_kept_count(stored):
    path, how = stored
    with tr.open(path, "a", grid=grid(boundaries=WALLS), rewind_to=-1, **how) as out:
        out.write_step(0.0, f=values())
    with tr.open(path) as series:
        assert len(series) == 1


def test_a_stretching_is_kept(tmp_path):
    def walls(beta):
        return tr.StretchedGrid(
            (16, 17, 8), spacing=(0.5, 0.125, 0.25), boundaries=WALLS, stretching="walls", beta=beta
        )

    with tr.open(tmp_path / "a.h5", "w", grid=walls(0.3)) as out:
        out.write_step(0.0, f=values((16, 17, 8)))
    with tr.open(tmp_path / "a.h5", "a", grid=walls(0.3)) as out:
        out.write_step(1.0, f=values((16, 17, 8)))
    with pytest.raises(InputError, match="its 2 steps have"):
        tr.open(tmp_path / "a.h5", "a", grid=walls(0.2))
