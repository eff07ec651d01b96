"""Which time steps are stable: the time schemes against the modified wave numbers of the compact schemes.

A Fourier mode of the equation linearised about a uniform velocity obeys du/dt = lambda u with

    lambda = -nu sum_d k2(w_d) / h_d^2 + i sum_d u_d k1(w_d) / h_d,   w_d = (wave number) h_d in 0 .. pi,

where k1 and k2 are the modified wave numbers of the sixth-order first and second derivatives (Lele 1992). A scheme
multiplies the mode by a factor that depends on lambda dt alone; the step is stable where no factor is larger than one.
Where diffusion along y is implicit, its part of lambda is taken by Crank-Nicolson in each stage; it damps, whatever the
step. All is local.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tailrace.case.case import Case
    from tailrace.core import Grid

_ANGLES = np.linspace(0.0, np.pi, 129)[1:]
# Modified wave numbers for a spacing of one; their largest values are 1.989 and 48/7.
FIRST = (14 / 9 * np.sin(_ANGLES) + 1 / 18 * np.sin(2 * _ANGLES)) / (1 + 2 / 3 * np.cos(_ANGLES))
SECOND = (24 / 11 * (1 - np.cos(_ANGLES)) + 3 / 22 * (1 - np.cos(2 * _ANGLES))) / (1 + 4 / 11 * np.cos(_ANGLES))

_ROUNDING = 1e-9
_BEYOND = 3.0  # no scheme is stable where |lambda dt| is as large
_SCAN, _HALVINGS = 32, 40
_SAMPLES = np.array([7, 31, 63, 127])  # of the dampings along an implicit y: from long waves to the shortest


_AB: dict[str, tuple[float, ...]] = {"euler": (1.0,), "ab2": (3 / 2, -1 / 2), "ab3": (23 / 12, -16 / 12, 5 / 12)}
_RK3: tuple[tuple[float, ...], ...] = ((8 / 15,), (5 / 12, -17 / 60), (3 / 4, -5 / 12))


def with_implicit(scheme: str, z: NDArray[np.complex128], damping: NDArray[np.float64]) -> NDArray[np.float64]:
    """The factor of `amplification` where another part of lambda dt, minus `damping`, is implicit in each stage."""
    if scheme == "rk3":
        u, before = np.ones(np.broadcast(z, damping).shape, dtype=np.complex128), None
        for weights in _RK3:
            share, now = sum(weights), z * u
            change = weights[0] * now - share * damping * u
            if before is not None:
                change += weights[1] * before
            u, before = u + change / (1 + share * damping / 2), now
        return np.abs(u)
    weights = _AB[scheme]
    half = 1 + damping / 2
    return _largest_root([(k == 0) * (1 - damping / 2) / half + weight * z / half for k, weight in enumerate(weights)])


def _largest_root(coefficients: Sequence[NDArray[np.complex128]]) -> NDArray[np.float64]:
    """Of u_new = sum of coefficients[k] u_k, with the newest first."""
    order = len(coefficients)
    companion = np.zeros((*coefficients[0].shape, order, order), dtype=np.complex128)
    for k, values in enumerate(coefficients):
        companion[..., 0, k] = values
    for k in range(1, order):
        companion[..., k, k - 1] = 1
    return np.abs(np.linalg.eigvals(companion)).max(axis=-1)


def amplification(scheme: str, z: NDArray[np.complex128]) -> NDArray[np.float64]:
    """The factor by which one step multiplies modes, in size, at z = lambda dt; of schemes of several, the largest.

    :param scheme: "euler", "ab2", "ab3" or "rk3".
    """
    if scheme == "euler":
        return np.abs(1 + z)
    if scheme == "rk3":
        return np.abs(1 + z * (1 + z / 2 * (1 + z / 3)))
    return _largest_root([weight * z + (k == 0) for k, weight in enumerate(_AB[scheme])])


def hyperviscous(at_cutoff: float, middle: float) -> NDArray[np.float64]:
    """The modified wave number of the hyperviscous second derivative, at the angles of `SECOND`.

    It is pi^2 (1 + at_cutoff) at pi and (2 pi / 3)^2 (1 + middle at_cutoff) at 2 pi / 3 (Lamballais, Fortune and Laizet
    2011).
    """
    top, mid = np.pi**2 * (1 + at_cutoff), (2 * np.pi / 3) ** 2 * (1 + middle * at_cutoff)
    whole = 405 * top - 640 * mid + 144
    alpha = 0.5 - (320 * mid - 1296) / whole
    weights = (
        -(4329 * top / 8 - 32 * mid - 140 * top * mid + 286) / whole,
        (2115 * top - 1792 * mid - 280 * top * mid + 1328) / (4 * whole),
        -(7695 * top / 8 + 288 * mid - 180 * top * mid - 2574) / (9 * whole),
        (198 * top + 128 * mid - 40 * top * mid - 736) / (16 * whole),
    )
    found = sum(2 * weight * (1 - np.cos(n * _ANGLES)) for n, weight in enumerate(weights, 1))
    return np.asarray(found / (1 + 2 * alpha * np.cos(_ANGLES)))


def stability_of(case: Case, grid: Grid) -> Stability:
    """The stable steps of a case: of its velocity and of its scalars, on its smallest spacings."""
    more = case.numerics.hyperviscosity
    implicit = case.numerics.implicit_y
    largest = max(diffusivities_of(case).values())
    return Stability(
        case.time.scheme,
        [min(grid.distances(d)) for d in range(3)],
        largest,
        [
            SECOND if more is None or name not in more.directions else hyperviscous(more.at_cutoff, more.middle)
            for name in "xyz"
        ],
        implicit_y=implicit,
        slope=largest * _bending(grid) if implicit else 0.0,
    )


def diffusivities_of(case: Case) -> dict[str, float]:
    """The diffusivities of the velocity and of each scalar, each by the key that it follows from."""
    found = {f"case.reynolds = {case.case.reynolds:g}": case.viscosity}
    for at, scalar in enumerate(case.scalar):
        found[f"scalar[{at}].schmidt = {scalar.schmidt:g}"] = case.viscosity / scalar.schmidt
    return found


def _bending(grid: Grid) -> float:
    """How much a first derivative a stretched y has in the second derivative, per distance: max |y''| / y'^2 / h."""
    y = np.array(grid.coordinates(1))
    along, across = np.gradient(y), np.diff(y, 2)
    return float((np.abs(across) / along[1:-1] ** 2 / np.array(grid.distances(1))[1:-1]).max())


