"""Kill whole runs at random moments and resume them: all end as a run that nobody disturbed.

    python tests/fuzz/kill_runs.py --cases 200

A run has eleven outputs, a film, two analyses inside that keep a state, and in every third case one beside it. It is
disturbed one to three times (any rank, all ranks, the launcher or the analysis is killed; a rank is stopped for a
while; SIGTERM, then SIGKILL), half of the time resumed on another number of ranks, and at last run to its end. On the
same number of ranks all outputs are equal bit for bit and all CSV files byte for byte (but for the comments, which tell
when and where a run was), on others to 1e-9. The film has every picture once, and each shows the same.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import av
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import campaign

import tailrace as tr
from helpers.harness import mpi_run
from helpers.inputs import cases
from tailrace.io.time_series import read_time_series

STEPS = 60
RANKS = (1, 2, 3)
OUTPUTS = (
    ("raw", "raw", "raw", ""),
    ("dist", "raw", "dist", 'strategy = "dist"'),
    ("collect", "raw", "collect", 'strategy = "collect"'),
    ("shared", "raw", "shared", 'layout = "shared"'),
    ("mpiio", "mpiio", "mpiio", "collect_bytes = 0"),
    ("h5", "hdf5", "out.h5", ""),
    ("gzip", "hdf5", "gzip.h5", 'compression = "gzip"'),
    ("bp4", "bp4", "out.bp4", ""),
    ("bp5", "bp5", "out.bp", "buffers = 2"),
    ("adios", "adios_hdf5", "out.adios_hdf5", ""),
    ("sion", "sion", "out.sion", ""),
)
MEAN = """
import numpy as np

class Analysis:
    def start(self, step):
        self.count, self.sum = 0, 0.0
    def load(self, state):
        self.count, self.sum = state["count"], state["sum"]
    def save(self):
        return {"count": self.count, "sum": self.sum}
    def step(self, step):
        import tailrace as tr
        self.count += 1
        self.sum += tr.mean(step["ux"] * step["ux"])
        return {"mean": self.sum / self.count, "count": self.count}
    def finish(self):
        return {"total": self.sum}
