"""Two writers that rewind and two readers at one series, and two runs in one directory: none harms another.

    python tests/fuzz/crowd.py --seconds 60

Every engine has its turn of so many seconds, and then the runs, whose outputs cover all engines. A program that comes
while another writes is refused; a reader gets values that were written as one step, or a message. In the end all is
sound.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import kill_runs

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.engines import ENGINES, Engine

SHAPE = (6, 5, 4)
FIRST = (2, 12)  # the index of the first of its four steps, for each of the two writers
PATIENCE = 3.0  # seconds that a second writer waits
GUARDED = ("adios_hdf5",)  # no checksum covers its metadata, which change while they are read
CLEAR = ("is writing it", "the series changed while it was read", "another program is writing")


def field(step: int) -> np.ndarray:
    """The values of a step."""
    return np.arange(120.0).reshape(SHAPE) + 1000 * step


def write(engine: Engine, path: Path, first: int) -> str:
    """Drop all steps after 1, and write four others; now and then for longer than the other writer waits."""
    with tr.open(path, "a", rewind_to=1, engine=engine.name, parameters=dict(engine.parameters)) as out:
        for index in range(first, first + 4):
            out.write_step(0.5 * index, index=index, ux=field(index))
        if random.random() < 0.1:
            time.sleep(PATIENCE + 1)
    return "written"


def read(engine: Engine, path: Path, _first: int = 0) -> str:
    """Read all steps: each has the values of its index."""
    with tr.open(path, guard=engine.label in GUARDED) as stored:
        for step in stored:
            values = step.read("ux")
            if not np.array_equal(values, field(step.index)):
                raise AssertionError(f"step {step.index}: {values.ravel()[:3]}")
    return "read"


def work(act: Callable[[Engine, Path, int], str], engine: Engine, path: Path, first: int, seconds: float) -> None:
    """The life of a writer or reader; prints how often what happened."""
    ends: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            ends[act(engine, path, first)] += 1
        except (tr.Error, OSError, ValueError) as error:
            text = str(error)
            clear = next((words for words in CLEAR if words in text), None)
            ends[f"refused: {clear}" if clear else f"other: {re.sub('[0-9]+', 'N', text)}"] += 1
        if act is write:
            time.sleep(0.01)
    print(json.dumps(ends))


def try_engine(engine: Engine, seconds: float) -> list[str]:
    """What went wrong with an engine in so many seconds."""
    with tempfile.TemporaryDirectory(prefix="tailrace-crowd-") as folder:
        path = engine.path(Path(folder))
        with tr.open(path, "w", engine=engine.name, parameters=dict(engine.parameters)) as out:
            for index in range(2):
                out.write_step(0.5 * index, index=index, ux=field(index))
        programs = [
            subprocess.Popen(
                [sys.executable, __file__, "--role", role, "--engine", engine.label, "--path", str(path),
                 "--first", str(first), "--seconds", str(seconds)],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=mpi_run.environment(),
            )
            for role, first in (("write", FIRST[0]), ("write", FIRST[1]), ("read", 0), ("read", 0))
        ]  # fmt: skip
        ends: Counter[str] = Counter()
        wrong = []
        for program in programs:
            out_text, said = program.communicate(timeout=seconds + 120)
            if program.returncode != 0:
                wrong.append(f"exit code {program.returncode}: {said[-1000:]}")
            ends.update(json.loads(out_text or "{}"))
        with tr.open(path) as stored:
            wrong += stored.verify()
            last = [step.index for step in stored]
            wrong += [] if last in [[0, 1, *range(first, first + 4)] for first in FIRST] else [f"steps {last}"]
        read(engine, path)
        wrong += [f"never {what}" for what in ("written", "read") if not ends[what]]
        wrong += [what for what in ends if what.startswith("other: ")]
        print(f"{engine}: {'; '.join(f'{count} {what}' for what, count in ends.most_common())}", flush=True)
        return wrong


def try_runs(seconds: float) -> list[str]:
    """What went wrong with two runs at a time in one directory, again and again."""
    with tempfile.TemporaryDirectory(prefix="tailrace-crowd-") as folder:
        alone, shared = Path(folder, "alone"), Path(folder, "shared")
        place = kill_runs.write_case(alone), kill_runs.write_case(shared)
        first = mpi_run.finish(mpi_run.start(kill_runs.command(place[0], 2, False, False), alone), 300)
        wrong = [] if first.code == 0 else [first.text]
        ends: Counter[str] = Counter()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            commands = [kill_runs.command(place[1], 2, False, resume and ends["ended"] > 0) for resume in (False, True)]
            commands = [words if "--resume" in words else [*words, "--overwrite"] for words in commands]
            runs = [mpi_run.start(words, shared) for words in commands]
            codes = []
            for run in runs:
                result = mpi_run.finish(run, 300)
                codes.append(result.code)
                refused = result.code != 0 and "is writing it" in result.text and "Traceback" not in result.text
                ends["ended" if result.code == 0 else "refused" if refused else f"other: {result.text[-800:]}"] += 1
            wrong += [] if 0 in codes else ["both were refused"]
            wrong += kill_runs.compare(shared, alone, True, True)
        wrong += [what for what in ends if what.startswith("other: ")]
        print(f"runs: {'; '.join(f'{count} {what}' for what, count in ends.most_common())}", flush=True)
        return wrong


def main() -> int:
    """The program; returns the exit code: 1 when something went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each engine, and for the runs")
    parser.add_argument("--only", default="", help="only what has this text in its name: hdf5, runs")
    parser.add_argument("--role", choices=("write", "read"), help=argparse.SUPPRESS)
    for name in ("engine", "path"):
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        engine = next(one for one in ENGINES if one.label == options.engine)
        act = write if options.role == "write" else read
        work(act, engine, Path(options.path), options.first, options.seconds)
        return 0
    wrong = [
        f"{engine}: {what}"
        for engine in ENGINES
        if options.only in engine.label
        for what in try_engine(engine, options.seconds)
    ]
    if options.only in "runs":
        wrong += [f"runs: {what}" for what in try_runs(options.seconds)]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