class Stability:
    """The stable time steps of a scheme on a grid.

    Of the velocity only its `rate` is known, max over nodes of sum |u_d| / h_d. So the modes are those of the worst
    case: all of the velocity along the direction that damps least, or most with the others, and in the other directions
    any wave number.

    :param spacing: h in x, y and z.
    :param second: the modified wave numbers of the second derivatives in x, y and z at the angles of `SECOND`.
    :param implicit_y: the second derivative along y is implicit.
    :param slope: what the rate is increased by: the explicit first derivative in the diffusion along a stretched y.
    """

    def __init__(
        self,
        scheme: str,
        spacing: Sequence[float],
        viscosity: float,
        second: Sequence[NDArray[np.float64]] = (SECOND,) * 3,
        *,
        implicit_y: bool = False,
        slope: float = 0.0,
    ) -> None:
        along = [values / h**2 for values, h in zip(second, spacing, strict=True)]
        implicit = viscosity * along.pop(1) if implicit_y else None
        total = sum(values.max() for values in along)
        least = np.min(along, axis=0)
        most = np.max([values + (total - values.max()) for values in along], axis=0)
        damping = [viscosity * least, viscosity * most]
        self.scheme, self._slope, self._implicit = scheme, slope, None
        if implicit is not None:
            # Modes that move along x or z have any wave number along y; those that move along y have one.
            across = [0.0, *implicit[_SAMPLES]]
            self._implicit = np.concatenate([np.repeat(across, 2 * FIRST.size), np.tile(implicit, 2)])
            damping = damping * len(across) + [0 * FIRST, viscosity * total + 0 * FIRST]
        self._diffusion, self._convection = np.concatenate(damping), np.tile(FIRST, len(damping))

    def is_stable(self, dt: float, rate: float, growth: float = _ROUNDING) -> bool:
        """Whether no mode grows by more than the share `growth` in one step."""
        with np.errstate(over="ignore", invalid="ignore"):
            z = dt * (-self._diffusion + 1j * (rate + self._slope) * self._convection)
            if not np.abs(z).max() < _BEYOND:  # also where it is not a number
                return False
        if self._implicit is not None:
            return bool(with_implicit(self.scheme, z, dt * self._implicit).max() <= 1 + growth)
        return bool(amplification(self.scheme, z).max() <= 1 + growth)

    def largest_step(self, rate: float, growth: float = _ROUNDING) -> float:
        """The largest stable step; infinite where nothing moves and nothing is damped."""
        fastest = max((rate + self._slope) * FIRST.max(), self._diffusion.max())
        if not fastest > 0:
            return np.inf
        step = _BEYOND / fastest / _SCAN
        count = next((n for n in range(1, _SCAN + 1) if not self.is_stable(n * step, rate, growth)), _SCAN + 1)
        stable, unstable = (count - 1) * step, count * step
        for _ in range(_HALVINGS):
            middle = (stable + unstable) / 2
            if self.is_stable(middle, rate, growth):
                stable = middle
            else:
                unstable = middle
        return stable
