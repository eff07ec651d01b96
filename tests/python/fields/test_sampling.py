"""Planes, lines, probes and profiles of fields: against NumPy, polynomials, and functions whose values are known."""

import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.fields import LENGTHS, MIXED, NODES, PERIODIC, noisy_field


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_planes_and_lines_by_index(dtype):
    f = noisy_field(tr.Operators(NODES, LENGTHS, MIXED, dtype=dtype))
    assert (tr.plane(f, "x", 3) == f.data[:, :, 3]).all()
    assert (tr.plane(f, "y", -1) == f.data[:, -1]).all()
    assert (tr.plane(f, "z", 14) == f.data[14]).all()
    assert (tr.line(f, "x", (3, 4)) == f.data[4, 3]).all()
    assert (tr.line(f, "y", (3, 4)) == f.data[4, :, 3]).all()
    assert (tr.line(f, "z", (-2, 4)) == f.data[:, 4, -2]).all()
    assert tr.plane(f, "x", 3).dtype == dtype
    assert (tr.plane(f > 0, "z", 2) == (f.data[2] > 0)).all()
    f.data[5] = np.nan
    assert np.isfinite(tr.plane(f, "z", 4)).all(), "values next to it do not matter"
    assert np.isfinite(tr.plane(f, "z", position=4 * f.grid.spacing[2])).all()


def test_wrong_places():
    f = noisy_field(tr.Operators(NODES, LENGTHS, MIXED))
    for wrong, text in (
        (lambda: tr.plane(f, "z", 15), "index 15 in z.*15 points"),
        (lambda: tr.plane(f, "z"), "index or by position"),
        (lambda: tr.plane(f, "z", 1, position=0.5), "either by index or by position"),
        (lambda: tr.plane(f, "z", position=1.51), "1.51 in z is outside the box, 0 to 1.5"),
        (lambda: tr.line(f, "xy", (1, 2)), "one direction"),
        (lambda: tr.line(f, "x", (1,)), "y, z"),
        (lambda: tr.Probes([(0.0, 0.0)]), "n x 3"),
        (lambda: tr.Probes([(0.1, 0, 0), (0.0, 9.0, -0.1)])(f), r"probe 1 at \(0.0, 9.0, -0.1\): z is outside"),
        (lambda: tr.Probes([(0.0, np.nan, 0.1)])(f), "y is outside"),
        (lambda: tr.spread(np.zeros(10), f, "z"), r"\(10,\).*\(15,\)"),
    ):
        with pytest.raises(tr.InputError, match=text):
            wrong()
    unknown = f + f.with_parity((-1, 1, 1))
    assert np.isfinite(tr.Probes([(1.0, 0.2, 0.3)])(unknown)).all(), "far from walls parity does not matter"
    with pytest.raises(tr.InputError, match="free-slip boundary in x is not known"):
        tr.Probes([(0.01, 0.2, 0.3)])(unknown)


def test_polynomials_of_degree_five_are_exact():
    ops = tr.Operators((9, 11, 8), LENGTHS, ("dirichlet",) * 3)
    coefficients = np.random.default_rng(7).standard_normal((6, 6, 6))
    f = tr.Field.from_function(
        ops, lambda x, y, z: np.polynomial.polynomial.polyval3d(*np.broadcast_arrays(x, y, z), coefficients)
    )
    points = np.random.default_rng(8).uniform(0, 1, (200, 3)) * LENGTHS
    points[:4] = [(0, 0, 0), LENGTHS, (2, 0, 0), (0, 3, 1.5)]
    expected = np.polynomial.polynomial.polyval3d(*points.T, coefficients)
    assert abs(tr.Probes(points)(f) - expected).max() < 1e-11 * abs(f.data).max()
    x, z = 0.77, 1.3
    y = np.linspace(0, 3, 11)
    along = np.polynomial.polynomial.polyval3d(0 * y + x, y, 0 * y + z, coefficients)
    assert abs(tr.line(f, "y", position=(x, z)) - along).max() < 1e-11 * abs(f.data).max()
    across = tr.Field.from_function(f.operators, lambda x, y, z: np.polynomial.polynomial.polyval3d(
        *np.broadcast_arrays(x, y + 0 * x, 0.4 + 0 * z), coefficients))  # fmt: skip
    assert abs(tr.plane(f, "z", position=0.4) - across.data[0]).max() < 1e-11 * abs(f.data).max()


