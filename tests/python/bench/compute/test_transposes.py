"""`tailrace bench transpose`: every method on every process grid."""

import pytest

from helpers.harness.bench_runs import cells, interrupted, refused, run
from tailrace.bench.compute.transposes import METHODS, process_grids
from tailrace.bench.records.summary import rankings

BYTES = 4 * 24 * 20 * 18 * 8  # x to y to z and back


def test_process_grids():
    assert process_grids(6, (24, 20, 18)) == [(1, 6), (2, 3), (3, 2), (6, 1)]
    assert process_grids(6, (2, 20, 5)) == [(2, 3)]
    assert process_grids(7, (4, 4, 4)) == []


def test_two_ranks(tmp_path):
    found = run(tmp_path, "transpose", "--global", "24,20,18", "--ranks", "2", "--rounds", "2")
    assert not found.failures
    variants = cells(found)
    assert {tuple(dict(one.cell.parameters).values()) for one in variants} == {
        (cols, method, rows) for rows, cols in ((1, 2), (2, 1)) for method in METHODS
    }
    for one in variants:
        told = dict(one.cell.parameters)
        assert one.cell.name == f"{told['method']},cols={told['cols']},rows={told['rows']}"
        free = told["method"] == "shared" and told["rows"] == 1
        for m in one.rounds:
            assert m.bytes == BYTES
            assert m.counts == {"between_ranks": 0 if free else BYTES / 4}  # two of four moves, half of the values
    [ranking] = rankings(found)
    assert len(ranking.variants) == 6
    assert {(one.cell.name, one.rounds[0].bytes) for one in cells(found, "limit")} == {
        ("memory copy", BYTES // 4), ("adding two arrays into a third", 3 * BYTES // 4),
    }  # fmt: skip


def test_parts_of_a_rank(tmp_path):
    words = ("--local", "10,10,8", "--ranks", "4", "--transpose", "alltoall", "--rounds", "1")
    variants = cells(run(tmp_path, "transpose", *words))
    assert {one.cell.shape for one in variants} == {(10, 20, 16)}
    assert {one.cell.name for one in variants} == {f"alltoall,cols={4 // rows},rows={rows}" for rows in (1, 2, 4)}


def test_interrupted(tmp_path):
    interrupted(tmp_path, "transpose", "--global", "8,8,8", "--ranks", "2", "--rounds", "5000")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ranks", "1,2"], "--ranks 1: nothing moves on one rank; expected two ranks at least"),
        (["--transpose", "quick", "--ranks", "2"], "--transpose quick: expected one of auto, shared, alltoall"),
        (["--transpose", "auto", "--ranks", "2"], "expected some of shared, alltoall, subarray"),
        (["--global", "8,8,1", "--ranks", "2"], "every part needs a point"),
    ],
)
def test_wrong_words(tmp_path, words, said):
    assert said in refused(tmp_path, "transpose", *words)
