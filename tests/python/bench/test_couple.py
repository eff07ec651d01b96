"""`tailrace bench couple`: a producer and a consumer at the same time, and what happens when one of them dies."""

import json
import os
import signal
import time

import numpy as np
import pytest
from mpi4py import MPI

from helpers.harness import mpi_run
from helpers.harness.benches import assert_nobody_left, bench, left, ranks_of, start, wait_for_failures, wait_for_lines
from tailrace import core as _core
from tailrace.bench.couple import consumer as couple_consumer
from tailrace.bench.couple.consumer import Consumed, ConsumerProgram
from tailrace.bench.couple.plan import CouplePlan
from tailrace.bench.couple.producer import Produced, ProducerProgram, _records
from tailrace.bench.couple.setting import CoupleSetting, StreamVariant
from tailrace.bench.couple.values import StreamValues
from tailrace.bench.couple.words import advice
from tailrace.bench.options import RoundOptions
from tailrace.bench.ranks.driver import told
from tailrace.bench.ranks.job import Job
from tailrace.bench.ranks.timing import Timing
from tailrace.bench.records.results import read_results

needs_sst = pytest.mark.skipif("sst" not in _core.engine_names(), reason="this build has no streams")
SETTING = CoupleSetting("here", 3, 1, (12, 10, 8), 2, 4, "float64", 0.0, 0.0)
VARIANT = StreamVariant(2, "block")
PLAN = CouplePlan((SETTING,), (VARIANT, StreamVariant(1, "block")), RoundOptions(1))
JOB = Job(3, ProducerProgram(PLAN, 1), {})
SMALL = ("couple", "--global", "12,10,8", "--steps", 3, "--rounds", 1, "--producer-cost", 0)
LONG = (
    "couple", "--global", "12,10,8", "--steps", 20, "--rounds", 300, "--producer-cost", 0.01, "--cost", 0.01,
    "--queues", "1,2",
)  # fmt: skip


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_wrong_values_of_a_step_are_found(precision):
    setting = CoupleSetting("here", 2, 1, (70, 10, 8), 2, 4, precision, 0.0, 0.0)
    values = StreamValues(setting, 2, 1)
    read = [block.data.copy() for block in values.blocks(3)]
    for all_of_them in (True, False):
        assert values.right(read, 3, all_of_them=all_of_them)
        assert not values.right(read, 2, all_of_them=all_of_them), "of another step"
        assert not values.right(read[::-1], 3, all_of_them=all_of_them)
        assert not values.right(read[:1], 3, all_of_them=all_of_them)
        assert not values.right([one[:-1] for one in read], 3, all_of_them=all_of_them)
    read[1][-1, -1, -2] = np.nextafter(read[1][-1, -1, -2], np.asarray(9, precision))
    assert not values.right(read, 3, all_of_them=True)


def test_both_sides_have_the_same_plan():
    other = JOB.program.other(JOB)
    assert other.ranks == 1
    assert isinstance(other.program, ConsumerProgram)
    assert [task.name for task in other.program.plan.tasks(other)] == [task.name for task in PLAN.tasks(JOB)]
    assert len(list(PLAN.tasks(JOB))) == PLAN.size == 4
    later = JOB.without({(0, 0, VARIANT.name), (0, 0, PLAN.variants[1].name)}, {(0, VARIANT.name)})
    [left_over] = PLAN.tasks(later)
    assert (left_over.variant, left_over.round) == (PLAN.variants[1], 1)
    assert list(PLAN.tasks(Job.from_word(later.program.other(later).to_word()))) == [left_over]


class Stream:
    """A stream of some steps, of which one has a wrong value."""

    def __init__(self, values, wrong):
        self._values, self._wrong, self._last = values, wrong, -1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def __len__(self):
        return self._last + 1

    @property
    def index(self):
        return self._last

    def next_step(self):
        self._last += 1
        return self if self._last <= SETTING.steps else None

    def read(self, name, box):
        found = self._values.blocks(self._last)[int(name[1:])].data.copy()
        if self._last == self._wrong:
            found[0, 0, 1] += 1
        return found


@pytest.mark.parametrize("wrong", [None, 0, 4])
def test_the_consumer_finds_wrong_values(tmp_path, monkeypatch, wrong):
    values = StreamValues(SETTING, 1, 0)
    monkeypatch.setattr(couple_consumer.arrays, "open", lambda *_, **__: Stream(values, wrong))
    plan = CouplePlan((SETTING,), (VARIANT,), RoundOptions(0))
    job = Job(1, ConsumerProgram(plan), {"here": tmp_path})
    job.program.run(MPI.COMM_SELF, job, lambda _: None)
    [task] = plan.tasks(job)
    found = Consumed.read(Consumed.path(tmp_path, task))
    assert found.verified is (wrong is None)
    assert found.timing.phases.keys() == {"wait", "read", "verify", "compute"}


