"""What becomes of steps when the readers are slow, and what both ends say of it and of their time."""

import pytest

import tailrace as tr
from helpers.harness.streams import ENDLESS, more, slow
from tailrace import core as _core

pytestmark = pytest.mark.skipif("sst" not in _core.engine_names(), reason="there is no engine sst")


@pytest.mark.parametrize(
    ("policy", "ranks", "blind"),
    [("drop_newest", 2, ""), ("drop_oldest", 2, ""), *more(("drop_oldest", 1, "yes"), ("adapt", 1, "yes"))],
)
def test_what_a_slow_reader_misses_is_reported(stream, policy, ranks, blind):
    """Both ends have the same lists, which together contain all steps."""
    writer = stream(
        "write",
        ranks,
        "steps=30",
        "pause=0.02",
        "wait_for_reader=60",
        f"policy={policy}",
        "share=0.9",
        f"blind={blind}",
    )
    reader = stream("read", 1, "pause=0.2")
    writer.finish()
    reader.finish()
    found, missed = reader.indices(), reader.told("missed")
    every = list(range(0, 300, 10))
    left = [index for index, _, _ in writer.told("dropped")]
    assert sorted([*found, *left]) == every
    assert missed == [index for index in left if index < found[-1]]
    assert missed, "it was slow"
    assert found[0] == 0
    if policy == "drop_oldest":
        assert found[-1] == every[-1], "what waits is the newest"
    else:
        assert writer.indices("left") == left
    for index, time, why in writer.told("dropped"):
        assert (time, why) == (index / 20, "skipped" if policy == "adapt" else "dropped")
    counted = writer.told("coupling")
    assert counted["skipped" if policy == "adapt" else "dropped"] == len(left)
    assert counted["own"]["steps"] == counted["others"][0]["steps"] == len(found)
    assert reader.told("coupling")["dropped"] == len(missed)


def test_the_newest_steps_wait_as_many_as_the_queue_takes(stream):
    """Two are on their way to the reader, which looks at the first of them."""
    writer = stream("write", 2, "steps=10", "wait_for_reader=60", "policy=drop_oldest", "QueueLimit=3")
    reader = stream("read", 1, "hold=yes")
    reader.until("got 0")
    writer.until("closing")
    (stream.place / "go").touch()
    writer.finish()
    reader.finish()
    assert reader.indices() == [0, 10, 70, 80, 90]
    assert reader.told("missed") == [20, 30, 40, 50, 60]


def test_a_step_that_is_not_ended_never_arrives(stream):
    """The writer closes in a step that would wait behind others, which the reader still gets."""
    writer = stream("write", 2, "leaves_in=4", "wait_for_reader=60", "policy=drop_oldest", "QueueLimit=3")
    reader = stream("read", 1, "hold=yes")
    reader.until("got 0")
    writer.until("wrote 30")
    (stream.place / "go").touch()
    writer.finish()
    reader.finish()
    assert reader.indices() == [0, 10, 20, 30]
    assert reader.told("missed") == []


def test_adapt_keeps_to_its_share(stream):
    """The reader needs ten times as long as the simulation; by the counters, to the resolution of the clock."""
    writer = stream("write", 1, "steps=120", "pause=0.03", "wait_for_reader=60", "policy=adapt", "QueueLimit=1")
    reader = stream("read", 1, "pause=0.3")
    writer.finish()
    reader.finish()
    cost, coupling = writer.told("cost"), writer.told("coupling")
    assert cost["spent"] <= 0.02 * cost["elapsed"] + 2 * cost["most"], (
        "the first step, and one that lasts unlike the others"
    )
    assert coupling["skipped"] == 120 - len(reader.indices())
    assert len(reader.indices()) >= 2
    assert coupling["skipped"] >= 60


