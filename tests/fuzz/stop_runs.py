"""Stop runs by timeout(1) while the processors are taken: each leaves a complete checkpoint, and says so.

    python tests/fuzz/stop_runs.py --cases 200 --workers 1

timeout sends SIGTERM to the program, and a second one to its group. Other programs take all processors meanwhile, four
for each, so that the program may run between the two, or ranks late.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import campaign
from mpi4py import MPI

from helpers.harness import mpi_run
from helpers.inputs import cases
from tailrace.flow.checkpoint import CheckpointStore

STOPPED = 143


class Cases:
    """One run after the other, and the programs that take the processors."""

    def __init__(self, _only: str | None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tailrace-stops-"))
        busy = [sys.executable, "-c", "while True: pass"]
        self._busy = [subprocess.Popen(busy) for _ in range(4 * (os.cpu_count() or 1))]

    def run(self, seed: int) -> str:
        """One case; the seed chooses after how many seconds it is stopped, and on how many ranks it runs."""
        dice = random.Random(seed)
        place, ranks, seconds = self.folder / f"case-{seed}", dice.choice((1, 2, 2, 3)), dice.uniform(4.0, 12.0)
        case = cases.write_case(place, steps=10**9, every=10**8, diagnostics=50, outputs=("raw",), output_every=200)
        run = mpi_run.tailrace_command("run", case, "-n", ranks)
        result = mpi_run.finish(mpi_run.start(["timeout", "--preserve-status", f"{seconds:.2f}", *run], place), 300)
        told = f"{ranks} ranks, stopped after {seconds:.2f} s: code {result.code}"
        began = (place / "time_series.csv").exists()
        if not began and ranks == 1:  # Python itself was starting
            return "before it began"
        assert result.code == STOPPED, f"{told}: {result.text[-1500:]}"
        assert "stopped on request at step " in result.out, f"{told}: no message: {result.text[-1500:]}"
        skipped: list[str] = []
        CheckpointStore(place / "checkpoints", 2, MPI.COMM_SELF).newest(skipped.append)
        left = list((place / "checkpoints").glob("*.partial"))
        assert not skipped and not left, f"{told}: {skipped} {left}"
        shutil.rmtree(place)
        return f"{ranks} ranks: a checkpoint"

    def close(self) -> None:
        """End the other programs."""
        for one in self._busy:
            one.kill()
            one.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


if __name__ == "__main__":
    campaign.LIMIT = 600.0
    sys.exit(campaign.main(__doc__ or "", Cases))
