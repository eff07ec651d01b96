"""Statistics of repeated measurements: spread, groups of rounds, ties and rankings.

Nothing here assumes a distribution: rounds on a busy machine are not normal, and are often of two kinds.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray

from .records import Cell, Measurement
from .results import BenchResults

SIGNIFICANT = 0.05  # two samples differ if they are less likely than this to come from one distribution
LEAST_RATIO = 1.05  # medians closer than this are a tie, however sure
GROUP_RATIO = 1.5  # two groups of rounds are apart by at least this, and by more than each is wide


@dataclass(frozen=True)
class Groups:
    """Rounds of two kinds."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]


@dataclass(frozen=True)
class Spread:
    """Repeated figures of one cell: seconds, or bytes per second."""

    values: tuple[float, ...]

    @property
    def least(self) -> float:
        """The smallest."""
        return min(self.values)

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.values)

    @property
    def most(self) -> float:
        """The largest."""
        return max(self.values)

    @property
    def relative(self) -> float:
        """(most - least) / median; 0 for one round."""
        return (self.most - self.least) / self.median if self.median else 0.0

    @property
    def groups(self) -> Groups | None:
        """The two kinds of rounds, if the gap between them is wider than each kind; None for rounds of one kind.

        A kind has at least two rounds; a single round apart is an outlier.
        """
        ordered = sorted(self.values)
        if len(ordered) < 4:
            return None
        gaps = [(upper - lower, place) for place, (lower, upper) in enumerate(pairwise(ordered))]
        gap, place = max(gaps)
        lower, upper = ordered[: place + 1], ordered[place + 1 :]
        if min(len(lower), len(upper)) < 2 or gap <= max(lower[-1] - lower[0], upper[-1] - upper[0]):
            return None
        apart = statistics.median(upper) >= GROUP_RATIO * statistics.median(lower)
        return Groups(tuple(lower), tuple(upper)) if apart else None


@dataclass(frozen=True)
class Summary:
    """All rounds of one cell."""

    cell: Cell
    rounds: tuple[Measurement, ...]
    uncounted: tuple[Measurement, ...] = ()  # round 0, in which everything happens for the first time
    right: bool = True  # no round of any operation on the same files gave wrong values

    @property
    def seconds(self) -> Spread:
        """Seconds of the rounds."""
        return Spread(tuple(one.seconds for one in self.rounds))

    @property
    def rate(self) -> Spread:
        """Bytes per second of the rounds."""
        return Spread(tuple(one.rate for one in self.rounds))

    @property
    def cost(self) -> Spread:
        """What ranks the variants of a setting: seconds of a byte, else seconds of the rounds where no bytes are moved.

        Rounds of one setting may move different numbers of bytes: those of a test that runs for a given time, and of a
        stream that leaves steps out.
        """
        return Spread(tuple(one.seconds / (one.bytes if self.rate.least > 0 else 1.0) for one in self.rounds))

    @property
    def doubt(self) -> str:
        """Why the figure is doubtful; "" if it is not."""
        said = []
        groups = self.seconds.groups
        if groups is not None:
            low, high = (statistics.median(part) for part in (groups.lower, groups.upper))
            said.append(
                f"two groups of rounds: {len(groups.lower)} near {low:.3g} s and {len(groups.upper)} near {high:.3g} s"
            )
        hit = [one.disturbed for one in self.rounds if one.disturbed]
        if hit:
            said.append(f"{len(hit)} of {len(self.rounds)} rounds disturbed ({hit[0]})")
        return "; ".join(said)

    @property
    def phases(self) -> dict[str, float]:
        """Median seconds of each phase."""
        names = dict.fromkeys(name for one in self.rounds for name in one.phases)
        return {name: statistics.median(one.phases.get(name, 0.0) for one in self.rounds) for name in names}

    @property
    def wrong(self) -> int:
        """The number of rounds whose values were not right when they were read back."""
        return sum(one.verified is False for one in (*self.uncounted, *self.rounds))

    @property
    def stacks(self) -> dict[str, float]:
        """Folded stacks of one round, "rank 0;write;sync" -> seconds; empty if none were kept."""
        return next((one.stacks for one in (*self.rounds, *self.uncounted) if one.stacks), {})


