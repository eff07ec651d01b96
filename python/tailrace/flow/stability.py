"""Which time steps are stable: the time schemes against the modified wave numbers of the compact schemes.

A Fourier mode of the equation linearised about a uniform velocity obeys du/dt = lambda u with

    lambda = -nu sum_d k2(w_d) / h_d^2 + i sum_d u_d k1(w_d) / h_d,   w_d = (wave number) h_d in 0 .. pi,

where k1 and k2 are the modified wave numbers of the sixth-order first and second derivatives (Lele 1992). A scheme
multiplies the mode by a factor that depends on lambda dt alone; the step is stable where no factor is larger than one.
All is local.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tailrace import _core

_ANGLES = np.linspace(0.0, np.pi, 129)[1:]
# Modified wave numbers for a spacing of one; their largest values are 1.989 and 48/7.
FIRST = (14 / 9 * np.sin(_ANGLES) + 1 / 18 * np.sin(2 * _ANGLES)) / (1 + 2 / 3 * np.cos(_ANGLES))
SECOND = (24 / 11 * (1 - np.cos(_ANGLES)) + 3 / 22 * (1 - np.cos(2 * _ANGLES))) / (1 + 4 / 11 * np.cos(_ANGLES))


def second_symbol(hyperviscosity: tuple[float, float] | None) -> NDArray[np.float64]:
    """The modified wave numbers squared of the second derivative, for a spacing of one.

    :param hyperviscosity: at the cutoff, and at 2/3 of it in parts of that, in parts of the viscosity; None: none.
    """
    if hyperviscosity is None:
        return SECOND
    at_cutoff, middle = hyperviscosity
    options = _core.FlowOptions(1.0, "rk3", "aggressive")
    options.set_hyperviscosity(at_cutoff, middle)
    return np.array([options.second_derivative(angle) for angle in _ANGLES])


_ROUNDING = 1e-9
_BEYOND = 3.0  # no scheme is stable where |lambda dt| is as large
_SCAN, _HALVINGS = 32, 40


def amplification(scheme: str, z: NDArray[np.complex128]) -> NDArray[np.float64]:
    """The factor by which one step multiplies modes, in size, at z = lambda dt; of schemes of several, the largest.

    :param scheme: "euler", "ab2", "ab3" or "rk3".
    """
    if scheme == "euler":
        return np.abs(1 + z)
    if scheme == "rk3":
        return np.abs(1 + z * (1 + z / 2 * (1 + z / 3)))
    weights = {"ab2": (3 / 2, -1 / 2), "ab3": (23 / 12, -16 / 12, 5 / 12)}[scheme]
    order = len(weights)
    companion = np.zeros((*z.shape, order, order), dtype=np.complex128)  # of u_new = u + z sum of weights[k] u_k
    for k, weight in enumerate(weights):
        companion[..., 0, k] = weight * z + (k == 0)
    for k in range(1, order):
        companion[..., k, k - 1] = 1
    return np.abs(np.linalg.eigvals(companion)).max(axis=-1)


class Stability:
    """The stable time steps of a scheme on a grid.

    Of the velocity only its `rate` is known, max over nodes of sum |u_d| / h_d. So the modes are those of the worst
    case: all of the velocity along the direction of the largest spacing, where viscosity damps least, and in the other
    directions any wave number.

    :param spacing: h in x, y and z.
    :param viscosity: the largest of the viscosity and the diffusivities of scalars.
    :param hyperviscosity: see `second_symbol`.
    """

    def __init__(
        self,
        scheme: str,
        spacing: Sequence[float],
        viscosity: float,
        hyperviscosity: tuple[float, float] | None = None,
    ) -> None:
        inverse = [1 / h**2 for h in spacing]
        least, total = min(inverse), sum(inverse)
        second = second_symbol(hyperviscosity)
        damping = [viscosity * second * least, viscosity * (second * least + second.max() * (total - least))]
        self._scheme = scheme
        self._diffusion, self._convection = np.concatenate(damping), np.tile(FIRST, 2)

    def is_stable(self, dt: float, rate: float, growth: float = _ROUNDING) -> bool:
        """Whether no mode grows by more than the share `growth` in one step."""
        with np.errstate(over="ignore", invalid="ignore"):
            z = dt * (-self._diffusion + 1j * rate * self._convection)
            if not np.abs(z).max() < _BEYOND:  # also where it is not a number
                return False
        return bool(amplification(self._scheme, z).max() <= 1 + growth)

    def largest_step(self, rate: float, growth: float = _ROUNDING) -> float:
        """The largest stable step; infinite where nothing moves and nothing is damped."""
        fastest = max(rate * FIRST.max(), self._diffusion.max())
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
