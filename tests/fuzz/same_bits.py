"""Compute random small flows on one rank and on other process grids, and compare all fields bit by bit.

    mpiexec -n 6 python tests/fuzz/same_bits.py --cases 100 --seed 0

Each case takes a grid of 8 to 41 nodes with any boundaries, a scheme, scalars, forces, models and bodies, and a process
grid of all or of some of the ranks; three steps are made on it and on one rank. What the time series would get is
compared, too.
"""

from __future__ import annotations

import argparse
import random
import sys
from typing import Any

import numpy as np
from mpi4py import MPI

import tailrace as tr
from tailrace.flow.model import Model

KINDS = ("periodic", "free-slip", "wall")


def sections_of(dice: random.Random) -> dict[str, Any]:
    """A case."""
    kinds = [dice.choice(KINDS) for _ in range(3)]
    points = [dice.randint(8, 41) if dice.random() < 0.5 else dice.randint(8, 20) for _ in kinds]
    grid: dict[str, Any] = {"points": points, "lengths": [dice.uniform(1, 4) for _ in kinds], "boundaries": kinds}
    sections: dict[str, Any] = {"case": {"reynolds": 200.0, "flow": "uniform"}, "grid": grid}
    sections |= {"numerics": {}, "forcing": {}}
    sections["time"] = {"dt": 0.002, "steps": 9, "scheme": dice.choice(("rk3", "rk3", "ab2", "ab3"))}
    if kinds[1] != "periodic" and dice.random() < 0.5:
        grid |= {"stretching": dice.choice(("walls", "centre", "bottom")), "beta": dice.uniform(0.3, 2)}
    if kinds[1] != "periodic" and dice.random() < 0.3:
        sections["numerics"]["implicit_y"] = True
    if dice.random() < 0.3:
        sections["numerics"]["hyperviscosity"] = {"at_cutoff": 5.0}
    elif dice.random() < 0.2:
        sections["numerics"]["eddy_viscosity"] = {"model": dice.choice(("wale", "smagorinsky"))}
    if dice.random() < 0.3:
        sections["scalar"] = [{"name": "heat", "initial": 0.5, "buoyancy": [0.0, 1.0, 0.0]}]
    if kinds[0] == "periodic" and dice.random() < 0.4:
        sections["forcing"]["flow_rate"] = 0.5
    elif dice.random() < 0.3:
        sections["forcing"] = {"linear": 0.2, "coriolis": [0.1, 0.2, 0.3]}
    if dice.random() < 0.2:
        sections["numerics"]["precision"] = "single"
    if kinds[0] != "periodic" and dice.random() < 0.4:
        grid["boundaries"] = [["inflow", "outflow"], *kinds[1:]]
        sections["boundary"] = {"x_lower": [1.0, 0.1, 0.2]}
    if "implicit_y" not in sections["numerics"] and dice.random() < 0.4:
        sections["body"] = body_in(grid["lengths"], dice)
    return sections


def body_in(lengths: list[float], dice: random.Random) -> dict[str, Any]:
    """A cylinder or a sphere, with a box for the force on it."""
    centre = [dice.uniform(0.4, 0.6) * length for length in lengths]
    radius = dice.uniform(0.15, 0.25) * min(lengths)
    box = [[0.1 * length, 0.9 * length] for length in lengths]
    if dice.random() < 0.3:
        return {"shape": "sphere", "centre": centre, "radius": radius, "box": box}
    axis = dice.randrange(3)
    across = [place for d, place in enumerate(centre) if d != axis]
    box_of_cylinder = ["all" if d == axis else span for d, span in enumerate(box)]
    return {"shape": "cylinder", "axis": "xyz"[axis], "centre": across, "radius": radius, "box": box_of_cylinder}


