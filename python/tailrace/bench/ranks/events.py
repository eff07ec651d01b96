"""Events: what the ranks of a job tell the program that has started them. All is local.

On the way between processes an event is a line of standard output, with JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from ..records.records import Cell, Failure, Measurement, cell_from_json, cell_to_json

MARK = "@tailrace-bench "  # begins a line of standard output that is an event


@dataclass(frozen=True)
class Begin:
    """A cell is measured from now on.

    :param setting: the number of the setting in its job.
    :param variant: whose cell it is.
    """

    cell: Cell
    round: int
    setting: int
    variant: str

    def to_json(self) -> dict[str, Any]:
        """See `line_of`."""
        own = {"round": self.round, "setting": self.setting, "variant": self.variant}
        return {"kind": "begin", **own, **cell_to_json(self.cell)}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """:raises ValueError: a key of the cell is wrong."""
        return cls(cell_from_json(found), found["round"], found["setting"], found["variant"])


@dataclass(frozen=True)
class Done:
    """A variant has had its turn in a round."""

    setting: int
    round: int
    variant: str

    def to_json(self) -> dict[str, Any]:
        """See `line_of`."""
        return {"kind": "done", **asdict(self)}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """The event of `to_json`."""
        return cls(found["setting"], found["round"], found["variant"])


@dataclass(frozen=True)
class Note:
    """Something that the user should know, and that is no failure of a cell."""

    text: str

    def to_json(self) -> dict[str, Any]:
        """See `line_of`."""
        return {"kind": "note", **asdict(self)}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """The event of `to_json`."""
        return cls(found["text"])


Event = Begin | Done | Note | Measurement | Failure
Emit = Callable[[Event], None]  # on rank 0
_KINDS: dict[str, type[Event]] = {
    "begin": Begin, "done": Done, "note": Note, "measurement": Measurement, "failure": Failure,
}  # fmt: skip


def line_of(event: Event) -> str:
    """The line of an event, without its end."""
    return MARK + json.dumps(event.to_json())


def event_of(line: str) -> Event | None:
    """The event of a line; None for a line that is none.

    :raises ValueError: the event is not whole.
    """
    if not line.startswith(MARK):
        return None
    found = json.loads(line.removeprefix(MARK))
    return _KINDS[found["kind"]].from_json(found)


def on_nodes(event: Event, nodes: int) -> Event:
    """The event, whose cell names so many nodes if it has a cell."""
    return event if isinstance(event, Done | Note) else replace(event, cell=replace(event.cell, nodes=nodes))


def nothing(_: Event) -> None:
    """For ranks whose events nobody hears."""
