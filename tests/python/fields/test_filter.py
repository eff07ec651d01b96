"""The compact filter: its transfer function, order and matrices written out."""

import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.fields import LENGTHS, MIXED, NODES, PERIODIC, noisy_field

ALPHAS = [-0.3, 0.0, 0.3, 0.45, 0.499]


def coefficients(alpha):
    """a_0 .. a_3 of orders 6, 4 and 2, of Gaitonde and Visbal's table."""
    return {
        6: (11 / 16 + 5 * alpha / 8, 15 / 32 + 17 * alpha / 16, -3 / 16 + 3 * alpha / 8, 1 / 32 - alpha / 16),
        4: (5 / 8 + 3 * alpha / 4, 1 / 2 + alpha, -1 / 8 + alpha / 4),
        2: (1 / 2 + alpha, 1 / 2 + alpha),
    }


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("d", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_transfer_function_of_every_wave(alpha, d, dtype):
    nodes = [8, 9, 10]
    nodes[d] = n = 16
    ops = tr.Operators(nodes, LENGTHS, PERIODIC, dtype=dtype)
    near = 1e-12 if dtype == np.float64 else 3e-5
    for wave in range(n // 2 + 1):
        w = 2 * np.pi * wave / n
        line = np.cos(w * np.arange(n) + 0.4 * (0 < wave < n / 2))
        amplitude = np.arange(1.0, np.prod(nodes) / n + 1)  # another one on each line
        shape = [nodes[e] if e != d else 1 for e in (2, 1, 0)]
        values = line.reshape([n if e == d else 1 for e in (2, 1, 0)]) * amplitude.reshape(shape) / amplitude[-1]
        transfer = sum(a * np.cos(k * w) for k, a in enumerate(coefficients(alpha)[6])) / (1 + 2 * alpha * np.cos(w))
        found = tr.filter(tr.Field.from_function(ops, values), "xyz"[d], alpha)
        assert abs(found.data - transfer * values).max() < near, wave
    assert abs(transfer) < 1e-12, "the shortest wave is removed"


def filter_matrix(n, alpha):
    """A^-1 B of the filter between Dirichlet walls."""
    left, right = np.eye(n), np.eye(n)
    for i in range(1, n - 1):
        reach = min(i, n - 1 - i, 3)
        left[i, i - 1] = left[i, i + 1] = alpha
        right[i, i] = 0
        for k, a in enumerate(coefficients(alpha)[2 * reach]):
            right[i, i - k] += a / 2
            right[i, i + k] += a / 2
    return np.linalg.solve(left, right)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_walls_equal_the_matrix(alpha):
    ops = tr.Operators((9, 11, 14), LENGTHS, ("dirichlet",) * 3)
    f = noisy_field(ops)
    for d, axis in enumerate("xyz"):
        found = np.moveaxis(tr.filter(f, axis, alpha).data, 2 - d, 0)
        values = np.moveaxis(f.data, 2 - d, 0)
        expected = np.tensordot(filter_matrix(len(values), alpha), values, (1, 0))
        assert abs(found - expected).max() < 1e-12
        assert (found[[0, -1]] == values[[0, -1]]).all(), "what is on the wall stays"


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("sign", [1, -1])
def test_free_slip_is_half_of_a_periodic_line(alpha, sign):
    n = 11
    for d, axis in enumerate("xyz"):
        nodes, kinds = [8, 9, 10], ["periodic"] * 3
        nodes[d], kinds[d] = n, "free-slip"
        parity = tuple(sign if e == d else 1 for e in range(3))
        ops = tr.Operators(nodes, LENGTHS, kinds)
        values = np.moveaxis(noisy_field(ops).data.copy(), 2 - d, 0)
        if sign < 0:
            values[[0, -1]] = 0
        doubled = np.moveaxis(np.concatenate([values, sign * values[-2:0:-1]]), 0, 2 - d)
        f = tr.Field.from_function(ops, np.moveaxis(values, 0, 2 - d), parity=parity)
        nodes[d] = 2 * (n - 1)
        whole = tr.Operators(nodes, LENGTHS, PERIODIC)
        expected = np.moveaxis(tr.filter(tr.Field.from_function(whole, doubled), axis, alpha).data, 2 - d, 0)[:n]
        found = tr.filter(f, axis, alpha)
        assert abs(np.moveaxis(found.data, 2 - d, 0) - expected).max() < 1e-12
        assert found.parity == parity


def test_order_and_constants():
    errors = []
    for n in (24, 48):
        ops = tr.Operators((n, n + 1, 8), (2 * np.pi, np.pi, 1.0), ("periodic", "free-slip", "periodic"))
        f = tr.Field.from_function(ops, lambda x, y, z: np.exp(np.sin(x) + np.cos(y)) + 0 * z)
        errors.append(tr.max(abs(tr.filter(f, alpha=0.3) - f)))
    assert 5.7 < np.log2(errors[0] / errors[1]) < 6.3
    ones = tr.Field.from_function(tr.Operators(NODES, LENGTHS, MIXED), 1.0)
    assert tr.max(abs(tr.filter(ones) - 1)) < 1e-14
    # More directions are one after the other; vectors are filtered by component.
    f, g = noisy_field(ones.operators, 1), noisy_field(ones.operators, 2)
    assert (tr.filter(f, "xz").data == tr.filter(tr.filter(f, "x"), "z").data).all()
    both = tr.filter(tr.Vector(f, g, f), "yz", 0.4)
    assert (both[1].data == tr.filter(g, "yz", 0.4).data).all()
    # Filters of different alpha are kept apart.
    assert (tr.filter(f, "x", 0.1).data != tr.filter(f, "x", 0.2).data).any()


def test_wrong_use():
    ops = tr.Operators(NODES, LENGTHS, MIXED)
    f = noisy_field(ops)
    for alpha in (0.5, -0.5, 2.0, np.nan):
        with pytest.raises(tr.InputError, match=r"between -0.5 and 0.5"):
            tr.filter(f, alpha=alpha)
    with pytest.raises(tr.InputError, match="nodes in x"):
        tr.filter(noisy_field(ops, 1, (True, False, False)), "x")
    assert tr.filter(noisy_field(ops, 1, (True, False, False)), "yz").shape == (15, 10, 11)
    with pytest.raises(tr.InputError, match="not known"):
        tr.filter(f + f.with_parity((-1, 1, 1)))
