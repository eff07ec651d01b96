"""Random velocities with a given spectrum: the beginning of decaying turbulence.

Each Fourier mode has a random amplitude normal to its wave vector, so that the velocity is free of divergence (Rogallo
1981, NASA TM 81315, section 3.1). In each shell of wave numbers the amplitudes are of one size, which is such that the
energy of the shell is the one asked for, exactly. The random numbers are those of the modes, in the order of their wave
numbers: the field is the same on every number of ranks, and on every grid of the same box that has its modes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.case.random_flow import MOST_SHELLS, shells_of
from tailrace.core import InputError

from .window import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailrace.case.sections.case_section import FlowParameters
    from tailrace.case.sections.grid_section import GridSection

    Array = NDArray[np.float64]

_CHUNK = 1 << 15  # points that are summed at once, so that they stay in the cache


class RandomVelocity:
    """A random velocity on a box, as a function of x, y and z; for `[case] flow`, or on its own. Local.

    The wave numbers k are those of `tr.spectrum`: shell n has the modes with round(|k| / w) = n, where
    w = 2 pi / (longest side). So tr.spectrum(velocity).density is `spectrum` at n w, to rounding.

    A call takes time in proportion to (points of the rank) x (modes in x), 0.2 microseconds x points at k_max = 16.

    :param lengths: of the box in x, y, z.
    :param spectrum: E(k), energy per wave number, as a function of an array of wave numbers; its integral is the
        kinetic energy <u . u> / 2. It is called once, with the wave numbers w, 2 w, ..., `shells` w.
    :param shells: how many shells have energy; a grid needs more than 2 * shells + 1 points along the longest side.
    :param seed: another one gives another field of the same spectrum.
    :param boundaries: "periodic" or any other word for x, y and z. The velocity is zero at the ends of directions that
        are not periodic: it is multiplied by sin^2(pi s / length) there.
    :param solenoidal: with such directions, take the curl of the vector potential times this instead.
    :raises InputError: more than 64 shells, or a spectrum that is negative, not finite, or of another size.

    >>> ops = tr.Operators((16, 12, 10), (2 * np.pi,) * 3, ("periodic",) * 3)
    >>> u = tr.Vector.from_function(ops, tr.RandomVelocity((2 * np.pi,) * 3, lambda k: 0.5 / k, shells=3))
    >>> tr.spectrum(u).density[1:4].round(6)  # 0.5 / k
    array([0.5     , 0.25    , 0.166667])
    """

    def __init__(
        self,
        lengths: Sequence[float],
        spectrum: Callable[[Array], Any],
        shells: int,
        seed: int = 0,
        *,
        boundaries: Sequence[str] = ("periodic", "periodic", "periodic"),
        solenoidal: bool = False,
    ) -> None:
        self._window = Window(lengths, boundaries)
        width = 2 * math.pi / max(lengths)
        if not 1 <= shells <= MOST_SHELLS:
            raise InputError(f"a random velocity has 1 to {MOST_SHELLS} shells of wave numbers; found {shells}")
        self._base = [2 * math.pi / length for length in lengths]
        energies = _energies(spectrum, width * np.arange(1.0, shells + 1.0, dtype=np.float64))
        modes, k = _half_space(self._base, (shells + 0.5) * width)
        shell = np.rint(np.linalg.norm(k, axis=1) / width).astype(np.int64)
        modes, k, shell = (values[(shell >= 1) & (shell <= shells)] for values in (modes, k, shell))
        # The energy of a shell is the sum of |u_k|^2 / 2 over its modes, of which half are here.
        share = energies * width / np.maximum(np.bincount(shell, minlength=shells + 1)[1:], 1)
        amplitudes = _directions(k, seed) * np.sqrt(share[shell - 1])[:, None]
        self._most = np.abs(modes).max(axis=0)
        self._amplitudes = self._table(modes, amplitudes)
        self._potential = None  # the vector potential, whose curl is the velocity
        if solenoidal and not self._window.is_one:
            self._potential = self._table(modes, 1j * np.cross(k, amplitudes) / (k * k).sum(axis=1)[:, None])

    def __call__(self, x: Array, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """The velocity at the points of x (1, 1, nx), y (1, ny, 1) and z (nz, 1, 1): three arrays (nz, ny, nx).

        Real sums in one order: the bits at a point do not depend on which other points there are.
        """
        lines = [np.asarray(line, dtype=np.float64) for line in (x, y, z)]
        for name, line, axis in zip("xyz", lines, (2, 1, 0), strict=True):
            if line.ndim != 3 or line.size != line.shape[axis]:
                raise InputError(f"a random velocity takes {name} as a line along axis {axis}; found {line.shape}")
            self._check_spacing(name, line.ravel())
        waves = [self._waves(line.ravel().tolist(), d) for d, line in enumerate(lines)]
        u, v, w = self._sum_modes(self._amplitudes, waves)
        if self._window.is_one:
            return u, v, w
        window = self._window(*lines)
        u, v, w = u * window, v * window, w * window
        if self._potential is None:
            return u, v, w
        a, b, c = self._sum_modes(self._potential, waves)
        dx, dy, dz = self._window.gradient(*lines)
        return u + (dy * c - dz * b), v + (dz * a - dx * c), w + (dx * b - dy * a)

    def _table(self, modes: NDArray[np.int64], amplitudes: NDArray[np.complex128]) -> Array:
        """Amplitudes by part (real, imaginary), component, and mode in z, y and x."""
        place = (modes[:, 2] + self._most[2], modes[:, 1] + self._most[1], modes[:, 0])
        table = np.zeros((2, 3, 2 * self._most[2] + 1, 2 * self._most[1] + 1, self._most[0] + 1))
        for component in range(3):  # twice the real part: the other half of the modes are complex conjugates
            table[0, component][place] = 2 * amplitudes[:, component].real
            table[1, component][place] = 2 * amplitudes[:, component].imag
        return table

    def _sum_modes(self, table: Array, waves: list[Array]) -> Array:
        """The three components, each (nz, ny, nx)."""
        x_waves, y_waves, z_waves = waves
        nx, ny, nz = (one.shape[-1] for one in waves)
        out = np.empty((3, nz, ny, nx))
        step = max(1, _CHUNK // (nx * ny))
        for start in range(0, nz, step):
            planes = slice(start, min(start + step, nz))
            # (part, component, mode in z, in y, in x) -> (part, component, plane, mode in y, in x) -> ... -> points
            sums = table
            sums = _sum((sums[:, :, None, m], z_waves[:, m, planes, None, None]) for m in range(sums.shape[2]))
            sums = _sum((sums[:, :, :, m, None], y_waves[:, m, :, None]) for m in range(sums.shape[3]))
            out[:, planes] = _real_sum((sums[..., m, None], x_waves[:, m]) for m in range(sums.shape[4]))
        return out

    def _check_spacing(self, name: str, points: Array) -> None:
        d = "xyz".index(name)
        spacing = np.abs(np.diff(points)).max(initial=0.0)
        if self._most[d] * self._base[d] * spacing >= math.pi:
            raise InputError(
                f"a random velocity has {self._most[d]} modes in {name}, too many for a spacing of {spacing:.3g}: use "
                "more points or fewer shells"
            )

    def _waves(self, points: list[float], d: int) -> Array:
        """Cosine and sine of each mode at each point: (2, modes, points)."""
        first = 0 if d == 0 else -int(self._most[d])
        phases = [[n * self._base[d] * s for s in points] for n in range(first, int(self._most[d]) + 1)]
        # One at a time: NumPy's functions of arrays may round by the place in the array.
        return np.array([[[f(phase) for phase in row] for row in phases] for f in (math.cos, math.sin)])


def isotropic(parameters: FlowParameters, grid: GridSection) -> RandomVelocity:
    """The flow "isotropic" of a case: E(k) in proportion to (k / k0)^4 exp(-2 (k / k0)^2). Local.

    Its energy is `parameters.energy`, 1.5 by default, the sum over all shells.
    """
    k0, energy = parameters.k0, 1.5 if parameters.energy is None else parameters.energy
    assert k0 is not None  # `CaseSection` sees to it
    width = 2 * math.pi / max(grid.lengths)

    def spectrum(k: Array) -> Array:
        form = (k / k0) ** 4 * np.exp(-2 * (k / k0) ** 2)
        return energy * form / (width * form.sum())

    return RandomVelocity(
        grid.lengths, spectrum, shells_of(k0, grid), 1 if parameters.seed is None else parameters.seed
    )


def _energies(spectrum: Callable[[Array], Any], k: Array) -> Array:
    try:
        found = np.broadcast_to(np.asarray(spectrum(k), dtype=np.float64), k.shape)
    except (TypeError, ValueError) as error:
        raise InputError(f"the spectrum of a random velocity must be numbers, one for each k: {error}") from error
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if bad.size:
        raise InputError(f"the spectrum of a random velocity is {found[bad[0]]} at k = {k[bad[0]]:g}")
    return found


def _half_space(base: Sequence[float], k_max: float) -> tuple[NDArray[np.int64], Array]:
    """The modes with |k| <= k_max, one of each pair of opposite ones, by growing |k|; and their wave vectors."""
    most = [math.floor(k_max / b) for b in base]
    ranges = [np.arange(0, most[0] + 1), *(np.arange(-n, n + 1) for n in most[1:])]
    modes = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, 3)
    x, y, z = modes.T
    modes = modes[(x > 0) | (y > 0) & (x == 0) | (z > 0) & (x == 0) & (y == 0)]
    k = modes * np.array(base)
    square = (k * k).sum(axis=1)
    order = np.lexsort((*modes.T, square))
    order = order[square[order] <= k_max * k_max]
    return modes[order], k[order]


def _directions(k: Array, seed: int) -> NDArray[np.complex128]:
    """A random complex vector of length one normal to each wave vector."""
    # The raw numbers of Philox are the same in every version of NumPy.
    raw = np.random.Philox(key=seed).random_raw(3 * len(k)).reshape(-1, 3)
    one, two, mix = (2 * math.pi) * ((raw >> np.uint64(11)) * 2.0**-53).T
    flat = np.hypot(k[:, 0], k[:, 1])
    size = np.linalg.norm(k, axis=1)
    along_z = flat == 0
    safe = np.where(along_z, 1.0, flat)
    first = np.stack(
        [np.where(along_z, 1.0, k[:, 1] / safe), np.where(along_z, 0.0, -k[:, 0] / safe), 0 * size], axis=1
    )
    second = np.cross(k, first) / size[:, None]
    return (np.exp(1j * one) * np.cos(mix))[:, None] * first + (np.exp(1j * two) * np.sin(mix))[:, None] * second


def _sum(terms: Iterable[tuple[Array, Array]]) -> Array:
    """Sum of complex products; the first index is the real and the imaginary part."""
    return reduce(np.add, (np.stack([a[0] * w[0] - a[1] * w[1], a[0] * w[1] + a[1] * w[0]]) for a, w in terms))


def _real_sum(terms: Iterable[tuple[Array, Array]]) -> Array:
    """The real part of the same."""
    return reduce(np.add, (a[0] * w[0] - a[1] * w[1] for a, w in terms))
