"""Writes a series with `sync`. Arguments: its path, and engine and parameters where the name does not tell them."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from mpi4py import MPI

from tailrace.io import series as tr


def main(path: str, engine: str = "", parameters: str = "{}") -> None:
    world = MPI.COMM_WORLD
    nx, ny, nz = 6, 5, 2 * world.size
    coordinates = ((), tuple(np.linspace(0, 1, ny) ** 2), ())
    grid = tr.StretchedGrid((nx, ny, nz), (0.0, 0.0, 0.0), (0.5, 0.1, 0.25), coordinates)
    options: dict[str, Any] = {"parameters": {"sync": True, **json.loads(parameters)}}
    if engine:
        options["engine"] = engine
    with tr.open(path, "w", grid=None if path.endswith("raw") else grid, **options) as out:
        for step in range(3):
            block = tr.Block(np.full((2, ny, nx), float(step)), (nx, ny, nz), (0, 0, 2 * world.rank))
            out.write_step(float(step), index=step, ux=block, scalars={"energy": 0.5})
    if path.endswith("bp"):
        with tr.open(path, "a", rewind_to=1, **options) as out:
            out.write_step(2.0, index=2, ux=block)


if __name__ == "__main__":
    main(*sys.argv[1:])
