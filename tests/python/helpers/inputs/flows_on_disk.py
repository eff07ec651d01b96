"""A flow by formula on a box with different lengths, points and boundaries, and series of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tailrace as tr

GRID = tr.UniformGrid(
    (24, 17, 20), spacing=(2 * np.pi / 24, np.pi / 16, 4 * np.pi / 20), boundaries=("periodic", "free-slip", "periodic")
)


def fill(x: Any, y: Any, z: Any, number: int) -> tuple[Any, Any, Any]:
    """The velocity: odd in y about the walls where it is across them, and without symmetry elsewhere."""
    a = 1.0 + 0.25 * number
    return (
        a * np.sin(x + 0.3) * np.cos(y) * np.cos(0.5 * z),
        -0.5 * a * np.cos(x) * np.sin(2 * y) * np.sin(0.5 * z + 0.2),
        np.cos(x - 0.7) * np.cos(2 * y) + 0 * z,
    )


def exact_vorticity(x: Any, y: Any, z: Any, number: int) -> tuple[Any, Any, Any]:
    """The curl of that flow."""
    a = 1.0 + 0.25 * number
    return (
        -2 * np.cos(x - 0.7) * np.sin(2 * y) + 0.25 * a * np.cos(x) * np.sin(2 * y) * np.cos(0.5 * z + 0.2),
        -0.5 * a * np.sin(x + 0.3) * np.cos(y) * np.sin(0.5 * z) + np.sin(x - 0.7) * np.cos(2 * y),
        0.5 * a * np.sin(x) * np.sin(2 * y) * np.sin(0.5 * z + 0.2) + a * np.sin(x + 0.3) * np.sin(y) * np.cos(0.5 * z),
    )


def arrays(number: int) -> dict[str, np.ndarray]:
    """The velocity on the points, as arrays (nz, ny, nx)."""
    nx, ny, nz = GRID.points
    hx, hy, hz = GRID.spacing
    x, y, z = hx * np.arange(nx), hy * np.arange(ny)[:, None], hz * np.arange(nz)[:, None, None]
    parts = fill(x, y, z, number)
    return {name: np.ascontiguousarray(part + 0 * (x + y + z)) for name, part in zip(("ux", "uy", "uz"), parts)}  # noqa: B905


def write(path: Path, engine: str | None = None, count: int = 3, grid: Any = GRID, **parameters: Any) -> Path:
    """A series of it: steps 0, 10, ... at times 0, 0.5, ...; with a list, numbers and texts."""
    with tr.open(path, "w", engine=engine, grid=grid, parameters=parameters) as out:
        out.set_attribute("reynolds", 100.0)
        out.set_attribute("ux/units", "m/s")
        for number in range(count):
            rows = np.arange(6.0).reshape(3, 2) + number
            out.write_step(
                0.5 * number,
                arrays(number),
                index=10 * number,
                lists={"p": rows, "q": np.arange(4, dtype="int32") * number},
                scalars={"energy": 0.1 * number, "said": f"step {number}"},
                count=np.full((4, 3, 2), number, "int64"),
            )
    return path
