"""A process that ends everything that a test has started, when the process of the test is gone.

Ranks do not end by themselves when SIGKILL ends pytest. A rank in the middle of a call does not see that its socket is
closed. When it sees this, it fails alone, and MPI_Finalize waits for the others. mpiexec waits for all of them. So one
more process waits for the end of pytest. It finds what to end by a mark in the environment: every launcher hands it on.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

_MARK = "TAILRACE_STARTED_BY_TEST"
_QUIET = 1  # seconds: a process that is in the middle of its start has no mark yet


@functools.cache
def end_with_this_process() -> subprocess.Popen[bytes]:
    """From now on, everything that this process starts ends with it, also when SIGKILL ends it."""
    os.environ[_MARK] = uuid.uuid4().hex
    words = [str(os.getpid()), f"{_MARK}={os.environ[_MARK]}"]
    null = subprocess.DEVNULL
    # In a session of its own, so that no signal to the terminal or the process group of pytest ends it.
    return subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, *words], stdin=null, stdout=null, stderr=null, start_new_session=True
    )


def with_variable(variable: str) -> list[int]:
    """The processes that were started with NAME=VALUE in their environment."""
    found, wanted = [], f"\0{variable}\0".encode()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # it has ended, or belongs to somebody else
            if entry.name.isdigit() and wanted in b"\0" + (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found


def _wait_and_end(process: int, variable: str) -> None:
    with contextlib.suppress(ProcessLookupError):  # it is gone already
        select.select([os.pidfd_open(process)], [], [])
    until = time.monotonic() + _QUIET
    while time.monotonic() < until:
        for one in set(with_variable(variable)) - {os.getpid()}:
            until = time.monotonic() + _QUIET
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        time.sleep(0.05)


if __name__ == "__main__":
    _wait_and_end(int(sys.argv[1]), sys.argv[2])
