"""What all jobs have in common, whatever their work is: nodes, and parameters of the environment."""

import os
from dataclasses import dataclass

from mpi4py import MPI

from helpers.harness.bench_runs import run_here
from helpers.inputs import benchmarks, small_benches
from tailrace.bench.ranks.driver import run_here as measure
from tailrace.bench.ranks.events import Begin, Done, Note, event_of
from tailrace.bench.ranks.job import Job, run_on_ranks
from tailrace.bench.ranks.round_robin import Outcome, RoundRobin
from tailrace.bench.records.records import Failure, Measurement

EVERYWHERE = "raw:strategy=dist, sync=on"  # every series that a program writes
BENCH = small_benches.fields(caches="page cache")


@dataclass(frozen=True)
class OneCell:
    """Work that begins, measures and fails."""

    tasks = 1

    def run(self, comm, job, emit):
        cell = benchmarks.cell("raw", nodes=4)
        RoundRobin(job, 0, emit).begin(cell, Outcome(cell))
        emit(benchmarks.rounds(cell, 1.0)[0])
        emit(Failure(cell, 1, ""))
        emit(Done(0, 1, "raw"))


def test_cells_have_the_nodes_of_their_own_ranks(tmp_path):
    """Of a job in an allocation of four nodes, all ranks of which may be on one."""
    events = []
    measure(Job(1, OneCell(), {"here": tmp_path}), MPI.COMM_SELF, events.append)
    *told, last = events
    assert [(type(one), one.cell.nodes) for one in told] == [(Begin, 1), (Measurement, 1), (Failure, 1)]
    assert last == Done(0, 1, "raw")


def without_sync(measurements):
    """Whether what is measured is what the cells say: writes that wait for no disk."""
    writes = [m for m in measurements if m.cell.name == "raw" and m.round]
    assert {(m.cell.cache, m.cell.parameters) for m in writes} == {("page cache", ())}
    return {m.phases["sync"] for m in writes} == {0.0}


def test_parameters_of_the_environment_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("TAILRACE_PARAMETERS", EVERYWHERE)
    found = run_here(tmp_path, BENCH)
    assert without_sync(found.measurements)
    assert ["TAILRACE_PARAMETERS is left out" in note for note in found.runs[0].notes] == [True]
    assert os.environ["TAILRACE_PARAMETERS"] == EVERYWHERE


def test_they_are_left_out_on_ranks_that_the_command_starts(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TAILRACE_PARAMETERS", EVERYWHERE)
    [job] = BENCH.jobs({"here": tmp_path})
    run_on_ranks(job.to_word())
    events = [event_of(line) for line in capsys.readouterr().out.splitlines()]
    assert without_sync([one for one in events if isinstance(one, Measurement)])
    assert any("TAILRACE_PARAMETERS is left out" in one.text for one in events if isinstance(one, Note))
