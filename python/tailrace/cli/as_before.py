"""The `--set` of a run that goes on: those of the run before hold without being given again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailrace.case.case import Case


def kept_overrides(case: Case, given: Sequence[str]) -> list[str]:
    """The `key=value` of the run that wrote the newest checkpoint, where they still hold. Local; without MPI.

    :param given: those of this run.
    """
    from tailrace.case.difference import remembered

    newest = max(Path(case.checkpoint.path).glob("step-????????*/series.jsonl"), key=_step, default=None)
    return list(remembered(_stored(newest), given)) if newest else []


def _step(path: Path) -> int:
    digits = path.parent.name.removeprefix("step-")
    return int(digits) if digits.isdecimal() else -1


def _stored(path: Path) -> list[str]:
    """What a checkpoint tells; nothing of a damaged one, which is not resumed from."""
    from tailrace.case.difference import OVERRIDES
    from tailrace.files.regular import open_regular

    try:
        with open_regular(path, encoding="utf-8") as file:  # a named pipe would wait for ever
            lines: list[Any] = [json.loads(line) for line in file]
        told = [line[1]["attributes"] for line in lines if "attributes" in line[1]]
        return [str(text) for text in json.loads(told[-1][OVERRIDES])] if told else []
    except (OSError, ValueError, TypeError, KeyError, IndexError, RecursionError):
        return []
