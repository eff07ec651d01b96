"""Starts the ranks of a benchmark."""

from __future__ import annotations

import subprocess

from ..ranks import launch


def start(ranks: int, words: list[str]) -> subprocess.Popen[str]:
    """Start ranks that end with this program."""
    return launch.begin(launch.job(ranks, words, alone=False), subprocess.PIPE)
