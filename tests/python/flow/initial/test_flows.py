"""Initial velocities."""

import numpy as np
import pytest
from mpi4py import MPI

from tailrace import core as _core
from tailrace.flow.initial import ready, values

KINDS = {
    "periodic": ("periodic",) * 3,
    "free-slip": ("free-slip",) * 3,
    "mixed": ("free-slip", "periodic", "free-slip"),
}
LENGTHS = (2 * np.pi, 3.0, 0.7)


@pytest.fixture(params=list(KINDS))
def grid(request):
    return _core.Grid((12, 9, 14), LENGTHS, KINDS[request.param])


def whole(grid):
    return (0, 0, 0), tuple(grid.nodes)


def test_coordinates_of_a_box(grid):
    x, y, z = values.coordinates(grid, ((3, 1, 2), (4, 5, 6)))
    assert (x.shape, y.shape, z.shape) == ((1, 1, 4), (1, 5, 1), (6, 1, 1))
    for d, (line, first) in enumerate(((x, 3), (y, 1), (z, 2))):
        cells = grid.nodes[d] if grid.boundaries[d] == "periodic" else grid.nodes[d] - 1
        spacing = LENGTHS[d] / cells
        assert np.allclose(line.ravel(), (first + np.arange(line.size)) * spacing, rtol=1e-14)


def test_taylor_green_fits_any_box(grid):
    velocity = ready.taylor_green(grid)
    u, v, w = values.evaluate(velocity, grid, whole(grid), "test", MPI.COMM_SELF)
    assert (w == 0).all()
    assert abs(u).max() > 0.5
    # Free of divergence, by finite differences of the function itself.
    rng = np.random.default_rng(7)
    x, y, z = (rng.uniform(0, length, 50) for length in LENGTHS)
    h = 1e-5
    divergence = sum(
        (
            velocity(*(s + h * (d == e) for e, s in enumerate((x, y, z))))[d]
            - velocity(*(s - h * (d == e) for e, s in enumerate((x, y, z))))[d]
        )
        / (2 * h)
        for d in range(3)
    )
    assert abs(divergence).max() < 1e-8 * abs(v).max() / min(LENGTHS) * 100
    # Periodic, or mirrored at the far wall.
    for d, length in enumerate(LENGTHS):
        near, far = (velocity(*(s + sign * (e == d) * length for e, s in enumerate((x, y, z)))) for sign in (0, 1))
        if grid.boundaries[d] == "periodic":
            assert np.allclose(near, far, atol=1e-12)
        else:
            wall = velocity(*(np.full_like(s, length) if e == d else s for e, s in enumerate((x, y, z))))
            assert abs(wall[d]).max() < 1e-13


def test_classic_vortex():
    grid = _core.Grid((16, 16, 16), (2 * np.pi,) * 3, ("periodic",) * 3)
    u, v, _ = ready.taylor_green(grid)(np.array([1.0]), np.array([2.0]), np.array([3.0]))
    assert u[0] == pytest.approx(np.sin(1) * np.cos(2) * np.cos(3), rel=1e-14)
    assert v[0] == pytest.approx(-np.cos(1) * np.sin(2) * np.cos(3), rel=1e-14)


def test_numbers_and_small_arrays_are_spread(grid):
    u, v, w = values.evaluate(
        lambda x, y, z: (np.sin(2 * np.pi * 0 * x), 0, np.zeros((1, 1, 1))), grid, whole(grid), "own", MPI.COMM_SELF
    )
    assert u.shape == v.shape == w.shape == tuple(reversed(grid.nodes))
    assert u.dtype == np.float64


def test_where_it_is_not_finite_is_reported_in_global_coordinates():
    grid = _core.Grid((8, 10, 12), (8.0, 10.0, 12.0), ("periodic",) * 3)

    def velocity(x, y, z):
        bad = (x == 5) & (y == 7) & (z == 9)
        return np.where(bad, np.nan, 0.0), 0.0, 0.0

    with pytest.raises(_core.InputError, match=r"own returned ux = nan at x = 5, y = 7, z = 9"):
        values.evaluate(velocity, grid, ((4, 4, 4), (4, 6, 8)), "own", MPI.COMM_SELF)


@pytest.mark.parametrize("direction", [0, 1, 2])
@pytest.mark.parametrize("end", ["first", "last"])
def test_each_wall_is_watched(direction, end):
    grid = _core.Grid((8, 10, 12), LENGTHS, ("free-slip",) * 3)

    def velocity(*position):
        wall = 0.0 if end == "first" else LENGTHS[direction]
        through = np.where(np.isclose(position[direction], wall), 1e-3, 0.0)
        return tuple(through if d == direction else np.sin(np.pi * position[d] / LENGTHS[d]) for d in range(3))

    message = rf"u{'xyz'[direction]} is 0.001 on the {end} {'xyz'[direction]} boundary"
    with pytest.raises(_core.InputError, match=message):
        values.evaluate(velocity, grid, whole(grid), "own", MPI.COMM_SELF)
