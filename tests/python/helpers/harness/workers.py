"""Ranks that are kept and run one function after another, so that a case takes milliseconds without a start of MPI.

    with Workers(3) as ranks:
        ranks.run(io_programs.open_series, path=path, mode="r")  # open_series(comm, path=..., mode=...) on all ranks

A case that ends a rank by a signal, or does not end in time, is reported; the next case gets new ranks.
"""

from __future__ import annotations

import importlib
import json
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from helpers.harness import mpi_run

_START = 240  # seconds, longer than any start takes


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
    """`size` ranks that call functions of helpers."""

    # Calls and outcomes go over sockets: in what ranks print, libraries write too, in the middle of a line. Each rank
    # sleeps on its own until the next call: in MPI it would take a processor from other tests.

    def __init__(self, size: int) -> None:
        self.size = size
        self.starts = 0
        self._process: subprocess.Popen[str] | None = None
        self._lines: list[socket.socket] = []  # by rank; the first one answers

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def run(self, function: Callable[..., Any], limit: float = 120, **arguments: Any) -> list[Outcome]:
        """Call a function on all ranks and return the outcome of each.

        :param function: one of a module that ranks can import by its name.
        :param arguments: as JSON can write them; the communicator comes first, and is not among them.
        :raises CrashError: the ranks ended, or did not answer within `limit` seconds.
        """
        limit *= mpi_run.SLOWER if limit > 5 else 1  # what is shorter is to be exceeded
        if self._process is None:
            self._start()
        assert self._process is not None
        name = function.__name__
        try:
            for line in self._lines:
                line.settimeout(limit)
                line.sendall(f"{json.dumps([function.__module__, name, arguments])}\n".encode())
            answer = self._answers.readline()
        except TimeoutError:
            mpi_run.kill_session(self._process)
            raise CrashError(f"{name}: no answer in {limit} s, {self.stop()}") from None
        except (BrokenPipeError, ConnectionResetError):
            answer = ""
        if not answer.endswith("\n"):
            raise CrashError(f"{name}: the ranks ended, {self.stop()}")
        return [Outcome(**one) for one in json.loads(answer)]

    def results(self, function: Callable[..., Any], limit: float = 120, **arguments: Any) -> list[Any]:
        """As `run`, of a function that must not raise."""
        outcomes = self.run(function, limit, **arguments)
        for rank, outcome in enumerate(outcomes):
            assert not outcome.error, f"rank {rank}: {outcome.trace}"
        return [outcome.result for outcome in outcomes]

    def stop(self) -> str:
        """End the ranks; returns the exit code of their launcher and what they have printed."""
        process, self._process = self._process, None
        if process is None:
            return ""
        if self._lines:
            self._answers.close()
        while self._lines:
            self._lines.pop().close()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            mpi_run.kill_session(process)
            process.wait()
        mpi_run.kill_session(process)  # ranks that live longer than their launcher
        with self._printed as printed:
            printed.seek(0)
            return f"code {process.returncode}\n{printed.read()}"

    def _start(self) -> None:
        self.starts += 1
        launcher = mpi_run.mpiexec(self.size) if self.size > 1 else []
        self._printed: TextIO = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        with tempfile.TemporaryDirectory() as place, socket.socket(socket.AF_UNIX) as server:
            address = f"{place}/calls"
            server.bind(address)
            server.listen()
            self._process = subprocess.Popen(
                [*launcher, sys.executable, "-m", __name__, address],
                cwd=Path(__file__).parents[2],
                env=mpi_run.environment(),
                stdin=subprocess.DEVNULL,
                stdout=self._printed,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            self._lines = self._accept(server, self._process)
        self._answers = self._lines[0].makefile()

    def _accept(self, server: socket.socket, process: subprocess.Popen[str]) -> list[socket.socket]:
        server.settimeout(0.2)
        end = time.monotonic() + _START
        found: dict[int, socket.socket] = {}
        while len(found) < self.size and process.poll() is None and time.monotonic() < end:
            with suppress(TimeoutError):
                line = server.accept()[0]
                line.settimeout(_START)
                found[int.from_bytes(line.recv(4), "big")] = line
        if len(found) == self.size:
            return [found[rank] for rank in range(self.size)]
        for line in found.values():
            line.close()
        mpi_run.kill_session(process)
        raise CrashError(f"the ranks did not start, {self.stop()}")


# ---- on the ranks ----------------------------------------------------------------------------------------------------


def _serve(address: str) -> None:
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        line.sendall(world.rank.to_bytes(4, "big"))
        calls = line.makefile("rw")
        while call := calls.readline():
            outcomes = world.gather(_outcome(world, *json.loads(call)))
            if world.rank == 0:
                calls.write(json.dumps(outcomes) + "\n")
                calls.flush()


def _outcome(world: Any, module: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"result": getattr(importlib.import_module(module), name)(world, **arguments)}
    except BaseException as error:
        return {"error": type(error).__name__, "text": str(error), "trace": traceback.format_exc()}


if __name__ == "__main__":
    _serve(*sys.argv[1:])
