"""Which measured variants may be advised, and which one is preferred if several are equally fast.

A variant may be advised if its values are right, it never failed, and nothing makes its figures doubtful.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tailrace.io.engines import ENGINES, STORING

from ..records.records import Cell
from ..records.results import BenchResults
from ..records.summary import Summary

FEWEST = 4  # rounds: fewer cannot differ by the test of Mann and Whitney, whatever their times
_ORDER = sorted(STORING, key=lambda name: ENGINES[name].model.preference)
WHY = f"one self-describing file first ({_ORDER[0]}), then {', '.join(_ORDER[1:])}; defaults before parameters"


@dataclass(frozen=True)
class Sorted:
    """The variants of a setting: those to choose from, and the others with their reasons."""

    good: tuple[Summary, ...]
    unsafe: tuple[tuple[Summary, str], ...]
    doubtful: tuple[tuple[Summary, str], ...]
    failed: tuple[tuple[Cell, str], ...]  # variants of the setting without any figure


def sort_variants(variants: Sequence[Summary], results: BenchResults) -> Sorted:
    """Sort the variants of one setting."""
    errors = {one.cell: one.error for one in results.failures}
    good, unsafe, doubtful = [], [], []
    for variant in variants:
        reason = why_unsafe(variant, errors.get(variant.cell))
        if reason:
            unsafe.append((variant, reason))
            continue
        calm = _calm(variant)
        if calm.doubt:
            doubtful.append((variant, calm.doubt))
        else:
            good.append(calm)
    setting, measured = variants[0].cell.setting, {variant.cell for variant in variants}
    failed = [
        (cell, text)
        for cell, text in errors.items()
        if cell.role == "way" and cell.setting == setting and cell not in measured
    ]
    return Sorted(tuple(good), tuple(unsafe), tuple(doubtful), tuple(failed))


def why_unsafe(variant: Summary, error: str | None) -> str:
    """Why a variant must not be advised, however fast it is; "" if it may."""
    rounds = len(variant.rounds)
    if error is not None:
        return f"failed: {_first_line(error)}"
    if variant.wrong:
        return f"wrote wrong values in {variant.wrong} of {rounds} rounds"
    if not variant.right:
        return "gave wrong values when they were read in another way"
    unverified = sum(one.verified is not True for one in variant.rounds)
    if unverified:
        return f"the values of {unverified} of {rounds} rounds were not read back and compared"
    return ""


def _calm(variant: Summary) -> Summary:
    """The variant without disturbed rounds, if enough rounds remain."""
    calm = tuple(one for one in variant.rounds if not one.disturbed)
    return replace(variant, rounds=calm) if len(calm) >= FEWEST else variant


def _first_line(text: str) -> str:
    lines: Iterable[str] = text.strip().splitlines()
    return next(iter(lines), "no message")


def preference(engine: str, parameters: Mapping[str, Any]) -> tuple[int, int]:
    """A sort key for equally fast variants: the preferred variant has the smallest. Nothing is measured for it."""
    kept = [value for value in parameters.values() if value is not None]
    return (_ORDER.index(engine) if engine in _ORDER else len(_ORDER), len(kept))
