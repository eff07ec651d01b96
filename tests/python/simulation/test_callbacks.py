"""What a simulation does with functions of users, without a flow; `test_by_hand` has whole runs."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from mpi4py import MPI

from tailrace.analysis.errors import AnalysisError
from tailrace.case.schedule import Schedule
from tailrace.case.sections.recording_section import CheckpointSection
from tailrace.consumers import checkpoint as checkpoint_rhythm
from tailrace.consumers.checkpoint import CheckpointSchedule
from tailrace.core import InputError
from tailrace.simulation.callbacks import Callbacks, checked_times

COMM = MPI.COMM_SELF


def at(step: int) -> Any:
    return SimpleNamespace(step=step, time=0.1 * step)


@pytest.mark.parametrize(
    ("given", "times"), [(0.0, [0.0]), (2, [2.0]), ([2.5, 1.0, 2.5], [1.0, 2.5]), ((0.0, 1e-9), [0.0, 1e-9])]
)
def test_times_are_sorted_and_each_is_there_once(given, times):
    assert checked_times(given) == times


@pytest.mark.parametrize("given", [[], -1e-9, [1.0, -1.0], math.nan, [0.0, math.inf], "soon", None, [None], [[1.0]]])
def test_times_that_cannot_be(given):
    with pytest.raises(InputError, match="the times of a callback must be numbers from 0 on") as error:
        checked_times(given)
    assert str(error.value).endswith(f"found {given!r}")


def test_those_that_are_due_are_called_in_order_and_once():
    callbacks, saw = Callbacks(0, 0), []
    for name, schedule in {"a": Schedule(every=2, dt=0.1), "b": Schedule(every=4, dt=0.1)}.items():
        callbacks.add(lambda simulation, name=name: saw.append((name, simulation.step)), schedule)
    assert callbacks.call(at(0), COMM) is True
    assert callbacks.called(0) == 2
    assert callbacks.call(at(0), COMM) is False, "all of this state have been called"
    assert callbacks.call(at(1), COMM) is False
    assert callbacks.call(at(2), COMM) is True
    assert (callbacks.called(2), callbacks.called(0), callbacks.called(3)) == (1, 0, 0)
    assert callbacks.call(at(4), COMM) is True
    assert saw == [("a", 0), ("b", 0), ("a", 2), ("a", 4), ("b", 4)]


def test_what_was_called_before_a_checkpoint_is_not_called_again():
    callbacks, saw = Callbacks(4, 1), []
    for name in "abc":
        callbacks.add(lambda _, name=name: saw.append(name), Schedule(every=2, dt=0.1))
    assert callbacks.called(4) == 1
    callbacks.call(at(4), COMM)
    assert saw == ["b", "c"]
    assert callbacks.called(4) == 3
    callbacks.call(at(6), COMM)
    assert saw == ["b", "c", "a", "b", "c"]


def test_one_that_fails_counts_as_not_called_and_the_next_state_is_free():
    callbacks, saw = Callbacks(0, 0), []

    def boom(simulation):
        with pytest.raises(InputError, match="a callback must not step the simulation that calls it"):
            callbacks.check_idle()
        raise ValueError("out of luck")

    callbacks.add(lambda simulation: saw.append(simulation.step), Schedule(every=1, dt=0.1))
    callbacks.add(boom, Schedule(every=2, dt=0.1))
    callbacks.check_idle()
    with pytest.raises(AnalysisError, match=r"callback 'boom' failed at step 2, t = 0\.2"):
        callbacks.call(at(2), COMM)
    callbacks.check_idle()
    assert callbacks.called(2) == 1
    assert saw == [2]


def test_only_functions_are_taken():
    with pytest.raises(InputError, match="a callback must be a function of the simulation; found 'work'"):
        Callbacks(0, 0).add("work", Schedule(every=1, dt=0.1))  # type: ignore[arg-type]


def test_the_next_times_are_those_of_all():
    callbacks = Callbacks(0, 0)
    for schedule in (Schedule(every=2, dt=0.1), Schedule(times=[0.25, 1.0], dt=0.1), Schedule(interval=0.3, dt=0.1)):
        callbacks.add(print, schedule)
    assert callbacks.next_times(0.25) == [None, 1.0, 0.3]


# ---- when a checkpoint is due ----------------------------------------------------------------------------------------


@pytest.fixture
def now(monkeypatch):
    """The clock, in seconds."""
    seconds = [0.0]
    monkeypatch.setattr(checkpoint_rhythm, "clock", SimpleNamespace(monotonic=lambda: seconds[0]))
    return seconds


def due(rhythm: CheckpointSchedule, step: int, *, at_end: bool = False) -> bool:
    return rhythm.due(step, COMM, at_end=at_end)


def test_a_checkpoint_every_so_many_steps_and_at_the_end(now):
    rhythm = CheckpointSchedule(CheckpointSection(every=4, minutes=0), 8)
    assert rhythm.is_on
    assert [step for step in range(8, 18) if due(rhythm, step)] == [12, 16], "the state that it starts from needs none"
    assert due(rhythm, 13, at_end=True)
    assert not due(rhythm, 8, at_end=True)
    now[0] = 1e9
    assert not due(rhythm, 13), "where no minutes are given the clock does not count"


def test_a_checkpoint_every_so_many_minutes(now):
    rhythm = CheckpointSchedule(CheckpointSection(every=0, minutes=2), 0)
    assert rhythm.is_on
    now[0] = 119.99
    assert not due(rhythm, 1)
    now[0] = 120.0
    assert due(rhythm, 1)
    assert due(rhythm, 2), "until one is written"
    rhythm.begin(2)
    assert rhythm.stored == 2
    assert not due(rhythm, 3), "the minutes begin again"
    now[0] = 240.0
    assert not due(rhythm, 2)
    assert due(rhythm, 3)


def test_a_case_without_checkpoints_has_none_at_the_end_either(now):
    rhythm = CheckpointSchedule(CheckpointSection(every=0, minutes=0), 0)
    assert not rhythm.is_on
    now[0] = 1e9
    assert not due(rhythm, 4, at_end=True)
