"""What tests of simulations in Python run on their ranks, each in a directory of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import tailrace as tr


@contextmanager
def inside(directory: str) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


def compute(comm: Any, directory: str, how: str, end: int = 6, resume: bool = False) -> list[Any]:
    """Compute the case of a directory, by `run` or in one of the ways by hand; returns what the callbacks saw."""
    seen: list[Any] = []
    with inside(directory):
        case = tr.load_case("case.toml", [f"time.steps={end}"])
        simulation = tr.Simulation(case, comm, resume=resume)
        simulation.every(2, lambda one: seen.append(["even", one.step, one.time]))
        simulation.at([0.025, 0.04], lambda one: seen.append(["at", one.step, one.time]))
        simulation.every(3, _damp)
        if how == "run":
            assert simulation.run() == 0
        elif how == "steps":
            with simulation:
                sizes = list(simulation.steps())
            assert np.isclose(sum(sizes), simulation.time) or resume
        else:
            with simulation as same:
                while not same.at_end:
                    same.advance()
        assert simulation.step == end
    return seen


def _damp(simulation: Any) -> None:
    for component in simulation.velocity:
        component[...] *= 0.9
    simulation.project()


def fail(comm: Any, directory: str, where: str, rank: int) -> str:
    """A run whose callback, or whose own code between steps, fails on one rank or on all (-1)."""

    def boom(simulation: Any) -> None:
        if simulation.step == 3 and rank in (-1, comm.rank):
            raise ValueError("out of luck")

    with inside(directory):
        simulation = tr.Simulation(tr.load_case("case.toml"), comm)
        if where == "callback":
            simulation.every(1, boom)
        with simulation:
            for _ in simulation.steps():
                if where == "body":
                    boom(simulation)
    return "not reached"
