"""Parts of fields and the board of a run, made by several ranks together."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

import tailrace as tr
from tailrace.consumers.publisher import Publisher
from tailrace.live_run.board import BoardReader
from tailrace.live_run.part import part_of
from tailrace.live_run.wanted import Wanted
from tailrace.steps.step import Step

SHAPE = (20, 15, 12)
KINDS = ("periodic", "dirichlet", "free-slip")


def operators(comm: Any, rows: int, **law: Any) -> Any:
    """Those of a grid without symmetry."""
    return tr.Operators(SHAPE, (3.0, 2.0, 1.5), KINDS, comm=comm, rows=rows, **law)


def formula(x: Any, y: Any, z: Any) -> Any:
    """Values without symmetry."""
    return np.sin(2 * np.pi * x / 3 + y) * np.cos(2 * z) + 0.4 * np.sin(3 * y + z)


def parts(comm: Any, stretched: bool) -> None:
    """Planes and boxes have the values of the formula at their places, whatever the process grid."""
    law = {"stretching": "walls", "beta": 0.6} if stretched else {}
    for rows in (n for n in range(1, comm.size + 1) if comm.size % n == 0):
        ops = operators(comm, rows, **law)
        field = tr.Field.from_function(ops, formula)
        for wanted in (Wanted("box", "a"), *(Wanted("plane", "a", axis, node) for axis in "xyz" for node in (None, 3))):
            found = part_of(field, wanted, 7, 0.5)
            assert (found is None) == (comm.rank != 0)
            if found is None:
                continue
            x, y, z = found.places
            expected = formula(x[None, None, :], y[None, :, None], z[:, None, None])
            np.testing.assert_allclose(found.values, expected, atol=1e-6)
            d = "xyz".index(wanted.axis)
            assert (found.step, found.time, found.count) == (7, 0.5, SHAPE[d])
            if wanted.kind == "plane":
                assert found.values.shape[2 - d] == 1 and found.node == (SHAPE[d] // 2 if wanted.node is None else 3)
            else:
                assert found.values.shape == SHAPE[::-1]


def published(comm: Any, directory: str) -> list[Any]:
    """A publisher answers a page that asks on rank 0 while steps pass; returns what the page has seen."""
    ops = operators(comm, 1)
    field = tr.Field.from_function(ops, formula)
    stopped: list[bool] = []
    board = Path(directory) / "board"
    publisher = Publisher(
        board, comm, ["a"], seconds=lambda: {"flow": 1.0 + comm.rank}, facts=lambda: {"step": index}, say=print,
        stop=lambda: stopped.append(True),
    )  # fmt: skip
    page, seen = None, []
    wanted = [Wanted("plane", "a", "y", 4), Wanted("plane", "2*a", "y", 4), Wanted("box", "none")]
    index, looks, more = 0, 0, True
    while more:
        index += 1
        if publisher.wants(index, 0.1 * index):
            looks += 1
            publisher.take(Step(index, 0.1 * index, ops, ["a"], lambda _: field.data, attributes={}))
        if comm.rank == 0:
            page = page or BoardReader(board)
            if looks == 1:
                for one in wanted:
                    page.want(one)
            seen = [page.answer(one) for one in wanted]
            if all(seen) and not stopped:
                page.stop()
            time.sleep(0.01)
            more = not stopped and index < 3000
        more = comm.bcast(more)
    told = None
    if comm.rank == 0:
        publisher.end("finished")
        told = page.facts()
        page.close()
    publisher.close()
    if comm.rank != 0:
        return []
    plane, twice, none = seen
    return [
        float(np.abs(2 * plane.values - twice.values).max()), str(none), list(told.phases["flow"]), told.state,
        sorted(one.name for one in board.iterdir()), bool(stopped),
    ]  # fmt: skip
