"""`tailrace bench overlap`: output that a program writes while it computes."""

import time

import pytest
from mpi4py import MPI

from helpers.harness.bench_runs import cells, interrupted, refused, run, run_here
from helpers.inputs.small_benches import grid
from tailrace.bench.options import RoundOptions
from tailrace.bench.output.benches import OverlapBench
from tailrace.bench.output.overlap import Computing, OverlapRounds, rounded_up
from tailrace.bench.report.compare import against

SMALL = ("overlap", "--global", "16,12,10", "--engine", "raw", "--engine", "hdf5", "--steps", "3")


def test_engines_without_and_with_buffers(tmp_path):
    found = run(tmp_path, *SMALL, "--ranks", "1,2", "--rounds", "2", "--compute", "0.01", "--buffers", "3")
    assert not found.failures
    variants, limits = cells(found), cells(found, "limit")
    names = ("raw", "raw,buffers=3", "hdf5", "hdf5,buffers=3")
    expected = {(name, ranks, cache) for name in names for ranks in (1, 2) for cache in ("page cache", "synced")}
    assert {(one.cell.name, one.cell.ranks, one.cell.cache) for one in variants} == expected
    assert {one.cell.name for one in limits} == {"computing alone"}
    assert {one.cell.setting for one in limits} == {one.cell.setting for one in variants}
    for one in variants:
        assert (one.cell.bench, one.cell.operation, one.cell.steps) == ("overlap", "write", 3)
        for m in one.rounds:
            assert m.bytes == 3 * 16 * 12 * 10 * 8
            assert set(m.phases) == {"compute", "write", "end_step", "close"}
            assert m.counts["compute_seconds"] >= 0.01
            assert 0 < m.counts["end_step_seconds"] <= m.counts["step_seconds"] <= m.counts["step_seconds_most"]
    for one in limits:
        assert all(m.seconds >= m.phases["compute"] >= 3 * 0.005 for m in one.rounds)


def test_computing_lasts_longer_than_a_step(tmp_path):
    """What the slowest engine needs for a step is found out before the first round."""
    found = run(tmp_path, *SMALL, "--ranks", "1", "--rounds", "1", "--caches", "synced")
    lasted = {m.counts["compute_seconds"] for one in cells(found) for m in one.rounds}
    assert len(lasted) == 1
    assert lasted.pop() > 1e-5


def test_waiting_is_not_computing():
    """The first try waits, as beside another program; the work is nevertheless as large as asked for."""

    class Interrupted(Computing):
        waited = False

        def work(self):
            if not self.waited:
                self.waited = True
                time.sleep(0.05)
            super().work()

    computing = Interrupted(MPI.COMM_SELF)
    computing.last(0.01)
    begin = time.thread_time()
    computing.work()
    assert time.thread_time() - begin >= 0.005


def test_runs_that_compute_for_another_time_are_not_compared(tmp_path, monkeypatch):
    found = []
    for number, (compute, slowest) in enumerate(((1e-4, 0.0), (2e-4, 0.0), (0.0, 8.1e-5), (0.0, 1.7e-3))):
        monkeypatch.setattr(OverlapRounds, "_slowest_step", lambda _, slowest=slowest: slowest)
        place = tmp_path / str(number)
        place.mkdir()
        one = OverlapBench(grid((6, 5, 4)), compute=compute, caches="page cache", rhythm=RoundOptions(1))
        found.append(run_here(place, one))
        assert not found[-1].failures
    sources = [{m.cell.source for m in one.measurements} for one in found]
    assert sources == [{f"{seconds} s of computing"} for seconds in ("0.0001", "0.0002", "0.00011", "0.0022")]
    for one in found[1:]:
        assert {change.direction for change in against(one, found[0])} == {"only new", "only old"}
    assert "only new" not in {change.direction for change in against(found[0], found[0])}


@pytest.mark.parametrize(
    ("seconds", "name"), [(0.0, 0.0), (0.1, 0.1), (0.101, 0.11), (0.3, 0.3), (1.99e-3, 0.002), (99.1, 100.0)]
)
def test_seconds_are_rounded_up_to_two_digits(seconds, name):
    assert rounded_up(seconds) == name


def test_a_parameter_that_the_engine_does_not_know_is_a_failed_cell(tmp_path):
    found = run(tmp_path, *SMALL, "--engine", "raw,colour=red", "--ranks", "1", "--rounds", "1", "--caches",
                "page cache", code=1)  # fmt: skip
    assert {one.cell.name for one in found.failures} == {"raw,colour=red", "raw,buffers=2,colour=red"}
    assert {one.cell.name for one in cells(found)} == {"raw", "raw,buffers=2", "hdf5", "hdf5,buffers=2"}


def test_interrupted(tmp_path):
    found = interrupted(tmp_path, *SMALL, "--ranks", "2", "--rounds", "500", "--compute", "0.001")
    assert {one.cell.bench for one in found.measurements} == {"overlap"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--caches", "cold"], "'cold' is not known; expected page cache or synced"),
        (["--engine", "hdf6"], "--engine hdf6: expected one of"),
        (["--global", "2,1,1", "--ranks", "2"], "every part needs a point"),
        (["--directory", "nowhere"], "--directory nowhere: is no directory"),
    ],
)
def test_wrong_words(tmp_path, words, said):
    assert said in refused(tmp_path, "overlap", *words)
