"""Ranks that stay and run one function after another, so that a case costs milliseconds and not a start of MPI.

    with Workers(3) as ranks:
        ranks.run("open_series", path=path, mode="r")  # calls io_programs.open_series(comm, path=..., mode=...)

A case that ends a rank by a signal, or does not end in time, is reported as what it is; the next one gets new ranks.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import mpi_run

_MARK = "@@outcome "


@dataclass(frozen=True)
class Outcome:
    """How a function ended on one rank: its result, or type and text of what it raised."""

    result: Any = None
    error: str = ""
    text: str = ""
    trace: str = ""


class CrashError(Exception):
    """The ranks ended, by a signal or by MPI_Abort, or had to be killed."""


class Workers:
    """`size` ranks that call functions of a module of helpers."""

    def __init__(self, size: int, module: str = "helpers.io_programs") -> None:
        self.size = size
        self.starts = 0
        self._module = module
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def run(self, function: str, limit: float = 30, **arguments: Any) -> list[Outcome]:
        """Call a function on all ranks and return the outcome of each.

        :raises CrashError: the ranks ended, or did not answer within `limit` seconds.
        """
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        late = threading.Event()
        timer = threading.Timer(limit, lambda: (late.set(), mpi_run.kill_session(process)))
        timer.start()
        other = []
        try:
            process.stdin.write(json.dumps([function, arguments]) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                if line.startswith(_MARK):
                    return [Outcome(**one) for one in json.loads(line.removeprefix(_MARK))]
                other.append(line)
        except BrokenPipeError:
            pass
        finally:
            timer.cancel()
        self._process = None
        self._end(process)
        if late.is_set():
            raise CrashError(f"{function}: no answer in {limit} s")
        raise CrashError(f"{function}: the ranks ended with code {process.returncode}\n{''.join(other)}")

    def results(self, function: str, limit: float = 30, **arguments: Any) -> list[Any]:
        """As `run`, of a function that must not raise."""
        outcomes = self.run(function, limit, **arguments)
        for rank, outcome in enumerate(outcomes):
            assert not outcome.error, f"rank {rank}: {outcome.trace}"
        return [outcome.result for outcome in outcomes]

    def stop(self) -> None:
        """End the ranks."""
        process, self._process = self._process, None
        if process is None:
            return
        self._end(process)

    def _end(self, process: subprocess.Popen[str]) -> None:
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            mpi_run.kill_session(process)
            process.wait()
        mpi_run.kill_session(process)  # ranks that outlive their launcher

    def _start(self) -> subprocess.Popen[str]:
        self.starts += 1
        launcher = mpi_run.mpiexec(self.size) if self.size > 1 else []
        here = Path(__file__)
        self._process = subprocess.Popen(
            [*launcher, sys.executable, "-m", f"helpers.{here.stem}", self._module],
            cwd=here.parents[1],
            env=mpi_run.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        return self._process


# ---- on the ranks ----------------------------------------------------------------------------------------------------


def _serve(module: str) -> None:
    from mpi4py import MPI

    functions = importlib.import_module(module)
    world = MPI.COMM_WORLD
    while True:
        line = sys.stdin.readline() if world.rank == 0 else None
        waiting = world.Ibarrier()
        while not waiting.Test():  # asleep, for the processors belong to the other ranks and tests
            time.sleep(0.001)
        line = world.bcast(line)
        if not line:
            return
        function, arguments = json.loads(line)
        outcome = _outcome(getattr(functions, function), world, arguments)
        outcomes = world.gather(outcome)
        if world.rank == 0:
            print(f"\n{_MARK}{json.dumps(outcomes)}", flush=True)


def _outcome(function: Any, world: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"result": function(world, **arguments)}
    except BaseException as error:
        return {"error": type(error).__name__, "text": str(error), "trace": traceback.format_exc()}


if __name__ == "__main__":
    _serve(sys.argv[1])
