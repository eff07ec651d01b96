"""Read series in eight threads, and copy writers by fork: no value is wrong, nothing crashes, and no copy writes.

    python tests/fuzz/threads.py --cases 14 --only series        # 14,000 reads
    python tests/fuzz/threads.py --cases 200 --only fork

The cases go through all engines. In one, eight threads make 1000 reads, of one series or of one each; in another, a
process that fork has made tries to write the series of its parent, and ends. test_threads.py has a few of both.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import campaign

from helpers.harness.engines import KINDS, Engine
from helpers.programs.series import threads

READS = 125  # of each of the eight threads
Case = Callable[[Path, int], None]


def reads(engine: Engine, shared: bool) -> Case:
    """Threads read a series, which one case of a worker writes."""

    def run(folder: Path, seed: int) -> None:
        path = engine.path(folder)
        if not path.exists():
            threads.write(path, engine.name)
        threads.read(path, shared, READS, seed)

    return run


def forks(engine: Engine, how: str, within: bool) -> Case:
    """A writer is copied."""

    def run(folder: Path, seed: int) -> None:
        place = folder / f"fork-{seed}"
        place.mkdir()
        threads.fork(engine.path(place), engine.name, how, within)
        shutil.rmtree(place)

    return run


def all_kinds() -> dict[str, Case]:
    """Every kind of case by its name."""
    found: dict[str, Case] = {}
    for engine in KINDS:
        found[f"{engine}: one series"] = reads(engine, True)
        found[f"{engine}: a series each"] = reads(engine, False)
        for how in ("drop", "exit") if engine.traits.journal else ("drop",):
            found[f"{engine}: fork, {how}, between steps"] = forks(engine, how, False)
            found[f"{engine}: fork, {how}, in a step"] = forks(engine, how, True)
    return found


class Cases:
    """One case after the other, of the kinds with a text in their name."""

    def __init__(self, only: str | None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tailrace-threads-"))
        self._kinds = [(name, case) for name, case in all_kinds().items() if only is None or only in name]

    def run(self, seed: int) -> str:
        """The kind follows from the seed, and what is read too; the order of the threads follows from the machine."""
        name, case = self._kinds[seed % len(self._kinds)]
        case(self._folder, seed)
        return name

    def close(self) -> None:
        """Remove the series."""
        shutil.rmtree(self._folder, ignore_errors=True)


if __name__ == "__main__":
    campaign.LIMIT = 180.0
    sys.exit(campaign.main(__doc__ or "", Cases))
