"""What tests start ends with their pytest, also when SIGKILL ends it. Ranks that stay slow down whatever runs later."""

import subprocess
import sys
import time

import pytest

from helpers.harness import mpi_run
from helpers.harness.watcher import with_variable
from helpers.programs import kept_alive


@pytest.mark.parametrize(
    ("how", "words"),
    [("compute", ()), ("receive", ()), ("finish", ()), ("sleep", ("--numprocesses=1",))],
    ids=["compute", "receive", "finish", "xdist"],
)
def test_nothing_outlives_a_pytest_that_is_killed(tmp_path, how, words):
    environment = {**mpi_run.environment(), "PLACE": str(tmp_path), "HOW": how}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words, kept_alive.__file__]
    with (tmp_path / "said").open("w") as said:
        killed = subprocess.Popen(command, env=environment, stdout=said, stderr=said)
    until = time.monotonic() + 240
    while len(list(tmp_path.glob("rank-*"))) < 3:
        assert killed.poll() is None and time.monotonic() < until, (tmp_path / "said").read_text()
        time.sleep(0.05)
    assert len(with_variable(f"PLACE={tmp_path}")) > 8, "the test does not see what it looks for"
    killed.kill()
    killed.wait()
    until = time.monotonic() + 240
    while there := with_variable(f"PLACE={tmp_path}"):
        assert time.monotonic() < until, there
        time.sleep(0.1)
