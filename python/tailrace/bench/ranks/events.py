"""Events: messages from the ranks of a job to the program that has started them.

Between processes, an event is a line of JSON on standard output.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from ..records.records import Cell, Failure, Measurement

MARK = "@tailrace-bench "  # begins a line of standard output that is an event


@dataclass(frozen=True)
class Begin:
    """The measurement of a cell begins.

    :param setting: the number of the setting in its job.
    :param variant: the variant that the cell belongs to.
    """

    cell: Cell
    round: int
    setting: int
    variant: str


@dataclass(frozen=True)
class Done:
    """A variant has had its turn in a round."""

    setting: int
    round: int
    variant: str


@dataclass(frozen=True)
class Note:
    """A message for the user that is not a failure of a cell."""

    text: str


Event = Begin | Done | Note | Measurement | Failure
Emit = Callable[[Event], None]  # on rank 0


def line_of(event: Event) -> str:
    """The line of an event, without line end."""
    found = event.to_json() if isinstance(event, Measurement | Failure) else asdict(event)
    return MARK + json.dumps({"event": type(event).__name__, **found})


def event_of(line: str) -> Event | None:
    """The event of a line; None if the line is not an event. Raises ValueError if a record is not whole."""
    if not line.startswith(MARK):
        return None
    found = json.loads(line.removeprefix(MARK))
    match found.pop("event"):
        case "Begin":
            return Begin(Cell(**found.pop("cell")), **found)
        case "Done":
            return Done(**found)
        case "Note":
            return Note(**found)
        case "Measurement":
            return Measurement.from_json(found)
        case _:
            return Failure.from_json(found)


def on_nodes(event: Event, nodes: int) -> Event:
    """The event, with the number of nodes in its cell, if it has a cell."""
    return event if isinstance(event, Done | Note) else replace(event, cell=replace(event.cell, nodes=nodes))


def nothing(_: Event) -> None:
    """An `Emit` that does nothing, for ranks other than rank 0."""
