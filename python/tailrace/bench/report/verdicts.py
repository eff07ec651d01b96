"""The verdict on each setting in words: the fastest variant, its ties, the certainty, the doubts."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace

from tailrace.text import counted

from ..records.records import Cell, Failure
from ..records.results import BenchResults
from ..records.summary import Ranking, Summary, probability, rankings, share, summarise
from .figures import figure_of, percent, significant, times
from .words import Settings

_MANY = 3  # variants with disturbed rounds that share a line
_LEAST_ROUNDS = 4  # rounds of each of two variants; with fewer, no order of the rounds is unlikely enough


@dataclass(frozen=True)
class Verdict:
    """The verdict on one setting."""

    setting: Cell
    ranking: Ranking | None  # None if no variant could be ranked
    best: tuple[Summary, ...]  # the fastest variant and all that tie with it
    limits: tuple[Summary, ...]
    wrong: tuple[Summary, ...]  # variants that gave wrong values, here or in another operation
    failures: tuple[Failure, ...]

    @property
    def members(self) -> tuple[Summary, ...]:
        """All summaries: the variants by their rank, those with wrong values, the limits."""
        return (*(self.ranking.variants if self.ranking else ()), *self.wrong, *self.limits)

    @property
    def has_variants(self) -> bool:
        """Whether there is a variant, perhaps a failed one, besides limits."""
        return bool(self.ranking or self.wrong or any(one.cell.role == "way" for one in self.failures))

    @property
    def beaten(self) -> Summary | None:
        """The fastest variant that does not tie with the best."""
        variants = self.ranking.variants if self.ranking else ()
        return next((one for one in variants if one not in self.best), None)

    def limit(self) -> Summary | None:
        """The fastest limit, to which shares refer."""
        return max(self.limits, key=lambda one: one.rate.median, default=None)


def verdicts(results: BenchResults, settings: Settings) -> list[Verdict]:
    """A verdict for each setting, in the order in which they were measured."""
    ranked = {one.setting: one for one in rankings(results)}
    members: dict[Cell, list[Summary]] = defaultdict(list)
    for one in summarise(results.measurements):
        members[settings.of(one.cell)].append(one)
    failures: dict[Cell, list[Failure]] = defaultdict(list)
    for failure in results.failures:
        failures[settings.of(failure.cell)].append(failure)
    found = []
    for setting in settings.all:
        ranking = ranked.get(setting)
        limits = tuple(one for one in members[setting] if one.cell.role == "limit")
        wrong = tuple(one for one in members[setting] if one.cell.role == "way" and not one.right)
        best = ranking.best if ranking else ()
        found.append(Verdict(setting, ranking, best, limits, wrong, tuple(failures[setting])))
    return found


def sentence(verdict: Verdict, settings: Settings) -> str:
    """The fastest variant and its ties."""
    if not verdict.best:
        return "No way could be ranked." if verdict.has_variants else "Only limits were measured."
    first, *ties = verdict.best
    figure = figure_of(first)
    text = f"Fastest: {settings.label(first.cell)}, {figure.words()}"
    if len(first.rounds) > 1:
        text += f" ({figure.range()} in {counted(len(first.rounds), 'round')})"
    part, limit = share(first, verdict.limits), verdict.limit()
    if part is not None and limit is not None:
        text += f", {percent(part)} of the limit {settings.label(limit.cell)}"
    if ties:
        text += "; tie with " + " and ".join(f"{settings.label(one.cell)} ({figure_of(one).words()})" for one in ties)
    return text + "."


def certainty(verdict: Verdict, settings: Settings) -> str:
    """How certain the verdict is."""
    if not verdict.best:
        return ""
    first, beaten = verdict.best[0], verdict.beaten
    if verdict.ranking is not None and len(verdict.ranking.variants) == 1:
        return "No other way was ranked."
    if beaten is not None:
        chance = probability(first.cost.values, beaten.cost.values)
        longer = times(beaten.cost.median / first.cost.median) if first.cost.median else "many times"
        sure = "Sure" if chance < 0.01 else "Fairly sure"
        next_one = settings.label(beaten.cell)
        return f"{sure}: {next_one}, the next, takes {longer} as long (p = {significant(chance, 2)})."
    if min(len(one.rounds) for one in verdict.best) < _LEAST_ROUNDS:
        return f"Not sure: ways can be told apart from {_LEAST_ROUNDS} rounds of each on."
    return "Not told apart: all ways that were measured are within each other's spread, or within 5 %."


def warnings(verdict: Verdict, settings: Settings) -> list[str]:
    """Lines on doubtful, failed and wrong variants."""
    said = [f"{line}." for line in doubts(verdict, settings)]
    for one in verdict.wrong:
        rounds = f"{one.wrong} of {counted(len(one.rounds), 'round')}" if one.wrong else "another operation"
        said.append(f"{settings.label(one.cell)}: wrong values in {rounds}; it has no rank.")
    failed = Counter(settings.label(one.cell) for one in verdict.failures)
    said += [f"{name}: {counted(count, 'round')} failed." for name, count in failed.items()]
    return said


def doubts(verdict: Verdict, settings: Settings) -> list[str]:
    """Lines on groups of rounds and on disturbed rounds; many variants share one line."""
    disturbed = [one for one in verdict.members if any(each.disturbed for each in one.rounds)]
    if len(disturbed) < _MANY:
        return [f"{settings.label(one.cell)}: {one.doubt}" for one in verdict.members if one.doubt]
    said = [f"{settings.label(one.cell)}: {text}" for one in verdict.members if (text := _undisturbed(one).doubt)]
    counts = ((one, sum(bool(each.disturbed) for each in one.rounds)) for one in disturbed)
    words = ", ".join(f"{settings.label(one.cell)} {count} of {len(one.rounds)}" for one, count in counts)
    example = next(each.disturbed for each in disturbed[0].rounds if each.disturbed)
    return [*said, f"disturbed rounds: {words} (such as: {example})"]


def _undisturbed(summary: Summary) -> Summary:
    """The summary with no round marked as disturbed."""
    return Summary(summary.cell, tuple(replace(one, disturbed="") for one in summary.rounds))


@dataclass(frozen=True)
class Tally:
    """For each variant, the number of settings of one kind in which it is the fastest or ties with the fastest."""

    kind: str  # write, synced, scratch
    settings: int
    wins: tuple[tuple[str, int], ...]  # the most frequent first

    def words(self) -> str:
        """The tally in a line."""
        if not self.wins:
            return f"{self.kind}: no way could be ranked."
        (name, count), *others = self.wins
        text = (
            f"{self.kind}: the fastest, alone or in a tie, is {name} in {count} of {counted(self.settings, 'setting')}"
        )
        return ", ".join([text, *(f"{name} in {count}" for name, count in others)]) + "."


def tallies(found: list[Verdict], settings: Settings) -> list[Tally]:
    """A tally for each kind of setting with variants. Settings of one kind differ only in size, ranks and nodes."""
    kinds: dict[str, list[Verdict]] = defaultdict(list)
    for one in (each for each in found if each.has_variants):
        kinds[settings.words(one.setting, without=("shape", "ranks", "nodes", "decomposition"))].append(one)
    tallied = []
    for kind, members in kinds.items():
        wins = Counter(settings.label(variant.cell) for one in members for variant in one.best)
        tallied.append(Tally(kind, len(members), tuple(wins.most_common())))
    return tallied
