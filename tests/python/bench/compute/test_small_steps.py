"""`tailrace bench steps`: a series of one small step, and one of many tiny ones."""

from helpers.harness.bench_runs import cells, interrupted, refused, run

ENGINES = ("raw", "hdf5", "sion")
WORDS = [word for name in ENGINES for word in ("--engine", name)]


def test_one_step_and_many(tmp_path):
    found = run(tmp_path, "steps", *WORDS, "--global", "16,12,10", "--ranks", "1,2", "--rounds", "2", "--count", "25")
    assert not found.failures
    variants, limits = cells(found), cells(found, "limit")
    assert {(one.cell.name, one.cell.ranks, one.cell.operation) for one in variants} == {
        (name, ranks, operation) for name in ENGINES for ranks in (1, 2) for operation in ("open", "steps")
    }
    assert {(one.cell.name, one.cell.operation) for one in limits} == {
        ("pwrite", "open"), ("pwrite", "steps"), ("null", "steps"),
    }  # fmt: skip
    for one in (*variants, *limits):
        many = one.cell.operation == "steps"
        assert one.cell.steps == (25 if many else 1)
        assert one.cell.shape == ((2, 2, 2 * one.cell.ranks) if many else (16, 12, 10))
        for m in one.rounds:
            assert m.bytes == (64 * one.cell.ranks * 25 if many else 16 * 12 * 10 * 8)
            if many:
                tenths = m.counts["first_tenth_seconds"], m.counts["last_tenth_seconds"]
                assert all(0 < seconds < m.seconds for seconds in tenths)
            if one.cell.role == "way":
                assert m.counts["stored"] >= m.bytes
                assert m.counts["files"] >= 1


def test_interrupted(tmp_path):
    found = interrupted(tmp_path, "steps", *WORDS, "--global", "8,8,8", "--ranks", "2", "--rounds", "500")
    assert {one.cell.operation for one in found.measurements} == {"open"}


def test_wrong_words(tmp_path):
    assert "'fast' is no parameter" in refused(tmp_path, "steps", "--engine", "raw,fast")
