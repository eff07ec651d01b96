"""What tests of simulations in Python run on their ranks, each in a directory of its own."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import tailrace as tr
from tailrace.flow.from_series import components


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
        fixed = ["parallel.rows=1", f"parallel.cols={comm.size}"]  # what is chosen by measuring may give other bits
        case = tr.load_case("case.toml", [f"time.steps={end}", *fixed])
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


def forced(comm: Any, case: str, rows: int, forced: bool = True) -> str | None:
    """The velocity after a forced run, as a checksum of all its bits, on rank 0."""

    def force(x: Any, y: Any, z: Any, t: float) -> Any:
        return np.sin(x + 3 * z + t), np.sin(np.pi * y / 3.0) * t, np.cos(y - x) + z

    loaded = tr.load_case(case, [f"parallel.rows={rows}", f"parallel.cols={comm.size // rows}"])
    model = tr.Model(loaded, comm, forcing=force if forced else None)
    for _ in range(3):
        model.advance()
    parts = [component.gather() for component in model.velocity]
    return (
        None if parts[0] is None else hashlib.sha256(b"".join(np.asarray(one).tobytes() for one in parts)).hexdigest()
    )


def forced_wrongly(comm: Any, case: str, returned: str) -> None:
    """A force that is wrong on the last rank from the second stage of a step on."""

    def wrong(x: Any, y: Any, z: Any, t: float) -> Any:
        if t > 0 and comm.rank == comm.size - 1:
            return eval(returned, {"x": x, "y": y, "z": z, "np": np})
        return 0.0, 0.0, 0.0

    tr.Model(tr.load_case(case), comm, forcing=wrong).advance()


def waves(operators: Any) -> Any:
    """A velocity of waves that 12 x 14 x 16 points hold in every box, without symmetry, that obeys the walls."""
    kinds, lengths = operators.grid.boundaries, operators.grid.lengths

    def along(d: int, s: Any, n: int, odd: bool) -> Any:
        if kinds[d] == "periodic":
            return np.cos(2 * np.pi * n * s / lengths[d] + 0.4 * n + d)
        return np.sin(np.pi * n * s / lengths[d]) if odd else np.cos(np.pi * n * s / lengths[d])

    def velocity(x: Any, y: Any, z: Any) -> Any:
        return [
            sum((0.5 + i + n) * along(0, x, n, i == 0) * along(1, y, 5 - n, i == 1)
                * along(2, z, n + 1, i == 2) for n in (1, 2, 4))
            for i in range(3)
        ]  # fmt: skip

    return tr.Vector.from_function(operators, velocity)


def resampled(comm: Any, lengths: list[float], boundaries: list[str]) -> list[float]:
    """Errors of interpolation between grids, on process grids that are not those of the target."""
    errors = []
    grids = [(12, 14, 16), (13, 21, 24), (32, 15, 17), (12, 30, 13), (12, 14, 16)]
    for before, after in itertools.pairwise(grids):
        source = tr.Operators(before, lengths, boundaries, comm=comm)
        for rows in (1, comm.size):
            target = tr.Operators(after, lengths, boundaries, comm=comm, rows=rows, cols=comm.size // rows)
            found = components(waves(source), target.grid, target.box(), "waves", comm)
            expected = waves(target)
            worst = max(float(abs(one - np.asarray(two)).max()) for one, two in zip(found, expected, strict=True))
            errors.append(worst / max(float(abs(one).max()) for one in expected))
    return errors


def there_and_back(comm: Any, lengths: list[float]) -> list[float]:
    """What noise loses on a finer grid and back again."""
    lost = []
    for boundaries in (["periodic"] * 3, ["free-slip", "periodic", "free-slip"]):
        coarse = tr.Operators((12, 14, 9), lengths, boundaries, comm=comm)
        fine = tr.Operators((17, 28, 16), lengths, boundaries, comm=comm)
        generator = np.random.default_rng(7 + comm.rank)
        noise = tr.Vector(*(tr.Field(generator.normal(size=coarse.local_shape()), coarse) for _ in range(3)))
        for d, kind in enumerate(boundaries):  # no flow through walls
            if kind == "free-slip":
                start, count = coarse.box()[0][d], coarse.box()[1][d]
                for node in {0, coarse.grid.nodes[d] - 1} & set(range(start, start + count)):
                    noise[d].data.swapaxes(0, 2 - d)[node - start] = 0
        there = components(noise, fine.grid, fine.box(), "noise", comm)
        kept = tr.Vector(*(tr.Field(one, fine) for one in there))
        back = components(kept, coarse.grid, coarse.box(), "noise", comm)
        lost += [float(abs(one - np.asarray(two)).max()) for one, two in zip(back, noise, strict=True)]
    return lost


def begun(comm: Any, case: str, points: list[int], rows: int) -> list[Any] | None:
    """The velocity that a case begins with, on rank 0."""
    given = {"grid.points": points, "parallel.rows": rows, "parallel.cols": comm.size // rows}
    model = tr.Model(tr.load_case(case, [f"{key}={value}" for key, value in given.items()]), comm)
    parts = [component.gather() for component in model.velocity]
    return None if parts[0] is None else [np.asarray(one).tolist() for one in parts]
