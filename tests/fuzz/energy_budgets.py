"""Compute random inputs of Xcompact3D, and compare what the balance of the kinetic energy leaves with the dissipation.

    python tests/fuzz/energy_budgets.py --cases 20 --seed 0

Vortices, channels, mixing layers and gravity currents with any time scheme, stretched or not, with hyperviscosity,
scalars, buoyancy, and a kept flow rate. The sums over the second half of a run are compared: a beginning that does not
fit its walls, as the channel of Xcompact3D, changes within some steps by more than a rate of change can tell.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import tailrace as tr
from tailrace.case.xcompact3d.input import read_input
from tailrace.flow.model import FlowError
from tailrace.io.time_series import read_time_series

MOST = 1e-3  # of the dissipation
STEPS = 60
ENDS = ("nclx1", "nclxn", "ncly1", "nclyn", "nclz1", "nclzn")


def vortex(dice: random.Random) -> dict[str, Any]:
    """A Taylor-Green vortex in a box that is periodic or free-slip."""
    free = dice.random() < 0.5
    n = dice.choice((24, 32)) + free
    side = "3.141592653589793" if free else "6.283185307179586"
    return {"itype": 2, "iin": 1, "nx": n, "ny": n, "nz": n, "xlx": side, "yly": side, "zlz": side} | dict.fromkeys(
        ENDS, int(free)
    )


def channel(dice: random.Random) -> dict[str, Any]:
    """A laminar channel, whose flow rate is kept."""
    found = {"itype": 3, "iin": 0, "nx": 16, "ny": dice.choice((33, 49)), "nz": 16, "xlx": 4.0, "yly": 2.0, "zlz": 2.0}
    found |= dict(zip(ENDS, (0, 0, 2, 2, 0, 0), strict=True)) | {"istret": 2, "beta": dice.uniform(0.3, 1.0)}
    return found


def mixing_layer(dice: random.Random) -> dict[str, Any]:
    """Two streams that slide along each other."""
    found = {"itype": 7, "iin": 1, "u1": 1.0, "u2": -1.0}
    found |= {"nx": 32, "ny": 65, "nz": 8, "xlx": 15.4, "yly": 16.0, "zlz": 3.0}
    stretched = {"istret": 1, "beta": dice.uniform(0.8, 2.0)} if dice.random() < 0.5 else {}
    return found | dict(zip(ENDS, (0, 0, 1, 1, 0, 0), strict=True)) | stretched


def current(dice: random.Random) -> dict[str, Any]:
    """Heavy fluid that flows below light fluid."""
    found = {"itype": 1, "iin": 0, "nx": 65, "ny": 33, "nz": 8, "xlx": 6.0, "yly": 2.0, "zlz": 1.0, "gravy": -1.0}
    return found | dict(zip(ENDS, (1, 1, 2, 1, 0, 0), strict=True))


def input_of(dice: random.Random) -> str:
    """A namelist."""
    flow = dice.choice((vortex, channel, mixing_layer, current))
    basic = {"p_row": 0, "p_col": 0, **flow(dice), "re": dice.uniform(20, 200)}
    basic |= {"dt": 0.001, "ifirst": 1, "ilast": STEPS, "ilesmod": 0}
    scheme = dice.choice((2, 3, 5))
    numbers: dict[str, Any] = {"ifirstder": 4, "isecondder": 4, "itimescheme": scheme}
    if dice.random() < 0.5:
        numbers |= {"isecondder": 5, "nu0nu": dice.uniform(1, 6), "cnu": dice.uniform(0.2, 0.5)}
    text, scalars = "", 1 if flow is current else dice.choice((0, 1))
    if scalars:
        buoyancy = dice.uniform(0.2, 1.5) if flow is current or dice.random() < 0.5 else 0.0
        basic |= {"numscalar": 1, "gravy": -1.0}
        text = f"&ScalarParam\nsc(1) = {dice.uniform(0.5, 1.5)}\nri(1) = {buoyancy}\ncp(1) = 1.0\n/\n"
    if flow is current:
        text += "&CASE\npfront = 2.0\n/\n"
    other = {"irestart": 0, "icheckpoint": 1000, "ioutput": 1000, "nvisu": 1, "ilist": 1000}
    for name, keys in (("BasicParam", basic), ("NumOptions", numbers), ("InOutParam", other)):
        text += f"&{name}\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()) + "/\n"
    return text + "&Statistics\n/\n"


def residual_of(text: str, place: Path) -> tuple[float, str]:
    """What is left in the balance over a run, over the dissipation; and what the case has."""
    (place / "input.i3d").write_text(text)
    case = read_input(place / "input.i3d")[0]
    diagnostics = case.diagnostics.model_copy(update={"every": 1, "path": str(place / "rows.csv")})
    checkpoint = case.checkpoint.model_copy(update={"path": str(place / "checkpoints")})
    case = case.model_copy(update={"diagnostics": diagnostics, "checkpoint": checkpoint, "output": [], "analysis": []})
    with tr.Simulation(case, MPI.COMM_SELF, overwrite=True) as simulation:
        for _ in simulation.steps():
            pass
    rows = read_time_series(place / "rows.csv")
    left, spent = (rows[name][STEPS // 2 :] for name in ("energy_residual", "dissipation_laplacian"))
    kind = case.case.parameters.kind if case.case.parameters else case.case.flow
    parts = [str(kind or "gravity current"), case.time.scheme, f"Re {case.case.reynolds:.0f}"]
    parts += ["stretched"] * bool(case.grid.stretching) + ["hyperviscous"] * bool(case.numerics.hyperviscosity)
    parts += ["buoyant" if any(one.buoyancy) else "scalar" for one in case.scalar]
    return float(abs(np.sum(left)) / np.sum(spent)), ", ".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = []
    for seed in range(options.seed, options.seed + options.cases):
        with tempfile.TemporaryDirectory() as place:
            try:
                share, about = residual_of(input_of(random.Random(seed)), Path(place))
            except FlowError as error:  # an explicit scheme with a step above its limit, as the run has said
                print(f"seed {seed}: unstable: {str(error)[:60]}", flush=True)
                continue
        found.append(share)
        print(f"seed {seed}: {share:.1e}{' !' if share > MOST else ''}  {about}", flush=True)
    over = sum(share > MOST for share in found)
    print(f"{len(found)} inputs from seed {options.seed}: largest {max(found):.1e}, {over} above {MOST:g}")
    return 1 if over else 0


if __name__ == "__main__":
    raise SystemExit(main())
