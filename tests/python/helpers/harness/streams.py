"""What the tests of streams share: the programs they start, and how often they run.

TAILRACE_TEST_STREAMS: 0 (default) a choice of the tests; 1 all of them, before a release and after changes of the
engine; n > 1 all of them, and those of the faults n times each.
"""

import os
import sys
from pathlib import Path

import pytest

from helpers.harness.program import Program

ENDS = Path(__file__).parents[1] / "programs/series/stream_ends.py"
FOREIGN = Path(__file__).parents[4] / "build/python/tests/cpp/foreign_stream"

TIMES = int(os.environ.get("TAILRACE_TEST_STREAMS", "0"))
slow = pytest.mark.skipif(TIMES == 0, reason="only with TAILRACE_TEST_STREAMS=1")

ALL = [0, 10, 20, 30, 40]
ENDLESS = ("steps=0", "pause=0.05", "wait_for_reader=60")
POLICIES = ["block", "drop_newest", "drop_oldest", "adapt"]


def more(*values):
    """Variants for TAILRACE_TEST_STREAMS=1."""
    return [pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=slow) for value in values]


class Stream:
    """The programs of a test that use the stream `run` in its directory."""

    def __init__(self, place):
        self.place = place
        self.programs = []

    def program(self, ranks, *command):
        """Start any program on `ranks` ranks, or without a launcher."""
        self.programs.append(Program(self.place, ranks, *command))
        return self.programs[-1]

    def __call__(self, what, ranks, *options):
        """Start an end: stream("write" or "read", ranks or None, *options)."""
        return self.program(ranks, sys.executable, ENDS, what, "sst:run", *options)

    def stop(self):
        """Ask the writers that still run to end."""
        (self.place / "stop").touch()

    def end(self):
        for one in self.programs:
            one.end()
