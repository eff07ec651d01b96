"""How sure an advice from measurements is, why, and what would make it surer."""

from __future__ import annotations

import shlex
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.text import counted

from ..ranks.partition import partition_of
from ..records.records import Cell
from ..records.results import BenchResults
from ..records.summary import LEAST_RATIO, SIGNIFICANT, Ranking, Summary, probability
from .choice import FEWEST, Sorted
from .question import Question

LEVELS = ("sure", "fairly sure", "not sure")
_CLEAR = 0.01  # a chance below which nobody would doubt the order of two ways
_ROUNDS = 7  # that the command to measure again asks for


@dataclass(frozen=True)
class Sureness:
    """How sure an advice is. The reasons are sentences without a full stop."""

    level: str = LEVELS[0]
    reasons: tuple[str, ...] = ()
    remedy: str = ""

    def words(self, name: str) -> str:
        """The first line of an advice to take the way of this name."""
        now = " for now" if self.level == LEVELS[2] else ""
        reasons = "; ".join(self.reasons)
        remedy = f" To be surer: {self.remedy}" if self.remedy else ""
        return f"Take {name}{now}. {self.level.capitalize()}{': ' if reasons else ''}{reasons}.{remedy}"


def few_rounds(ways: Sequence[Summary]) -> bool:
    """Whether a way has too few rounds to be told apart from another one."""
    return len(ways) > 1 and min(len(one.rounds) for one in ways) < FEWEST


def sureness_of(
    ranking: Ranking,
    tied: Sequence[Summary],
    chosen: Summary,
    found: Sorted,
    results: BenchResults,
    question: Question,
    doubts: Sequence[str],
) -> Sureness:
    """How sure it is that `chosen` is the way to take.

    :param tied: the ways that count as fast as the fastest one.
    :param doubts: what is already known to be doubtful, in sentences without a full stop.
    """
    ways = [*ranking.variants, *(way for way, _ in found.doubtful if found.good)]
    if question.purpose == "checkpoint":
        ways = [way for way in ways if way.cell.engine == chosen.cell.engine]
    serious = [*doubts, *_of_rounds(ranking, chosen, found), *_of_runs(ways, chosen, results)]
    if len(ranking.variants) == 1:
        serious.append(f"it was compared with no other way{' that is without doubt' if len(ways) > 1 else ''}")
    light = _of_faster(chosen, found)
    beside, clear = _beside(ranking, tied, chosen)
    level = LEVELS[2] if serious else LEVELS[0] if clear and not light else LEVELS[1]
    remedy = "" if level == LEVELS[0] else f"`{measure_again(chosen, question, results)}` on a quiet machine"
    return Sureness(level, (*serious, *light, *beside), remedy)


def measure_again(chosen: Summary, question: Question, results: BenchResults) -> str:
    """The command that measures what is asked, else the setting of a way; in the directory of the way."""
    cell = chosen.cell
    asked = question.local or question.shape
    words = ["tailrace bench io --ranks", str(question.ranks or cell.ranks)]
    if cell.source and not asked:
        words += ["--from", shlex.quote(cell.source)]
    else:
        points = ",".join(map(str, asked or cell.shape))
        precision = question.precision if asked else cell.precision
        variables = question.variables if asked else cell.variables
        words += ["--local" if question.local else "--global", points]
        words += ["--precision", precision] if precision != "float64" else []
        words += ["--variables", str(variables)] if variables != 1 else []
    words += ["--steps", str(cell.steps)] if cell.steps != 1 else []
    if question.ranks in (None, cell.ranks) and cell.decomposition not in ((), partition_of("pencils", cell.ranks)):
        words += ["--decomposition", ",".join(map(str, cell.decomposition))]
    runs = {one.run for one in chosen.rounds}
    known = (run.directories.get(cell.directory, {}) for run in results.runs if run.run in runs)
    if path := next((one["path"] for one in known if one.get("path")), None):
        words += ["--directory", shlex.quote(f"{cell.directory}={path}")]
    return f"{' '.join(words)} --rounds {_ROUNDS} -o again.jsonl"


def _of_rounds(ranking: Ranking, chosen: Summary, found: Sorted) -> list[str]:
    """Doubts because of rounds: too few, disturbed, or of two kinds."""
    said = []
    if few_rounds(ranking.variants):
        least = min(ranking.variants, key=lambda one: len(one.rounds))
        said.append(
            f"{least.cell.name} has {counted(len(least.rounds), 'round')}, and ways can be told apart from {FEWEST} on"
        )
    if not found.good:
        doubt = next(reason for way, reason in found.doubtful if way.cell == chosen.cell)
        said.append(f"the figures of every way are doubtful, those of {chosen.cell.name} because of {doubt}")
    return said


def _of_runs(ways: Sequence[Summary], chosen: Summary, results: BenchResults) -> list[str]:
    """Doubts because one run says something else than another."""
    times: dict[str, dict[Cell, list[float]]] = defaultdict(lambda: defaultdict(list))
    for way in ways:
        for one in way.rounds:
            times[one.run][way.cell].append(one.seconds)
    if len(times) < 2:
        return []
    began = {run.run: run.began for run in results.runs}
    said = []
    for run, measured in times.items():
        medians = {cell: statistics.median(seconds) for cell, seconds in measured.items()}
        best = min(medians, key=lambda cell: medians[cell])
        if chosen.cell in medians and medians[chosen.cell] >= LEAST_RATIO * medians[best]:
            said.append(f"in the run of {began.get(run, run)}, {best.name} was faster")
    return [f"the runs contradict each other: {'; '.join(said)}"] if 0 < len(said) < len(times) else []


def _of_faster(chosen: Summary, found: Sorted) -> list[str]:
    """The doubtful ways that may be faster than the chosen one."""
    if not found.good:
        return []
    faster = [way.cell.name for way, _ in found.doubtful if way.seconds.median < chosen.seconds.median]
    return [f"{' and '.join(faster)} may be faster, but with doubtful figures"] if faster else []


def _beside(ranking: Ranking, tied: Sequence[Summary], chosen: Summary) -> tuple[list[str], bool]:
    """How the chosen way stands beside the others, and whether that is clear."""
    if others := [one.cell.name for one in tied if one is not chosen]:
        return [f"{' and '.join(others)} {'is' if len(others) == 1 else 'are'} as fast, so little is lost"], False
    slower = [one for one in ranking.variants if one is not chosen]
    if not slower:
        return [], True
    other = slower[0]
    pairs = [(a, b) for a in chosen.seconds.values for b in other.seconds.values]
    wins = sum(a < b for a, b in pairs)
    chance = probability(chosen.seconds.values, other.seconds.values)
    count = f"all {len(pairs)}" if wins == len(pairs) else f"{wins} of {len(pairs)}"
    said = f"it was faster than the next, {other.cell.name}, in {count} pairs of rounds"
    return [said], chance < min(_CLEAR, SIGNIFICANT)
