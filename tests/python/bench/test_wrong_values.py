"""Whose fault wrong values are: from the rounds of the benchmarks to rankings, warnings and advice."""

import io
from dataclasses import replace

import pytest

from helpers.harness.bench_runs import run_here
from helpers.inputs import benchmarks, small_benches
from tailrace.bench.advise.advice import advise
from tailrace.bench.advise.question import Question
from tailrace.bench.ranks.round_robin import RoundRobin
from tailrace.bench.ranks.series_io import OneSeries
from tailrace.bench.records.results import BenchResults
from tailrace.bench.records.summary import rankings
from tailrace.bench.report.tables import print_tables

SECONDS = {"raw": 0.5, "hdf5": 0.25}  # instead of those that were measured, which another program may disturb


def small(rounds=4, **more):
    return small_benches.fields(engines=("raw", "hdf5"), rounds=rounds, **more)


def calm(found):
    """The same results with rounds that differ by their way alone."""
    return BenchResults(
        [replace(m, seconds=SECONDS.get(m.cell.name, 0.1), disturbed="") for m in found.measurements]
        + list(found.failures)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("purpose", "more"),
    [
        ("output", {}),
        ("checkpoint", {}),
        ("checkpoint", {"caches": "synced"}),
        ("output", {"caches": "page cache,cold"}),
    ],
)
def test_what_a_benchmark_stores_is_enough_for_advice(tmp_path, purpose, more):
    """The last write of a series once had no verdict: the reads after it had."""
    found = calm(run_here(tmp_path, small(**more)))
    advice = advise(found, Question(purpose))
    assert advice.engine == ("hdf5" if purpose == "output" else "raw")
    assert not any("not advised" in note for note in advice.notes)


def wrong_reads(monkeypatch, variant, cache, number):
    """The values of a way are wrong where they are read in this cache, from this round on."""
    read, begin, now = OneSeries.read, RoundRobin.begin, {}

    def remember(self, cell, outcome, variant=""):
        now.update(cell=cell, round=self.round)
        return begin(self, cell, outcome, variant)

    def read_wrong(self, **more):
        cell = now["cell"]
        wrong = cell.name == variant and cell.cache == cache and now["round"] >= number
        found = read(self, **more)
        return replace(found, verified=False) if wrong else found

    monkeypatch.setattr(RoundRobin, "begin", remember)
    monkeypatch.setattr(OneSeries, "read", read_wrong)


def verdicts_of(found, variant):
    return {
        (m.cell.operation, m.cell.cache, m.round, m.verified) for m in found.measurements if m.cell.name == variant
    }  # fmt: skip


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_a_wrong_read_is_the_fault_of_its_write_too_and_ends_the_way(tmp_path, monkeypatch, cache):
    wrong_reads(monkeypatch, "hdf5", cache, 2)
    found = run_here(tmp_path, small())
    last = {one for one in verdicts_of(found, "hdf5") if one[2] >= 2}
    assert last == {
        ("write", "page cache", 2, True), ("write", "synced", 2, False),
        ("read", "cold", 2, cache != "cold"), ("read", "warm", 2, cache != "warm"),
    }  # fmt: skip
    assert all(one[3] for one in verdicts_of(found, "raw"))
    for ranking in rankings(found):
        assert [one.cell.name for one in ranking.variants] == ["raw"], "no figure of a way that was wrong is ranked"


def test_a_series_that_cannot_be_read_is_not_called_right(tmp_path, monkeypatch):
    def fail(self, **more):
        raise OSError("no")

    monkeypatch.setattr(OneSeries, "read", fail)
    found = run_here(tmp_path, small(1, caches="synced,cold,warm"))
    assert {(one.cell.operation, one.cell.cache) for one in found.failures} == {("read", "cold")}
    assert {m.verified for m in found.measurements if m.cell.operation == "write" and m.cell.role == "way"} == {None}


def test_a_series_with_wrong_values_does_not_stay_for_a_restart(tmp_path, monkeypatch):
    wrong_reads(monkeypatch, "raw", "cold", 1)
    found = run_here(tmp_path, small_benches.lists(engines=("raw", "hdf5")))
    verdicts = {(m.cell.operation, m.verified) for m in found.measurements if m.cell.name == "raw" and m.round}
    assert verdicts == {("write", False), ("restart same", False)}
    assert {(m.cell.operation, m.verified) for m in found.measurements if m.cell.name == "hdf5" and m.round} == {
        ("write", True), ("restart same", True), ("restart other", True)
    }  # fmt: skip


def told(found):
    """What the tables say of results."""
    stream = io.StringIO()
    print_tables(found, stream)
    return stream.getvalue()


def test_a_way_that_is_wrong_in_the_round_that_does_not_count_is_named(tmp_path, monkeypatch):
    """It has no other round: it was missing from tables, and advice did not know why."""
    wrong_reads(monkeypatch, "hdf5", "warm", 0)
    found = run_here(tmp_path, small())
    assert {one[2] for one in verdicts_of(found, "hdf5")} == {0}
    assert told(found).count("hdf5: wrong values in 1 of 1 round; it has no rank") == 2
    notes = advise(calm(found), Question("checkpoint")).notes
    assert "not advised: hdf5, wrote wrong values in 1 of 1 rounds, though it is faster" in notes


def test_no_more_rounds_are_wrong_than_there_are():
    cell = benchmarks.cell("raw")
    rounds = benchmarks.rounds(cell, 1.0, verified=False)
    first = replace(rounds[0], round=0, seconds=9.0)
    found = benchmarks.results([first, *rounds], benchmarks.rounds(benchmarks.cell("hdf5"), 2.0, verified=True))
    assert "raw: wrong values in 8 of 8 rounds; it has no rank" in told(found)
