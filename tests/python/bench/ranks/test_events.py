"""Events on their way from the ranks of a job to the program that has started them."""

import pytest

from helpers.inputs import benchmarks
from tailrace.bench.ranks.events import Begin, Done, Note, event_of, line_of, on_nodes
from tailrace.bench.records.records import Failure

CELL = benchmarks.cell("raw", parameters={"aggregators": "node", "checksums": False})
EVENTS = [
    Begin(CELL, 2, 1, "raw"), Done(1, 2, "raw"), Note("100 % full\n"), Failure(CELL, 2, "no space"),
    benchmarks.rounds(CELL, 0.25, verified=True, stacks={"rank 0;write": 0.1})[0],
]  # fmt: skip


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_arrives_as_it_was(event):
    line = line_of(event)
    assert "\n" not in line
    assert event_of(line + "\n") == event


def test_other_lines_are_no_events():
    assert event_of("a library says hello\n") is None


def test_nodes_are_those_of_cells():
    assert [on_nodes(event, 3).cell.nodes for event in EVENTS if hasattr(event, "cell")] == [3, 3, 3]
    assert on_nodes(Done(0, 1, "raw"), 3) == Done(0, 1, "raw")
