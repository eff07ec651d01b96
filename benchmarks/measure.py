"""Shared code of the benchmarks: start ranks, repeat measurements, and print median and spread."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any


def start_ranks(ranks: int, script: str, *arguments: str, errors: IO[str] | None = None) -> subprocess.Popen[str]:
    """Start a script on `ranks` ranks. Its last line of standard output is JSON. `errors` receives standard error."""
    command = [sys.executable, script, *arguments]
    if ranks > 1:
        command = ["mpiexec", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", *command]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)


class ProgramError(Exception):
    """A measured program hangs or fails. The text says which."""


def outcome_of(process: subprocess.Popen[str], limit: float) -> Any:
    """Wait for a script, at most `limit` seconds, and read its result."""
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        end(process)
        raise ProgramError(f"hangs: not done after {limit:.0f} s") from None
    except BaseException:
        end(process)
        raise
    lines = output.strip().splitlines()
    if process.returncode != 0 or not lines:
        raise ProgramError(f"fails with code {process.returncode}")
    return json.loads(lines[-1])


def end(process: subprocess.Popen[str]) -> None:
    """End a script and its ranks: mpiexec forwards the first signal to the ranks, and the second one ends mpiexec."""
    process.terminate()
    try:
        process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def result_of(process: subprocess.Popen[str]) -> Any:
    """Wait for a script and read its result. If the script fails, the benchmark ends."""
    try:
        return outcome_of(process, 1800)
    except ProgramError as failure:
        raise SystemExit(f"a measured program {failure}") from None


def repeat(times: int, work: Callable[[], Any]) -> list[Any]:
    """The results of `times` calls, one after the other."""
    return [work() for _ in range(times)]


def spread(values: Sequence[float], form: str = ".3f") -> str:
    """The text min / median / max."""
    return f"{min(values):{form}} / {statistics.median(values):{form}} / {max(values):{form}}"


def names_of(known: list[str]) -> Callable[[str], list[str]]:
    """A type for argparse: a comma-separated list of some of the known names."""

    def parse(text: str) -> list[str]:
        chosen = [name for name in text.split(",") if name]
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"unknown '{name}'; known are {', '.join(known)}")
        return chosen

    return parse