def test_records_of_both_sides():
    first, *_, task = PLAN.tasks(JOB)
    timing = Timing(4.0, {"compute": 1.0, "write": 0.5, "wait": 1.5, "close": 0.5}, {})
    produced, consumed = Produced(timing, 0.75, 4, 1), Consumed(Timing(3.0, {"wait": 1.5}, {}), 4, True, 0.1)
    produce, consume = _records(task, produced, consumed, "")
    assert (produce.cell.operation, consume.cell.operation) == ("produce", "consume")
    assert produce.counts == {"steps": 3, "dropped": 1, "seconds_per_step": 0.75, "wait_share": 0.5}
    assert consume.counts == {"steps": 3, "dropped": 1, "wait_share": 0.5}
    assert produce.bytes == consume.bytes == 3 * 12 * 10 * 8 * 2 * 8
    assert produce.cell.ranks == 3
    assert dict(produce.cell.parameters)["consumers"] == 1
    assert _records(first, produced, consumed, "") == [], "the first round does not count"
    for bad in (Consumed(timing, 4, False, 0.1), Consumed(timing, 3, True, 0.1)):
        assert [one.verified for one in _records(first, produced, bad, "")] == [False, False]


def test_words_say_which_side_to_give_more_ranks():
    *_, task = PLAN.tasks(JOB)
    produced = Produced(Timing(10.0, {"compute": 1.0, "write": 0.0, "wait": 8.0, "close": 1.0}, {}), 1.0, 5, 0)
    consumed = Consumed(Timing(10.0, {"wait": 0.1, "read": 0.4, "verify": 0.0, "compute": 9.5}, {}), 5, True, 9.0)
    lines = advice(_records(task, produced, consumed, ""))
    assert lines[0] == f"{task.variant.name}, 12 x 10 x 8, 3:1 ranks, 0 s and 0 s of work"
    assert lines[1].strip().startswith("simulation (3 ranks): 4 steps in 10.0 s: 1.0 s (10%) computing")
    assert lines[-1].strip() == (
        "the simulation waited for the other side; 4 ranks would be balanced as 1 for the simulation and 3 for the "
        "analysis"
    )
    assert advice(_records(task, produced, consumed, "")[:1]) == []


def test_the_line_that_says_most():
    assert (
        told(["  File x\n", "tailrace._core.IoError: gone\n", "SomeError: later\n"]) == "tailrace._core.IoError: gone"
    )
    assert told(["noise\n", "rank 1 exited on signal 9\n", "----\n"]) == "rank 1 exited on signal 9"
    assert told(["----\n", "\n"]) == ""


@needs_sst
def test_splits_queues_and_policies(tmp_path):
    done = bench(
        tmp_path, *SMALL, "--splits", "1:1,2:1", "--queues", "1,2", "--policies", "block,drop_newest", "--cost",
        "0,0.02", "--variables", 2,
    )  # fmt: skip
    found = read_results(tmp_path / "r.jsonl")
    assert not found.failures
    assert not found.interrupted
    seen = {
        (one.cell.operation, one.cell.name, one.cell.ranks, dict(one.cell.parameters)["cost"])
        for one in found.measurements
    }
    names = [f"sst,queue={queue},policy={policy}" for queue in (1, 2) for policy in ("block", "drop_newest")]
    assert seen == {
        (side, name, ranks, cost)
        for side in ("produce", "consume")
        for name in names
        for ranks in (1, 2)
        for cost in (0.0, 0.02)
    }
    for one in found.measurements:
        assert one.verified
        assert one.counts["steps"] + one.counts["dropped"] == 3
        assert one.bytes == one.counts["steps"] * 12 * 10 * 8 * 2 * 8
        assert sum(one.phases.values()) < 1.5 * one.seconds + 0.1
        if one.cell.operation == "consume":
            assert one.phases["compute"] >= 0.99 * dict(one.cell.parameters)["cost"] * one.counts["steps"]
    assert "analysis (1 rank): 3 steps" in done.text
    assert left(tmp_path) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.jsonl"]


