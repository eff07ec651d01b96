"""Fields that the Pencil Code derives from its own, with its differences of sixth order.

First derivatives, second derivatives and the mixed ones ("bidiagonal": along the diagonals) are those of `deriv.f90`. A
box is computed in pieces of planes, so that memory stays bounded, from the stored fields with their ghost zones.

- bx, by, bz (vector bb) = curl aa; jx, jy, jz (jj) = (grad div aa - laplacian aa) / mu0; ox, oy, oz (vort) = curl uu
- rho = exp(lnrho); tt, the temperature, from lnTT, TT, or the entropy ss of an ideal gas
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.grids import Triple
from tailrace.io.placement import Box

from ..run.run import PencilRun

Read = Callable[[str, Box, NDArray[Any]], None]
HALO = 3
_PIECE = 8 << 20  # bytes of a field that are computed at once
_FIRST = (45.0, -9.0, 1.0)  # / 60
_SECOND = (-490.0, 270.0, -27.0, 2.0)  # / 180
_MIXED = (270.0, -27.0, 2.0)  # / 720


@dataclass(frozen=True)
class Recipe:
    """The recipe of a derived field.

    :param kind: "curl", "curl2" (grad div - laplacian), "of_values".
    :param inputs: the stored fields: three components, or the arguments of a function of values.
    :param component: the component of a vector: 0, 1, 2.
    :param factor: a factor for the result.
    """

    kind: str
    inputs: tuple[str, ...]
    component: int = 0
    factor: float = 1.0


def recipes(run: PencilRun, stored: tuple[str, ...]) -> dict[str, Recipe]:
    """The fields that can be computed from the stored ones, by their usual names, without stored ones."""
    found: dict[str, Recipe] = {}
    kind = str(run.parameter("init_pars/coord_system") or "cartesian")
    if run.points is not None and kind == "cartesian" and min(run.points.ghosts) >= HALO:
        for inputs, curl, curl2 in (("aa", "b", "j"), ("uu", "o", "")):
            parts = tuple(f"{inputs[0]}{axis}" for axis in "xyz")
            if not all(part in stored for part in parts):
                continue
            mu0 = run.parameter("init_pars/mu0")
            factor = 1.0 / mu0 if isinstance(mu0, float) and mu0 > 0 else 1.0
            found |= {f"{curl}{axis}": Recipe("curl", parts, at) for at, axis in enumerate("xyz")}
            if curl2:
                found |= {f"{curl2}{axis}": Recipe("curl2", parts, at, factor) for at, axis in enumerate("xyz")}
    if "lnrho" in stored:
        found["rho"] = Recipe("exp", ("lnrho",))
    temperature = _temperature(run, stored)
    if temperature is not None:
        found["tt"] = temperature
    return {name: recipe for name, recipe in found.items() if name not in stored}


def _temperature(run: PencilRun, stored: tuple[str, ...]) -> Recipe | None:
    if "lnTT" in stored:
        return Recipe("exp", ("lnTT",))
    if "TT" in stored:
        return Recipe("same", ("TT",))
    if "ss" not in stored:
        return None
    if run.parameter("init_pars/pretend_lntt") is True:
        return Recipe("exp", ("ss",))
    density = next((name for name in ("lnrho", "rho") if name in stored), None)
    return Recipe("ideal_gas", (density, "ss")) if density and _gas(run) is not None else None


def _gas(run: PencilRun) -> tuple[float, float, float, float] | None:
    """gamma, cp, ln T0 and ln rho0 of an ideal gas, lnTT0 = ln(cs0^2 / (cp (gamma - 1))); None: not all are known."""
    values = [run.parameter(f"eos_init_pars/{name}") for name in ("gamma", "cp", "cs0", "rho0")]
    if not all(isinstance(value, int | float) for value in values):
        return None
    gamma, cp, cs0, rho0 = (float(value) for value in values)
    if not (gamma > 1 and cp > 0 and cs0 > 0 and rho0 > 0 and all(map(math.isfinite, (gamma, cp, cs0, rho0)))):
        return None
    return gamma, cp, math.log(cs0**2 / (cp * (gamma - 1))), math.log(rho0)


class Computer:
    """Computes boxes of the fields in `recipes`.

    :param read: fills an array with a box of a stored field; the box counts the ghost zones too.
    """

    def __init__(self, run: PencilRun, read: Read) -> None:
        self._run, self._points, self._read = run, run.points, read

    def fill(self, recipe: Recipe, box: Box, out: NDArray[Any], dtype: str) -> None:
        """Fill `out` with a box; it counts the ghost zones too, and for derivatives lies inside them.

        :param dtype: the type of the stored fields; everything is computed in it, as in the code.
        """
        for piece, part in _pieces(box, out, np.dtype(dtype).itemsize):
            if recipe.kind == "curl":
                part[...] = self._curl(recipe, piece, dtype)
            elif recipe.kind == "curl2":
                part[...] = self._curl2(recipe, piece, dtype)
            else:
                part[...] = self._of_values(recipe, piece, dtype)

    def _curl(self, recipe: Recipe, box: Box, dtype: str) -> NDArray[Any]:
        i = recipe.component
        j, k = (i + 1) % 3, (i + 2) % 3
        found = self._first(recipe.inputs[k], j, box, dtype)
        found -= self._first(recipe.inputs[j], k, box, dtype)
        return found

    def _curl2(self, recipe: Recipe, box: Box, dtype: str) -> NDArray[Any]:
        i = recipe.component
        j, k = (i + 1) % 3, (i + 2) % 3
        found = self._mixed(recipe.inputs[j], (i, j), box, dtype)
        found += self._mixed(recipe.inputs[k], (i, k), box, dtype)
        found -= self._second(recipe.inputs[i], j, box, dtype)
        found -= self._second(recipe.inputs[i], k, box, dtype)
        if recipe.factor != 1.0:
            found *= recipe.factor
        return found

    def _of_values(self, recipe: Recipe, box: Box, dtype: str) -> NDArray[Any]:
        first = self._values(recipe.inputs[0], box, dtype)
        if recipe.kind == "same":
            return first
        if recipe.kind == "exp":
            return np.asarray(np.exp(first, out=first))
        gas = _gas(self._run)
        assert gas is not None
        gamma, cp, ln_tt0, ln_rho0 = gas
        if recipe.inputs[0] == "rho":
            np.log(first, out=first)
        first -= ln_rho0
        first *= gamma - 1
        first += ln_tt0
        first += self._values(recipe.inputs[1], box, dtype) * (gamma / cp)
        return np.asarray(np.exp(first, out=first))

    # ---- differences -------------------------------------------------------------------------------------------------
    def _first(self, name: str, axis: int, box: Box, dtype: str) -> NDArray[Any]:
        values = self._values(name, _grown(box, (axis,)), dtype)
        if self._flat(axis):
            return np.zeros(box.count[::-1], dtype)
        found = _differences(values, axis)
        found *= self._along("inverse", axis, box, dtype) * (1.0 / 60)
        return found

    def _second(self, name: str, axis: int, box: Box, dtype: str) -> NDArray[Any]:
        if self._flat(axis):
            return np.zeros(box.count[::-1], dtype)
        values = self._values(name, _grown(box, (axis,)), dtype)
        found = _SECOND[0] * _shifted(values, {axis: 0})
        for at, weight in enumerate(_SECOND[1:], 1):
            found += weight * (_shifted(values, {axis: at}) + _shifted(values, {axis: -at}))
        inverse = self._along("inverse", axis, box, dtype)
        found *= inverse**2 * (1.0 / 180)
        assert self._points is not None
        if not self._points.equal(axis):
            first = _differences(values, axis)
            first *= inverse * (1.0 / 60) * self._along("tilde", axis, box, dtype)
            found += first
        return found

    def _mixed(self, name: str, axes: tuple[int, int], box: Box, dtype: str) -> NDArray[Any]:
        a, b = axes
        if self._flat(a) or self._flat(b):
            return np.zeros(box.count[::-1], dtype)
        values = self._values(name, _grown(box, axes), dtype)
        found = np.zeros(box.count[::-1], dtype)
        for at, weight in enumerate(_MIXED, 1):
            piece = _shifted(values, {a: at, b: at}) - _shifted(values, {a: -at, b: at})
            piece += _shifted(values, {a: -at, b: -at})
            piece -= _shifted(values, {a: at, b: -at})
            piece *= weight
            found += piece
        found *= self._along("inverse", a, box, dtype) * (1.0 / 720)
        found *= self._along("inverse", b, box, dtype)
        return found

    def _values(self, name: str, box: Box, dtype: str) -> NDArray[Any]:
        values = np.empty(box.count[::-1], dtype)
        self._read(name, box, values)
        return values

    def _flat(self, axis: int) -> bool:
        """Whether a direction has one point: nothing changes there, and its ghost zones mean nothing."""
        assert self._points is not None
        return bool(self._points.axes[axis].points.size == 2 * self._points.ghosts[axis] + 1)

    def _along(self, what: str, axis: int, box: Box, dtype: str) -> NDArray[Any]:
        assert self._points is not None
        values = getattr(self._points.axes[axis], what)[box.start[axis] : box.start[axis] + box.count[axis]]
        shape = [1, 1, 1]
        shape[2 - axis] = -1
        return np.asarray(values, dtype).reshape(shape)


def _differences(values: NDArray[Any], axis: int) -> NDArray[Any]:
    found = np.asarray(_FIRST[0] * (_shifted(values, {axis: 1}) - _shifted(values, {axis: -1})))
    for at, weight in enumerate(_FIRST[1:], 2):
        found += weight * (_shifted(values, {axis: at}) - _shifted(values, {axis: -at}))
    return found


def _shifted(values: NDArray[Any], by: dict[int, int]) -> NDArray[Any]:
    """The inner values, shifted; `values` has a halo only in the directions of `by`."""
    cuts = [slice(None)] * 3
    for axis, shift in by.items():
        cuts[2 - axis] = slice(HALO + shift, values.shape[2 - axis] - HALO + shift)
    return values[tuple(cuts)]


def _grown(box: Box, axes: tuple[int, ...]) -> Box:
    start, count = list(box.start), list(box.count)
    for axis in axes:
        start[axis], count[axis] = start[axis] - HALO, count[axis] + 2 * HALO
    x, y, z = start
    nx, ny, nz = count
    return Box((x, y, z), (nx, ny, nz))


def _pieces(box: Box, out: NDArray[Any], size: int) -> Iterator[tuple[Box, NDArray[Any]]]:
    """Pieces of several planes, or of one; large enough, if memory allows it, that the halo costs little."""
    (x, y, z), (nx, ny, nz) = box
    planes = min(nz, max(1, _PIECE // max(1, nx * ny * size)))
    rows = min(ny, max(1, _PIECE // max(1, nx * size)))
    for k in range(0, nz, planes or 1):
        deep = min(planes, nz - k)
        for j in range(0, ny, rows or 1):
            high = min(rows, ny - j)
            begin: Triple = (x, y + j, z + k)
            yield Box(begin, (nx, high, deep)), out[k : k + deep, j : j + high]
