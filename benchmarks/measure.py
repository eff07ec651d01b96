"""What the benchmarks share: starting ranks, repeating, and saying median and spread."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any


def start_ranks(ranks: int, script: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a script on so many ranks; its last line of standard output is JSON."""
    command = [sys.executable, script, *arguments]
    if ranks > 1:
        command = ["mpiexec", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", *command]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def result_of(process: subprocess.Popen[str]) -> Any:
    """Wait for a script and read its result."""
    output, _ = process.communicate(timeout=1800)
    if process.returncode != 0:
        raise SystemExit(f"a measured program failed with code {process.returncode}")
    return json.loads(output.strip().splitlines()[-1])


def repeat(times: int, work: Callable[[], Any]) -> list[Any]:
    """The results of as many calls, one after the other."""
    return [work() for _ in range(times)]


def spread(values: Sequence[float], form: str = ".3f") -> str:
    """min / median / max."""
    return f"{min(values):{form}} / {statistics.median(values):{form}} / {max(values):{form}}"
