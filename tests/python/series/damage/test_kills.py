"""kill -9 at random moments of writing, many times: a step that was complete stays, and appending continues.

TAILRACE_TEST_KILLS (2): how often each engine is killed on one rank, and half as often on three; 50 for a release.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest

from helpers.harness import mpi_run
from helpers.harness.engines import ENGINES
from helpers.programs.series import io_programs

KILLS = int(os.environ.get("TAILRACE_TEST_KILLS", "2"))
PROGRAM = Path(__file__).parents[2] / "helpers/programs/series/io_killed.py"


def killed(folder, engine, ranks, chance, buffers, start):
    """Run the program until a random moment after `start`, kill it, and return the last step it called complete."""
    parameters = {**engine.parameters, **({"buffers": buffers} if buffers else {}), "sync": chance.random() < 0.5}
    launcher = mpi_run.mpiexec(ranks) if ranks > 1 else []
    command = [*launcher, sys.executable, PROGRAM, engine.path(folder), engine.name, json.dumps(parameters), "report"]
    process = mpi_run.start(command, folder, {"PYTHONPATH": str(PROGRAM.parents[3])})
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(start):
            break
    else:
        pytest.fail(f"it ended by itself: {process.communicate()}")
    time.sleep(chance.uniform(0.0, 0.02 if start == "opening" else 0.06))
    if ranks > 1 and chance.random() < 0.5:
        os.kill(chance.choice(mpi_run.rank_processes(process, PROGRAM.name)), signal.SIGKILL)
    else:
        mpi_run.kill_session(process)
    result = mpi_run.finish(process, 30)
    assert result.code != 0 and "Traceback" not in result.err, result.text
    said = [line.split() for line in (folder / "report").read_text().splitlines(keepends=True) if line.endswith("\n")]
    return max((int(words[1]) for words in said if words[:1] == ["complete"]), default=0)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_killed_while_writing(tmp_path, engine, ranks, one):
    chance = random.Random(f"{engine.label} {ranks}")
    path, last, kept = engine.path(tmp_path), 0, [0]
    for number in range(KILLS if ranks == 1 else (KILLS + 1) // 2):
        buffers = (0, 2, 1)[number % 3]
        # From the opening, or from the first step: kills in both phases.
        start = "opening" if number and chance.random() < 0.3 else "complete"
        last = max(last, killed(tmp_path, engine, ranks, chance, buffers, start))
        if not last:
            continue  # no step was complete; the next program must work with what is there
        steps = one.results(io_programs.check_last, path=str(path), limit=60)[0]
        # One more step may have been complete and not reported; in the background as many as there are buffers.
        assert last <= steps <= last + max(1, buffers), (number, last, steps)
        last = steps
        kept.append(steps)
    print(f"{engine} on {ranks}: {len(kept) - 1} kills, steps kept {kept}")
    assert last, "no step was ever complete"
    assert one.results(io_programs.check_series, path=str(path), limit=120)[0] == list(range(1, last + 1))
    one.results(io_programs.append_steps, path=str(path), engine=engine.name, steps=2)
    assert one.results(io_programs.check_series, path=str(path), limit=120)[0] == list(range(1, last + 3))
