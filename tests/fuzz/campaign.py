"""Run many cases of a fuzzer in worker processes that may crash, hang, or take too much memory.

A case is a number: its seed. A worker takes seeds one by one and says what it found; a worker that dies or is silent is
a finding too, and another takes its place. Findings are printed with the command that repeats them alone.
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
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

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
    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1
        )
        self.seed: int | None = None
        self.since = 0.0

    def give(self, seed: int) -> None:
        assert self.process.stdin is not None
        self.seed, self.since = seed, time.monotonic()
        self.process.stdin.write(f"{seed}\n")

    def stop(self) -> int:
        self.process.kill()
        return self.process.wait()


class Cases(Protocol):
    """What a fuzzer does, in a worker."""

    def run(self, seed: int) -> str:
        """One case; what it is follows from the seed. Says how it ended; raises an exception for a finding."""

    def close(self) -> None:
        """Remove the files."""


def main(description: str, make: Callable[[str | None], Cases]) -> int:
    """The program of a fuzzer: runs all cases, or works as one of its workers. Returns the exit code.

    :param make: the cases, or only those whose name has a text in it.
    """
    options = arguments(description)
    if not options.worker:
        return run(options, ["--only", options.only] if options.only else [])
    cases = make(options.only)
    try:
        work(cases.run)
    finally:
        cases.close()
    return 0


def run(options: argparse.Namespace, more: Iterable[str] = ()) -> int:
    """Run all cases; returns the exit code: 1 when there were findings."""
    script = str(Path(sys.argv[0]).resolve())
    command = [sys.executable, script, "--worker", *more]
    seeds = iter(range(options.seed, options.seed + options.cases))
    ends: Counter[str] = Counter()
    findings: list[str] = []
    begin = time.monotonic()
    workers = [_Worker(command) for _ in range(min(options.workers, options.cases))]
    selector = selectors.DefaultSelector()

    def note(worker: _Worker, what: str) -> None:
        findings.append(
            f"case {worker.seed}: {what}\n  again: {script} --seed {worker.seed} --cases 1 {' '.join(more)}"
        )
        print(findings[-1], flush=True)

    def next_case(worker: _Worker) -> bool:
        seed = next(seeds, None)
        if seed is None:
            worker.stop()
            return False
        worker.give(seed)
        return True

    def enlist(worker: _Worker) -> None:
        if next_case(worker):
            selector.register(worker.process.stdout, selectors.EVENT_READ, worker)

    for worker in workers:
        enlist(worker)
    told = begin
    while selector.get_map():
        for key, _ in selector.select(1.0):
            worker = key.data
            line = worker.process.stdout.readline()
            if not line:
                selector.unregister(worker.process.stdout)
                code = worker.process.wait()
                how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
                note(worker, f"the reader died: {how}")
                enlist(_Worker(command))
                continue
            answer = json.loads(line)
            if "finding" in answer:
                note(worker, answer["finding"])
            else:
                ends[answer["ended"]] += 1
                if options.show:
                    print(f"case {answer['seed']}: {answer['ended']}")
            if not next_case(worker):
                selector.unregister(worker.process.stdout)
        for key in list(selector.get_map().values()):
            worker = key.data
            if time.monotonic() - worker.since > LIMIT:
                note(worker, f"no end within {LIMIT:g} s")
                selector.unregister(worker.process.stdout)
                worker.stop()
                enlist(_Worker(command))
        if time.monotonic() - told > 60:
            told = time.monotonic()
            print(f"{sum(ends.values())} cases, {len(findings)} findings, {told - begin:.0f} s", flush=True)
    seconds = time.monotonic() - begin
    print(f"{options.cases} cases from seed {options.seed}: {len(findings)} findings; "
          f"{60 * options.cases / seconds:.0f} cases a minute")  # fmt: skip
    for what, count in ends.most_common():
        print(f"  {count:8} {what}")
    return 1 if findings else 0
