"""What does not fit into memory or dies is a failure of the cell that was measured, and the rest is measured."""

from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

from helpers.harness.bench_runs import run_here
from helpers.inputs.small_benches import fields, grid, lists, sizes
from tailrace.bench.checkpoint import setting as checkpoint_setting
from tailrace.bench.compute import rounds as compute_rounds
from tailrace.bench.compute.benches import AnalysisBench
from tailrace.bench.io import held_values
from tailrace.bench.io import rounds as io_rounds
from tailrace.bench.options import RoundOptions
from tailrace.bench.output.benches import OverlapBench, StepsBench
from tailrace.bench.ranks.events import Begin
from tailrace.bench.ranks.limits import PlainFile
from tailrace.bench.ranks.round_robin import RoundRobin
from tailrace.bench.ranks.series_io import OneSeries

SIZES = (8, 8, 8), (9, 9, 9), (12, 10, 8)  # memory ends at the second one
ONCE = RoundOptions(1)
GRID = (held_values, "Values", lambda shape, *_: shape == SIZES[1])
LISTS = (checkpoint_setting, "ElementLists", lambda rows, *_: rows == 81)
BENCHES = {
    "io": (fields(*SIZES), GRID),
    "io read": (fields(*SIZES, operations="read"), GRID),
    "checkpoint": (lists(64, 81, 20, small_steps=1), LISTS),
    "overlap": (OverlapBench(grid(*SIZES), steps=1, compute=1e-4, caches="page cache", rhythm=ONCE), GRID),
    "steps": (StepsBench(grid(*SIZES), count=2, rhythm=ONCE), GRID),
    "analysis": (
        AnalysisBench("curl", sizes=sizes(*SIZES), rhythm=ONCE), (np, "ones", lambda size, *_: size == 729),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("bench", "maker"), BENCHES.values(), ids=BENCHES)
def test_a_size_that_memory_cannot_hold_is_a_failed_cell(tmp_path, monkeypatch, bench, maker):
    """The cell has begun by then: were the ranks killed there, it would be known whose failure that is."""
    module, name, too_large = maker
    make, begin, begun = getattr(module, name), RoundRobin.begin, []

    def remember(self, cell, *more, **others):
        begun.append(cell)
        return begin(self, cell, *more, **others)

    def make_small(*arguments, **more):
        if too_large(*arguments):
            assert begun
            assert begun[-1].shape in (SIZES[1], (2, 81))
            raise MemoryError
        return make(*arguments, **more)

    monkeypatch.setattr(RoundRobin, "begin", remember)
    monkeypatch.setattr(module, name, make_small)
    found = run_here(tmp_path, bench)
    assert found.failures
    failed = {one.cell.shape for one in found.failures}
    measured = {one.cell.shape for one in found.measurements if one.round}
    assert failed == ({(2, 81)} if module is checkpoint_setting else {SIZES[1]})
    assert {one.error for one in found.failures} == {"MemoryError"}
    assert measured >= ({(2, 64), (2, 20)} if module is checkpoint_setting else {SIZES[0], SIZES[2]})
    if module is not np:  # there only the limits need this memory
        assert not failed & {one.cell.shape for one in found.measurements if one.cell.role == "way"}


@pytest.mark.parametrize(("disk", "said"), [(True, "are free in the directory"), (False, "of memory")])
def test_a_size_that_no_machine_can_hold_is_refused_before_anything_is_made(tmp_path, monkeypatch, disk, said):
    if not disk:
        monkeypatch.setattr(io_rounds, "check_room", lambda *_: None)
        monkeypatch.setattr("tailrace.bench.ranks.rounds.check_room", lambda *_: None)
    found = run_here(tmp_path, fields(SIZES[0], (10**5,) * 3, SIZES[2]))
    assert {(one.cell.shape, one.cell.name) for one in found.failures} == {
        ((10**5,) * 3, name) for name in ("raw", "memory copy")
    }
    assert all(said in one.error for one in found.failures)
    assert {one.cell.shape for one in found.measurements if one.cell.name == "raw"} == {SIZES[0], SIZES[2]}


def test_what_is_written_for_reads_alone_belongs_to_the_cell_that_reads_it(tmp_path, monkeypatch):
    """Ranks that died in it left no failure, or one of another cell."""
    events, written = [], []

    def watched(write):
        def work(self, **more):
            cell = events[-1].cell
            written.append((type(events[-1]), cell.operation, cell.name, cell.cache))
            return write(self, **more)

        return work

    for kind in (OneSeries, PlainFile):
        monkeypatch.setattr(kind, "write", watched(kind.write))
    [job] = fields(SIZES[0], operations="read").jobs({"here": Path(tmp_path)})
    job.program.run(MPI.COMM_SELF, job, events.append)
    assert set(written) == {(Begin, "read", "raw", "cold"), (Begin, "read", "pread", "cold")}
    written.clear()
    [job] = fields(SIZES[0], caches="synced,cold,warm").jobs({"here": Path(tmp_path)})
    job.program.run(MPI.COMM_SELF, job, events.append)
    assert {one[1:3] for one in written} == {
        ("write", "raw"), ("write", "pwrite"), ("write", "pwrite direct"), ("read", "pread")
    }  # fmt: skip


def test_a_limit_that_cannot_be_measured_leaves_the_others(tmp_path, monkeypatch):
    """Many file systems take no O_DIRECT."""
    write = PlainFile.write

    def refuse(self, *, sync, direct=False):
        if direct:
            raise OSError(22, "Invalid argument")
        return write(self, sync=sync)

    monkeypatch.setattr(PlainFile, "write", refuse)
    found = run_here(tmp_path, fields(SIZES[0], rounds=2))
    assert [(one.cell.name, one.round) for one in found.failures] == [("pwrite direct", 0)], "it is not tried again"
    for name in ("memory copy", "pwrite", "pread"):
        assert {one.round for one in found.measurements if one.cell.name == name} == {1, 2}


def test_the_memory_of_streams_is_counted_before_it_is_taken():
    streams = compute_rounds.Streams(MPI.COMM_SELF, 10, "float32")
    assert streams.bytes == 40
    assert sum(one.nbytes for one in streams._arrays) == 3 * streams.bytes
