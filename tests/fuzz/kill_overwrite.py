"""Kill runs that replace the results of an earlier run: the old results or the new ones are left whole, never both.

    python tests/fuzz/kill_overwrite.py --cases 100

A run with `--overwrite` is disturbed as in kill_runs.py: most often between the moment at which the earlier results are
set aside and that at which they are removed, else at any. Then `tailrace run` without options must refuse, and what is
there must be the old files byte for byte, or results of the new run alone. At last, a run that resumes the new results
or overwrites what is there ends as one that nobody disturbed.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import campaign
import kill_runs

import tailrace as tr
from helpers.harness import mpi_run
from helpers.inputs import cases
from tailrace.files.set_aside import record_of

OLD = ("--set=time.steps=12", "--set=case.reynolds=200")
NEW = ("--set=time.steps=24",)
REYNOLDS = {200.0: "old", 100.0: "new"}


def sums(folder: Path) -> dict[str, str]:
    """The checksums of all files that matter; a lock that a kill has left is no obstacle."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".lock"
    }


def whose(folder: Path) -> set[str]:
    """Of which runs there are series."""
    found = set()
    for _, _, path, _ in kill_runs.OUTPUTS:
        with contextlib.suppress(tr.IoError, FileNotFoundError), tr.open(folder / path) as stored:
            found.add(REYNOLDS[float(stored.attributes["reynolds"])])
    return found


class Cases:
    """The undisturbed runs, made when first needed, and one case after the other."""

    def __init__(self, _only: str | None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tailrace-overwrite-"))

    def undisturbed(self, what: str, ranks: int) -> tuple[Path, float]:
        """Directory and duration of an old or a new run that nobody disturbs."""
        place, begin = self.folder / f"{what}-{ranks}", time.monotonic()
        time_of = self.folder / f"{what}-{ranks}.time"
        if not time_of.exists():
            words = [
                *kill_runs.command(kill_runs.write_case(place), ranks, False, False),
                *(OLD if what == "old" else NEW),
            ]
            result = mpi_run.finish(mpi_run.start(words, place), 300)
            assert result.code == 0, result.text
            time_of.write_text(str(time.monotonic() - begin))
        return place, float(time_of.read_text())

    def run(self, seed: int) -> str:
        """One case; what is done follows from the seed, when it happens also from the machine."""
        dice = random.Random(seed)
        ranks, place = dice.choice(kill_runs.RANKS), self.folder / f"case-{seed}"
        shutil.copytree(self.undisturbed("old", dice.choice(kill_runs.RANKS))[0], place, symlinks=True)
        before, (whole, seconds) = sums(place), self.undisturbed("new", ranks)
        words = [*kill_runs.command(place / "case.toml", ranks, False, False), *NEW]
        told = self._disturb(mpi_run.start([*words, "--overwrite"], place), place, seconds, dice)
        refused = mpi_run.finish(mpi_run.start(words, place), 120 + 10 * seconds)
        state = self._state(place, before, refused)
        way = "--resume" if state == "new" and cases.checkpoints(place) else "--overwrite"
        result = mpi_run.finish(mpi_run.start([*words, way], place), 120 + 10 * seconds)
        wrong = kill_runs.compare(place, whole, True, True) if result.code == 0 else [result.text[-1500:]]
        assert not wrong, f"{told}, {state} results, {way}: {'; '.join(wrong[:8])}"
        shutil.rmtree(place)
        return f"{state} results ({told})"

    def _disturb(self, process: subprocess.Popen[str], place: Path, seconds: float, dice: random.Random) -> str:
        """Disturb a run, most often while the earlier results are set aside; says what was done."""
        record, end = record_of(place / "time_series.csv"), time.monotonic() + 60
        if aside := dice.random() < 0.7:
            while not record.exists() and process.poll() is None and time.monotonic() < end:
                time.sleep(0.001)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(dice.uniform(0, 0.15) ** 2 * 10 if aside else dice.uniform(0.1, 1.0) * seconds)
        how = kill_runs.disturb(process, dice) if process.poll() is None else "it had ended"
        result = kill_runs.wait_for_end(process, seconds, [how])
        assert "Traceback" not in result.text, f"{how}: {result.text[-1500:]}"
        return how

    @staticmethod
    def _state(place: Path, before: dict[str, str], refused: mpi_run.Result) -> str:
        """Which results are there, after a run that was not told to replace them."""
        aside = [str(path.relative_to(place)) for path in place.rglob("*.earlier*") if path.suffix != ".lock"]
        assert not aside, f"set aside still: {', '.join(aside[:8])}: {refused.text[-1500:]}"
        assert "there are results of an earlier run" in refused.text, refused.text[-1500:]
        there = sums(place)
        changed = sorted(name for name, value in before.items() if there.get(name) != value)
        if not changed:  # files of the new run that no old series lists may be there too: nobody reads them
            return "old"
        found = whose(place)
        assert found == {"new"}, f"results of {sorted(found)}, and changed: {', '.join(changed[:12])}"
        return "new"

    def close(self) -> None:
        """Remove the undisturbed runs; what is wrong stays."""
        for place in self.folder.glob("[on]*-?"):
            shutil.rmtree(place)
        for file in self.folder.glob("*.time"):
            file.unlink()
        with contextlib.suppress(OSError):
            self.folder.rmdir()


if __name__ == "__main__":
    campaign.LIMIT = 900.0
    sys.exit(campaign.main(__doc__ or "", Cases))
