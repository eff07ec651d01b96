"""The part of each rank, and its pieces: together they are the whole, and none is too large."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace.conversion.pieces import part_of, pieces, read_converted
from tailrace.conversion.plan import Planned
from tailrace.conversion.selection import Cut
from tailrace.io import series
from tailrace.io.placement import Box, Stored

SHAPE = (7, 6, 5)


def variable(shape: tuple[int, int, int], *, is_list: bool = False, cut: Cut | None = None) -> Planned:
    """A variable of doubles that stays as it is, or of which some points are kept."""
    kept = shape if cut is None else cut.count
    return Planned(Stored("float64", shape, is_list), Stored("float64", kept, is_list), cut)


def seen(shape: tuple[int, int, int], boxes: list[Box]) -> Any:
    """How many boxes have each point."""
    found = np.zeros(shape[::-1], int)
    for (x, y, z), (nx, ny, nz) in boxes:
        found[z : z + nz, y : y + ny, x : x + nx] += 1
    return found


@pytest.mark.parametrize(
    ("shape", "is_list", "ranks", "cut"),
    [
        (SHAPE, False, 1, 2),
        (SHAPE, False, 3, 2),
        (SHAPE, False, 5, 2),
        (SHAPE, False, 6, 1),
        (SHAPE, False, 7, 0),
        (SHAPE, False, 9, 0),
        ((3, 9, 1), False, 20, 1),
        ((9, 5, 1), True, 7, 1),
        ((9, 5, 1), False, 7, 0),
        ((2, 5, 1), True, 1, 1),
    ],
)
def test_the_slowest_direction_with_a_layer_for_each_rank_is_cut(
    shape: tuple[int, int, int], is_list: bool, ranks: int, cut: int
):
    """Of a list it is the rows; where no direction has enough layers, it is the longest."""
    parts = [part_of(Stored("float64", shape, is_list), ranks, rank) for rank in range(ranks)]
    assert (seen(shape, parts) == 1).all()
    for rank, part in enumerate(parts):
        first, last = (shape[cut] * one // ranks for one in (rank, rank + 1))
        assert (part.start[cut], part.count[cut]) == (first, last - first)
        assert all((part.start[at], part.count[at]) == (0, shape[at]) for at in range(3) if at != cut)


@pytest.mark.parametrize(("most", "boxes"), [(8 * 7 * 6 * 5, 1), (8 * 7 * 6, 5), (8 * 7 * 6 * 2, 3), (8 * 7, 30)])
def test_pieces_are_as_large_as_allowed(most: int, boxes: int):
    found = list(pieces(variable(SHAPE), Box((0, 0, 0), SHAPE), MPI.COMM_SELF, most))
    assert len(found) == boxes and (seen(SHAPE, found) == 1).all()
    assert all(8 * math.prod(box.count) <= most for box in found)


def test_a_piece_has_a_point_at_least():
    found = list(pieces(variable((1, 4, 1)), Box((0, 0, 0), (1, 4, 1)), MPI.COMM_SELF, 1))
    assert found == [Box((0, y, 0), (1, 1, 1)) for y in range(4)]


def test_pieces_begin_where_the_part_begins():
    part = Box((1, 2, 3), (4, 3, 2))
    found = list(pieces(variable(SHAPE), part, MPI.COMM_SELF, 8 * 4))
    expected = np.zeros(SHAPE[::-1], int)
    expected[3:5, 2:5, 1:5] = 1
    np.testing.assert_array_equal(seen(SHAPE, found), expected)


def test_a_piece_of_every_other_point_is_counted_with_those_between():
    cut = Cut((0, 0, 0), (4, 4, 4), (2, 2, 2))
    found = list(pieces(variable((8, 8, 8), cut=cut), Box((0, 0, 0), cut.count), MPI.COMM_SELF, 8 * 128))
    assert len(found) == 4 and all(math.prod(cut.source_box(box).count) <= 128 for box in found)


def test_no_piece_is_larger_than_the_docs_say():
    """32 MiB of the source, where a row is smaller."""
    shape = (1024, 1 << 16, 1)
    found = list(pieces(variable(shape), Box((0, 0, 0), shape), MPI.COMM_SELF))
    assert {8 * math.prod(box.count) for box in found} == {32 << 20} and len(found) == 16


class Others:
    """A communicator of ranks of which another one has five pieces."""

    size, rank = 2, 0

    def Allreduce(self, _: Any, values: Any, op: Any) -> None:  # noqa: N802 # the name in mpi4py
        values[...] = (np.maximum if op == MPI.MAX else np.minimum)(values, 5)


@pytest.mark.parametrize("count", [3, 0])
def test_a_rank_with_fewer_pieces_takes_part_in_all_readings(count: int):
    """What it reads then is nothing, inside any array."""
    found = list(pieces(variable(SHAPE), Box((0, 0, 0), (7, 6, count)), Others(), 8 * 42))  # type: ignore[arg-type]
    assert len(found) == 5 and (seen(SHAPE, found)[:count] == 1).all()
    for box in found[count:]:
        assert box.start == (0, 0, 0) and 0 in box.count and max(box.count) == 1
    assert found[-1].count == (1, 0, 1)


def test_values_are_read_and_converted(tmp_path: Path):
    values = np.arange(210.0).reshape(5, 6, 7)
    with series.open(tmp_path / "in", "x", engine="raw") as out:
        out.write_step(0.0, {"u": values})
    double, single = Stored("float64", SHAPE, False), Stored("float32", SHAPE, False)
    box = Box((1, 2, 3), (4, 3, 2))
    with series.open(tmp_path / "in") as found:
        for target in (double, single):
            read = read_converted(found[0], "u", Planned(double, target, None), box)
            assert read.dtype == target.dtype and read.tolist() == values[3:5, 2:5, 1:5].tolist()
        cut = Cut((1, 0, 2), (3, 3, 1), (2, 2, 3))
        part = Planned(double, Stored("float64", cut.count, False), cut)
        read = read_converted(found[0], "u", part, Box((0, 1, 0), (3, 2, 1)))
        assert read.tolist() == values[2:3, 2:5:2, 1:6:2].tolist()


def test_numbers_too_large_for_a_type_are_named(tmp_path: Path):
    with series.open(tmp_path / "in", "x", engine="raw") as out:
        out.write_step(0.0, {"u": np.full((5, 6, 7), 1e300)}, index=4)
    planned = Planned(Stored("float64", SHAPE, False), Stored("float32", SHAPE, False), None)
    with series.open(tmp_path / "in") as found, pytest.raises(tr.InputError, match=r"u, step 4: .* ends at 3\.4e\+38"):
        read_converted(found[0], "u", planned, Box((0, 0, 0), SHAPE))
