"""The parts of a run whose case was changed on purpose: which case holds for which steps.

A series has the attributes of its last part. Two more tell the earlier ones: `changes` for people, and `earlier_cases`,
a JSON list with the last step of each earlier part and the attributes that it had otherwise; null: it had none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

CHANGES = "changes"
EARLIER = "earlier_cases"
PARTS = (CHANGES, EARLIER)


def parts_of(attributes: Mapping[str, Any]) -> dict[str, str]:
    """The two attributes, if there are any: a run that goes on keeps them. Local."""
    return {key: str(attributes[key]) for key in PARTS if key in attributes}


def with_part(
    parts: Mapping[str, str], step: int, before: Mapping[str, Any], now: Mapping[str, Any], what: str
) -> dict[str, str]:
    """The two attributes of a run that changes its case after a step. Local.

    :param parts: those that it had.
    :param before, now: the attributes before and after the change.
    :param what: the change for people.
    """
    earlier = json.loads(parts.get(EARLIER, "[]"))
    keys = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    earlier.append({"last_step": step, "attributes": {key: before.get(key) for key in keys}})
    line = f"after step {step}: {what}"
    return {
        CHANGES: f"{parts[CHANGES]}; {line}" if CHANGES in parts else line,
        EARLIER: json.dumps(earlier),
    }


def attributes_at(attributes: dict[str, Any], index: int) -> dict[str, Any]:
    """The attributes of a series in the part of a step. Local."""
    found = dict(attributes)
    for last, others in reversed(_earlier(attributes)):
        if index <= last:
            found.update(others)
    return {key: value for key, value in found.items() if value is not None}


def of_all_steps(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a series that hold for all its steps. Local."""
    changed = {key for _, others in _earlier(attributes) for key in others}
    return {key: value for key, value in attributes.items() if key not in changed}


def _earlier(attributes: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    try:
        parts = json.loads(str(attributes.get(EARLIER, "[]")))
        return [(int(part["last_step"]), dict(part["attributes"])) for part in parts]
    except (ValueError, TypeError, KeyError, RecursionError):  # an attribute of this name that somebody else gave
        return []
