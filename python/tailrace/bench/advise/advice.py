"""Advice from measurements: which engine to choose, with which parameters, and why.

Only variants that wrote right values in every round and never failed are advised. If the data do not show well which
one is the fastest, the advice says which one to take now, how sure that is, and what to measure to be surer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tailrace.text import counted, duration, size

from ..records.results import BenchResults
from ..records.summary import LEAST_RATIO, SIGNIFICANT, Ranking, Summary, probability, share, summarise
from .case_block import checkpoint_block, environment_line, output_block
from .choice import WHY, Sorted, preference, sort_variants
from .interval import HOUR, Interval, interval_of
from .load import GIB
from .machine import of_one_machine
from .nearest import Near, nearest, setting_words, step_bytes
from .observations import is_write, load_of
from .question import AdviceError, Question
from .striping import stripe_command
from .sureness import Sureness, few_rounds, sureness_of

OF_CHECKPOINTS = "raw"  # the engine of the checkpoints of `tailrace run`


@dataclass(frozen=True)
class Advice:
    """What to choose, and why."""

    engine: str
    parameters: dict[str, Any]
    reasons: tuple[str, ...]  # three sentences
    block: str  # TOML for the case file
    commands: tuple[str, ...]  # for the shell, before the run
    notes: tuple[str, ...]
    tied: tuple[str, ...] = ()  # names of variants that are as fast; then a preference decided
    cost: float = 0.0  # seconds of a step or a checkpoint
    interval: Interval | None = field(default=None)
    sureness: Sureness = field(default_factory=Sureness)


def advise(results: BenchResults, question: Question) -> Advice:
    """The fastest safe variant of the measured setting that is nearest to the question, and how sure that is.

    :raises AdviceError: there is nothing to choose from; the message has the reason.
    """
    results, doubts = of_one_machine(results)
    every = summarise(results.measurements)
    near = _nearest_of_purpose(every, question)
    variants = near.variants
    found = sort_variants(variants, results)
    good = _comparable(found, question)
    setting = variants[0].cell.setting
    limits = tuple(one for one in every if one.cell.role == "limit" and one.cell.setting == setting)
    ranking = Ranking(setting, tuple(sorted(good, key=lambda one: one.seconds.median)), limits)
    tied = _tied(ranking)
    chosen = min(tied, key=lambda one: preference(one.cell.engine, dict(one.cell.parameters)))
    made = _advice(results, question, variants, ranking, tied, chosen, found)
    sure = sureness_of(ranking, tied, chosen, found, results, question, (*doubts, *near.doubts))
    return replace(made, sureness=sure)


def _nearest_of_purpose(every: Sequence[Summary], question: Question) -> Near:
    """The nearest setting of suitable writes: a checkpoint must be on the disk, an output need not.

    :raises AdviceError: the results have no writes, or none in the directory of the question.
    """
    found = [one for one in every if is_write(one.cell) and min(one.rate.values) > 0]
    if not found:
        raise AdviceError("the results have no writes of fields by an engine of Tailrace")
    synced = [one for one in found if one.cell.cache == "synced"]
    cached = [one for one in found if one.cell.cache == "page cache"]
    if question.purpose == "checkpoint":
        if synced:
            return nearest(synced, question)
        near = nearest(found, question)
        doubt = "no synced writes were measured, and a checkpoint is safe only when it is stored on the disk"
        return Near(near.variants, (doubt, *near.doubts), near.far)
    near = nearest(cached or synced or found, question)
    if near.far and cached and synced:  # those in the page cache are too far from what is asked
        other = nearest(synced, question)
        return near if other.far else other
    return near


def _comparable(found: Sorted, question: Question) -> tuple[Summary, ...]:
    """The ways to choose from; doubtful ones only where all are. Raises AdviceError where no way is safe."""
    if not found.good and not found.doubtful:
        reasons = "; ".join(f"{way.cell.name}: {reason}" for way, reason in found.unsafe)
        raise AdviceError(f"no way is safe: {reasons}. Measure again, with reads: tailrace bench io")
    ways = found.good or tuple(way for way, _ in found.doubtful)
    raw = tuple(one for one in ways if one.cell.engine == OF_CHECKPOINTS)
    return raw if question.purpose == "checkpoint" and raw else ways


def _tied(ranking: Ranking) -> tuple[Summary, ...]:
    """The fastest way and those that tie with it. With few rounds no test tells them apart, so the medians do."""
    if not few_rounds(ranking.variants):
        return ranking.best
    most = LEAST_RATIO * ranking.variants[0].seconds.median
    return tuple(one for one in ranking.variants if one is ranking.variants[0] or one.seconds.median < most)


def _advice(
    results: BenchResults,
    question: Question,
    variants: Sequence[Summary],
    ranking: Ranking,
    tied: Sequence[Summary],
    chosen: Summary,
    found: Sorted,
) -> Advice:
    parameters = dict(chosen.cell.parameters)
    wanted = question.bytes or step_bytes(variants)
    cost = wanted / chosen.rate.median
    mtbf = question.mtbf_hours
    for_checkpoint = question.purpose == "checkpoint"
    stored = chosen.cell.cache == "synced"  # only then the cost is that of a checkpoint on the disk
    interval = interval_of(cost, mtbf * HOUR) if for_checkpoint and stored and mtbf is not None else None
    others = len(found.good or found.doubtful) > len(ranking.variants)
    own = for_checkpoint and chosen.cell.engine == OF_CHECKPOINTS
    commands = [environment_line(parameters, question.ranks or chosen.cell.ranks)] if own else []
    return Advice(
        engine=chosen.cell.engine,
        parameters=parameters,
        reasons=(
            _rate_sentence(ranking, chosen, variants),
            _next_sentence(ranking, tied, chosen, others),
            _cost(question, cost, wanted),
        ),
        block=checkpoint_block(interval)
        if for_checkpoint
        else output_block(chosen.cell.engine, parameters, question.stored_precision or chosen.cell.precision),
        commands=tuple(one for one in [*commands, *_stripes(results, chosen)] if one),
        notes=tuple(_notes(question, variants, ranking, chosen, found)),
        tied=tuple(one.cell.name for one in tied if one is not chosen),
        cost=cost,
        interval=interval,
    )


def _rate_sentence(ranking: Ranking, chosen: Summary, variants: Sequence[Summary]) -> str:
    rate, part = chosen.rate, share(chosen, ranking.limits)
    limit = "no limit of the machine was measured beside it"
    if part is not None:
        fastest = max(ranking.limits, key=lambda one: one.rate.median)
        limit = f"{part:.2f} of the limit, {fastest.cell.name}"
    return (
        f"{chosen.cell.name} wrote {_gib(rate.median)} GiB/s ({_gib(rate.least)} to {_gib(rate.most)} in "
        f"{counted(len(rate.values), 'round')}), {limit}, with {setting_words(variants)}."
    )


def _next_sentence(ranking: Ranking, tied: Sequence[Summary], chosen: Summary, others: bool) -> str:
    """:param others: whether variants of other engines are as safe."""
    equal = [one for one in tied if one is not chosen]
    slower = [one for one in ranking.variants if one not in tied]
    if equal:
        names = ", ".join(f"{one.cell.name} ({_gib(one.rate.median)} GiB/s)" for one in equal)
        return f"It ties with {names}: their rounds do not differ, so a preference decided, {WHY}."
    if not slower and others:
        return f"It is the only way of {chosen.cell.engine} that is safe and without doubt; the notes have the others."
    if not slower:
        return "It is the only way that is safe and without doubt, so it was compared with none."
    other = slower[0]
    chance = probability(chosen.seconds.values, other.seconds.values)
    told = f"; rounds of one kind would differ so with a probability of {chance:.2g} only"
    return (
        f"The next, {other.cell.name}, reached {_gib(other.rate.median)} GiB/s and takes "
        f"{other.seconds.median / chosen.seconds.median:.2f} times as long{told if chance < SIGNIFICANT else ''}."
    )


def _cost(question: Question, cost: float, wanted: float) -> str:
    thing = "A checkpoint" if question.purpose == "checkpoint" else "A step"
    what = f" ({question.words()})" if question.bytes is not None else ""
    return f"{thing} of {size(wanted)}{what} costs {time_words(cost)} at this rate."


def _stripes(results: BenchResults, chosen: Summary) -> list[str]:
    runs = {one.run for one in chosen.rounds}
    name = chosen.cell.directory
    places = [run.directories[name] for run in results.runs if run.run in runs and name in run.directories]
    if not places or places[0].get("kind") != "lustre":
        return []
    path = str(places[0].get("path") or name)
    return [stripe_command(chosen.cell.engine, dict(chosen.cell.parameters), load_of(chosen), path)]


def _notes(
    question: Question, variants: Sequence[Summary], ranking: Ranking, chosen: Summary, found: Sorted
) -> list[str]:
    notes = []
    cell, measured = chosen.cell, step_bytes(variants)
    if (question.ranks or cell.ranks) != cell.ranks or (question.bytes or measured) != measured:
        notes.append(
            f"the nearest measured setting is taken: {setting_words(variants)}; times are scaled with the bytes"
        )
    if cell.cache == "page cache":
        notes.append("figures of the page cache: the disk has the bytes later, and a long run waits for it in the end")
    elif question.purpose == "output":
        notes.append(
            f"figures of {cell.cache} writes: none of the page cache were measured near it; an output is faster there"
        )
    if question.purpose == "checkpoint":
        notes += _checkpoint_notes(chosen, found)
        if cell.cache != "synced" and question.mtbf_hours is not None:
            notes.append("no interval is given: without synced writes nobody knows what a checkpoint on the disk costs")
    if str(dict(cell.parameters).get("checksums", "on")).lower() in ("off", "false"):
        notes.append("without checksums, `tailrace verify` cannot find damage")
    fast = ranking.variants[0].seconds.median
    notes += [f"not advised: {variant.cell.name}, {why}{_faster(variant, fast)}" for variant, why in found.unsafe]
    word = "left out, doubtful" if found.good else "doubtful"
    notes += [f"{word}: {variant.cell.name}, {why}{_faster(variant, fast)}" for variant, why in found.doubtful]
    return notes + [f"not advised: {one.name}, failed: {text.splitlines()[0]}" for one, text in found.failed if text]


def _faster(variant: Summary, seconds: float) -> str:
    return ", though it is faster" if variant.seconds.median < seconds else ""


def _checkpoint_notes(chosen: Summary, found: Sorted) -> list[str]:
    if chosen.cell.engine != OF_CHECKPOINTS:
        return [
            "checkpoints of `tailrace run` are written by raw, of which no safe figure was measured; the engine is for "
            "programs of your own"
        ]
    ways = found.good or tuple(way for way, _ in found.doubtful)
    first = min(ways, key=lambda one: one.seconds.median)
    notes = ["checkpoints of `tailrace run` are written by raw; the choice is between its strategies"]
    if first.cell.engine != OF_CHECKPOINTS and first.seconds.median < chosen.seconds.median:
        gain = chosen.seconds.median / first.seconds.median
        given = ", ".join(f"{key} = {value}" for key, value in first.cell.parameters) or "no parameters"
        notes.append(
            f"a program of your own may write its checkpoints by {first.cell.engine} ({given}), {gain:.2f} times as "
            "fast in the median; give sync = on"
        )
    return notes


def _gib(rate: float) -> str:
    return f"{rate / GIB:.3g}"


def time_words(seconds: float) -> str:
    """Seconds, or minutes and more, for people."""
    return f"{seconds:.2g} s" if seconds < 60 else duration(seconds)