@needs_sst
@pytest.mark.parametrize("policy", ["drop_oldest", "adapt"])
def test_other_policies_count_their_steps(tmp_path, policy):
    bench(tmp_path, *SMALL, "--splits", "1:2", "--queues", "1", "--policies", policy, "--cost", "0.05")
    for one in read_results(tmp_path / "r.jsonl").measurements:
        assert one.verified
        assert one.counts["steps"] + one.counts["dropped"] == 3


@needs_sst
@pytest.mark.parametrize("side", ["consumer", "producer"])
def test_a_dead_side_is_a_failed_cell_and_the_rest_goes_on(tmp_path, side):
    process = start(tmp_path, *LONG, "--splits", "1:2" if side == "consumer" else "2:1")
    wait_for_lines(tmp_path, 6, process)
    ranks = ranks_of(process)
    assert len(ranks) == 3
    os.kill(_first_of(process, side, ranks), signal.SIGKILL)
    wait_for_failures(tmp_path, process)
    wait_for_lines(tmp_path, len((tmp_path / "r.jsonl").read_text().splitlines()) + 8, process)
    found = read_results(tmp_path / "r.jsonl")
    [failure] = found.failures
    assert failure.cell.bench == "couple"
    assert f"the {side} (2 ranks) was ended" in failure.error
    after = [one for one in found.measurements if one.round > failure.round]
    assert {one.cell.name for one in after} == {one.cell.name for one in found.measurements} - {failure.cell.name}
    assert not set(ranks) & set(ranks_of(process)), "both sides begin again"
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=240)
    assert left(tmp_path) == []
    assert_nobody_left(process)


def _first_of(process, side, ranks):
    """A rank of the side with two ranks, which are below a launcher."""
    for number, line in mpi_run.members(process):
        if mpi_run.is_launcher(line) and "bench ranks" in line:
            # MPICH has a proxy between them.
            below = [one for one in ranks if number in (above := mpi_run.parent(one), mpi_run.parent(above))]
            assert len(below) == 2, (side, line)
            return below[0]
    raise AssertionError("no launcher is seen")


@needs_sst
def test_a_consumer_that_stands_still_is_ended(tmp_path):
    process = start(tmp_path, *LONG, "--splits", "1:1", "--limit", 15)
    wait_for_lines(tmp_path, 6, process)
    consumer = ranks_of(process)[0]  # the first to be started
    os.kill(consumer, signal.SIGSTOP)
    until = time.monotonic() + 240
    while '"failure"' not in (tmp_path / "r.jsonl").read_text():
        assert time.monotonic() < until
        time.sleep(0.1)
    assert "the ranks hang: nothing happened for 15 s" in read_results(tmp_path / "r.jsonl").failures[0].error
    assert consumer not in ranks_of(process)
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=240)
    assert left(tmp_path) == []
    assert_nobody_left(process)


@needs_sst
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_runs_on_without_the_benchmark(tmp_path, number):
    process = start(tmp_path, *LONG, "--splits", "2:1")
    wait_for_lines(tmp_path, 6, process)
    os.kill(process.pid, number)
    process.communicate(timeout=240)
    assert_nobody_left(process)
    assert left(tmp_path) == [] or number == signal.SIGKILL
    assert json.loads((tmp_path / "r.jsonl").read_text().splitlines()[2])["bench"] == "couple"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--splits", "2"], "--splits 2: expected ranks of the producer and the consumer as 1:1,3:1"),
        (["--splits", "0:1"], "--splits 0:1: expected"),
        (["--queues", "0"], "--queues 0: expected numbers as 1,2,4"),
        (["--policies", "block,drop"], "'drop' is not known; expected some of block, drop_newest"),
        (["--cost", "-1"], "--cost -1: expected seconds from 0"),
        (["--producer-cost", "some"], "--producer-cost some: expected seconds from 0"),
        (["--precision", "float16"], "expected float64 or float32"),
        (["--global", "2,1,1", "--splits", "1:2"], "every part needs a point"),
        (["--directory", "nowhere"], "--directory nowhere: is no directory"),
    ],
)
@needs_sst
def test_wrong_words(tmp_path, words, said):
    assert said in bench(tmp_path, "couple", *words, code=2).text
    assert list(tmp_path.iterdir()) == []


@needs_sst
def test_inside_a_job_of_mpi_it_is_refused(tmp_path):
    done = mpi_run.tailrace("bench", *SMALL, ranks=2, cwd=tmp_path)
    assert done.code != 0
    assert "start it without mpiexec" in done.text
    assert list(tmp_path.iterdir()) == []
