"""How the costs of a series grow with the number of its steps, from which follows what a long run will meet.

    python tests/fuzz/growth.py --steps 1000 10000 100000 --engines bp5 hdf5 --operations write "read live"

Each operation runs in a process of its own on a series of tiny arrays (`helpers/programs/growth.py`). Printed are what
the system counted, with its exponent of growth since the smaller number of steps: 1 is a constant cost for each step.
Bytes and calls are exact; seconds of the processor are as good as the machine is idle. "append" comes last: it adds a
step. A line with an exponent above --most is marked, and counted at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from helpers.harness.engines import KINDS
from helpers.programs import growth

PLACES = {kind.name: kind.place for kind in KINDS}
COUNTED = ("read_bytes", "written_bytes", "reads", "writes")
NAMES = {"read_bytes": "B read", "written_bytes": "B written", "reads": "reads", "writes": "writes", "seconds": "s"}


def measured(options: argparse.Namespace, path: Path, engine: str, steps: int, operation: str) -> dict[str, float]:
    """The cost of an operation, from a process of its own."""
    command = [sys.executable, __file__, "--one", operation, str(path), "--engines", engine, "--steps", str(steps)]
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=options.limit, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{operation} of {engine}, {steps} steps: exit code {done.returncode}\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def exponent(more: float, less: float, ratio: float) -> float:
    """The power of the number of steps with which a cost grows; NaN for one that is too small to tell."""
    return math.log(more / less) / math.log(ratio) if min(more, less) > 0 else math.nan


def line(engine: str, operation: str, steps: int, now: dict[str, float], before: tuple[int, dict[str, float]] | None,
         most: float) -> tuple[str, bool]:  # fmt: skip
    """One line of the table, and whether something that is counted grows too fast."""
    cells, steep = [], False
    for name, title in NAMES.items():
        amount = f"{now[name]:.2f}" if name == "seconds" else f"{now[name]:,.0f}"
        cell = f"{amount} {title}"
        if before is not None:
            power = exponent(now[name], before[1][name], steps / before[0])
            steep = steep or (name in COUNTED and power > most)
            cell += f" ^{power:.2f}"
        cells.append(cell)
    return f"| {engine} | {operation} | {steps:,} | {' | '.join(cells)} |{' <-- steep' if steep else ''}", steep


def run(options: argparse.Namespace) -> int:
    """Measure all that is asked for; the number of lines that are too steep."""
    steep = 0
    for engine in options.engines:
        before: dict[str, tuple[int, dict[str, float]]] = {}
        for steps in sorted(options.steps):
            folder = Path(tempfile.mkdtemp(prefix="tailrace-growth-", dir=options.folder))
            try:
                for operation in [one for one in growth.OPERATIONS if one == "write" or one in options.operations]:
                    now = measured(options, folder / PLACES[engine], engine, steps, operation)
                    text, bad = line(engine, operation, steps, now, before.get(operation), options.most)
                    print(text, flush=True)
                    before[operation] = (steps, now)
                    steep += bad
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    return steep


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, nargs="+", default=[1000, 3000, 10000])
    parser.add_argument("--engines", nargs="+", default=list(PLACES), choices=list(PLACES))
    parser.add_argument("--operations", nargs="+", default=list(growth.OPERATIONS), choices=list(growth.OPERATIONS))
    parser.add_argument("--folder", help="where the series are written; default: the system's folder for such files")
    parser.add_argument("--most", type=float, default=1.05, help="the largest exponent that is well")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for one operation")
    parser.add_argument("--one", nargs=2, metavar=("OPERATION", "PATH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        operation, path = options.one
        with contextlib.redirect_stdout(sys.stderr):
            cost = growth.measure(Path(path), options.engines[0], options.steps[0], operation)
        print(json.dumps(cost.as_dict()))
        return 0
    steep = run(options)
    print(f"{steep} lines are steeper than {options.most}")
    return 1 if steep else 0


if __name__ == "__main__":
    sys.exit(main())
