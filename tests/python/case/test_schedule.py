"""Rhythms: what is due, meeting times exactly, and continuing after a restart."""

import math

import pytest

from tailrace.case.schedule import Schedule, next_step


def landings(schedule, dt, end, start=(0, 0.0)):
    """Drive a schedule as a run does; the (step, time) at which it was due."""
    step, time = start
    due = []
    while time < end:
        _, time = next_step(time, dt, [schedule.next_time(time), end])
        step += 1
        if schedule.due(step, time):
            due.append((step, time))
    return due


def test_every_counts_steps_from_zero():
    schedule = Schedule(every=10, dt=0.1)
    assert [step for step in range(31) if schedule.due(step, 99.0)] == [0, 10, 20, 30]
    assert schedule.next_time(0.0) is None


def test_interval_is_met_exactly_though_it_is_no_multiple_of_dt():
    due = landings(Schedule(interval=0.35, dt=0.1), 0.1, 7.0)
    assert [time for _, time in due] == [0.35 * count for count in range(1, 21)]


def test_interval_that_is_a_multiple_never_changes_a_step():
    schedule, time = Schedule(interval=0.05, dt=0.005), 0.0
    for _ in range(100_000):
        step, time = next_step(time, 0.005, [schedule.next_time(time)])
        assert step == 0.005
    assert time == pytest.approx(500.0, abs=1e-9)


def test_due_tolerates_the_rounding_of_a_plain_sum():
    schedule, time, count = Schedule(interval=0.1, dt=0.001), 0.0, 0
    for step in range(1, 100_001):
        time += 0.001
        count += schedule.due(step, time)
    assert count == 1000


@pytest.mark.parametrize("rhythm", [{"interval": 0.3}, {"times": [0.3, 0.6, 0.9]}], ids=["interval", "times"])
@pytest.mark.parametrize("at", [0.3, 0.6, 0.9])
def test_due_is_a_small_time_on_both_sides(rhythm, at):
    """A state slightly before or after a time is the one of that time, and no other one is."""
    schedule = Schedule(**rhythm, dt=0.01)
    shares = (-0.4, -2e-6, -0.9e-6, 0.0, 0.9e-6, 2e-6, 0.4)
    assert [schedule.due(1, at + share * 0.01) for share in shares] == [False, False, True, True, True, False, False]
    assert schedule.next_time(at - 0.9e-8) == schedule.next_time(at + 0.9e-8) == schedule.next_time(at + 2e-8)
    assert schedule.next_time(at - 2e-8) == pytest.approx(at, rel=1e-15)


@pytest.mark.parametrize("times", [[0.0, 1.0, 1.0005, 2.5], [math.pi, 2 * math.pi]])
def test_times_are_met_exactly_and_once(times):
    schedule = Schedule(times=times, dt=0.01)
    assert schedule.due(0, 0.0) == (times[0] == 0.0)
    assert [time for _, time in landings(schedule, 0.01, 7.0)] == [time for time in times if time > 0]
    assert schedule.next_time(times[-1]) is None


def test_a_restart_continues_the_same_rhythm():
    schedule = Schedule(interval=0.35, dt=0.1)
    whole = landings(schedule, 0.1, 7.0)
    for cut in (3, 11):
        later = landings(Schedule(interval=0.35, dt=0.1), 0.1, 7.0, start=whole[cut])
        assert whole[: cut + 1] + later == whole


def test_next_step_stretches_nothing_and_jumps_over_nothing():
    assert next_step(0.0, 0.1, []) == (0.1, 0.1)
    assert next_step(0.0, 0.1, [None, 0.25]) == (0.1, 0.1)
    assert next_step(0.2, 0.1, [0.25, 1.0]) == (pytest.approx(0.05), 0.25)
    assert next_step(0.25, 0.1, [0.25]) == (0.1, 0.35), "a target that is now is no target"
    assert next_step(0.2, 0.1, [0.3 + 1e-12]) == (0.1, 0.3 + 1e-12), "no sliver for a rounding error"


def test_next_step_at_its_bounds():
    """A target within a millionth of a step of its end is the end of the step; one beyond is for the next step."""
    dt = 0.5
    for share in (-0.9e-6, 0.9e-6):
        assert next_step(1.0, dt, [1.5 + share * dt]) == (dt, 1.5 + share * dt)
    assert next_step(1.0, dt, [1.5 + 1.1e-6 * dt]) == (dt, 1.5)
    late = 1.5 - 1.1e-6 * dt
    assert next_step(1.0, dt, [late]) == (late - 1.0, late)
    assert next_step(1.0, dt, [9.0, None, 1.25, 1.125]) == (0.125, 1.125), "the nearest counts"
    assert next_step(1.0, dt, [0.75, 1.0]) == (dt, 1.5), "what lies before is no target"


@pytest.mark.parametrize(
    ("rhythm", "at", "tolerance"),
    [
        ({"interval": 0.5}, 1.0, 0.5e-9),
        ({"times": [2.0, 2.25, 3.0]}, 2.25, 0.25e-9),
        ({"times": [0.125, 2.0]}, 2.0, 0.125e-9),
    ],
)
def test_where_the_step_changes_the_tolerance_is_a_share_of_the_distances(rhythm, at, tolerance):
    schedule = Schedule(**rhythm, dt=None)
    assert [schedule.due(1, at + share * tolerance) for share in (-1.1, -0.9, 0.9, 1.1)] == [False, True, True, False]
    assert schedule.next_time(at - 1.1 * tolerance) == at
    assert schedule.next_time(at - 0.9 * tolerance) != at


def test_the_tolerance_itself_is_within_it():
    schedule = Schedule(interval=1.0, dt=None)
    assert schedule.due(1, 1e-9)
    assert not schedule.due(1, math.nextafter(1e-9, 1.0))


def test_one_time_at_the_start_has_no_distance():
    schedule = Schedule(times=[0.0], dt=None)
    assert schedule.due(0, 0.0)
    assert not schedule.due(1, 1e-12)
    assert schedule.next_time(0.0) is None


def test_times_are_sorted_and_none_of_them_is_lost():
    assert Schedule(times=[2.0, 1.0], dt=0.1).times == (1.0, 2.0)
    assert Schedule(times=[], dt=0.1).next_time(0.0) is None
    assert not Schedule(times=[], dt=0.1).due(0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "found none"),
        ({"every": 1, "interval": 1.0}, "found every and interval"),
        ({"every": 0}, "every of a schedule must be greater than 0"),
        ({"interval": -1.0}, "interval of a schedule must be greater than 0"),
        ({"interval": 0.0}, r"interval of a schedule must be greater than 0; found 0\.0"),
        ({"interval": math.nan}, "interval of a schedule must be greater than 0"),
        ({"every": 2, "dt": 0.0}, r"dt of a schedule must be greater than 0; found 0\.0"),
        ({"interval": 1.0, "times": []}, "found interval and times"),
    ],
)
def test_impossible_schedules(arguments, message):
    with pytest.raises(ValueError, match=message):
        Schedule(**{"dt": 0.1, **arguments})
