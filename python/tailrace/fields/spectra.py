"""Spectra and correlations of distributed fields, by Fourier transforms. All collective, the same on every rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError, mean_cross_spectrum, shell_spectrum

from .field import Field, check_real, same_points
from .points import direction_of
from .vector import Vector


@dataclass(frozen=True)
class Spectrum:
    """Energy by wave number. The energies add up to half the mean square, to rounding: sum(energy) = <f f> / 2.

    :param k: wave numbers, in radians per unit of length: the centres of the shells, or the modes of a line.
    :param energy: of each shell, or of each wave number of a line and its negative.
    :param modes: number of Fourier modes in each sum.
    :param step: difference of two neighbouring wave numbers.
    """

    k: NDArray[np.float64]
    energy: NDArray[np.float64]
    modes: NDArray[np.int64]
    step: float

    @property
    def density(self) -> NDArray[np.float64]:
        """E(k), energy per wave number: energy / step, so that sum(density) * step = <f f> / 2."""
        return self.energy / self.step


@dataclass(frozen=True)
class Correlation:
    """Two-point correlation along a direction.

    :param r: distances, 0, h, 2 h, ...
    :param values: R(r).
    """

    r: NDArray[np.float64]
    values: NDArray[np.float64]


def spectrum(f: Field | Vector) -> Spectrum:
    """Energy in shells of wave numbers, E_n = sum over round(|k| / k0) = n of |f_k|^2 / 2, f_k = 1/N sum f exp(-i k x).

    k0 = 2 pi / (longest side of the box) is the smallest wave number and the width of the shells, also if the box is
    not a cube or the spacing differs between directions; a direction of one point has no waves, and its length does not
    count. For a vector the energies of its components are added. Every mode is in a shell, also those in the corners
    beyond the last full shell, so that the energies add up to <f f> / 2 or <v . v> / 2. Computed in double precision.
    The mean is in shell 0.

    :raises InputError: a direction is not periodic.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi,) * 3, ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: np.sin(2 * x))
    >>> found = tr.spectrum(f)
    >>> found.k[:4], found.energy[:4].round(6)  # <f f> / 2 = 1/4, in the shell of k = 2
    (array([0., 1., 2., 3.]), array([0.  , 0.  , 0.25, 0.  ]))
    """
    fields = [f] if isinstance(f, Field) else list(f)
    check_real(*fields)
    operators = fields[0].operators
    arrays = [_real(one) for one in fields]
    width, energy, modes = shell_spectrum(operators.grid, operators.processes, arrays)
    return Spectrum(width * np.arange(len(energy), dtype=np.float64), np.array(energy), np.array(modes), width)


def spectrum_1d(f: Field, axis: str) -> Spectrum:
    """Energy by the wave number along a direction, averaged over the other two.

    E_j = c_j <|f_j|^2> / 2 at k_j = 2 pi j / L, f_j = 1/n sum f exp(-i k_j x); c_j is 2 for the wave number and its
    negative together, 1 for j = 0 and j = n / 2. The average is that of `mean`, so the energies add up to <f f> / 2.

    :raises InputError: the direction is not periodic.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, np.pi, 1.0), ("periodic", "free-slip", "periodic"))
    >>> f = tr.Field.from_function(ops, lambda x, y, z: np.sin(2 * x))
    >>> found = tr.spectrum_1d(f, "x")
    >>> found.k[:4], found.energy[:4].round(6)  # <f f> / 2 = 1/4, at k = 2
    (array([0., 1., 2., 3.]), array([0.  , 0.  , 0.25, 0.  ]))
    """
    d = direction_of(axis)
    check_real(f)
    grid, n = f.operators.grid, f.operators.shape(f.centred)[d]
    if grid.boundaries[d] != "periodic":
        raise InputError(
            f"a spectrum along {axis} needs that direction to be periodic; it is {grid.boundaries[d]}"
            + ("" if d == 1 and grid.stretching else f". tr.correlation(f, {axis!r}) works there")
        )
    powers = _products(f, f, d, n).real / n**2
    both = np.full(len(powers), 2)
    both[0] = 1
    if n % 2 == 0:
        both[-1] = 1
    step = 2 * np.pi / grid.lengths[d]
    return Spectrum(step * np.arange(len(powers), dtype=np.float64), both * powers / 2, both, step)


def correlation(f: Field, axis: str, other: Field | None = None, *, normalise: bool = False) -> Correlation:
    """Two-point correlation along a direction, R(r) = <f(x) g(x + r)>, with g = f unless `other` is given.

    The mean is not subtracted. For the correlation of fluctuations subtract it first, for example with `spread`. The
    average is over the other two directions, as in `mean`, and along the direction over all pairs of points at the
    distance r; each pair counts once. A periodic direction has n pairs for each r, and r goes up to half the length.
    Other directions have n - r/h pairs, and r goes up to the length. R(-r) is the correlation with f and g exchanged.

    :param normalise: divide by sqrt(<f f> <g g>), with these averages taken at r = 0.
    :raises InputError: the points along the direction are stretched, so that their distances are not equal.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: np.sin(x))
    >>> found = tr.correlation(f, "x", normalise=True)
    >>> np.allclose(found.values, np.cos(found.r))
    True
    """
    d = direction_of(axis)
    if d == 1 and f.operators.grid.stretching:
        raise InputError(
            f"a correlation along y needs equally spaced points; y is stretched ({f.operators.grid.stretching}). Along "
            "x and z correlations work; tr.Probes has values at equally spaced places in y"
        )
    g = f if other is None else other
    same_points(f, g)
    check_real(f, g)
    r, values = _correlate(f, g, d)
    if normalise:
        squares = values[0] if g is f else np.sqrt(_correlate(f, f, d)[1][0] * _correlate(g, g, d)[1][0])
        values = values / squares
    return Correlation(r, values)


def _correlate(f: Field, g: Field, d: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    grid, n = f.operators.grid, f.operators.shape(f.centred)[d]
    if grid.boundaries[d] == "periodic":
        count = n // 2 + 1
        values = np.fft.irfft(_products(f, g, d, n), n)[:count] / n
    else:  # zeros as long as the line keep its ends from meeting
        count = n
        values = np.fft.irfft(_products(f, g, d, 2 * n), 2 * n)[:n] / np.arange(n, 0, -1)
    return grid.spacing(d) * np.arange(count, dtype=np.float64), values


def _products(f: Field, g: Field, d: int, points: int) -> NDArray[np.complex128]:
    """conj(F) G along a direction, of lines lengthened by zeros to `points`, averaged over the other directions."""
    operators = f.operators
    first = _real(f)
    second = first if g is f else _real(g)
    found = mean_cross_spectrum(operators.grid, f.centred, operators.processes, d, points, first, second)
    return np.array(found)


def _real(f: Field) -> NDArray[np.float64]:
    return np.ascontiguousarray(f.data, dtype=np.float64)
