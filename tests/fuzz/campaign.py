"""Run many cases of a fuzzer in worker processes that may crash, hang, or take too much memory.

A case is a number: its seed. A worker takes seeds one by one and says what it found; a worker that dies or is silent is
a finding too, and another takes its place. Findings are printed with the command that repeats them alone. Workers keep
their files in the directory of the campaign, so that nothing stays behind, also of those that died.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

START = 600.0  # seconds that the start of a worker may take
MEMORY = 4 << 30  # bytes of address space that a worker may use beyond what it has at its start
LIMIT = 60.0  # seconds that a case may take; a child process that reads for us is given up after 30


def arguments(description: str) -> argparse.Namespace:
    """The command line that all fuzzers share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--cases", type=int, default=1000, help="how many cases")
    parser.add_argument("--seed", type=int, default=0, help="the first case; the others follow")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", help="only what has this text in its name, as hdf5")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--show", action="store_true", help="say what each case found")
    return parser.parse_args()


def work(case: Callable[[int], str]) -> None:
    """The life of a worker: `case` runs a seed and says how it ended; an exception of it is a finding."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is no answer
    answers.write(json.dumps({"ready": True}) + "\n")  # the limit of a case does not include the start of the program
    for line in sys.stdin:
        seed = int(line)
        try:
            answer = {"seed": seed, "ended": case(seed)}
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            answer = {"seed": seed, "finding": f"{type(error).__name__}: {error}"[:2000]}
        answers.write(json.dumps(answer) + "\n")


class _Worker:
    """A worker, and the seed that it has or will have first. It is told a seed only when it waits for one."""

    def __init__(self, command: list[str], folder: str, seed: int) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1,
            env={**os.environ, "TMPDIR": folder},
        )  # fmt: skip
        self.seed = seed
        self.end = time.monotonic() + START

    def give(self, seed: int) -> None:
        assert self.process.stdin is not None
        self.seed, self.end = seed, time.monotonic() + LIMIT
        self.process.stdin.write(f"{seed}\n")

    def answer(self) -> dict[str, Any] | None:
        """What it says next; None: it has died."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def dismiss(self) -> None:
        """Let it end by itself; one that does not is killed."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.stop()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


class Cases(Protocol):
    """What a fuzzer does, in a worker."""

    def run(self, seed: int) -> str:
        """One case; what it is follows from the seed. Says how it ended; raises an exception for a finding."""

    def close(self) -> None:
        """Remove the files."""


def main(description: str, make: Callable[[str | None], Cases], parent: Path | None = None) -> int:
    """The program of a fuzzer: runs all cases, or works as one of its workers. Returns the exit code.

    :param make: the cases, or only those whose name has a text in it.
    :param parent: where the directory of the campaign is made; None: where the system keeps temporary files.
    """
    options = arguments(description)
    if not options.worker:
        return run(options, ["--only", options.only] if options.only else [], parent)
    cases = make(options.only)
    try:
        work(cases.run)
    finally:
        cases.close()
    return 0


def run(options: argparse.Namespace, more: Iterable[str] = (), parent: Path | None = None) -> int:
    """Run all cases; returns the exit code: 1 when there were findings."""
    with tempfile.TemporaryDirectory(prefix="tailrace-fuzz-", dir=parent, ignore_cleanup_errors=True) as folder:
        campaign = _Campaign(options, list(more), folder)
        campaign.run()
    campaign.sum_up()
    return 1 if campaign.findings else 0


class _Campaign:
    def __init__(self, options: argparse.Namespace, more: list[str], folder: str) -> None:
        self._options, self._more, self._folder = options, more, folder
        self._script = str(Path(sys.argv[0]).resolve())
        self._seeds = iter(range(options.seed, options.seed + options.cases))
        self._ends: Counter[str] = Counter()
        self._selector = selectors.DefaultSelector()
        self._begin = self._told = time.monotonic()
        self.findings: list[str] = []

    def run(self) -> None:
        for _ in range(min(self._options.workers, self._options.cases)):
            self._enlist()
        try:
            while self._selector.get_map():
                for key, _ in self._selector.select(1.0):
                    self._hear(key.data)
                for worker in self._busy():
                    if time.monotonic() > worker.end:
                        self._note(worker, f"no end within {LIMIT:g} s")
                        self._replace(worker)
                self._tell()
        finally:
            for worker in self._busy():
                worker.stop()

    def _busy(self) -> list[_Worker]:
        return [key.data for key in self._selector.get_map().values()]

    def _enlist(self) -> None:
        """Start a worker, if there is something left to do."""
        seed = next(self._seeds, None)
        if seed is not None:
            worker = _Worker([sys.executable, self._script, "--worker", *self._more], self._folder, seed)
            self._selector.register(worker.process.stdout, selectors.EVENT_READ, worker)

    def _replace(self, worker: _Worker) -> None:
        self._selector.unregister(worker.process.stdout)
        worker.stop()
        self._enlist()

    def _hear(self, worker: _Worker) -> None:
        answer = worker.answer()
        if answer is None:
            code = worker.process.wait()
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            self._note(worker, f"the reader died: {how}")
            self._replace(worker)
            return
        if "ready" in answer:
            worker.give(worker.seed)
            return
        if "finding" in answer:
            self._note(worker, answer["finding"])
        else:
            self._ends[answer["ended"]] += 1
            if self._options.show:
                print(f"case {answer['seed']}: {answer['ended']}")
        seed = next(self._seeds, None)
        if seed is None:
            self._selector.unregister(worker.process.stdout)
            worker.dismiss()
        else:
            worker.give(seed)

    def _note(self, worker: _Worker, what: str) -> None:
        again = f"{self._script} --seed {worker.seed} --cases 1 {' '.join(self._more)}"
        self.findings.append(f"case {worker.seed}: {what}\n  again: {again}")
        print(self.findings[-1], flush=True)

    def _tell(self) -> None:
        """Say once a minute how far it is."""
        if time.monotonic() - self._told > 60:
            self._told = time.monotonic()
            done, seconds = sum(self._ends.values()), self._told - self._begin
            print(f"{done} cases, {len(self.findings)} findings, {seconds:.0f} s", flush=True)

    def sum_up(self) -> None:
        """Say what was found."""
        cases, seconds = self._options.cases, time.monotonic() - self._begin
        print(f"{cases} cases from seed {self._options.seed}: {len(self.findings)} findings; "
              f"{60 * cases / seconds:.0f} cases a minute")  # fmt: skip
        for what, count in self._ends.most_common():
            print(f"  {count:8} {what}")
