"""Parities of the results of NumPy functions, checked on fields that have them: f(-x) against f(x)."""

import itertools

import numpy as np
import pytest

from tailrace.fields.parity import parity_of

X = np.linspace(0.05, 0.95, 19)
# By parity: a function of x, odd or even; and one that is neither.
FIELDS = {1: lambda x: 0.4 + 0.5 * np.cos(2 * x), -1: lambda x: 0.9 * np.sin(x), 0: lambda x: 0.3 + 0.5 * np.sin(2 * x)}
ONE = [
    np.negative, np.positive, np.sign, np.sin, np.tan, np.arcsin, np.arctan, np.sinh, np.tanh, np.arcsinh, np.arctanh,
    np.cbrt, np.reciprocal, np.conjugate, np.deg2rad, np.rad2deg, np.absolute, np.fabs, np.square, np.cos, np.cosh,
    np.isfinite, np.exp, np.expm1, np.floor, np.ceil, np.rint, np.arccos, np.signbit,
]  # fmt: skip
TWO = [
    np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.maximum, np.minimum, np.fmax, np.fmin, np.hypot,
    np.arctan2, np.greater, np.less, np.copysign, np.logaddexp, np.remainder,
]  # fmt: skip


def measured(function, signs):
    """Which parities the result has in truth."""
    there, mirrored = (np.asarray(function(*(FIELDS[sign](x) for sign in signs)), float) for x in (X, -X))
    return {sign for sign in (1, -1) if np.allclose(mirrored, sign * there, rtol=1e-12, atol=1e-14)}


CASES = [*itertools.product(ONE, [(1,), (-1,), (0,)]), *itertools.product(TWO, itertools.product((1, -1, 0), repeat=2))]


@pytest.mark.parametrize(
    ("function", "signs"), CASES, ids=lambda one: getattr(one, "__name__", None) or ",".join(map(str, one))
)
def test_a_parity_is_known_only_where_it_is_true(function, signs):
    """In each direction by itself; what is even of even arguments is always known."""
    columns = list(zip(signs, (1,) * len(signs), (0,) * len(signs), strict=True))
    found = parity_of(function, columns)
    assert found[0] == 0 or found[0] in measured(function, signs)
    assert found[1] == 1


@pytest.mark.parametrize("exponent", [-3, -2, -1, 0, 1, 2, 3, 0.5, 1.5])
@pytest.mark.parametrize("sign", [1, -1, 0])
def test_powers(sign, exponent):
    found = parity_of(np.power, [(sign, 1, 0)], exponent)
    with np.errstate(invalid="ignore"):
        assert found[0] == 0 or found[0] in measured(lambda x: np.power(x, exponent), (sign,))
    assert found[1:] == (1, 0)
