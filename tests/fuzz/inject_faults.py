"""Let every call of the system fail in turn, and look whether anything that was told is false.

    python tests/fuzz/inject_faults.py                             # all settings of all engines, on 1 and 2 ranks
    python tests/fuzz/inject_faults.py --only bp5 --ranks 1        # one engine
    python tests/fuzz/inject_faults.py --only hdf5 --try "append 'sync EIO' 3"

For a small write, append, rewind, replacement and read of every engine, and for checkpoints, the k-th write, sync,
open, rename, cut, allocation, close, read, unlink, lock, mapping or stat of one rank fails (EIO, ENOSPC, EMFILE, EINTR,
ESTALE), once or from then on, or does half of its work, for every k. After each: no value is wrong, no earlier step is
lost, no step that was said to have failed is there, the series takes another step, nothing aborts, and every error is
an IoError of ours that blames nobody else. fault_cases.py says it exactly. A program that ends itself because a library
keeps its ranks waiting (docs/io/errors.md) is counted, and is no finding.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from faults import FAULTS, Fault, Injector, compile_library

from helpers.harness import mpi_run

SILENCE = 90.0  # seconds after which a program that says nothing hangs
READING = ("read", "open", "stat", "map", "close")  # kinds of calls that a reader makes
MANY = 400  # calls of one kind in a phase; more than any has
WHERE = signal.SIGUSR1  # a rank that gets it says where it is, and goes on
GUARDED = re.compile(r"tailrace: cannot .*(does not come back|has not told the other ranks|Nothing was written for)")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="only settings with this text in their name, as bp5")
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2], help="numbers of ranks")
    parser.add_argument("--stride", type=int, default=1, help="only every so-manieth call, from a start by --seed")
    parser.add_argument("--seed", type=int, default=0, help="where to start, with --stride")
    parser.add_argument("--try", dest="one", help="one try alone: phase, 'fault' and number, as in a finding")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


# ---- the ranks ----


def plan(label: str, ranks: int) -> Iterator[tuple[Any, Fault, int]]:
    """Phase, fault, and the rank on which it is."""
    import fault_cases

    for phase in fault_cases.PHASES["checkpoint" if label == "checkpoint" else "series"]:
        for fault in FAULTS:
            if fault.kind in READING or phase.__name__ not in ("read", "resume"):
                for rank in range(ranks):
                    yield phase, fault, rank


def work(given: dict[str, Any]) -> None:
    """All tries of a setting from a place on; rank 0 says a line before and after each."""
    import fault_cases

    comm, injector, folder = fault_cases.COMM, Injector(), Path(given["folder"])
    faulthandler.register(WHERE)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is no answer

    def say(**what: Any) -> None:
        if comm.rank == 0:
            answers.write(json.dumps(what) + "\n")

    for at, (phase, fault, rank) in enumerate(plan(given["label"], comm.size)):
        if at < given["at"]:
            continue
        first = given["number"] if at == given["at"] else 1 + (given["seed"] + at) % given["stride"]
        for number in range(first, MANY, given["stride"]):
            name = f"{phase.__name__} '{fault}' {number}" + (f" on rank {rank}" if comm.size > 1 else "")
            if given["one"] and name != given["one"]:
                if given["one"].startswith(f"{phase.__name__} '{fault}' "):
                    continue
                break
            say(at=at, number=number, name=name)
            one = fault_cases.run(given["label"], phase, fault, number, rank, injector, folder / f"{at}-{number}")
            say(done=one.called, violations=one.violations, errors=one.errors)
            if not one.called and not given["one"]:
                break
    say(end=True)


# ---- the campaign ----


class Campaign:
    """One setting after the other; a program that dies or hangs is a finding, and another goes on after it."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self._options, self._folder = options, folder
        self._library = compile_library(folder)
        self.tries: Counter[str] = Counter()
        self.findings: list[str] = []

    def run(self, label: str, ranks: int) -> None:
        """All tries of a setting."""
        at, number = 0, 1
        while True:
            position = self._run_from(label, ranks, at, number)
            if position is None:
                return
            at, number = position[0], position[1] + self._options.stride

    def _start(self, label: str, ranks: int, at: int, number: int, errors: IO[str]) -> subprocess.Popen[str]:
        given = {
            "label": label, "at": at, "number": number, "folder": str(self._folder / f"{label}-{ranks}"),
            "stride": self._options.stride, "seed": self._options.seed, "one": self._options.one,
        }  # fmt: skip
        command = [sys.executable, str(Path(__file__).resolve()), "--worker", json.dumps(given)]
        environment = {**mpi_run.environment(), "LD_PRELOAD": str(self._library)}
        if ranks > 1:
            preload = ["env", f"LD_PRELOAD={environment.pop('LD_PRELOAD')}"]
            command = ["mpiexec", "--oversubscribe", "-n", str(ranks), *preload, *command]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment, start_new_session=True
        )

    def _run_from(self, label: str, ranks: int, at: int, number: int) -> tuple[int, int] | None:
        """Where it died; None when it came to its end."""
        errors = (self._folder / "errors").open("w+")  # a pipe that nobody reads would be full, and the program wait
        process = self._start(label, ranks, at, number, errors)
        now: dict[str, Any] = {"at": at, "number": number, "name": "(start)"}
        hung = False
        try:
            for line in _lines(process):
                if line is None:
                    hung = True
                    break
                answer = json.loads(line)
                if "end" in answer:
                    return None
                if "name" in answer:
                    now = answer
                else:
                    self._take(label, ranks, now, answer)
        finally:
            if hung:
                _ask_where(process)
            _kill(process)
            told = _end_of(errors, 6000 if hung else 1500)
        ended = "hung" if hung else f"ended with {process.returncode}"
        if not hung and GUARDED.search(told):
            self.tries["ended"] += 1
        else:
            self._find(label, ranks, now["name"], f"the program {ended}: {told}")
        return None if now["name"] == "(start)" else (now["at"], now["number"])

    def _take(self, label: str, ranks: int, now: dict[str, Any], answer: dict[str, Any]) -> None:
        if not answer["done"]:
            return
        self.tries["told" if answer["errors"] else "nothing failed"] += 1
        if answer["violations"]:
            self._find(label, ranks, now["name"], f"({answer['done']}) {answer['violations']} {answer['errors'][:1]}")

    def _find(self, label: str, ranks: int, name: str, what: str) -> None:
        self.findings.append(f"{label} on {ranks}: {name}")
        again = name.replace('"', "")
        print(f'FINDING --only {label} --ranks {ranks} --try "{again}"\n    {what}', flush=True)


