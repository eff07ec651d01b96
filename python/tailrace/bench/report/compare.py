"""Two files of results: which cells became slower or faster, and whether the machine itself did."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from ..records.records import Cell
from ..records.results import BenchResults
from ..records.summary import LEAST_RATIO, SIGNIFICANT, Spread, Summary, differ_by, probability, summarise
from .figures import times

Direction = Literal["slower", "faster", "tie", "only new", "only old"]


@dataclass(frozen=True)
class Change:
    """One cell in two files."""

    cell: Cell
    new: Summary | None  # None if only the old file has the cell
    old: Summary | None
    direction: Direction
    # How many times as long the limits of the setting take now (their median); a limit that did not change by more
    # than its spread counts as 1. None where the files have no limit of this setting in common.
    machine: float | None = None

    @property
    def ratio(self) -> float | None:
        """New over old median seconds: 2 is twice as slow; None if only one file has the cell."""
        if self.new is None or self.old is None or self.old.seconds.median <= 0:
            return None
        return self.new.seconds.median / self.old.seconds.median

    @property
    def chance(self) -> float | None:
        """The probability that rounds of one distribution differ so much."""
        if self.new is None or self.old is None:
            return None
        return probability(self.new.seconds.values, self.old.seconds.values)

    @property
    def corrected(self) -> Direction:
        """The direction after dividing the times of the new file by the change of the machine."""
        if self.new is None or self.old is None or self.machine is None:
            return self.direction
        scaled = Spread(tuple(one / self.machine for one in self.new.seconds.values))
        return _direction(scaled, self.old.seconds)

    def words(self) -> str:
        """The verdict in a line, with the part of the machine in it."""
        if self.new is None or self.old is None or self.ratio is None:
            return {"only new": "only in the new file", "only old": "only in the old file"}.get(self.direction, "tie")
        text = f"{self.direction}, takes {times(self.ratio)} as long" if self.direction != "tie" else self._tie()
        if self.cell.role == "limit" or self.machine is None or self.machine == 1:
            return text
        became = "slower" if self.machine > 1 else "faster"
        text += f"; the machine itself became {became}: its limit takes {times(self.machine)} as long"
        if self.corrected == "tie":
            return f"{text}, which explains this change" if self.direction != "tie" else f"{text}, within the spread"
        return f"{text}; relative to the machine it is {self.corrected}, {times(self.ratio / self.machine)} as long"

    def _tie(self) -> str:
        assert self.new is not None and self.old is not None
        if _undecidable(self.new, self.old):
            return f"tie: {len(self.new.rounds)} and {len(self.old.rounds)} rounds are too few to tell"
        return "tie"


def against(new: BenchResults, old: BenchResults) -> list[Change]:
    """Compare the cells of two files: first those of the new one in their order, then those that only the old one has.

    Cells are the same if all fields of `Cell` are equal. Their times are compared as in `summary.differ`.
    """
    now = {one.cell: one for one in summarise(new.measurements)}
    before = {one.cell: one for one in summarise(old.measurements)}
    machine = _machine(now, before)
    changes = []
    for cell, summary in now.items():
        earlier = before.get(cell)
        if earlier is None:
            changes.append(Change(cell, summary, None, "only new"))
            continue
        direction = _direction(summary.seconds, earlier.seconds)
        changes.append(Change(cell, summary, earlier, direction, machine.get(cell.setting)))
    return changes + [Change(cell, None, one, "only old") for cell, one in before.items() if cell not in now]


def overview(changes: list[Change]) -> str:
    """How many cells became slower or faster, in a sentence or two."""
    count = {kind: sum(one.direction == kind for one in changes) for kind in ("slower", "faster", "tie")}
    both = sum(count.values())
    text = f"Of {both} cells in both files {count['slower']} are slower, {count['faster']} are faster, "
    text += f"{count['tie']} do not differ by more than their spread and 5 %."
    explained = sum(
        one.direction in ("slower", "faster") and one.corrected == "tie" and one.cell.role == "way" for one in changes
    )
    if explained:
        text += f" {explained} of the changes have the ratio by which the machine itself changed."
    for kind, file in (("only new", "new"), ("only old", "old")):
        if single := sum(one.direction == kind for one in changes):
            text += f" {single} {'is' if single == 1 else 'are'} in the {file} file only."
    if both >= 1 / SIGNIFICANT:
        text += f" Of so many cells about {both * SIGNIFICANT:.0f} may differ by chance."
    return text


def _direction(new: Spread, old: Spread) -> Direction:
    if not differ_by(new, old):
        return "tie"
    return "slower" if new.median > old.median else "faster"


def _undecidable(new: Summary, old: Summary) -> bool:
    """Whether even the most different rounds would be a tie, though the medians are apart."""
    ratio = new.seconds.median / old.seconds.median
    count, others = len(new.rounds), len(old.rounds)
    least = probability(range(count), range(count, count + others))
    return least >= SIGNIFICANT and not 1 / LEAST_RATIO < ratio < LEAST_RATIO


def _machine(now: dict[Cell, Summary], before: dict[Cell, Summary]) -> dict[Cell, float]:
    """Setting -> the median ratio of its limits; a limit that did not change counts as 1."""
    ratios: dict[Cell, list[float]] = defaultdict(list)
    for cell, summary in now.items():
        if cell.role == "limit" and cell in before and before[cell].seconds.median > 0:
            changed = differ_by(summary.seconds, before[cell].seconds)
            ratio = summary.seconds.median / before[cell].seconds.median
            ratios[cell.setting].append(ratio if changed else 1.0)
    return {setting: statistics.median(of_it) for setting, of_it in ratios.items()}
