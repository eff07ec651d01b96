"""Random series through every engine on 1 to 4 ranks: read as they were written, or refused by name when written.

    python tests/fuzz/store_anything.py --cases 10000          # series; each is written by all engines
    python tests/fuzz/store_anything.py --cases 500 --only bp

Each run of ranks takes 100 series. A failure is printed with its engine, seed and rank; `--seed` repeats it.
test_anything.py has a few of them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import campaign

from helpers.harness.engines import KINDS
from helpers.programs.series import anything

PIECE = 100  # series of a run of ranks
LIMIT = 600.0  # seconds


def main() -> int:
    """Run all pieces, and count what was kept, refused and wrong."""
    told = campaign.arguments(__doc__ or "")
    labels = [str(engine) for engine in KINDS if told.only is None or told.only in str(engine)]
    pieces = [
        (label, first, min(PIECE, told.seed + told.cases - first), 1 + first // PIECE % 4)
        for first in range(told.seed, told.seed + told.cases, PIECE)
        for label in labels
    ]
    count: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(told.workers) as workers:

        def run(piece: tuple[str, int, int, int]) -> str:
            label, first, many, ranks = piece
            try:
                kept, refused = anything.run_on_ranks(Path(folder), label, first, many, ranks, LIMIT)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                print(f"{label}, series {first} and on, on {ranks} ranks: failed", flush=True)
                return f"{label}, series {first} to {first + many - 1} on {ranks} ranks: {error}"
            count.update(series=many, kept=kept, refused=refused)
            if told.show:
                print(f"{label}, series {first} to {first + many - 1} on {ranks} ranks: right", flush=True)
            return ""

        failures = [line for line in workers.map(run, pieces) if line]
    print(*failures, sep="\n")
    counts = f"{count['kept']} values kept, {count['refused']} refused"
    print(f"{count['series']} series right: {counts}; {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
