"""Invariants of the velocity gradient: against NumPy's eigenvalues, also where two are equal, and the definitions."""

import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.fields import LENGTHS, MIXED, NODES, noisy_vector
from tailrace import core as _core

NEAR = [0.0, 1e-16, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0]


@pytest.mark.parametrize("scale", [1.0, 1e-140, 1e140])
def test_middle_eigenvalue(scale):
    generator = np.random.default_rng(5)
    worst = 0.0
    for gap in NEAR:
        for values in ((1, 1 + gap, -2), (1, -1 - gap, -1), (5, 5 - gap, 5 + gap), (gap, -gap, 0), (1, gap, -gap)):
            for number in range(20):
                q = np.linalg.qr(generator.standard_normal((3, 3)))[0] if number else np.eye(3)
                m = q @ np.diag(values) @ q.T * scale
                m = (m + m.T) / 2
                found = _core.middle_eigenvalue([m[0, 0], m[0, 1], m[0, 2], m[1, 1], m[1, 2], m[2, 2]])
                expected = np.linalg.eigvalsh(m)[1]
                worst = max(worst, abs(found - expected) / (np.linalg.norm(m) or 1))
    assert worst < 1e-14


def test_middle_eigenvalue_of_random_and_of_broken_matrices():
    generator = np.random.default_rng(6)
    all_values = generator.standard_normal((2000, 6)) * 10.0 ** generator.integers(-3, 4, (2000, 6))
    for xx, xy, xz, yy, yz, zz in all_values:
        m = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        found = _core.middle_eigenvalue([xx, xy, xz, yy, yz, zz])
        assert abs(found - np.linalg.eigvalsh(m)[1]) < 1e-14 * np.linalg.norm(m)
    assert _core.middle_eigenvalue([0.0] * 6) == 0
    assert _core.middle_eigenvalue([3.0, 0, 0, 3.0, 0, 3.0]) == pytest.approx(3, rel=1e-15)
    for broken in (np.nan, np.inf):
        for place in range(6):
            entries = [1.0, 0.5, 0.2, 2.0, 0.1, 3.0]
            entries[place] = broken
            assert np.isnan(_core.middle_eigenvalue(entries))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_invariants_by_their_definitions(dtype):
    ops = tr.Operators(NODES, LENGTHS, MIXED, dtype=dtype)
    v = noisy_vector(ops)
    g = tr.grad(v)
    a = np.stack([np.stack([g[i, j].data.astype(float) for j in range(3)], -1) for i in range(3)], -2)
    s, w = (a + a.swapaxes(-1, -2)) / 2, (a - a.swapaxes(-1, -2)) / 2
    norm = (a**2).sum((-1, -2))
    near = 1e-14 if dtype == np.float64 else 1e-6
    q, lam, r = tr.q_criterion(v), tr.lambda2(v), tr.third_invariant(v)
    assert q.dtype == lam.dtype == r.dtype == dtype
    assert (abs(q.data - ((w**2).sum((-1, -2)) - (s**2).sum((-1, -2))) / 2) < near * norm).all()
    assert (abs(lam.data - np.linalg.eigvalsh(s @ s + w @ w)[..., 1]) < near * norm).all()
    assert (abs(r.data + np.linalg.det(a)) < near * norm**1.5).all()


def test_q_is_that_of_the_solver():
    ops = tr.Operators(NODES, LENGTHS, MIXED)
    v = noisy_vector(ops)
    vorticity, strain = tr.curl(v), tr.strain(v)
    solver = 0.25 * (vorticity @ vorticity) - 0.5 * strain.contract(strain)
    assert tr.max(abs(tr.q_criterion(v) - solver)) < 1e-13 * tr.max(abs(solver))


def test_known_flows_and_parity():
    ops = tr.Operators((16, 24, 10), (2 * np.pi, 2 * np.pi, 1.0), ("periodic",) * 3)
    v = tr.Vector.from_function(
        ops, lambda x, y, z: (np.sin(x) * np.cos(y) + 0 * z, -np.cos(x) * np.sin(y) + 0 * z, 0 * (x + y + z))
    )
    # A = [[c c, -s s], [s s, -c c]]: A^2 = ((c c)^2 - (s s)^2) I in x, y.
    k = [
        _core.scheme_response(_core.Operation.first_derivative, 2 * np.pi / n, "aggressive", 2 * np.pi / n)
        for n in (16, 24)
    ]
    x, y, _ = v[0].coordinates()
    cc, ss = np.cos(x) * np.cos(y), np.sin(x) * np.sin(y)
    a, b, c, d = k[0] * cc, -k[1] * ss, k[0] * ss, -k[1] * cc
    assert np.allclose(tr.q_criterion(v).data, np.broadcast_to(-(a * a + d * d) / 2 - b * c, (10, 24, 16)), atol=1e-13)
    assert tr.max(abs(tr.third_invariant(v))) < 1e-14
    slip = noisy_vector(tr.Operators(NODES, LENGTHS, ("free-slip",) * 3))
    for function in (tr.q_criterion, tr.lambda2, tr.third_invariant):
        assert function(slip).parity == (1, 1, 1)
    turned = tr.curl(slip)  # of the opposite parity of a velocity
    assert tr.q_criterion(turned).parity == (1, 1, 1)
    assert tr.third_invariant(turned).parity == (-1, -1, -1)
    mixed = tr.Vector(slip[0], turned[1], slip[2])
    assert tr.lambda2(mixed).parity == (0, 0, 0)
