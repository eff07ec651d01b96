"""Runs of twelve steps that end the same in one part or two, and on one rank or more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.inputs import cases

TWELVE_STEPS = """
steps = 12
[diagnostics]
every = 1
[checkpoint]
every = 6
keep = 5
"""
SHEARED = """
import numpy as np


def initial(x, y, z):
    return y * (2 - y) * (1 + 0.1 * np.sin(np.pi * x)) + 0 * z, 0.1 * np.sin(np.pi * y) * np.sin(np.pi * x + 4 * z), 0
"""

Write = Callable[
    [Path], Path
]  # makes a folder with a case that writes a checkpoint every 6 steps; returns the case file


def simulate(case: Path, *overrides: str, resume: bool = False) -> None:
    simulation = tr.Simulation(tr.load_case(case, overrides), MPI.COMM_SELF, resume=resume)
    assert simulation.run() == 0


def assert_a_restart_changes_nothing(write: Write, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Compare all that checkpoints hold, to the last bit; return the case that was resumed, in its directory."""
    for name, ends in (("straight", (12,)), ("parts", (6, 12))):
        case = write(directory / name)
        monkeypatch.chdir(case.parent)
        for end in ends:
            simulate(case, f"time.steps={end}", resume=end != ends[0])
    cases.assert_same_state(cases.state(directory / "parts", 12), cases.state(directory / "straight", 12))
    return case


def assert_ranks_do_not_matter(
    write: Write, directory: Path, monkeypatch: pytest.MonkeyPatch, tailrace: Any, ranks: int, names: Sequence[str]
) -> None:
    straight, many = (write(directory / name) for name in ("straight", "many"))
    monkeypatch.chdir(straight.parent)
    simulate(straight)
    tailrace(many.parent, "run", "case.toml", ranks=ranks)
    found, expected = cases.state(many.parent, 12), cases.state(straight.parent, 12)
    for name in names:
        assert np.abs(found[name] - expected[name]).max() < 1e-12, name
