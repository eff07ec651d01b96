"""The operators from Python: against the schemes written out as matrices, and on any number of ranks."""

import numpy as np
import pytest

import tailrace as tr
from helpers.harness.kept import KEPT
from helpers.programs import field_programs

NODES = (16, 11, 13)
LENGTHS = (2.0, 3.0, 1.5)
KINDS = {
    "periodic": ("periodic",) * 3,
    "free-slip": ("free-slip",) * 3,
    "mixed": ("free-slip", "periodic", "free-slip"),
}


def folded(n, kind, parity, coefficients, alpha):
    """The matrix A^-1 B of a compact scheme on `n` nodes, with the mirror images at free-slip walls written out.

    B has `coefficients` {offset: weight}; derivatives of odd order turn the parity of the result around.
    """
    sign = {"even": 1.0, "odd": -1.0}
    left, right = np.eye(n), np.zeros((n, n))
    odd_order = any(weight < 0 and coefficients.get(-offset) == -weight for offset, weight in coefficients.items())
    result_parity = parity if not odd_order else {"even": "odd", "odd": "even"}[parity]

    def add(matrix, i, offset, weight, mirrored):
        j = i + offset
        if kind == "periodic":
            matrix[i, j % n] += weight
        elif j < 0:
            matrix[i, -j] += weight * mirrored
        elif j > n - 1:
            matrix[i, 2 * (n - 1) - j] += weight * mirrored
        else:
            matrix[i, j] += weight

    for i in range(n):
        for offset, weight in coefficients.items():
            add(right, i, offset, weight, sign[parity])
        for offset in (-1, 1):
            add(left, i, offset, alpha, sign[result_parity])
    return np.linalg.solve(left, right)


def first(n, h, kind, parity):
    a, b = 14 / 9 / (2 * h), 1 / 9 / (4 * h)
    return folded(n, kind, parity, {1: a, -1: -a, 2: b, -2: -b}, 1 / 3)


def second(n, h, kind, parity):
    a, b = 12 / 11 / h**2, 3 / 11 / (4 * h**2)
    return folded(n, kind, parity, {0: -2 * (a + b), 1: a, -1: a, 2: b, -2: b}, 2 / 11)


def spacing(d, kind):
    return LENGTHS[d] / (NODES[d] if kind == "periodic" else NODES[d] - 1)


@pytest.mark.parametrize("boundaries", list(KINDS))
@pytest.mark.parametrize("parity", ["even", "odd"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_derivatives_equal_the_matrices(boundaries, parity, dtype):
    kinds = KINDS[boundaries]
    ops = tr.Operators(NODES, LENGTHS, kinds, dtype=dtype)
    values = np.random.default_rng(3).standard_normal(tuple(reversed(NODES))).astype(dtype)
    for d, function in enumerate((ops.ddx, ops.ddy, ops.ddz)):
        f = values.copy()
        axis = 2 - d
        if kinds[d] == "free-slip" and parity == "odd":  # an odd field is zero at a wall
            np.moveaxis(f, axis, 0)[[0, -1]] = 0
        before = f.copy()
        for matrix, result in (
            (first(NODES[d], spacing(d, kinds[d]), kinds[d], parity), function(f, parity)),
            (second(NODES[d], spacing(d, kinds[d]), kinds[d], parity), ops.second(f, d, parity)),
        ):
            expected = np.moveaxis(np.tensordot(matrix, f.astype(np.float64), (1, axis)), 0, axis)
            assert result.dtype == dtype
            assert result.shape == f.shape
            assert abs(result - expected).max() < (2e-13 if dtype == np.float64 else 1e-4) * abs(expected).max()
        assert (f == before).all(), "the input is left alone"


def test_staggered_there_and_back():
    """Node to centre and back, on a smooth function: the values of the other grid to the order of the schemes."""
    n = (48, 40, 44)
    ops = tr.Operators(n, LENGTHS, ("periodic", "free-slip", "periodic"))
    x, y, z = (np.arange(n[0]) * 2.0 / 48, np.arange(40) * 3.0 / 39, np.arange(44) * 1.5 / 44)
    middle = y[:-1] + 3.0 / 78
    f = np.cos(np.pi * y / 3)[None, :, None] * np.sin(np.pi * x)[None, None, :] + 0 * z[:, None, None]
    there = ops.staggered(f, 1, "interpolate", "centre")
    slope = ops.staggered(f, 1, "derivative", "centre")
    assert there.shape == slope.shape == (44, 39, 48)
    wave = np.sin(np.pi * x)[None, None, :]
    assert abs(there - np.cos(np.pi * middle / 3)[None, :, None] * wave).max() < 1e-7
    assert abs(slope + np.pi / 3 * np.sin(np.pi * middle / 3)[None, :, None] * wave).max() < 1e-7
    back = ops.staggered(there, 1, "interpolate", "node", centred=(False, True, False))
    assert back.shape == f.shape
    assert abs(back - f).max() < 1e-7


@pytest.mark.parametrize("kinds", [KINDS["periodic"], KINDS["mixed"]], ids=["periodic", "mixed"])
@pytest.mark.parametrize("ranks", [2, 3, 4, 6])
def test_any_decomposition_gives_the_same_bits(ranks, kinds):
    KEPT.ranks(ranks).results(field_programs.same_bits_as_alone, limit=60, nodes=NODES, kinds=kinds)


def test_wrong_use():
    ops = tr.Operators(NODES, LENGTHS, KINDS["periodic"])
    with pytest.raises(tr.InputError, match=r"\(16, 11, 13\).*\(13, 11, 16\)"):
        ops.ddx(np.zeros(NODES))
    with pytest.raises(tr.InputError, match="float64 or float32"):
        tr.Operators(NODES, LENGTHS, KINDS["periodic"], dtype=np.int32)
    with pytest.raises(tr.InputError, match="nodes"):
        ops.staggered(np.zeros((13, 11, 16)), 0, "interpolate", "node")
    with pytest.raises(tr.InputError, match="slip"):
        tr.Operators(NODES, LENGTHS, ("periodic", "sticky", "periodic"))
    # The values are checked, not trusted: a list of numbers is an array like any other.
    assert ops.ddx(np.ones((13, 11, 16), dtype=int).tolist()).shape == (13, 11, 16)
