"""Cold reads say how they became cold: their own pages were evicted, or the machine has dropped all its caches."""

from pathlib import Path

import pytest

from helpers.harness.bench_runs import FILE, run_here
from helpers.inputs import small_benches
from tailrace.bench.ranks import eviction
from tailrace.bench.records.results import read_results
from tailrace.bench.report.compare import against


def grid(drop):
    return small_benches.fields(caches="page cache,cold,warm", drop_caches=drop)


def lists(drop):
    return small_benches.lists(drop_caches=drop)


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A file instead of that of the kernel, which tests must not write: the caches are those of the whole machine."""
    path = tmp_path / "drop_caches"
    path.write_text("")
    monkeypatch.setattr(eviction, "_ALL", path)
    monkeypatch.setattr(eviction.os, "sync", lambda: None)
    return path


def caches(found):
    return {m.cell.cache for m in found.measurements if "re" in m.cell.operation and m.cell.role == "way"} | {
        m.cell.cache for m in found.measurements if m.cell.name == "pread"
    }


@pytest.mark.parametrize("bench", [grid, lists])
def test_the_two_kinds_of_cold_reads_are_never_compared(tmp_path, kernel, monkeypatch, bench):
    dropped = []
    write = Path.write_text

    def count(self, *arguments, **more):
        dropped.extend([self] if self == kernel else [])
        return write(self, *arguments, **more)

    monkeypatch.setattr(Path, "write_text", count)
    found = []
    for drop in (False, True):
        place = tmp_path / str(drop)
        place.mkdir()
        found.append(run_here(place, bench(drop)))
        assert not found[-1].failures
    cold = [m for m in found[1].measurements if m.cell.cache == "dropped"]
    assert {m.cell.name for m in cold} == {"raw", "pread"}
    assert len(dropped) == 2 * len({m.cell for m in cold}), "in both rounds, of the limit too"
    assert kernel.read_text() == "3"
    assert "cold" in caches(found[0])
    assert caches(found[1]) == {("dropped" if one == "cold" else one) for one in caches(found[0])}
    both = {one.cell.cache for one in against(*found) if one.new is not None and one.old is not None}
    assert both
    assert not both & {"cold", "dropped"}


@pytest.mark.parametrize("bench", [grid, lists])
def test_caches_that_cannot_be_dropped_are_refused_before_anything_is_measured(tmp_path, monkeypatch, bench):
    monkeypatch.setattr(eviction, "_ALL", tmp_path / "nowhere" / "drop_caches")
    assert bench(False).jobs({"here": tmp_path})
    with pytest.raises(
        ValueError, match=r"--drop-caches: .* cannot be written \(No such file or directory\); expected"
    ):
        bench(True).jobs({"here": tmp_path})


def test_ranks_without_the_right_refuse_too(tmp_path, kernel):
    """They may be on another node than the command."""
    bench = grid(True)
    jobs = bench.jobs

    def lose(self, directories):
        found = jobs(directories)
        kernel.unlink()
        return found

    object.__setattr__(bench, "jobs", lose.__get__(bench))
    with pytest.raises(ValueError, match="--drop-caches"):
        run_here(tmp_path, bench)
    assert not read_results(tmp_path / FILE).measurements


def test_caches_that_cannot_be_dropped_any_more_fail_the_cell(tmp_path, kernel, monkeypatch):
    def refuse():
        raise PermissionError("not any more")

    monkeypatch.setattr("tailrace.bench.ranks.rounds.drop_all", refuse)
    found = run_here(tmp_path, grid(True))
    assert {(one.cell.name, one.cell.cache, one.error) for one in found.failures} == {
        (name, "dropped", "not any more") for name in ("raw", "pread")
    }
