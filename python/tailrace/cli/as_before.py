"""The `--set` of a run that goes on: those of the run before hold without being given again."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailrace.case.case import Case


def kept_overrides(case: Case, given: Sequence[str]) -> tuple[list[str], list[str]]:
    """The `key=value` of the run that wrote the newest checkpoint, where they still hold, and those of blocks that the
    case has no more. Local; without MPI.

    :param given: those of this run.
    """
    from tailrace.case.difference import remembered

    newest = max(Path(case.checkpoint.path).glob("step-????????*/series.jsonl"), key=_step, default=None)
    texts, before = _stored(newest) if newest else ([], {})
    kept, left_out = list[str](), list[str]()
    for text in texts:
        now = _in_its_block(text, before, case)
        (left_out if now is None else kept).append(now or text)
    return list(remembered(kept, given)), left_out


def _in_its_block(text: str, before: Mapping[str, Any], case: Case) -> str | None:
    """The same with the present number of the block that it is for; None if the case no longer has this block."""
    found = re.match(r"(\w+)\[(\d+)\](.*)", text, re.DOTALL)
    if found is None:
        return text
    section, at, rest = found[1], int(found[2]), found[3]
    old = [one.get("name") for one in before.get(section, [])]
    new = [getattr(one, "name", None) for one in getattr(case, section, [])]
    if at < len(old) and old[at] in new:
        return f"{section}[{new.index(old[at])}]{rest}"
    return text if len(old) == len(new) else None  # where there are as many, its name has changed


def _step(path: Path) -> int:
    digits = path.parent.name.removeprefix("step-")
    return int(digits) if digits.isdecimal() else -1


def _stored(path: Path) -> tuple[list[str], dict[str, Any]]:
    """The `key=value` that a checkpoint tells, and its case; nothing of a damaged one, which is not resumed from."""
    from tailrace.case.difference import OVERRIDES
    from tailrace.files.regular import open_regular

    try:
        with open_regular(path, encoding="utf-8") as file:  # a named pipe would wait for ever
            lines: list[Any] = [json.loads(line) for line in file]
        told = [line[1]["attributes"] for line in lines if "attributes" in line[1]]
        if not told:
            return [], {}
        return [str(text) for text in json.loads(told[-1][OVERRIDES])], tomllib.loads(told[-1]["case"])
    except (OSError, ValueError, TypeError, KeyError, IndexError, RecursionError):
        return [], {}