"""


PICTURE = """
[[picture]]
name = "film"
every = 5
size = [128, 96]
layers = [{ surface = "q", values = [0.1], colour = "uz", range = [-1.0, 1.0] }]
"""


def write_case(folder: Path) -> Path:
    """The case with its scripts."""
    blocks = "".join(
        f'[[output]]\nname = "{name}"\nfields = ["ux", "pressure"]\nevery = {3 + number % 4}\nengine = "{engine}"\n'
        f'path = "{path}"\n' + (f"[output.parameters]\n{parameters}\n" if parameters else "")
        for number, (name, engine, path, parameters) in enumerate(OUTPUTS)
    )
    blocks += '[[analysis]]\nscript = "mean.py"\nevery = 2\n[[analysis]]\nscript = "slow.py"\nevery = 7\n'
    blocks += PICTURE
    case = cases.write_case(folder, steps=STEPS, every=4, keep=2, extra=blocks)
    for name in ("mean.py", "slow.py"):
        (folder / name).write_text(MEAN)
    return case


def command(case: Path, ranks: int, beside: bool, resume: bool) -> list[str]:
    """`tailrace run` as users start it, with one process grid for each number of ranks."""
    words = ["run", case, "-n", ranks, "--set=parallel.rows=1", f"--set=parallel.cols={ranks}"]
    words += ["--beside", "enstrophy", "--beside-every=5"] if beside else []
    return mpi_run.tailrace_command(*words, *(["--resume"] if resume else []))


def disturb(process: subprocess.Popen[str], dice: random.Random) -> str:
    """Do something to the run; says what."""
    ranks = [pid for pid, words in mpi_run.members(process) if "tailrace.cli run" in words and "mpiexec" not in words]
    ranks = [pid for pid in ranks if pid != process.pid] or ranks
    analysis = [pid for pid, words in mpi_run.members(process) if "tailrace.cli analyse" in words]
    how = dice.choice(("rank", "all", "launcher", "analysis", "stop", "term"))
    try:
        if how == "rank" and ranks:
            os.kill(dice.choice(ranks), signal.SIGKILL)
        elif how == "launcher":
            process.kill()
        elif how == "analysis" and analysis:
            os.kill(dice.choice(analysis), signal.SIGKILL)
        elif how == "stop" and ranks:
            victim = dice.choice(ranks)
            os.kill(victim, signal.SIGSTOP)
            time.sleep(dice.uniform(0.1, 1.0))
            os.kill(victim, signal.SIGCONT)
        elif how == "term":
            process.terminate()
            time.sleep(dice.uniform(0.0, 0.5))
            mpi_run.kill_session(process)
        else:
            how = "all"
            mpi_run.kill_session(process)
    except ProcessLookupError:
        how += " (it had ended)"
    return how


def wait_for_end(process: subprocess.Popen[str], seconds: float, told: list[str]) -> mpi_run.Result:
    """Wait for the end of a disturbed run that takes so long alone; what a dead launcher left must end by itself."""
    try:
        out, err = process.communicate(timeout=60 + 10 * seconds)
    except subprocess.TimeoutExpired:
        left = mpi_run.members(process)
        mpi_run.kill_session(process)
        raise AssertionError(f"{told}: no end: {left}") from None
    end = time.monotonic() + 60
    while mpi_run.members(process) and time.monotonic() < end:
        time.sleep(0.1)
    left = mpi_run.members(process)
    mpi_run.kill_session(process)
    assert not left, f"left running: {left}"
    return mpi_run.Result(process.returncode, out, err)


def read_all(path: Path) -> dict[tuple[int, str], np.ndarray]:
    """Every value of a series by step and name."""
    with tr.open(path) as stored:
        damage = stored.verify()
        assert not damage, f"{path}: {damage}"
        return {(step.index, name): np.array(step[name]) for step in stored for name in sorted(step.variables)}


def compare(ours: Path, theirs: Path, exact: bool, whole_analysis: bool) -> list[str]:
    """What differs between two run directories."""
    wrong = []
    for _, _, path, _ in OUTPUTS:
        one, other = read_all(ours / path), read_all(theirs / path)
        if one.keys() != other.keys():
            wrong.append(f"{path}: steps or names {sorted(one.keys() ^ other.keys())[:5]}")
            continue
        for key, value in one.items():
            if not (np.array_equal(value, other[key]) if exact else np.allclose(value, other[key], 1e-9, 1e-9)):
                wrong.append(f"{path}: {key}")
    for csv in sorted(path.relative_to(theirs) for path in theirs.rglob("*.csv")):
        if not whole_analysis and csv.parts[0] == "analysis" and "enstrophy" in csv.name:
            continue  # a killed analysis beside a run misses steps; nothing brings them back
        if not (ours / csv).exists():
            wrong.append(f"{csv}: missing")
        elif exact:
            if cases.table(ours / csv) != cases.table(theirs / csv):
                wrong.append(f"{csv}: bytes")
        else:
            found, expected = read_time_series(ours / csv), read_time_series(theirs / csv)
            for name, column in expected.items():
                if not np.allclose(found[name], column, 1e-9, 1e-9, equal_nan=True):
                    wrong.append(f"{csv}: {name}")
    wrong += films_differ(ours / "pictures/film.mp4", theirs / "pictures/film.mp4")
    wrong += [
        f"left: {path.name}"
        for path in ours.iterdir()
        if path.name.startswith(".tailrace") or path.suffix == ".journal"
    ]
    return wrong


def films_differ(ours: Path, theirs: Path) -> list[str]:
    """How two films differ: in the number of their pictures, or in one of them."""
    one, other = pictures_of(ours), pictures_of(theirs)
    if len(one) != len(other):
        return [f"{ours.name}: {len(one)} pictures, expected {len(other)}"]
    apart = [float(np.abs(a - b).mean()) for a, b in zip(one, other, strict=True)]
    return [f"{ours.name}: picture {at} differs by {by:.3g}" for at, by in enumerate(apart) if by > 3]


def pictures_of(film: Path) -> list[np.ndarray]:
    """The pictures of a film, from 0 to 255."""
    with av.open(str(film)) as opened:
        return [frame.to_ndarray(format="rgb24").astype(float) for frame in opened.decode(video=0)]


class Cases:
    """The undisturbed runs, made when first needed, and one case after the other."""

    def __init__(self, _only: str | None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tailrace-kills-"))

    def undisturbed(self, ranks: int, beside: bool) -> tuple[Path, float]:
        """Directory and duration of a run that nobody disturbs."""
        place = self.folder / f"whole-{ranks}-{beside}"
        begin = time.monotonic()
        if not (place / "done").exists():
            case = write_case(place)
            result = mpi_run.finish(mpi_run.start(command(case, ranks, beside, False), place), 300)
            assert result.code == 0, result.text
            (place / "done").write_text(str(time.monotonic() - begin))
        return place, float((place / "done").read_text())

    def run(self, seed: int) -> str:
        """One case; what is done follows from the seed, when it happens also from the machine."""
        dice = random.Random(seed)
        ranks, beside, place = dice.choice(RANKS), dice.random() < 0.33, self.folder / f"case-{seed}"
        case = write_case(place)
        whole, seconds = self.undisturbed(ranks, beside)
        told, used, now, killed_beside, resume = [], [], ranks, False, False
        for _ in range(dice.choice((1, 1, 2, 3))):
            process = mpi_run.start(command(case, now, beside, resume), place)
            used.append(now)
            try:
                process.wait(dice.uniform(0.2, 1.0) * seconds)
            except subprocess.TimeoutExpired:
                told.append(f"{now} ranks: {disturb(process, dice)}")
                killed_beside = killed_beside or beside
            result = wait_for_end(process, seconds, told)
            if "Traceback" in result.text:
                raise AssertionError(f"{told}: {result.text[-1500:]}")
            resume = any((place / "checkpoints").glob("step-????????"))
            if not resume:
                shutil.rmtree(place)
                case, used = write_case(place), []
            now = dice.choice(RANKS) if dice.random() < 0.5 else ranks
        exact = {*used, now} == {ranks}
        result = mpi_run.finish(mpi_run.start(command(case, now, beside, resume), place), 120 + 10 * seconds)
        if result.code != 0:
            raise AssertionError(f"{told}, then {now} ranks: exit code {result.code}: {result.text[-1500:]}")
        wrong = compare(place, whole, exact, not killed_beside)
        if wrong:
            raise AssertionError(f"{told}, then {now} ranks: {'; '.join(wrong[:8])}; kept in {place}")
        shutil.rmtree(place)
        return f"{'same' if exact else 'other'} ranks: equal"

    def close(self) -> None:
        """Remove the undisturbed runs; what differs stays."""
        for place in self.folder.glob("whole-*"):
            shutil.rmtree(place)
        with contextlib.suppress(OSError):
            self.folder.rmdir()


if __name__ == "__main__":
    campaign.LIMIT = 900.0
    sys.exit(campaign.main(__doc__ or "", Cases))
