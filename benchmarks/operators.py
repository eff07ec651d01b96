"""Derivatives from Python: seconds for three first derivatives of a 128^3 field, on one core.

    python benchmarks/operators.py [repetitions]

The reference is Py4Incompact3D's 10.8 s of CPU for the same, measured on a machine of this class.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import tailrace as tr
from measure import repeat, spread

REFERENCE = 10.8


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    n = 128
    x = np.arange(n) * 2 * np.pi / n
    field = np.sin(x)[None, None, :] * np.cos(2 * x)[None, :, None] * np.sin(3 * x)[:, None, None]
    exact = np.cos(x)[None, None, :] * np.cos(2 * x)[None, :, None] * np.sin(3 * x)[:, None, None]
    for boundary in ("periodic", "free-slip", "dirichlet"):
        ops = tr.Operators((n, n, n), (2 * np.pi,) * 3, (boundary,) * 3)

        def work(ops: tr.Operators = ops) -> float:
            start = time.process_time()
            ops.ddx(field), ops.ddy(field), ops.ddz(field)
            return time.process_time() - start

        if boundary == "periodic":
            print(f"largest error of d/dx: {np.abs(ops.ddx(field) - exact).max():.1e}")
        work()
        seconds = repeat(repetitions, work)
        print(f"{boundary:10} three derivatives of {n}^3, s of CPU: {spread(seconds, '.4f')}", end="")
        print(f"   reference / ours: {spread([REFERENCE / s for s in seconds], '.0f')}")


main()
