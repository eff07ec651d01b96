"""Fields on grids that are stretched in y, or whose boundaries differ at the two ends: against exact functions."""

import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.fields import noisy_field

MAPPINGS = {"centre": 0.8, "walls": 0.5, "bottom": 0.4}
LENGTHS = (2.0, 3.0, 1.5)
PERIODIC = "periodic"


def operators(n, where, kind="dirichlet", **more):
    kinds = (PERIODIC, kind, PERIODIC)
    return tr.Operators((8, n, 9), LENGTHS, kinds, stretching=where, beta=MAPPINGS[where], **more)


def even(y):
    """A function that is even about both ends, with its derivatives."""
    a = np.pi / LENGTHS[1]
    c, s = np.cos(a * y), np.sin(a * y)
    f = np.exp(c)
    return f, -a * s * f, a * a * (s * s - c) * f


def wavy(y):
    """A function without symmetry, with its derivatives."""
    c, s = 1.7 * np.cos(1.7 * y + 0.3), np.sin(1.7 * y + 0.3)
    f = np.exp(s)
    return f, c * f, (c * c - 1.7**2 * s) * f


def orders(errors):
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


@pytest.mark.parametrize("where", MAPPINGS)
def test_derivatives_are_of_sixth_order_and_of_third_at_walls(where):
    errors = []
    for n in (81, 161):
        ops = operators(n, where)
        f = tr.Field.from_function(ops, lambda x, y, z: wavy(y)[0])
        exact = wavy(f.coordinates()[1])
        found = [tr.ddy(f), tr.derivative(f, "y", 2)]
        away = [abs(one.data - exact[k + 1])[:, n // 4 : -(n // 4)].max() for k, one in enumerate(found)]
        errors.append([*away, *(abs(one.data - exact[k + 1]).max() for k, one in enumerate(found))])
    inside, closures = orders(errors)[0][:2], orders(errors)[0][2:]
    assert (abs(inside - 6) < 0.5).all(), errors
    assert (closures > 1.8).all(), errors
    assert errors[-1][0] < 1e-5


@pytest.mark.parametrize("where", MAPPINGS)
@pytest.mark.parametrize("kind", ["free-slip", "dirichlet|free-slip", "free-slip|dirichlet"])
def test_derivatives_and_probes_at_free_slip_ends(where, kind):
    errors = []
    part = {"free-slip": slice(None), "dirichlet|free-slip": slice(40, None), "free-slip|dirichlet": slice(0, -40)}[
        kind
    ]
    for n in (81, 161):
        ops = operators(n, where, kind)
        f = tr.Field.from_function(ops, lambda x, y, z: even(y)[0])
        exact = even(f.coordinates()[1])
        places = np.linspace(0, LENGTHS[1], 57)
        probes = tr.Probes([(0.4, y, 1.1) for y in places])(f) - even(places)[0]
        found = [tr.ddy(f).data - exact[1], tr.derivative(f, "y", 2).data - exact[2]]
        errors.append([*(abs(one[:, part]).max() for one in found), abs(probes).max()])
    assert ((orders(errors)[0] > 5.2) | (np.array(errors[-1]) < 1e-9)).all(), errors
    assert errors[-1][2] < 1e-5
    odd = f.with_parity((1, -1, 1))
    assert odd.parity == (1, -1, 1), "the direction has a free-slip end"


@pytest.mark.parametrize("where", MAPPINGS)
def test_probes_are_polynomials_in_y(where):
    ops = operators(17, where)
    coefficients = np.random.default_rng(3).standard_normal(6)
    for centred in (False, True):
        place = (False, centred, False)
        y = ops.coordinates(place)[1]
        values = np.polynomial.polynomial.polyval(y, coefficients)
        f = tr.Field(np.broadcast_to(values[None, :, None], ops.local_shape(place)).copy(), ops, centred=place)
        places = np.array([0, 0.013, 0.9, *y[3:6], 1.4142, 2.98, 3.0])
        expected = np.polynomial.polynomial.polyval(places, coefficients)
        found = tr.Probes([(0.4, one, 1.1) for one in places])(f)
        assert abs(found - expected).max() < 1e-11 * abs(values).max()
        assert abs(tr.plane(f, "y", position=0.9) - expected[2]).max() < 1e-11 * abs(values).max()
    f.data[:, 5] = np.nan
    assert np.isfinite(tr.plane(f, "y", position=y[4])).all(), "a place on a point needs that point only"


@pytest.mark.parametrize("where", MAPPINGS)
@pytest.mark.parametrize("centred", [False, True])
def test_averages_weigh_by_the_slope_of_the_places(where, centred):
    """The trapezoidal rule in the uniform coordinate, which the solver uses too."""
    place = (False, centred, True)
    ops = operators(33, where)
    y = ops.coordinates(place)[1]
    lengths = 1 / np.array(ops.grid.metric(1, centred)) * ops.grid.spacing(1)
    lengths[[0, -1]] *= 1 if centred else 0.5
    assert lengths.sum() == pytest.approx(LENGTHS[1], rel=1e-9)
    assert np.allclose(ops.weights(1, place), lengths, rtol=1e-9)
    lengths = ops.weights(1, place)  # scaled, so that constants are exact
    f = noisy_field(ops, 4, place)
    profile = f.data.mean(axis=(0, 2))
    expected = profile @ lengths / LENGTHS[1]
    assert f.mean() == pytest.approx(expected, rel=1e-12)
    assert np.allclose(f.mean("xz"), profile, rtol=1e-12)
    assert np.allclose(f.mean("y"), np.einsum("zyx,y->zx", f.data, lengths) / LENGTHS[1], rtol=1e-12)
    statistics = tr.Statistics(axes="xyz", names=["f"])
    statistics.update({"f": f})
    assert statistics.mean["f"] == pytest.approx(expected, rel=1e-12)
    below = tr.histogram(tr.Field(np.broadcast_to(y[None, :, None], f.shape).copy(), ops, centred=place), [0, 1, 3.1])
    assert below.probability[0] == pytest.approx(lengths[y < 1].sum() / LENGTHS[1], rel=1e-12)
    along_x = tr.correlation(f, "x").values
    assert along_x[0] == pytest.approx((f * f).mean(), rel=1e-12)
    assert tr.spectrum_1d(f, "z").energy.sum() == pytest.approx((f * f).mean() / 2, rel=1e-12)


def test_integrals_converge_with_second_order():
    errors = []
    for n in (65, 129):
        f = tr.Field.from_function(operators(n, "walls"), lambda x, y, z: np.cos(1.7 * y))
        errors.append([abs(f.integral() - np.sin(1.7 * 3) / 1.7 * 2 * 1.5)])
    assert 1.9 < orders(errors)[0][0] < 2.1


def test_what_cannot_be_is_refused():
    ops = operators(17, "walls")
    f = noisy_field(ops)
    with pytest.raises(tr.InputError, match=r"needs equally spaced points; y is stretched \(walls\)"):
        tr.correlation(f, "y")
    with pytest.raises(tr.InputError, match=r"periodic; it is dirichlet$"):
        tr.spectrum_1d(f, "y")
    with pytest.raises(tr.InputError, match="outside the box, 0 to 3"):
        tr.plane(f, "y", position=3.01)
    with pytest.raises(tr.InputError, match="another grid"):
        f + noisy_field(tr.Operators((8, 17, 9), LENGTHS, (PERIODIC, "dirichlet", PERIODIC)))
    with pytest.raises(tr.InputError, match="stretched and periodic"):
        tr.Operators((8, 17, 9), LENGTHS, (PERIODIC,) * 3, stretching="walls", beta=1.0)
    with pytest.raises(tr.InputError, match="stretching 'wall' is unknown; choose centre, walls or bottom"):
        tr.Operators((8, 17, 9), LENGTHS, (PERIODIC, "dirichlet", PERIODIC), stretching="wall", beta=1.0)
    with pytest.raises(tr.InputError, match="beta of the stretching is 0"):
        tr.Operators((8, 17, 9), LENGTHS, (PERIODIC, "dirichlet", PERIODIC), stretching="walls")
    unknown = noisy_field(operators(17, "walls", "dirichlet|free-slip")).with_parity((1, 0, 1))
    assert np.isfinite(tr.Probes([(0.1, 0.01, 0.2)])(unknown)).all(), "next to the wall parity does not matter"
    with pytest.raises(tr.InputError, match="free-slip boundary in y is not known"):
        tr.Probes([(0.1, 2.99, 0.2)])(unknown)


def test_the_card_of_a_field_has_a_picture():
    text = noisy_field(operators(17, "walls"))._repr_html_()
    assert "dirichlet" in text
    assert "data:image/png" in text