def velocity(sections: dict[str, Any]) -> Any:
    """A flow of many waves without symmetry."""
    kinds, lengths = sections["grid"]["boundaries"], sections["grid"]["lengths"]

    def wave(x: Any, along: int, normal: bool, shift: float) -> Any:
        k = np.pi / lengths[along]
        if kinds[along] == "periodic":
            return np.sin(2 * k * x + shift) + 0.3 * np.cos(4 * k * x)
        if kinds[along] == "wall" or normal:
            return np.sin(k * x) + 0.4 * np.sin(2 * k * x)
        return np.cos(k * x) + 0.4 * np.cos(2 * k * x)

    def flow(x: Any, y: Any, z: Any) -> Any:
        parts = ((wave(x, 0, i == 0, 0.1 + i), wave(y, 1, i == 1, 0.7 * i), wave(z, 2, i == 2, 0.3)) for i in range(3))
        return tuple(along_x * along_y * along_z for along_x, along_y, along_z in parts)

    return flow


def fields_of(sections: dict[str, Any], comm: MPI.Comm, rows: int, cols: int, transpose: str) -> dict[str, Any] | None:
    """All fields after three steps and the numbers of the time series, on rank 0."""
    parallel = {"rows": rows, "cols": cols, "transpose": transpose}
    model = Model(tr.Case(**sections, parallel=parallel), comm, flow=velocity(sections))
    for number in range(len(model.case.scalar)):
        x = np.arange(model.flow.scalar(number).size).reshape(model.flow.scalar(number).shape)
        model.flow.scalar(number)[...] = 0.5 + 0 * x
    for _ in range(3):
        model.advance()
        numbers = model.measure()
    found = {f"u{i}": model.flow.velocity(i) for i in range(3)}
    found |= {f"scalar{number}": model.flow.scalar(number) for number in range(len(model.case.scalar))}
    found["pressure"] = model.field("pressure")
    whole = {name: np.array(value) for name, value in numbers.items()}
    shape = tuple(reversed(model.shape))
    for name, own in found.items():
        parts = comm.gather((model.box, np.array(own)), root=0)
        if parts is not None:
            whole[name] = np.empty(shape, own.dtype)
            for (start, count), values in parts:
                (x, y, z), (nx, ny, nz) = start, count
                whole[name][z : z + nz, y : y + ny, x : x + nx] = values
    return whole if comm.rank == 0 else None


def difference(found: Any, expected: Any) -> float:
    """The largest one; 1 where numbers are not finite in the same places."""
    finite = np.isfinite(expected)
    if (finite != np.isfinite(found)).any():
        return 1.0
    return float(abs(np.where(finite, found - expected, 0)).max())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    world, differ = MPI.COMM_WORLD, 0
    alone = world.Split(world.rank, 0)
    for seed in range(options.seed, options.seed + options.cases):
        dice = random.Random(seed)
        sections = sections_of(dice)
        ranks = dice.randint(2, world.size)
        half = (min(sections["grid"]["points"][:2]) - 1) // 2  # with more rows the last bits may differ
        rows = dice.choice([n for n in range(1, ranks + 1) if ranks % n == 0 and n <= half])
        transpose = dice.choice(("auto", "shared", "alltoall", "subarray"))
        some = world.Split(0 if world.rank < ranks else MPI.UNDEFINED, world.rank)
        try:
            found = fields_of(sections, some, rows, ranks // rows, transpose) if some != MPI.COMM_NULL else None
            one = fields_of(sections, alone, 1, 1, "auto") if world.rank == 0 else None
        except (ValueError, tr.InputError) as error:
            if world.rank == 0:
                print(f"seed {seed}: refused: {str(error)[:150]}", flush=True)
            continue
        if found is not None and one is not None:
            worst = {name: difference(found[name], one[name]) for name in one}
            if any(worst.values()):
                differ += 1
                told = {name: f"{value:.1e}" for name, value in worst.items() if value}
                print(f"seed {seed}: {sections} on {rows} x {ranks // rows} {transpose}: {told}", flush=True)
    if world.rank == 0:
        print(f"{options.cases} cases from seed {options.seed}: {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
