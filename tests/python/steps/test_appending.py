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


def test_the_last_step_that_is_kept_counts(tmp_path):
    path = tmp_path / "a.h5"
    with tr.open(path, "w", grid=grid()) as out:
        out.write_step(0.0, index=5, f=values())
        out.write_step(1.0, index=7, f=values())
    for kept, count in ((5, 1), (6, 1), (7, 2), (None, 2)):
        with pytest.raises(InputError, match=f"its {count} steps have"):
            tr.open(path, "a", grid=grid(0.5), rewind_to=kept)
    with tr.open(path, "a", grid=grid(0.5), rewind_to=4) as out:
        assert len(out) == 0


def test_places_may_differ_by_a_millionth_of_their_length(tmp_path):
    """Some files have them in single precision. Of one point there is no length."""

    def wide(spacing=0.5, origin=0.0):
        return tr.UniformGrid((2001, 2, 1), (0.0, 0.0, origin), (spacing, 0.25, 0.125))

    path = tmp_path / "a.h5"
    with tr.open(path, "w", grid=wide()) as out:
        out.write_step(0.0, f=np.zeros((1, 2, 2001)))
    for near in (wide(0.5 * (1 + 0.9e-6)), wide(origin=0.9e-6)):
        with tr.open(path, "a", grid=near):
            pass
    for far, said in ((wide(0.5 * (1 + 1.1e-6)), r"x\[2000\] = 1000.0"), (wide(origin=1.1e-6), r"z\[0\] = 0.0")):
        with pytest.raises(InputError, match=said):
            tr.open(path, "a", grid=far)


@pytest.mark.parametrize("before", [None, tr.UniformGrid(POINTS, (0.0,) * 3, (0.5, 0.25, 0.125))], ids=["none", "bare"])
def test_a_series_without_a_box_may_get_one(tmp_path, before):
    for given in (grid(), grid(boundaries=WALLS)):
        with tr.open(tmp_path / "a", "w", grid=before) as out:
            out.write_step(0.0, f=values())
        with tr.open(tmp_path / "a", "a", grid=given) as out:
            out.write_step(1.0, f=values())
        with tr.open(tmp_path / "a") as series:
            assert series.attributes["boundaries"] == ",".join(given.boundaries)


def test_a_lost_stretching_is_refused(tmp_path):
    walls = tr.StretchedGrid((16, 17, 8), spacing=(0.5, 0.125, 0.25), boundaries=WALLS, stretching="walls", beta=0.3)
    even = tr.UniformGrid((16, 17, 8), spacing=(0.5, 0.125, 0.25), boundaries=WALLS)
    for first, other in ((walls, even), (even, walls)):
        with tr.open(tmp_path / "a", "w", grid=first) as out:
            out.write_step(0.0, f=values((16, 17, 8)))
        with pytest.raises(InputError, match=r"y\[\d+\] = "):
            tr.open(tmp_path / "a", "a", grid=other)


def test_a_new_series_takes_any_grid(tmp_path):
    for given in (grid(), grid(0.5), None, grid(boundaries=WALLS)):
        with tr.open(tmp_path / "a", "w", grid=given) as out:
            out.write_step(0.0, f=values())
        with tr.open(tmp_path / "a", "a") as out:
            out.write_step(1.0, f=values())
        with tr.open(tmp_path / "a") as series:
            assert len(series) == 2 and (series.grid is None or series.grid.spacing == given.spacing)
