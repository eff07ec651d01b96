"""Spectra and correlations: single waves, NumPy's transforms, sums over pairs written out, and Parseval."""

import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.fields import LENGTHS, MIXED, NODES, PERIODIC, noisy_field, noisy_vector, shares

BOX = (2 * np.pi, 4 * np.pi, 2 * np.pi / 3)


def shells_by_numpy(values, lengths):
    """The definition: every mode of the full transform put into its shell."""
    modes = abs(np.fft.fftn(values) / values.size) ** 2 / 2
    k = [2 * np.pi * np.fft.fftfreq(n, length / n) for n, length in zip(values.shape, reversed(lengths), strict=True)]
    size = np.sqrt(k[0][:, None, None] ** 2 + k[1][:, None] ** 2 + k[2] ** 2)
    shell = np.floor(size / (2 * np.pi / max(lengths)) + 0.5).astype(int)
    return np.bincount(shell.ravel(), modes.ravel()), np.bincount(shell.ravel())


@pytest.mark.parametrize("nodes", [(8, 9, 10), (9, 8, 11), (16, 12, 8)])
@pytest.mark.parametrize("lengths", [(1.0, 1.0, 1.0), (2.0, 3.1, 1.7)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_shells_equal_numpy(nodes, lengths, dtype):
    f = noisy_field(tr.Operators(nodes, lengths, PERIODIC, dtype=dtype))
    found = tr.spectrum(f)
    energy, modes = shells_by_numpy(f.data.astype(float), lengths)
    assert (found.modes == modes).all()
    assert np.allclose(found.energy, energy, rtol=1e-12, atol=1e-15)
    assert np.allclose(found.k, 2 * np.pi / max(lengths) * np.arange(len(energy)), rtol=1e-15)
    half_square = 0.5 * np.mean(f.data.astype(float) ** 2)
    assert abs(found.energy.sum() / half_square - 1) < 1e-12, "Parseval, with the corners"
    assert abs(found.density.sum() * found.step / half_square - 1) < 1e-12


def test_single_waves_and_taylor_green():
    ops = tr.Operators((16, 18, 12), BOX, PERIODIC)
    # Wave numbers 2, 1.5, 3 in units of 1/2: |k| = 7.81 of them.
    f = tr.Field.from_function(ops, lambda x, y, z: 3 * np.cos(2 * x + 1.5 * y - 3 * z + 0.3) + 0.5)
    found = tr.spectrum(f)
    expected = np.zeros(len(found.k))
    expected[0], expected[8] = 0.125, 9 / 4
    assert np.allclose(found.energy, expected, atol=1e-14)
    assert found.k[8] == pytest.approx(4.0)
    cube = tr.Operators((12, 14, 10), (2 * np.pi,) * 3, PERIODIC)
    v = tr.Vector.from_function(
        cube,
        lambda x, y, z: (np.sin(x) * np.cos(y) * np.cos(z), -np.cos(x) * np.sin(y) * np.cos(z), 0 * x * y * z),
    )
    found = tr.spectrum(v)
    assert found.energy[2] == pytest.approx(0.125, abs=1e-15)
    assert found.energy.sum() == pytest.approx(0.125, abs=1e-15)


def test_vectors_add_their_components():
    v = noisy_vector(tr.Operators(NODES, LENGTHS, PERIODIC))
    parts = [tr.spectrum(one).energy for one in v]
    assert np.allclose(tr.spectrum(v).energy, sum(parts), rtol=1e-14)
    assert tr.spectrum(v).energy.sum() == pytest.approx(0.5 * tr.mean(v @ v), rel=1e-12)


def test_spectrum_needs_periodic_directions():
    ops = tr.Operators(NODES, LENGTHS, ("periodic", "free-slip", "periodic"))
    with pytest.raises(tr.InputError, match="y is free-slip"):
        tr.spectrum(noisy_field(ops))
    with pytest.raises(tr.InputError, match=r"along y.*free-slip.*correlation"):
        tr.spectrum_1d(noisy_field(ops), "y")
    with pytest.raises(tr.InputError, match="axis 'xz'"):
        tr.spectrum_1d(noisy_field(ops), "xz")


@pytest.mark.parametrize("axis", "xyz")
@pytest.mark.parametrize("length", [9, 10])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_line_spectra_equal_numpy(axis, length, dtype):
    d = "xyz".index(axis)
    kinds = ["free-slip", "dirichlet", "free-slip"]
    nodes = [12, 11, 8]
    kinds[d], nodes[d] = "periodic", length
    ops = tr.Operators(nodes, LENGTHS, kinds, dtype=dtype)
    f = noisy_field(ops)
    values = f.data.astype(float)
    found = tr.spectrum_1d(f, axis)
    modes = np.moveaxis(abs(np.fft.fft(values, axis=2 - d) / length) ** 2 / 2, 2 - d, 0)
    weights = np.moveaxis(shares(ops), 2 - d, 0)[0] * length
    lines = (modes * weights).sum(axis=(1, 2))
    expected = [lines[0]] + [lines[j] + (lines[-j] if 2 * j != length else 0) for j in range(1, length // 2 + 1)]
    assert np.allclose(found.energy, expected, rtol=1e-12)
    assert np.allclose(found.k, 2 * np.pi / LENGTHS[d] * np.arange(length // 2 + 1))
    assert found.modes.sum() == length
    assert found.energy.sum() == pytest.approx(0.5 * (shares(ops) * values**2).sum(), rel=1e-12)


def pairs(f, g, weights, d, r, periodic):
    """<f(x) g(x + r)> by its definition; weights are those of the other directions."""
    f, g, weights = (np.moveaxis(one, 2 - d, 0) for one in (f, g, weights))
    products = f * np.roll(g, -r, axis=0) if periodic else f[: len(f) - r] * g[r:]
    return (products * weights[0] / weights[0].sum()).sum() / len(products)


@pytest.mark.parametrize("axis", "xyz")
@pytest.mark.parametrize("kinds", [MIXED, PERIODIC], ids=["mixed", "periodic"])
def test_correlations_equal_sums_over_pairs(axis, kinds):
    d = "xyz".index(axis)
    ops = tr.Operators(NODES, LENGTHS, kinds)
    f, g = noisy_field(ops, 1), noisy_field(ops, 2)
    periodic = kinds[d] == "periodic"
    h = ops.grid.spacing(d)
    for one, other in ((f, f), (f, g), (g, f)):
        found = tr.correlation(one, axis, None if other is one else other)
        assert len(found.r) == (NODES[d] // 2 + 1 if periodic else NODES[d])
        assert np.allclose(found.r, h * np.arange(len(found.r)))
        expected = [pairs(one.data, other.data, shares(ops), d, r, periodic) for r in range(len(found.r))]
        assert np.allclose(found.values, expected, rtol=1e-12, atol=1e-13)
    squares = [pairs(one.data, one.data, shares(ops), d, 0, periodic) for one in (f, g)]
    normalised = tr.correlation(f, axis, g, normalise=True).values
    assert np.allclose(normalised, tr.correlation(f, axis, g).values / np.sqrt(squares[0] * squares[1]), rtol=1e-12)
    assert tr.correlation(f, axis, normalise=True).values[0] == pytest.approx(1, rel=1e-13)


def test_correlation_of_a_wave_and_on_centres():
    ops = tr.Operators((16, 9, 8), (2 * np.pi, 1.0, 1.0), ("periodic", "free-slip", "periodic"))
    f = tr.Field.from_function(ops, lambda x, y, z: np.sin(3 * x) + 0 * y + 0 * z)
    found = tr.correlation(f, "x", normalise=True)
    assert np.allclose(found.values, np.cos(3 * found.r), atol=1e-14)
    centred = (False, True, False)
    g = noisy_field(ops, 4, centred)
    assert np.allclose(
        tr.correlation(g, "y").values,
        [np.mean(g.data[:, : 8 - r] * g.data[:, r:]) for r in range(8)],
        rtol=1e-12,
        atol=1e-14,
    )
    with pytest.raises(tr.InputError, match="cell centres"):
        tr.correlation(f, "y", g)
