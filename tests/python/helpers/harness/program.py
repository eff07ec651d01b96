"""Programs that run beside the test: tests wait for lines of their output, always with a time limit."""

import json
import os
import queue
import subprocess
import threading
import time

import pytest

from helpers.harness import mpi_run

LIMIT = 60  # seconds, longer than anything takes on a busy machine


class Program:
    """A program on `ranks` ranks, or without a launcher; `end` kills it with all its children."""

    def __init__(self, cwd, ranks, *command):
        self.process = mpi_run.start([*(mpi_run.mpiexec(ranks) if ranks else []), *command], cwd)
        self.command = " ".join(map(str, command))
        self.lines, self.seen, self.errors = queue.Queue(), [], []
        takers = ((self.process.stdout, self.lines.put), (self.process.stderr, self.errors.append))
        self.threads = [threading.Thread(target=self._pump, args=pair, daemon=True) for pair in takers]
        for thread in self.threads:
            thread.start()

    def _pump(self, stream, take):
        with stream:
            for line in stream:
                take(line.rstrip())
        take(None)

    def text(self):
        return "\n".join(["--- out", *self.seen, "--- err", *(line for line in self.errors if line)])

    def end(self):
        mpi_run.kill_session(self.process)
        self.process.wait(20)
        for thread in self.threads:
            thread.join(20)
        print(self.command, self.text(), sep="\n")  # pytest shows it when the test has failed

    def until(self, start, limit=LIMIT):
        """Wait for a line that begins with `start`; returns it."""
        end = time.monotonic() + limit
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                pytest.fail(f"'{start}' did not come within {limit} s\n{self.text()}")
            self.seen.append(line)
            if line.startswith(start):
                return line

    def goes_on(self, start="wrote", lines=10):
        """Wait for that many lines from now on; more than the queue of a stream holds steps."""
        while not self.lines.empty():
            if (line := self.lines.get()) is None:
                pytest.fail(f"it has ended\n{self.text()}")
            self.seen.append(line)
        for _ in range(lines):
            self.until(start)

    def finish(self, code=0, limit=LIMIT):
        """Wait for the end; returns the lines."""
        try:
            found = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            mpi_run.kill_session(self.process)
            self.drain()
            pytest.fail(f"did not end in {limit} s\n{self.text()}")
        self.drain()
        if found != code:
            pytest.fail(f"expected exit code {code}, found {found}\n{self.text()}")
        return self.seen

    def drain(self):
        for thread in self.threads:
            thread.join(20)
        while (line := self.lines.get(timeout=10)) is not None:
            self.seen.append(line)
        self.lines.put(None)

    def indices(self, start="read"):
        return [int(line.split()[1]) for line in self.seen if line.startswith(start + " ")]

    def told(self, start):
        """The JSON behind the last line that begins with `start`."""
        found = [line for line in self.seen if line.startswith(start + " ")]
        assert found, f"no '{start}'\n{self.text()}"
        return json.loads(found[-1].split(" ", 1)[1])

    def signal_all(self, number):
        """Send a signal to all its ranks, not to the launcher, which would forward it or report a failure."""
        for process in mpi_run.rank_processes(self.process, self.command):
            os.kill(process, number)
