"""What is wrong with a script for a batch system that computes a case."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tailrace.case.case import Case, ConfigError
from tailrace.case.reading import read_case
from tailrace.simulation.stop import STOPPED

from .request import BatchError, margin, seconds_of, too_many, too_short
from .systems import SYSTEMS, BatchSystem

_STARTERS = ("srun", "mpiexec", "mpirun", "aprun", "flux")
_SHORT = {"slurm": {"-N": "nodes", "-n": "ntasks", "-t": "time"}}  # PBS has other meanings for them
_TAKEN = ("USR1", "TERM", "INT", "10", "15", "2")  # signals by which a run is asked to stop


@dataclass(frozen=True)
class Remark:
    """Something that is wrong with a script, or that could be better.

    :param line: its line from 1; 0 for what is missing.
    """

    state: Literal["error", "note"]
    line: int
    text: str


def check(text: str, directory: Path) -> list[Remark]:
    """What is wrong with a script, in the order of its lines. Local.

    :param directory: where the script is. Cases are looked for there, and in the working directory, from where scripts
        in another one are given to the batch system.
    :raises BatchError: it has no head of a batch system that is known.
    """
    found = _Script(text, directory)
    return sorted([*found.head_remarks(), *found.run_remarks()], key=lambda one: one.line or 1 << 30)


class _Script:
    def __init__(self, text: str, directory: Path) -> None:
        self._directory = directory
        self._lines = text.split("\n")
        self._system = _system(self._lines)
        commands = [number for number, line in enumerate(self._lines, 1) if line.strip() and not line.startswith("#")]
        self._first = commands[0] if commands else len(self._lines) + 1
        self._options: dict[str, tuple[int, str]] = {}  # of the head: line and value
        for number, line in enumerate(self._lines, 1):
            if line.startswith(self._system.mark + " ") and number < self._first:
                short = _SHORT.get(self._system.name, {})
                for name, value in _options(line.removeprefix(self._system.mark).partition(" #")[0], short):
                    self._options[name] = number, value
        self._runs = list(self._commands())

    def _commands(self) -> Iterator[tuple[int, list[str]]]:
        """The lines that run a case, as words; lines that end with a backslash are joined."""
        waiting, begin = "", 0
        for number, line in enumerate(self._lines, 1):
            begin = number if not waiting else begin
            waiting += line
            if waiting.endswith("\\"):
                waiting = waiting[:-1] + " "
                continue
            words, waiting = [_program(word) for word in _words(waiting)], ""
            if "tailrace" in words and words[words.index("tailrace") + 1 : words.index("tailrace") + 2] == ["run"]:
                yield begin, words

    # ---- the head ----------------------------------------------------------------------------------------------------
    def head_remarks(self) -> Iterator[Remark]:
        """What is wrong with the lines for the batch system."""
        if self._system.name == "slurm" and not self._lines[0].startswith("#!"):
            yield Remark(
                "error", 1, f"expected #!/bin/bash, found {self._lines[0][:40]!r}; {self._system.submit} refuses it"
            )
        for number, line in enumerate(self._lines, 1):
            if line.startswith(self._system.mark + " ") and number > self._first:
                yield Remark(
                    "error", number,
                    f"{self._system.submit} does not read it, because line {self._first} is a command; put it before",
                )  # fmt: skip
        if self.limit is None:
            yield Remark(
                "note", 0, "no time limit: the job gets that of the queue, which may end it without a checkpoint"
            )
        requeued = "requeue" in self._options or self._options.get("r", (0, ""))[1] == "y"
        if self._system.name == "slurm" and requeued and self._options.get("open-mode", (0, ""))[1] != "append":
            at = self._options.get("requeue", self._options.get("r", (0, "")))[0]
            yield Remark("note", at, "a job that begins again replaces its log; add --open-mode=append")

    @property
    def limit(self) -> tuple[int, int] | None:
        """The line that limits the time of the job, and its seconds."""
        number, value = self._options.get("time", self._options.get("walltime", (0, "")))
        if not value:
            return None
        if value.isdigit():
            return number, int(value) * (60 if self._system.name == "slurm" else 1)
        try:
            return number, seconds_of(value)
        except BatchError as error:
            raise BatchError(f"line {number}: {error}") from None

    def _tasks(self) -> int | None:
        """The ranks that the job has place for."""
        number = {name: int(value) for name, (_, value) in self._options.items() if value.isdigit()}
        if "ntasks" in number:
            return number["ntasks"]
        if "ntasks-per-node" in number:
            return number["ntasks-per-node"] * number.get("nodes", 1)
        if "mpiprocs" in number:
            return number["mpiprocs"] * number.get("select", 1)
        return None

    # ---- the runs ----------------------------------------------------------------------------------------------------
    def run_remarks(self) -> Iterator[Remark]:
        """What is wrong with the commands that compute."""
        if not self._runs:
            yield Remark("error", 0, "expected a command 'tailrace run CASE', found none")
        for number, words in self._runs:
            yield from self._how(number, words)
            yield from self._what(number, words)

    def _how(self, number: int, words: list[str]) -> Iterator[Remark]:
        """Remarks on how the ranks are started, and stopped before the limit."""
        before, after = words[: words.index("tailrace")], words[words.index("tailrace") :]
        starter = next((Path(word).name for word in before if Path(word).name in _STARTERS), None)
        inner = _value(after, "-n", "--ranks")
        tasks = self._tasks()
        if starter and inner:
            yield Remark("error", number, f"{starter} starts the ranks already; leave out -n {inner} of tailrace run")
        if not starter and not inner and (tasks or 2) > 1:
            yield Remark("error", number, "it runs on one rank; put srun or mpiexec before it, or add -n RANKS")
        asked = int(inner) if inner and inner.isdigit() else None
        beside = _value(after, "--beside-ranks")
        asked = asked + (int(beside) if beside and beside.isdigit() else 1) if asked and "--beside" in after else asked
        if tasks and asked and asked != tasks:
            yield Remark("error" if asked > tasks else "note", number, f"{asked} ranks in a job with place for {tasks}")
        yield from self._ending(number, before, starter)
        resumed = any("--resume" in line for line in self._lines)
        again = next(
            (n for n, line in enumerate(self._lines, 1) if re.search(rf"\b{self._system.submit}\b", _code(line))), 0
        )
        if "--overwrite" in after and (again or "requeue" in self._options or "r" in self._options):
            yield Remark("error", number, "a job that begins again would replace all results; leave out --overwrite")
        if again and not resumed:
            yield Remark(
                "error",
                again,
                "the next job would refuse the results that are there; give it --resume if there are checkpoints",
            )
        if again and not any(str(STOPPED) in _code(line) for line in self._lines):
            yield Remark(
                "error", again, f"it submits itself whatever happened; do so only if the exit code was {STOPPED}"
            )

    def _ending(self, number: int, before: list[str], starter: str | None) -> Iterator[Remark]:
        """Remarks on the request to stop before the limit."""
        if "timeout" in before:
            if starter in ("mpiexec", "mpirun"):
                yield Remark(
                    "error",
                    number,
                    "Open MPI kills its ranks a second after a TERM; use timeout ... tailrace run -n RANKS",
                )
            if starter == "srun" and _signal(before) in ("TERM", "SIGTERM", "15"):
                yield Remark(
                    "error", number, "srun kills its ranks at a TERM; leave out timeout, add #SBATCH --signal=USR1@300"
                )
            if "--preserve-status" not in before:
                yield Remark("note", number, f"without --preserve-status the exit code is 124 instead of {STOPPED}")
            return
        line, value = self._options.get("signal", (0, ""))
        if not value:
            yield Remark("note", number, "at the limit the run is killed, without a checkpoint; " + self._advice())
            return
        match = re.fullmatch(r"(?:([BR]+):)?(?:SIG)?(\w+)(?:@(\d+))?", value)
        if match is None:
            yield Remark("error", line, f"expected --signal=USR1@SECONDS, found {value}")
        elif "B" in (match[1] or "") and any(re.match(r"\s*trap\b", one) for one in self._lines):
            yield Remark("note", line, "B: sends the signal to the shell only; the trap must hand it on to the ranks")
        elif "B" in (match[1] or ""):
            yield Remark("error", line, "B: sends the signal to the shell only, and no rank gets it; leave out B:")
        elif match[2] not in _TAKEN:
            yield Remark("error", line, f"a run does not take {match[2]}, which kills it; use USR1")

    def _advice(self) -> str:
        seconds = "SECONDS" if self.limit is None else str(max(self.limit[1] - 300, 0))
        if self._system.name == "slurm":
            return "add #SBATCH --signal=USR1@300"
        return f"use timeout --preserve-status --signal=TERM {seconds} tailrace run -n RANKS"

    def _what(self, number: int, words: list[str]) -> Iterator[Remark]:
        """Remarks on the case."""
        after = words[words.index("tailrace") + 2 :]
        name = next((word for word in after if word.endswith((".toml", ".i3d", ".prm"))), None)
        if name is None or "$" in name:
            return
        places = (self._directory / name, Path(name))  # beside the script, or where this command runs
        try:
            case, _ = read_case(next((one for one in places if one.is_file()), places[0]), _values(after, "--set"))
        except ConfigError as error:
            yield Remark("error", number, str(error))
            return
        yield from self._state(number, case, words)

    def _state(self, number: int, case: Case, words: list[str]) -> Iterator[Remark]:
        if not case.checkpoint.every and not case.checkpoint.minutes:
            yield Remark("note", number, "a node that fails costs the whole job: set checkpoint.minutes in the case")
        beside = _value(words, "--beside-ranks") or "1" if "--beside" in words else "0"
        tasks = (self._tasks() or 1) - (int(beside) if beside.isdigit() else 0)
        if problem := too_many(case, tasks):
            yield Remark("error", number, problem)
        nodes = self._options.get("nodes", self._options.get("select", (0, "1")))[1]
        count = int(nodes) if nodes.isdigit() else 1
        if self.limit is None:
            return
        limit_line, seconds = self.limit
        needed = margin(case, count)
        given = re.search(r"@(\d+)", self._options.get("signal", (0, ""))[1])
        if given and int(given[1]) < needed:
            line = self._options["signal"][0]
            yield Remark(
                "note", line, f"{given[1]} s for a step and a checkpoint may be too short; {needed} s are safe"
            )
        if "timeout" in words and (rest := _limit(words)) is not None and seconds - rest < needed:
            yield Remark(
                "note",
                number,
                f"timeout leaves {seconds - rest} s for a step and a checkpoint; {needed} s are safe",
            )
        if problem := too_short(case, count, seconds):
            yield Remark("note", limit_line, problem)


def _system(lines: list[str]) -> BatchSystem:
    for system in SYSTEMS.values():
        if any(line.startswith(system.mark + " ") for line in lines):
            return system
    marks = " or ".join(system.mark for system in SYSTEMS.values())
    raise BatchError(f"expected lines that begin with {marks}, found none: not a script for a batch system")


def _options(text: str, short: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names and values of a line of a head: --time=1:00, -N 4, -N4, -l select=4:ncpus=8:mpiprocs=8,walltime=1:00:00."""
    words = _words(text)
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) and not words[at + 1].startswith("-") else ""
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            yield name, value if equals else following
        elif word.startswith("-l"):
            for resource in (word[2:] or following).split(","):
                for part in resource.split(":") if resource.startswith("select=") else [resource]:
                    name, _, value = part.partition("=")
                    yield name, value
        elif word.startswith("-"):
            yield short.get(word[:2], word[1:2]), word[2:] or following


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:  # a quotation that goes on in the next line
        return line.split()


def _program(word: str) -> str:
    """The command without its folder, as in $HOME/venv/bin/tailrace."""
    return "tailrace" if word.endswith("/tailrace") else word


def _code(line: str) -> str:
    return "" if line.startswith("#") else line


def _value(words: list[str], *names: str) -> str | None:
    return next(iter(_values(words, *names)), None)


def _values(words: list[str], *names: str) -> list[str]:
    """The values of an option: --name value, --name=value, -n8."""
    found = []
    for at, word in enumerate(words):
        for name in names:
            if word == name and at + 1 < len(words):
                found.append(words[at + 1])
            elif word.startswith(f"{name}=") or (len(name) == 2 and word.startswith(name) and word[2:].isdigit()):
                found.append(word[len(name) :].removeprefix("="))
    return found


def _signal(words: list[str]) -> str:
    """The signal that timeout sends."""
    return _value(words[words.index("timeout") + 1 :], "--signal", "-s") or "TERM"


def _limit(words: list[str]) -> int | None:
    """The seconds of timeout."""
    after = words[words.index("timeout") + 1 :]
    found = next((word for word in after if not word.startswith("-")), "")
    return int(found) if found.isdigit() else None
