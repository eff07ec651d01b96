"""Let one call of the system fail in a whole run, and resume it: it ends as a run that nothing disturbed.

    python tests/fuzz/fault_runs.py --cases 300

A run has eleven outputs and two analyses, as in kill_runs.py. A call on a file of its directory fails on one of its
ranks, of a kind and at a place that the seed chooses. If the run ends well, all of it must be right; if it ends with an
error, it is resumed from its last checkpoint, or from the start if it has none, and must end as the undisturbed run.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from pathlib import Path

import campaign
from faults import FAULTS, compile_library
from kill_runs import command, compare, write_case

from helpers.harness import mpi_run

RANKS = (1, 2)
LATEST = {"write": 900, "open": 900, "stat": 900, "close": 900, "read": 300}  # calls of these kinds that a run makes


class Cases:
    """The undisturbed runs, made when first needed, and one case after the other."""

    def __init__(self, _only: str | None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tailrace-faults-"))
        self._library = compile_library(self.folder)

    def undisturbed(self, ranks: int) -> Path:
        """The directory of a run that nothing disturbs."""
        place = self.folder / f"whole-{ranks}"
        if not (place / "done").exists():
            result = mpi_run.finish(mpi_run.start(command(write_case(place), ranks, False, False), place), 300)
            assert result.code == 0, result.text
            (place / "done").touch()
        return place

    def run(self, seed: int) -> str:
        """One case; what is done follows from the seed."""
        dice = random.Random(seed)
        ranks, fault, place = dice.choice(RANKS), dice.choice(FAULTS), self.folder / f"case-{seed}"
        whole, case = self.undisturbed(ranks), write_case(place)
        number = dice.randint(1, LATEST.get(fault.kind, 60))
        words = " ".join(str(word) for word in (dice.randrange(ranks), *fault.words(number), place))
        more = {"TAILRACE_FAULT": words, "LD_PRELOAD": str(self._library)}
        result = mpi_run.finish(mpi_run.start(command(case, ranks, False, False), place, more), 300)
        told = f"{ranks} ranks, {fault}, call {number}: code {result.code}"
        assert "Traceback" not in result.text, f"{told}: {result.text[-1500:]}"
        if result.code != 0:
            assert "tailrace: " in result.err, f"{told}: no message: {result.text[-1500:]}"
            resume = any((place / "checkpoints").glob("step-????????"))
            if not resume:
                shutil.rmtree(place)
                case = write_case(place)
            again = mpi_run.finish(mpi_run.start(command(case, ranks, False, resume), place), 300)
            assert again.code == 0, f"{told}: resumed: {again.text[-1500:]}"
        wrong = compare(place, whole, True, True)
        assert not wrong, f"{told}: {wrong[:5]} {result.text[-500:]}"
        shutil.rmtree(place)
        return "ended well" if result.code == 0 else "went on after an error"

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self.folder, ignore_errors=True)


if __name__ == "__main__":
    campaign.LIMIT = 900.0
    sys.exit(campaign.main(__doc__ or "", Cases))
