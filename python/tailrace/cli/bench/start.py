"""Starts the ranks of a benchmark."""

from __future__ import annotations

import signal
import subprocess

from ..ranks import launch


def start(ranks: int, words: list[str]) -> subprocess.Popen[str]:
    """Start ranks that end with this program."""
    return begin(launch.job(ranks, words, alone=False), subprocess.PIPE)


def begin(job: tuple[list[str], dict[str, str], signal.Signals], out: int | None) -> subprocess.Popen[str]:
    """Start a command of `launch.job`; its errors go to a pipe.

    :param out: the target of its output; None: the output of this program.
    """
    command, environment, _ = job
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True,
        errors="replace", process_group=0, preexec_fn=launch.die_with_parent,
    )  # fmt: skip
