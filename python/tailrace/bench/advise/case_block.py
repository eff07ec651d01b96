"""Blocks of a case file that a reader can paste, and the commands that go with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailrace.flow.checkpoint import SHARED_BY

from .interval import Interval

FIELDS = ("ux", "uy", "uz")
EVERY = 100
KEEP = 2
# What every checkpoint of a run has; and what a benchmark adds to measure the disk.
_OF_CHECKPOINTS = ("sync", "checksums")


def output_block(engine: str, parameters: Mapping[str, Any], precision: str = "float64") -> str:
    """An [[output]] with this engine; the reader adds fields and interval."""
    import tomlkit

    entry = tomlkit.table()
    entry.add("name", "snapshots")
    entry.add("fields", list(FIELDS))
    entry["fields"].comment("your own")
    entry.add("every", EVERY)
    entry["every"].comment("steps; your own")
    entry.add("engine", engine)
    if precision != "float64":
        entry.add("precision", precision)
    if kept := {key: value for key, value in parameters.items() if value is not None}:
        entry.add("parameters", _table(kept))
    document = tomlkit.document()
    entries = tomlkit.aot()
    entries.append(entry)
    document.add("output", entries)
    return tomlkit.dumps(document)


def checkpoint_block(interval: Interval | None) -> str:
    """A [checkpoint], with Daly's interval if the time between failures is known."""
    import tomlkit

    section = tomlkit.table()
    if interval is None:
        section.add("minutes", 60.0)
        section["minutes"].comment("your own; --mtbf HOURS computes it")
    else:
        section.add("minutes", round(interval.daly / 60, 2))
        section["minutes"].comment("of the clock, by Daly (2006)")
    section.add("keep", KEEP)
    document = tomlkit.document()
    document.add("checkpoint", section)
    return tomlkit.dumps(document)


def environment_line(parameters: Mapping[str, Any], ranks: int) -> str:
    """The command that gives checkpoints of `tailrace run` their parameters of raw; "" for those that a run takes."""
    kept = {key: value for key, value in parameters.items() if value is not None and key not in _OF_CHECKPOINTS}
    if ranks > SHARED_BY and not kept.keys() & {"strategy", "layout", "aggregators"}:
        kept["strategy"] = "shared"  # which was measured; so many ranks would take another one
    words = ", ".join(f"raw:{key}={_word(value)}" for key, value in sorted(kept.items()))
    return f'export TAILRACE_PARAMETERS="{words}"' if words else ""


def _table(parameters: Mapping[str, Any]) -> Any:
    import tomlkit

    table = tomlkit.table()
    for key, value in sorted(parameters.items()):
        table.add(key, value)
    return table


def _word(value: Any) -> str:
    return {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) else str(value)
