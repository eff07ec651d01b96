"""How the case of a run that goes on differs from the one it was computed with, and which differences it may have."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .document import leaves, override_key, override_value
from .keys import default_of


class Meaning(Enum):
    """What a difference does to a run that goes on."""

    STEERS = "steers"  # when it ends, what it writes, how the ranks share the work
    BEGINNING = "beginning"  # of step 0 alone
    PHYSICS = "physics"  # what is computed: the run is another one from there on
    STATE = "state"  # what the arrays of a checkpoint are made for


# By the beginning of a key, without the numbers of entries. A key that is not here changes what is computed.
_MEANINGS = {
    "case.name": Meaning.STEERS,
    "time.steps": Meaning.STEERS,
    "time.end": Meaning.STEERS,
    "numerics.device": Meaning.STEERS,  # equal to rounding
    "parallel": Meaning.STEERS,
    "diagnostics": Meaning.STEERS,
    "output": Meaning.STEERS,
    "analysis": Meaning.STEERS,
    "picture": Meaning.STEERS,
    "catalyst": Meaning.STEERS,
    "checkpoint": Meaning.STEERS,
    "case.flow": Meaning.BEGINNING,
    "case.from": Meaning.BEGINNING,
    "case.from_step": Meaning.BEGINNING,
    "case.from_time": Meaning.BEGINNING,
    "case.project": Meaning.BEGINNING,
    "case.parameters": Meaning.BEGINNING,
    "scalar.initial": Meaning.BEGINNING,
    "scalar.front": Meaning.BEGINNING,
    "scalar.thickness": Meaning.BEGINNING,
    "scalar.level": Meaning.BEGINNING,
    "grid": Meaning.STATE,
    "scalar.name": Meaning.STATE,
    "time.scheme": Meaning.STATE,
    "numerics.precision": Meaning.STATE,
    "numerics.implicit_y": Meaning.STATE,
}
OVERRIDES = "overrides"  # attribute of a checkpoint: the `key=value` of its run, as a JSON list
_END = ("time.steps", "time.end")
_MOST = 5  # differences in a line
_LONGEST = 60  # letters of a value


@dataclass(frozen=True)
class Difference:
    """A key with two values; None: the case does not have it."""

    key: str
    before: Any
    now: Any

    @property
    def meaning(self) -> Meaning:
        """What it does to a run that goes on."""
        parts = re.sub(r"\[\d+\]", "", self.key).split(".")
        heads = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
        return next((_MEANINGS[head] for head in heads if head in _MEANINGS), Meaning.PHYSICS)

    def __str__(self) -> str:
        return f"{self.key} = {_word(self.now)} (before: {_word(self.before)})"

    @property
    def old(self) -> str:
        """The words that give the old value back."""
        return f"{self.key} = {_word(self.before)}" if self.before is not None else f"{self.key} left out"


def _word(value: Any) -> str:
    if value is None:
        return "not given"
    text = f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def differences(before: str, now: str) -> list[Difference]:
    """All differences of two cases, in the order of their keys in `now`. Local.

    A key that an older version did not write had its default.

    :param before, now: texts of cases with all their values, as `Case.to_toml` writes them.
    :raises ValueError: a text is not TOML.
    """
    old, new = (dict(leaves(tomllib.loads(text))) for text in (before, now))
    keys = [*new, *(key for key in old if key not in new)]
    found = [Difference(key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key)]
    return [one for one in found if one.key in old or not _is_default(one)]


def _is_default(one: Difference) -> bool:
    default = default_of(one.key)
    return bool(one.now == (list(default) if isinstance(default, tuple) else default))


def in_a_line(found: Sequence[Difference]) -> str:
    """The differences in one line; of many the first."""
    shown = ", ".join(map(str, found[:_MOST]))
    return shown if len(found) <= _MOST else f"{shown}, and {len(found) - _MOST} more"


def remembered(before: Sequence[str], given: Sequence[str]) -> Iterator[str]:
    """The `key=value` of an earlier run that still hold: all but those given again, and but the end, which a run that
    goes on usually moves. Local."""
    again = set(map(override_key, given))
    for text in before:
        if override_key(text) == "time":  # the whole table, with an end perhaps
            table = override_value(text.partition("=")[2])
            ends = {key.partition(".")[2] for key in _END}
            parts = [f"time.{key}={json.dumps(value)}" for key, value in table.items() if key not in ends]
            yield from (part for part in parts if not {override_key(part), "time"} & again)
        elif override_key(text) not in {*again, *_END}:
            yield text
