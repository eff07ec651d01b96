"""Random disturbances that are the same on any number of ranks, for the initial flows of users. All is local."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.core import InputError

from .isotropic import RandomVelocity
from .window import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio: the step between the streams of the components


def noise(
    seed: int,
    *,
    lengths: Sequence[float] | None = None,
    boundaries: Sequence[str] = ("periodic", "periodic", "periodic"),
    spectrum: Callable[[NDArray[np.float64]], Any] | None = None,
    shells: int = 8,
    solenoidal: bool = False,
    components: int = 3,
) -> Callable[..., Any]:
    """A random disturbance as a function of x, y and z, the same on any number of ranks; for the flow of a case. Local.

    Without `spectrum` it is white: each component at each node is a number of its own, evenly spread from -1 to 1. It
    follows from the seed and the coordinates of the node alone, so that the grid may be of any kind. With `spectrum` it
    is smooth, a sum of Fourier modes (`RandomVelocity`).

    :param seed: from 0 to 2^64 - 1; another one gives another disturbance.
    :param lengths: of the box; needed with `spectrum` and where a direction is not periodic.
    :param boundaries: "periodic" or any other word for x, y and z. The disturbance is zero at the ends of directions
        that are not periodic: it is multiplied by sin^2(pi s / length), and `spectrum` is that before this.
    :param spectrum: E(k), energy per wave number, as a function of an array of wave numbers.
    :param shells: how many shells of wave numbers have energy, from 2 pi / (longest side) on.
    :param solenoidal: take the curl of a vector potential that is zero at the ends, so that there is no divergence,
        also with walls; needs `spectrum`. The projection at the beginning of a run takes the divergence away as well.
    :param components: 3 for a velocity; 1 for the one array of a scalar, white only.
    :returns: a function of x (1, 1, nx), y (1, ny, 1) and z (nz, 1, 1) that returns arrays (nz, ny, nx).
    :raises InputError: what is given does not go together.

    >>> x, y, z = np.arange(6.0).reshape(1, 1, 6), np.arange(4.0).reshape(1, 4, 1), np.arange(3.0).reshape(3, 1, 1)
    >>> ux, uy, uz = tr.noise(7)(x, y, z)
    >>> part = tr.noise(7)(x[..., 2:], y, z[1:])[1]  # what another rank would have
    >>> ux.shape, bool((part == uy[1:, :, 2:]).all())
    ((3, 4, 6), True)
    """
    if not 0 <= seed < 2**64:
        raise InputError(f"the seed of noise is from 0 to 2^64 - 1; found {seed}")
    if components not in (1, 3) or (components == 1 and spectrum is not None):
        raise InputError(f"noise has 3 components, or 1 where it is white; found components = {components}")
    if lengths is None and (spectrum is not None or any(kind != "periodic" for kind in boundaries)):
        raise InputError("noise with a spectrum, or with ends that are not periodic, needs lengths = (Lx, Ly, Lz)")
    if spectrum is not None:
        assert lengths is not None
        return RandomVelocity(lengths, spectrum, shells, seed, boundaries=boundaries, solenoidal=solenoidal)
    if solenoidal:
        raise InputError("white noise cannot be solenoidal: give a spectrum, or let the run's projection remove it")
    window = Window(lengths or (1.0, 1.0, 1.0), boundaries)

    def white(x: Any, y: Any, z: Any) -> Any:
        places = [np.asarray(line, dtype=np.float64) for line in (x, y, z)]
        found = [_uniform((seed + component * _GOLDEN) % 2**64, places) for component in range(components)]
        if not window.is_one:
            found = [values * window(*places) for values in found]
        return found[0] if components == 1 else tuple(found)

    return white


def _uniform(seed: int, places: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Numbers from -1 to 1 that follow from the bits of the coordinates alone."""
    bits = [(line + 0.0).view(np.uint64) for line in places]  # + 0: -0 is 0
    found = _mix(np.full((1, 1, 1), seed, dtype=np.uint64))
    for line in reversed(bits):
        found = _mix(found ^ _mix(line))
    return np.asarray((found >> np.uint64(11)) * 2.0**-52 - 1)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spreads each bit over all (the mixing function of SplitMix64: Steele, Lea and Flood 2014)."""
    bits = bits + np.uint64(_GOLDEN)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
