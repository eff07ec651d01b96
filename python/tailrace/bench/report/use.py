"""What to use on this machine, in one sentence: the first one of a report."""

from __future__ import annotations

from collections import Counter, defaultdict

from tailrace.io.engines import STORING
from tailrace.text import counted

from ..advise.advice import advise
from ..advise.observations import is_write
from ..advise.question import AdviceError, Question
from ..records.summary import Summary
from .overview import Overview
from .verdicts import Verdict

_TASKS = {  # what a bench measures, as a purpose of users
    "io": "reading fields",
    "checkpoint": "checkpoints of unstructured data",
    "couple": "a stream to an analysis",
    "overlap": "output beside computing",
    "steps": "small steps",
    "transpose": "transposes",
    "solver": "the solver",
    "analysis": "operators",
}


def use(overview: Overview) -> str:
    """One sentence: which way to use here, for each purpose that was measured."""
    benches: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in overview.verdicts:
        if verdict.has_variants and verdict.setting.bench != "memory":  # whose fastest way is not the one to take
            benches[verdict.setting.bench].append(verdict)
    parts = [part for bench, found in benches.items() for part in _of_bench(overview, bench, found)]
    if not parts:
        return "Nothing was measured that could tell what to use here."
    return f"Use here: {'; '.join(parts)}."


def _of_bench(overview: Overview, bench: str, found: list[Verdict]) -> list[str]:
    """What to use of one bench. For writes of fields it is what `tailrace advise` says."""
    parts = []
    if any(is_write(one.cell) for verdict in found for one in verdict.members):
        parts.append(_advised(overview))
    if bench == "io":  # other programs, and what Darshan saw below the engines, are there to compare
        found = [one for one in found if one.setting.operation == "read" and any(map(_is_ours, one.best))]
    wins = Counter(overview.label(one) for verdict in found for one in verdict.best if bench != "io" or _is_ours(one))
    if wins:
        (name, count), *others = wins.most_common()
        equal = [other for other, number in others if number == count]
        names = f"any of {', '.join([name, *equal])}" if equal else name
        where = f"the fastest, alone or in a tie, in {count} of {counted(len(found), 'setting')}"
        parts.append(f"for {_TASKS.get(bench, bench)}, {names} ({where})")
    return parts


def _is_ours(way: Summary) -> bool:
    return way.cell.engine in STORING


def _advised(overview: Overview) -> str:
    try:
        advice = advise(overview.results, Question())
    except AdviceError:
        return "for writing fields, nothing yet, because no way wrote values that were read back and right"
    name = ", ".join([advice.engine, *(f"{key} = {value}" for key, value in advice.parameters.items())])
    return f"for writing fields, {name} ({advice.sureness.level})"