def _lines(process: subprocess.Popen[str]) -> Iterator[str | None]:
    """What it says; None when it has been silent for too long."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(SILENCE):
            line = process.stdout.readline()
            if not line:
                process.wait()
                return
            yield line
    yield None


def _ask_where(process: subprocess.Popen[str]) -> None:
    """Let all ranks of a program that hangs say where they are; mpiexec passes the signal on."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(WHERE)
        time.sleep(5)


def _end_of(file: IO[str], most: int) -> str:
    """The end of what the program has written there. Closes the file."""
    with file:
        file.seek(0)
        return file.read()[-most:]


def _kill(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main() -> int:
    """The program; returns the exit code: 1 when something was found."""
    options = arguments()
    if options.worker:
        work(json.loads(options.worker))
        return 0
    import fault_cases

    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tailrace-fuzz-", ignore_cleanup_errors=True) as folder:
        campaign = Campaign(options, Path(folder))
        for ranks in options.ranks:
            for label in fault_cases.SETTINGS:
                if not options.only or options.only in label:
                    before = campaign.tries.total()
                    campaign.run(label, ranks)
                    print(f"{label} on {ranks}: {campaign.tries.total() - before} tries", flush=True)
    print(
        f"{campaign.tries.total()} tries ({campaign.tries['told']} with an error, {campaign.tries['ended']} ended by "
        f"themselves): {len(campaign.findings)} findings, "
        f"{time.monotonic() - begin:.0f} s"
    )
    return 1 if campaign.findings else 0


if __name__ == "__main__":
    sys.exit(main())
