"""The report at the end of a stream, from the numbers of both sides."""

import dataclasses

import pytest

from tailrace.io.coupling import NO_COUPLING, Coupling, CouplingSide, explain, split


def side(ranks, steps, compute, wait, transfer, state="closed"):
    return CouplingSide(ranks, steps, compute + wait + transfer, compute, wait, transfer, state, "host", 1)


def report(writer, *readers, dropped=0, skipped=0, unread=0):
    return explain(Coupling("writer", writer, readers, dropped, skipped, unread))


def test_both_sides_say_where_their_time_went():
    lines = report(side(4, 10, 60.0, 10.0, 30.0), side(1, 10, 90.0, 5.0, 5.0))
    assert lines[0] == (
        "simulation (4 ranks): 10 steps in 100.0 s: 60.0 s (60%) computing, 30.0 s (30%) handing steps over, "
        "10.0 s (10%) waiting"
    )
    assert lines[1].startswith("analysis (1 rank): 10 steps in 100.0 s: 90.0 s (90%) computing, 5.0 s (5%) fetching")


def test_who_waited_and_what_would_balance():
    # 36 s of one rank against 9.5: of 5 ranks 4 and 1 are best, and it is so already
    assert report(side(4, 10, 80.0, 0.0, 10.0), side(1, 10, 30.0, 60.0, 0.0))[-1] == (
        "the analysis waited for the other side; with 5 ranks no other split does better; one analysis rank could "
        "follow 12.0 simulation ranks"
    )
    # the simulation waits: work of 20 and 90 s of one rank over 5 ranks
    assert report(side(4, 10, 5.0, 85.0, 0.0), side(1, 10, 90.0, 0.0, 0.0))[-1] == (
        "the simulation waited for the other side; 5 ranks would be balanced as 1 for the simulation and 4 for the "
        "analysis"
    )
    assert "is balanced" in report(side(1, 10, 98.0, 2.0, 0.0), side(1, 10, 99.0, 1.0, 0.0))[-1]


def test_an_analysis_that_cannot_keep_up():
    lines = report(side(1, 8, 24.0, 0.0, 0.1), side(1, 8, 30.0, 0.1, 1.0), dropped=50, skipped=3)
    assert "steps left out: 50 dropped, 3 skipped" in lines
    assert lines[-1].startswith("the analysis could not keep up; with 2 ranks no other split does better; 9.8 analysis")


@pytest.mark.parametrize(("ours", "theirs"), [(0.0, 3.0), (3.0, 0.0), (0.0, 0.0)])
def test_a_side_without_work_gets_no_advice(ours, theirs):
    last = report(side(2, 4, ours, 1.0, 0.0), side(1, 4, theirs, 1.0, 0.0))[-1]
    assert last == "how to split the ranks cannot be said: a side had no work that could be measured"


def test_readers_that_came_to_grief_and_none_at_all():
    lines = report(side(2, 9, 1.0, 0.0, 0.0), side(1, 3, 1.0, 0.0, 0.0, "lost"), side(1, 4, 1.0, 0.0, 0.0, "dropped"))
    assert lines[1].endswith("; it was lost")
    assert lines[2].startswith("analysis 2 (1 rank)") and lines[2].endswith("was dropped")
    lines = report(side(2, 1, 1.0, 0.0, 0.0), side(1, 0, 0.0, 1.0, 0.0, "lost"))
    assert lines[-1].endswith("; it was lost"), "how to divide the ranks is not known of a reader without a step"
    assert report(side(2, 0, 1.0, 0.0, 0.0), unread=7)[-1] == "nobody read it"
    assert explain(Coupling("none", side(0, 0, 0, 0, 0), (), 0, 0, 0)) == []


@pytest.mark.parametrize("total", [2, 3, 7, 16])
@pytest.mark.parametrize(("simulation", "analysis"), [(1.0, 1.0), (10.0, 1.0), (0.2, 3.0)])
def test_the_split_is_the_best_of_all(total, simulation, analysis):
    ours, theirs = split(total, simulation, analysis)
    assert ours + theirs == total and ours >= 1 and theirs >= 1
    slowest = [max(simulation / n, analysis / (total - n)) for n in range(1, total)]
    assert max(simulation / ours, analysis / theirs) == min(slowest)


def test_a_reader_tells_both_sides_too():
    ours, theirs = side(1, 10, 90.0, 5.0, 5.0), side(4, 10, 60.0, 10.0, 30.0)
    lines = explain(Coupling("reader", ours, (theirs,), 3, 0, 2))
    assert lines[0].startswith("simulation (4 ranks): 10 steps in 100.0 s: 60.0 s (60%) computing, ")
    assert lines[1].startswith("analysis (1 rank): 10 steps in 100.0 s: 90.0 s (90%) computing, ")
    assert lines[2] == "steps left out: 3 dropped, 2 not read"
    assert len(lines) == 4
    assert explain(Coupling("reader", ours, (), 0, 0, 0)) == [lines[1]], "the writer has not said anything"


def test_shares_of_no_time_are_not_told():
    (line,) = explain(Coupling("reader", side(1, 0, 0.0, 0.0, 0.0), (), 0, 0, 0))
    assert line == "analysis (1 rank): 0 steps in 0.0 s: 0.0 s computing, 0.0 s fetching steps, 0.0 s waiting"


@pytest.mark.parametrize(
    ("wait", "said"), [(5.0, "neither side waited"), (5.1, "the simulation waited for the other side; with 2 ranks")]
)
def test_a_twentieth_of_the_time_is_no_waiting(wait, said):
    lines = report(side(1, 10, 100.0 - wait, wait, 0.0), side(1, 10, 100.0, 0.0, 0.0))
    assert lines[-1].startswith(said)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (5.0, "neither side waited for the other: "),
        (6.0, "the analysis could not keep up; with 2 ranks no other split"),
    ],
)
def test_an_analysis_keeps_up_where_a_step_takes_it_no_longer(work, said):
    """The simulation did 20 steps in 10 s, of which 10 were left out."""
    writer, reader = (CouplingSide(1, 10, 99.0, own, 0.0, 0.0, "closed", "host", 1) for own in (10.0, work))
    assert report(writer, reader, dropped=6, skipped=4)[-1].startswith(said)


def test_equal_work_says_nothing_of_more_ranks():
    assert report(side(1, 10, 40.0, 0.0, 0.0), side(1, 10, 40.0, 10.0, 0.0))[-1] == (
        "the analysis waited for the other side; with 2 ranks no other split does better"
    )


def test_of_several_readers_and_of_a_writer_without_steps_no_balance_is_told():
    two = report(side(2, 9, 1.0, 9.0, 0.0), side(1, 9, 1.0, 0.0, 0.0), side(1, 9, 1.0, 0.0, 0.0))
    assert [line.split(" (")[0] for line in two] == ["simulation", "analysis 1", "analysis 2"]
    assert len(report(side(2, 0, 1.0, 9.0, 0.0), side(1, 9, 1.0, 0.0, 0.0))) == 2


def test_files_have_no_other_side():
    assert Coupling("none", CouplingSide(0, 0, 0.0, 0.0, 0.0, 0.0, "", "", 0), (), 0, 0, 0) == NO_COUPLING
    for measured, name in ((NO_COUPLING, "role"), (NO_COUPLING.own, "ranks")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(measured, name, "other")


def test_shares_of_less_than_a_second_are_told():
    (line,) = explain(Coupling("reader", side(1, 2, 0.25, 0.5, 0.25), (), 0, 0, 0))
    assert line.endswith("0.2 s (25%) computing, 0.2 s (25%) fetching steps, 0.5 s (50%) waiting")
