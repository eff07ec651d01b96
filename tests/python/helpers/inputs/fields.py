"""Fields of noise that are the same on any number of ranks, and the averages of NumPy to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np

import tailrace as tr

MIXED = ("free-slip", "periodic", "dirichlet")
PERIODIC = ("periodic",) * 3
NODES = (12, 10, 15)
LENGTHS = (2.0, 3.0, 1.5)


def noise(ops: Any, salt: int = 0, centred: tuple[bool, bool, bool] = (False, False, False)) -> Any:
    """This rank's part, in the precision of the operators."""
    x, y, z = ops.shape(centred)
    whole = np.random.default_rng(salt).standard_normal((z, y, x)).astype(ops.dtype)
    (i, j, k), (nx, ny, nz) = ops.box(centred)
    return whole[k : k + nz, j : j + ny, i : i + nx].copy()


def noisy_field(ops: Any, salt: int = 0, centred: tuple[bool, bool, bool] = (False, False, False)) -> Any:
    """A field without any symmetry."""
    return tr.Field(noise(ops, salt, centred), ops, centred=centred, name=f"noise {salt}")


def noisy_vector(ops: Any) -> Any:
    """Three of them, that vanish where a velocity does."""
    parts = []
    for d in range(3):
        values = noise(ops, d)
        start, count = (three[d] for three in ops.box())
        if ops.grid.boundaries[d] == "free-slip":
            at = np.arange(start, start + count)
            np.moveaxis(values, 2 - d, 0)[(at == 0) | (at == ops.shape()[d] - 1)] = 0
        parts.append(tr.Field.from_function(ops, values, parity=tuple(-1 if e == d else 1 for e in range(3))))
    return tr.Vector(*parts)


def shares(ops: Any) -> Any:
    """Share of each point in the volume, (nz, ny, nx), by the trapezoidal rule; on one rank."""
    result = np.ones(())
    for d, (n, kind) in enumerate(zip(ops.shape(), ops.grid.boundaries, strict=True)):
        one = np.full(n, 1.0)
        if kind != "periodic":
            one[[0, -1]] = 0.5
        shape = [n if e == d else 1 for e in (2, 1, 0)]
        result = result * (one / one.sum()).reshape(shape)
    return result