def summarise(measurements: Iterable[Measurement]) -> list[Summary]:
    """A summary for each cell with a round that counts, in the order of their first measurements.

    Round 0 of a variant counts if its values are wrong: such a variant may have no other round.

    :param measurements: all that were made of a variant: wrong values that one operation reads are a fault of the
        write and of every other read too.
    """
    wrong: set[Cell] = set()
    found: dict[Cell, tuple[list[Measurement], list[Measurement]]] = defaultdict(lambda: ([], []))
    for one in measurements:
        counts = one.round > 0 or (one.verified is False and one.cell.role == "way")
        found[one.cell][0 if counts else 1].append(one)
        if one.verified is False:
            wrong.add(_of_all_operations(one.cell))
    return [
        Summary(cell, tuple(rounds), tuple(others), _of_all_operations(cell) not in wrong)
        for cell, (rounds, others) in found.items()
        if rounds
    ]


def _of_all_operations(cell: Cell) -> Cell:
    """The same for the write of a variant and all reads of what it has written."""
    return replace(cell, operation="", cache="")


def probability(first: Sequence[float], second: Sequence[float]) -> float:
    """Probability that two samples of one distribution differ so much: the exact two-sided test of Mann and Whitney.

    It (1947) counts all ways to share these values among two samples; an equal pair is half a win.
    """
    n, m = len(first), len(second)
    wins = sum(2 * (a < b) + (a == b) for a in first for b in second)  # in halves
    extreme = min(wins, 2 * n * m - wins)
    values = Counter([*first, *second])
    counts = _counts_of_wins(n, m, tuple(values[value] for value in sorted(values)))
    as_extreme = counts[: extreme + 1].sum() + counts[2 * n * m - extreme :].sum()
    return min(1.0, float(as_extreme) / comb(n + m, n))


@lru_cache(maxsize=256)
def _counts_of_wins(n: int, m: int, equal: tuple[int, ...]) -> NDArray[np.float64]:
    """For 0, 1, ..., 2 n m half wins: the number of ways to choose n of n + m values that give so many.

    :param equal: how often each value is there, the smallest first.
    """
    counts = np.zeros((n + 1, 2 * n * m + 1))  # by the number of values that were chosen, and by wins
    counts[0, 0] = 1.0
    for count in equal:
        before, counts = counts, np.zeros_like(counts)
        for chosen in range(n + 1):
            for more in range(min(count, n - chosen) + 1):
                gain = (count - more) * (2 * chosen + more)
                if gain < counts.shape[1]:
                    counts[chosen + more, gain:] += comb(count, more) * before[chosen, : counts.shape[1] - gain]
    found: NDArray[np.float64] = counts[n]
    return found


def differ(first: Summary, second: Summary) -> bool:
    """Whether the costs of two cells differ by more than their spread explains."""
    return differ_by(first.cost, second.cost)


def differ_by(first: Spread, second: Spread) -> bool:
    """Whether two sets of rounds differ: unlikely to be one distribution, and medians apart by 5 % or more."""
    low, high = sorted((first.median, second.median))
    return high >= LEAST_RATIO * low and probability(first.values, second.values) < SIGNIFICANT


@dataclass(frozen=True)
class Ranking:
    """The variants of one setting, the fastest first."""

    setting: Cell
    variants: tuple[Summary, ...]
    limits: tuple[Summary, ...]

    @property
    def best(self) -> tuple[Summary, ...]:
        """The fastest variant and all that tie with it."""
        return tuple(one for one in self.variants if one is self.variants[0] or not differ(self.variants[0], one))


def share(summary: Summary, limits: Sequence[Summary]) -> float | None:
    """The rate of a variant over that of the fastest limit of its setting; None without a limit."""
    fastest = max((one.rate.median for one in limits), default=0.0)
    return summary.rate.median / fastest if fastest > 0 else None


def rankings(results: BenchResults) -> list[Ranking]:
    """The variants of each setting, ranked; a variant with wrong values in any round of any operation has no rank."""
    found: dict[Cell, list[Summary]] = defaultdict(list)
    for one in summarise(results.measurements):
        found[one.cell.setting].append(one)
    ranked = []
    for setting, members in found.items():
        right = (one for one in members if one.cell.role == "way" and one.right)
        variants = sorted(right, key=lambda one: one.cost.median)
        limits = tuple(one for one in members if one.cell.role == "limit")
        if variants:
            ranked.append(Ranking(setting, tuple(variants), limits))
    return ranked
