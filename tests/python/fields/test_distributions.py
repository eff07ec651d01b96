"""Histograms of fields: against NumPy's, with the weights of the trapezoidal rule."""

import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.fields import LENGTHS, MIXED, NODES, noisy_field, shares


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bins", [1, 17, (-1.5, -0.2, 0.1, 2.0)])
def test_histogram_equals_numpy(dtype, bins):
    ops = tr.Operators(NODES, LENGTHS, MIXED, dtype=dtype)
    f = noisy_field(ops)
    values, weights = f.data.astype(float).ravel(), shares(ops).ravel()
    found = tr.histogram(f, bins)
    counts, edges = np.histogram(values, bins, weights=weights)
    assert np.allclose(found.edges, edges, rtol=1e-15)
    assert np.allclose(found.probability, counts, rtol=1e-12, atol=1e-15)
    assert np.allclose(found.density, counts / np.diff(edges), rtol=1e-12)
    inside = (values >= edges[0]) & (values <= edges[-1])
    assert found.outside == pytest.approx(weights[~inside].sum(), abs=1e-15)
    assert found.missing == 0
    assert found.probability.sum() + found.outside == pytest.approx(1, rel=1e-13)
    if bins == 17:
        assert found.outside == 0
        assert abs(found.mean() - f.mean()) < 0.5 * np.diff(edges)[0]


def test_range_infinite_and_missing_values():
    ops = tr.Operators(NODES, LENGTHS, MIXED)
    f = noisy_field(ops)
    weights = shares(ops)
    f.data[3, 2, 1], f.data[0, 0, 0], f.data[5, 5, 5] = np.nan, np.inf, -np.inf
    found = tr.histogram(f, 9)
    assert np.isfinite(found.edges).all()
    assert found.missing == pytest.approx(weights[3, 2, 1], rel=1e-13)
    assert found.outside == pytest.approx(weights[0, 0, 0] + weights[5, 5, 5], rel=1e-13)
    narrow = tr.histogram(f, 4, (-1, 1))
    keep = np.isfinite(f.data)
    expected = np.histogram(f.data[keep], 4, (-1, 1), weights=weights[keep])[0]
    assert np.allclose(narrow.probability, expected, rtol=1e-13)
    constant = tr.histogram(tr.Field.from_function(ops, 2.5), 10)
    assert (constant.edges[0], constant.edges[-1]) == (2.0, 3.0)
    assert constant.mean() == pytest.approx(2.5, abs=0.05)
    nothing = tr.histogram(tr.Field.from_function(ops, np.nan), 3)
    assert nothing.missing == pytest.approx(1)
    assert not nothing.density.any()


def test_density_of_a_known_distribution():
    """Values that grow evenly along a direction are equally likely."""
    ops = tr.Operators((8, 1025, 8), (1.0, 1.0, 1.0), ("periodic", "free-slip", "periodic"))
    found = tr.histogram(tr.Field.from_function(ops, lambda x, y, z: y + 0 * x + 0 * z), 8)
    assert abs(found.density - 1).max() < 4e-3


def test_joint_histogram_equals_numpy():
    ops = tr.Operators(NODES, LENGTHS, MIXED)
    f, g = noisy_field(ops, 1), noisy_field(ops, 2)
    weights = shares(ops)
    for bins, limits in ((12, None), ((5, [-1.0, 0.0, 0.5]), None), (7, ((-1, 1), None))):
        found = tr.joint_histogram(f, g, bins, limits)
        for one, single in zip(found.edges, (f, g), strict=True):
            if limits is None and bins == 12:
                assert (one == tr.histogram(single, 12).edges).all()
        expected = np.histogram2d(f.data.ravel(), g.data.ravel(), found.edges, weights=weights.ravel())[0]
        assert found.density.shape == expected.shape
        assert np.allclose(found.probability, expected, rtol=1e-12, atol=1e-15)
        assert found.probability.sum() + found.outside == pytest.approx(1, rel=1e-13)
    found = tr.joint_histogram(f, g, 12)
    assert np.allclose(found.probability.sum(1), tr.histogram(f, 12).probability, rtol=1e-12, atol=1e-15)
    for mean, single in zip(found.mean(), (f, g), strict=True):
        assert abs(mean - tr.histogram(single, 12).mean()) < 1e-12
    assert len(found.centres[0]) == 12
    g.data[4, 4, 4] = np.nan
    assert tr.joint_histogram(f, g, 12).missing == pytest.approx(weights[4, 4, 4], rel=1e-13)


def test_wrong_bins():
    f = noisy_field(tr.Operators(NODES, LENGTHS, MIXED))
    for bins, limits, text in (
        (0, None, "at least one"),
        ([1.0, 1.0, 2.0], None, "growing"),
        ([1.0], None, "growing"),
        (5, (1, 0), "smaller first"),
        (5, (0, np.inf), "finite"),
    ):
        with pytest.raises(tr.InputError, match=text):
            tr.histogram(f, bins, limits)


@pytest.mark.parametrize("values", [(1.0, 1.0 + 2.2e-16), (1e17, 1e17), (-3e300, -3e300), (5.0, 5.0), (0.0, 0.0)])
def test_values_that_are_nearly_one(values):
    """Their bins have a width, and what is in them sums up to 1."""
    ops = tr.Operators(NODES, LENGTHS, MIXED)
    field = tr.Field.from_function(ops, lambda x, y, z: np.where(z < 0.7, *values))
    found = tr.histogram(field, bins=20)
    assert (np.diff(found.edges) > 0).all() and np.isfinite(found.density).all()
    assert (found.density * np.diff(found.edges)).sum() == pytest.approx(1.0)
