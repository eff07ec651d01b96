"""Open MPI's blocks about ranks that failed are left out; all else that mpiexec says comes through as it is."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from helpers.inputs import cases
from tailrace.cli.ranks.mpi_messages import Filter

BORDER = "-" * 74
PRIMARY = (
    f"{BORDER}\nPrimary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, "
    f"the job has been aborted.\n{BORDER}\n"
)
DETECTED = (
    f"{BORDER}\nmpiexec detected that one or more processes exited with non-zero status, thus causing\nthe job to be "
    f"terminated. The first process to do so was:\n\n  Process name: [[1,1],0]\n  Exit code:    1\n{BORDER}\n"
)
SLOTS = f"{BORDER}\nThere are not enough slots available in the system to satisfy the 99\nslots\n{BORDER}\n"
SIGNAL = f"{BORDER}\nmpiexec noticed that process rank 0 with PID 0 on node x exited on signal 9 (Killed).\n{BORDER}\n"


def filtered(text: str, dice: random.Random) -> str:
    """The text in pieces of any size."""
    found, out = Filter(), ""
    while text:
        size = dice.choice((1, 2, 7, 100))
        out += found.feed(text[:size])
        text = text[size:]
    return out + found.close()


@pytest.mark.parametrize("seed", range(20))
def test_only_what_repeats_an_error_is_left_out(seed: int):
    dice = random.Random(seed)
    said = "tailrace: no space on the disk\n--\n---- a heading ----\n"
    assert filtered(said + PRIMARY + DETECTED + "after\n", dice) == said + "after\n"
    kept = SLOTS + said + SIGNAL + "a line without an end"
    assert filtered(kept, dice) == kept
    assert filtered(PRIMARY + kept, dice) == kept
    open_block = f"{BORDER}\nPrimary job  terminated normally, but\nno end"
    assert filtered(open_block, dice) == open_block
    long_block = f"{BORDER}\nmany\n" + "lines\n" * 100 + PRIMARY
    assert filtered(long_block, dice).startswith(f"{BORDER}\nmany\n" + "lines\n" * 100)


def test_text_comes_at_once():
    found = Filter()
    assert found.feed("\r 50 %") == "\r 50 %"
    assert found.feed("\r 60 %") == "\r 60 %"
    assert found.feed("\n--") == "\n"
    assert found.feed("x") == "--x"


@pytest.mark.parametrize("seed", range(20))
def test_how_a_request_reaches_the_ranks_is_left_out(seed: int):
    dice = random.Random(seed)
    forwarded = "mpiexec: Forwarding signal 10 to job\n"
    assert filtered(f"step 3\n{forwarded}stopped\n{forwarded}", dice) == "step 3\nstopped\n"
    others = "mpiexec: Forwarding\nmpi\nmpirun does not start\nmpiexec: For"
    assert filtered(others, dice) == others


def test_one_message_of_a_run_that_fails(tmp_path: Path):
    case = cases.write_case(tmp_path, steps=2)
    (tmp_path / "checkpoints").write_text("mine")
    result = cases.run(case, "-n", 2, "--set=checkpoint.every=1")
    assert result.code == 1
    assert result.err.startswith("tailrace: checkpoint.path: checkpoints is there already, and is a file")
    assert len(result.err.splitlines()) == 1, result.err
