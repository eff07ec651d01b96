"""What idle connections of strangers cost a coupled run: runs left alone and runs with a crowd, in turn.

    python tests/fuzz/idle_connections.py --pairs 5 --number 500

A run on two ranks streams to an analysis on one, started by `tailrace run --beside`. To every port at which a rank
listens, be it of MPI, of ADIOS2 or of Tailrace, so many connections are made that never send a byte. The ports of
mpiexec are left alone: at one of them, open to programs on the same host only, PMIx waits for the first bytes of each
connection in turn, and no rank would start. Printed are the time of each run and the processor time of all its
programs, and at the end the median of the ratios and their range. All steps must have been delivered.
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from helpers.harness import mpi_run
from helpers.inputs import cases
from tailrace.io.time_series import read_time_series

LISTENS = "0A"  # the state of a socket in /proc/net/tcp


class Crowd:
    """Connects to all ports of the ranks of a run, also to those that open later, until it is told to leave."""

    def __init__(self, run: subprocess.Popen[str], number: int) -> None:
        self._run, self._number = run, number
        self._kept: dict[int, list[socket.socket]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        while not self._over.wait(0.5):
            for port in self._ports():
                if port not in self._kept:
                    self._kept[port] = [self._connect(port) for _ in range(self._number)]

    @staticmethod
    def _connect(port: int) -> socket.socket:
        one = socket.socket()
        one.setblocking(False)  # where the queue of the port is full, the system lets it wait
        one.connect_ex(("127.0.0.1", port))
        return one

    def _ports(self) -> set[int]:
        """All ports at which a rank listens."""
        inodes = set()
        for process, words in mpi_run.members(self._run):
            if "mpiexec" in words:
                continue
            try:
                entries = [str(entry.readlink()) for entry in Path(f"/proc/{process}/fd").iterdir()]
            except OSError:  # it, or one of its files, has just ended
                continue
            inodes.update(entries)
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return {
            int(words[1].split(":")[1], 16)
            for words in lines
            if words[3] == LISTENS and f"socket:[{words[9]}]" in inodes
        }

    def leave(self) -> str:
        """Ends all connections; says how many were there."""
        self._over.set()
        self._thread.join()
        count = Counter(len(kept) for kept in self._kept.values())
        for kept in self._kept.values():
            for one in kept:
                one.close()
        return ", ".join(f"{ports} ports with {number}" for number, ports in count.items())


def measure(options: argparse.Namespace, number: int, variables: dict[str, str]) -> tuple[float, float]:
    """Seconds that a run takes, and processor seconds of all its programs."""
    with tempfile.TemporaryDirectory(prefix="tailrace-idle-") as folder:
        place = Path(folder)
        points = (options.points,) * 3
        cases.write_case(place, "periodic", points=points, steps=options.steps, diagnostics=options.steps, dt=1e-4)
        begin = time.monotonic()
        words = ("run", "case.toml", "-n", 2, "--beside=enstrophy", f"--beside-every={options.every}")
        run = mpi_run.start(mpi_run.tailrace_command(*words), place, variables)
        crowd = Crowd(run, number)
        said: list[str] = []
        readers = [
            threading.Thread(target=lambda pipe=pipe: said.append(pipe.read())) for pipe in (run.stdout, run.stderr)
        ]
        for one in readers:
            one.start()
        _, code, used = os.wait4(run.pid, 0)  # with all descendants
        seconds = time.monotonic() - begin
        run.returncode = os.waitstatus_to_exitcode(code)
        there = crowd.leave()
        for one in readers:
            one.join(60)
        if run.returncode != 0:
            raise SystemExit(f"exit code {run.returncode}: {''.join(said)[-2000:]}")
        steps = list(read_time_series(place / "analysis/enstrophy.csv")["step"])
        if steps != list(range(0, options.steps + 1, options.every)):
            raise SystemExit(f"not all steps were delivered: {steps}")
    cpu = used.ru_utime + used.ru_stime
    print(f"{number:4} connections a port: {seconds:6.2f} s, {cpu:6.2f} s of processors ({there})", flush=True)
    return seconds, cpu


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--number", type=int, default=500, help="of connections to each port")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--every", type=int, default=5, help="the interval of the steps that go to the analysis")
    parser.add_argument("--points", type=int, default=64, help="in each direction")
    parser.add_argument("--set", action="append", default=[], help="an environment variable, NAME=VALUE")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    variables = dict(word.split("=", 1) for word in options.set)
    pairs = []
    for number in range(options.pairs):
        order = (0, options.number) if number % 2 == 0 else (options.number, 0)
        found = {crowd: measure(options, crowd, variables) for crowd in order}
        pairs.append((found[0], found[options.number]))
    for what, index in (("time", 0), ("processor time", 1)):
        ratios = sorted(crowd[index] / alone[index] for alone, crowd in pairs)
        alone = statistics.median(one[index] for one, _ in pairs)
        print(f"{what}: alone {alone:.2f} s; with the crowd {statistics.median(ratios):.3f} of it "
              f"({ratios[0]:.3f} to {ratios[-1]:.3f})")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