WAVES = {
    "periodic": (lambda s: np.exp(np.sin(2 * np.pi * s)), 1),
    "even": (lambda s: np.exp(np.cos(np.pi * s)), 1),
    "odd": (lambda s: np.sin(np.pi * s) * np.exp(np.cos(np.pi * s)), -1),
    "dirichlet": (lambda s: np.exp(s) * np.sin(5 * s + 0.3), 1),
}


@pytest.mark.parametrize("d", [0, 1, 2])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("which", list(WAVES))
def test_probes_are_of_sixth_order(d, centred, which):
    function, sign = WAVES[which]
    kind = which if which in ("periodic", "dirichlet") else "free-slip"
    points = np.random.default_rng(3).uniform(0, 1, (2000, 3))
    points[:, d] = np.linspace(0, 1, 2000)
    errors = []
    for n in (32, 64):
        nodes, kinds, place = [8, 8, 8], ["periodic"] * 3, [False] * 3
        nodes[d], kinds[d], place[d] = n + (kind != "periodic"), kind, centred
        ops = tr.Operators(nodes, (1.0, 1.0, 1.0), kinds)
        coordinate = [c.reshape([-1 if e == d else 1 for e in (2, 1, 0)]) for c in ops.coordinates(tuple(place))]
        parity = tuple(sign if e == d else 1 for e in range(3))
        values = np.broadcast_to(function(coordinate[d]), ops.local_shape(tuple(place)))
        f = tr.Field(values.copy(), ops, parity=parity, centred=tuple(place))
        errors.append(abs(tr.Probes(points)(f) - function(points[:, d])).max())
    assert 5.5 < np.log2(errors[0] / errors[1]) < 7, errors


def test_probes_of_vectors_wrap_and_hit_points():
    ops = tr.Operators(NODES, LENGTHS, PERIODIC)
    f, g = noisy_field(ops, 1), noisy_field(ops, 2)
    v = tr.Vector(f, g, f)
    h = [ops.grid.spacing(d) for d in range(3)]
    probes = tr.Probes([(h[0] * i, h[1] * j, h[2] * k) for i, j, k in ((0, 0, 0), (3, 9, 14), (11, 5, 7))])
    expected = [f.data[0, 0, 0], f.data[14, 9, 3], f.data[7, 5, 11]]
    assert (probes(f) == expected).all()
    assert (probes(v)[:, 0] == expected).all()
    assert (probes(v)[:, 1] == probes(g)).all()
    inside = tr.Probes([(0.37, 2.9, 1.4)])(f)
    assert tr.Probes([(0.37 - 2, 2.9 + 6, 1.4 + 1.5)])(f) == pytest.approx(inside, abs=1e-13)
    f.data[0, 0, 1] = np.nan
    assert np.isfinite(probes(f)).all()
    assert np.isnan(tr.Probes([(0.5 * h[0], 0, 0)])(f)).all()


@pytest.mark.parametrize("axes", ["x", "y", "z", "yx", "xz", "yz"])
def test_fluctuations(axes):
    ops = tr.Operators(NODES, LENGTHS, MIXED)
    f = noisy_field(ops).with_parity((-1, 1, 1))
    rest = "".join(axis for axis in "xyz" if axis not in axes)
    about = f - tr.spread(f.mean(rest), f, axes)
    assert abs(about.mean(rest)).max() < 1e-15
    expected = f.data - f.data * 0
    keep = tuple(2 - "xyz".index(axis) for axis in rest)
    profile = np.expand_dims(f.mean(rest), keep)
    assert (about.data == expected - profile).all()
    # Odd about the walls in x, the mean over x is not: the sum is neither.
    assert about.parity == ((-1, 1, 1) if "x" in axes else (0, 1, 1))
