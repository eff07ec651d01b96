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
from tailrace.flow.initial.from_series import components
from tailrace.flow.memory import check_memory


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


def resampled_between_walls(comm: Any, lengths: list[float]) -> list[float]:
    """Errors of interpolation between stretched grids: of polynomials of degree five, then of even and odd waves."""
    errors = []

    def polynomials(x: Any, y: Any, z: Any) -> Any:
        along = [np.polynomial.polynomial.polyval(y, [0.3 + i, -1, 0.5, i, -0.2, 0.1]) for i in range(3)]
        return [
            one * np.cos(2 * np.pi * x / lengths[0]) * np.polynomial.polynomial.polyval(z, [1, 2, -1]) for one in along
        ]

    kinds = ["periodic", "dirichlet", "dirichlet"]
    grids = [
        ((12, 17, 9), ("walls", 0.4)),
        ((15, 23, 14), ("bottom", 0.6)),
        ((12, 12, 14), ("", 0.0)),
        ((12, 17, 9), ("walls", 0.4)),
    ]
    for (before, (first, beta)), (after, (second, other)) in itertools.pairwise(grids):
        source = tr.Operators(before, lengths, kinds, comm=comm, stretching=first, beta=beta)
        target = tr.Operators(after, lengths, kinds, comm=comm, rows=comm.size, cols=1, stretching=second, beta=other)
        errors.append(
            _worst(tr.Vector.from_function(source, polynomials), tr.Vector.from_function(target, polynomials), comm)
        )
    kinds = ["periodic", "free-slip", "periodic"]
    made = [tr.Operators((8, n, 8), lengths, kinds, comm=comm, stretching="walls", beta=0.4) for n in (17, 30)]

    def uniform(operators: Any) -> Any:
        start, count = (three[1] for three in operators.box())
        s = np.arange(start, start + count)[None, :, None] / (operators.grid.nodes[1] - 1)
        waves = [np.cos(5 * np.pi * s), np.sin(3 * np.pi * s), np.cos(np.pi * s)]
        return tr.Vector.from_function(operators, lambda x, y, z: [one + 0 * x + 0 * z for one in waves])

    return [*errors, _worst(*map(uniform, made), comm), _worst(*map(uniform, reversed(made)), comm)]


def _worst(source: Any, expected: Any, comm: Any) -> float:
    """The largest error of a vector at the points of another one."""
    operators = expected.operators
    found = components(source, operators.grid, operators.box(), "it", comm)
    largest = max(float(one.max()) for one in expected)
    return max(float(abs(one - np.asarray(two)).max()) for one, two in zip(found, expected, strict=True)) / largest


def mixed_ends(comm: Any) -> list[float]:
    """Errors of a field that is even about one end only, on two grids."""
    errors = []
    for n in (33, 65):
        ops = [
            tr.Operators((8, m, 8), (1.0, 2.0, 1.0), ["periodic", "dirichlet|free-slip", "periodic"], comm=comm,
                         stretching="bottom", beta=0.5) for m in (n, 2 * n + 3)
        ]  # fmt: skip
        made = [
            tr.Vector.from_function(
                one,
                lambda x, y, z: [
                    np.exp(np.cos(np.pi * y / 2 - np.pi)) + 0 * x + 0 * z,
                    0 * (x + y + z),
                    0 * (x + y + z),
                ],
            )
            for one in ops
        ]
        errors.append(_worst(*made, comm))
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


def has_memory(comm: Any, nodes: list[int]) -> None:
    """Whether so many nodes fit, of one byte each."""
    x, y, z = nodes
    check_memory((x, y, z), 1, comm)
