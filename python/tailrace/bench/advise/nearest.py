"""The measured setting that is nearest to the question."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.text import counted, size

from ..records.records import Cell
from ..records.summary import Summary
from .question import AdviceError, Question

FURTHEST = 4.0  # in ranks or in bytes of a step, as a factor


@dataclass(frozen=True)
class Near:
    """The variants of the nearest setting."""

    variants: tuple[Summary, ...]
    doubts: tuple[str, ...] = ()  # why they may say little about the question, in sentences without a full stop
    far: bool = False  # whether they are further away than a factor of FURTHEST


def nearest(summaries: Sequence[Summary], question: Question) -> Near:
    """The variants of the setting that is nearest in ranks and bytes of a step; without a question, the largest.

    Of several directories in which it was measured, the fastest.

    :raises AdviceError: nothing was measured in the directory of the question.
    """
    groups: dict[Cell, list[Summary]] = defaultdict(list)
    for one in summaries:
        groups[one.cell.setting].append(one)
    if question.directory is not None:
        names = sorted({cell.directory for cell in groups})
        groups = {cell: group for cell, group in groups.items() if cell.directory == question.directory}
        if not groups:
            raise AdviceError(f"nothing was measured in the directory {question.directory!r}; there are {_all(names)}")
    best = min(_distance(cell, group, question) for cell, group in groups.items())
    ties = [group for cell, group in groups.items() if _distance(cell, group, question) == best]
    doubts = []
    far = min(_furthest(group[0].cell, group, question) for group in ties) > FURTHEST * (1 + 1e-9)
    if far:
        doubts.append(_too_far(groups, question))
    names = sorted({group[0].cell.directory for group in ties})
    if len(names) > 1:
        fast = min(ties, key=_fastest)[0].cell.directory
        ties = [group for group in ties if group[0].cell.directory == fast]
        doubts.append(f"of the directories {_all(names)} the fastest, {fast!r}, is taken; choose by --directory NAME")
    most = max(ties, key=_amount)
    return Near(tuple(most), tuple(doubts), far)


def step_bytes(group: Sequence[Summary]) -> float:
    """The bytes of one step of a setting."""
    return statistics.median(one.bytes for variant in group for one in variant.rounds) / group[0].cell.steps


def setting_words(group: Sequence[Summary]) -> str:
    """The setting in a line, for people."""
    cell = group[0].cell
    shape = " x ".join(map(str, cell.shape))
    more = f", {cell.precision}, {cell.cache}" + (f", in {cell.directory}" if cell.directory else "")
    return f"{counted(cell.variables, 'variable')} of {shape} points ({size(step_bytes(group))} a step) on " + (
        f"{counted(cell.ranks, 'rank')}{more}"
    )


def _fastest(group: list[Summary]) -> float:
    return min(one.seconds.median for one in group)


def _amount(group: list[Summary]) -> tuple[int, int]:
    return len(group), sum(len(one.rounds) for one in group)


def _factors(cell: Cell, group: Sequence[Summary], question: Question) -> tuple[float, float]:
    wanted = question.bytes
    ranks = 1.0 if question.ranks is None else question.ranks / cell.ranks
    bytes_ = 1.0 if wanted is None else wanted / step_bytes(group)
    return max(ranks, 1 / ranks), max(bytes_, 1 / bytes_)


def _furthest(cell: Cell, group: Sequence[Summary], question: Question) -> float:
    return max(_factors(cell, group, question))


def _distance(cell: Cell, group: Sequence[Summary], question: Question) -> tuple[float, ...]:
    """A sort key: smaller is nearer. Without a number in the question, larger settings come first."""
    ranks, bytes_ = _factors(cell, group, question)
    apart = math.log(ranks) + math.log(bytes_)
    more = -cell.ranks if question.ranks is None else 0
    return (round(apart, 9), more, -step_bytes(group) if question.bytes is None else 0)


def _too_far(groups: dict[Cell, list[Summary]], question: Question) -> str:
    measured = sorted({(cell.ranks, step_bytes(group)) for cell, group in groups.items()})
    listed = ", ".join(f"{size(each)} on {counted(ranks, 'rank')}" for ranks, each in measured[:8])
    asked = [] if question.bytes is None else [f"{size(question.bytes)} a step"]
    asked += [] if question.ranks is None else [counted(question.ranks, "rank")]
    return (
        f"{' and '.join(asked)}: more than a factor of {FURTHEST:g} from all that was measured ({listed}); a profile "
        "(--fit-to FILE) and a prediction from it (--machine FILE) may tell more"
    )


def _all(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