@pytest.mark.parametrize("share", [0.9, *more(0.001)])
def test_adapt_takes_what_it_may(stream, share):
    """A quick reader, and steps that are cheap against the share: few are left out; with a tiny one most are."""
    writer = stream("write", 1, "steps=40", "pause=0.05", "wait_for_reader=60", "policy=adapt", f"share={share}")
    reader = stream("read", 1)
    writer.finish()
    reader.finish()
    left = len(writer.told("dropped"))
    assert left <= 20 if share > 0.5 else left >= 20
    assert left + len(reader.indices()) == 40


def test_steps_that_nobody_reads_cost_nothing(stream):
    """They are not requested, and not counted as dropped."""
    writer = stream("write", 2, "steps=10", "policy=drop_newest")
    writer.finish()
    assert writer.told("dropped") == [[10 * index, 0.5 * index, "unread"] for index in range(10)]
    coupling = writer.told("coupling")
    assert (coupling["unread"], coupling["dropped"], coupling["own"]["steps"]) == (10, 0, 0)
    assert coupling["others"] == []


def test_both_sides_measure(stream):
    """A reader of 0.2 s for each step; the writer waits for it."""
    writer = stream("write", 2, "steps=8", "pause=0.01", "wait_for_reader=60", "QueueLimit=1")
    reader = stream("read", 3, "pause=0.2")
    writer.finish()
    reader.finish()
    ours, theirs = writer.told("coupling"), reader.told("coupling")
    assert ours["role"] == "writer"
    assert ours["own"]["ranks"] == 2
    assert ours["own"]["steps"] == 8
    (seen,) = ours["others"]
    assert (seen["ranks"], seen["steps"], seen["state"]) == (3, 8, "closed")
    assert seen["compute"] >= 8 * 0.2
    assert ours["own"]["wait"] >= 6 * 0.2
    own = ours["own"]
    assert own["compute"] + own["wait"] + own["transfer"] == pytest.approx(own["elapsed"], rel=1e-6)
    assert theirs["role"] == "reader"
    assert (theirs["own"]["ranks"], theirs["own"]["steps"]) == (3, 8)
    for name in ("compute", "wait", "transfer"):
        assert theirs["own"][name] == pytest.approx(seen[name], rel=1e-6), name
    (writer_seen,) = theirs["others"]
    assert (writer_seen["ranks"], writer_seen["process"]) == (2, own["process"])
    assert 0 < writer_seen["wait"] <= own["wait"]


def test_other_series_have_no_coupling(tmp_path):
    from mpi4py import MPI

    with tr.open(tmp_path / "run.h5", "w", comm=MPI.COMM_SELF) as out:
        assert out.begin_step(3, 0.5) is True
        out.end_step()
        out.write_step(1.0)
    assert out.dropped == []
    assert out.coupling.role == "none"
    with tr.open(tmp_path / "run.h5") as series:
        assert [step.index for step in series] == [3, 4]
        assert [step.missed for step in series] == [[], []]


@slow
def test_two_readers_the_slow_one_counts(stream):
    writer = stream("write", 2, *ENDLESS, "policy=drop_newest")
    quick = stream("read", 1)
    late = stream("read", 1, "pause=0.5")
    late.until("read")
    writer.goes_on(lines=40)
    stream.stop()
    writer.finish()
    for reader in (quick, late):
        reader.finish()
        found = reader.indices()
        assert sorted([*found, *reader.told("missed")]) == list(range(found[0], found[-1] + 10, 10))
    assert set(late.indices()) <= set(quick.indices())


@slow
def test_slow_reader_under_block_gets_everything(stream):
    writer = stream("write", 1, "steps=6", "wait_for_reader=60")
    reader = stream("read", 1, "pause=0.2")
    writer.finish()
    reader.finish()
    assert reader.indices() == [0, 10, 20, 30, 40, 50]


def test_buffers_hide_the_reader(stream):
    """Each step costs a copy, even before a reader has come."""
    writer = stream("write", 2, "steps=6", "wait_for_reader=60", "buffers=6")
    writer.until("closing")
    reader = stream("read", 1)
    writer.finish()
    reader.finish()
    assert reader.indices() == [0, 10, 20, 30, 40, 50]
