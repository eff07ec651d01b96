"""Advice from measurements: which engine to choose, with which parameters, and why.

Only variants that wrote right values in every round and never failed are advised. If the data do not show which one is
the fastest, there is no advice, or the advice says that a preference decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tailrace.text import counted, duration, size

from ..records.results import BenchResults
from ..records.summary import Ranking, Summary, probability, share, summarise
from .case_block import checkpoint_block, environment_line, output_block
from .choice import FEWEST, WHY, Sorted, preference, sort_variants
from .interval import HOUR, Interval, interval_of
from .load import GIB
from .nearest import nearest, setting_words, step_bytes
from .observations import is_write, load_of
from .question import AdviceError, Question
from .striping import stripe_command

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


def advise(results: BenchResults, question: Question) -> Advice:
    """The fastest safe variant of the measured setting that is nearest to the question.

    :raises AdviceError: the data cannot tell; the message has the reason.
    """
    _check_machines(results)
    every = summarise(results.measurements)
    variants = _nearest_of_purpose(every, question)
    sorted_variants = sort_variants(variants, results)
    good = _comparable(variants, sorted_variants, question)
    setting = variants[0].cell.setting
    limits = tuple(one for one in every if one.cell.role == "limit" and one.cell.setting == setting)
    ranking = Ranking(setting, tuple(sorted(good, key=lambda one: one.seconds.median)), limits)
    tied = ranking.best
    chosen = min(tied, key=lambda one: preference(one.cell.engine, dict(one.cell.parameters)))
    return _advice(results, question, variants, ranking, chosen, sorted_variants)


def _check_machines(results: BenchResults) -> None:
    """:raises AdviceError: the writes come from several machines. Imported results do not name theirs."""
    writers = {one.run for one in results.measurements if is_write(one.cell)}
    machines = {
        (str(run.machine.get("processor")), run.machine.get("cores")) for run in results.runs if run.run in writers
    }
    if len(machines) > 1:
        listed = "; ".join(f"{name}, {cores} cores" for name, cores in sorted(machines, key=str))
        raise AdviceError(f"the results are of {len(machines)} machines ({listed}); give the files of one machine")


def _nearest_of_purpose(every: Sequence[Summary], question: Question) -> tuple[Summary, ...]:
    """The nearest setting of suitable writes: a checkpoint must be on the disk, an output need not.

    :raises AdviceError: the results have no such setting.
    """
    found = [one for one in every if is_write(one.cell) and min(one.rate.values) > 0]
    if not found:
        raise AdviceError("the results have no writes of fields by an engine of Tailrace")
    synced = [one for one in found if one.cell.cache == "synced"]
    cached = [one for one in found if one.cell.cache == "page cache"]
    if question.purpose == "checkpoint" and not synced:
        raise AdviceError(
            "the results have no synced writes, and a checkpoint is safe only when it is stored on the disk; "
            "measure synced ones"
        )
    if question.purpose == "checkpoint":
        return nearest(synced, question)
    try:
        return nearest(cached or synced or found, question)
    except AdviceError:
        if not (cached and synced):
            raise
        return nearest(synced, question)  # those in the page cache are too far from what is asked


def _comparable(variants: Sequence[Summary], found: Sorted, question: Question) -> tuple[Summary, ...]:
    """The ways to choose from. Raises AdviceError if there is nothing to choose from."""
    if len(variants) == 1:
        raise AdviceError(
            f"only one way was measured, {variants[0].cell.name} ({setting_words(variants)}); measure others beside it"
        )
    if not found.good and not found.doubtful:
        raise AdviceError(f"no way is safe: {_list_of(found.unsafe)}")
    if not found.good:
        raise AdviceError(
            f"every figure of the safe ways is doubtful: {_list_of(found.doubtful)}. Measure again on a quieter machine"
        )
    few = [one for one in found.good if len(one.rounds) < FEWEST]
    if few and len(found.good) > 1:
        raise AdviceError(
            f"{few[0].cell.name} has {counted(len(few[0].rounds), 'round')}: with fewer than {FEWEST} no two ways can "
            "be told apart; measure more"
        )
    raw = tuple(one for one in found.good if one.cell.engine == OF_CHECKPOINTS)
    return raw if question.purpose == "checkpoint" and raw else found.good


def _list_of(found: Sequence[tuple[Summary, str]]) -> str:
    return "; ".join(f"{variant.cell.name}: {reason}" for variant, reason in found)


def _advice(
    results: BenchResults,
    question: Question,
    variants: Sequence[Summary],
    ranking: Ranking,
    chosen: Summary,
    found: Sorted,
) -> Advice:
    parameters = dict(chosen.cell.parameters)
    wanted = question.bytes or step_bytes(variants)
    cost = wanted / chosen.rate.median
    mtbf = question.mtbf_hours
    interval = interval_of(cost, mtbf * HOUR) if question.purpose == "checkpoint" and mtbf is not None else None
    tied = tuple(one.cell.name for one in ranking.best if one is not chosen)
    for_checkpoint = question.purpose == "checkpoint"
    others = len(found.good) > len(ranking.variants)
    own = for_checkpoint and chosen.cell.engine == OF_CHECKPOINTS
    commands = [environment_line(parameters)] if own else []
    return Advice(
        engine=chosen.cell.engine,
        parameters=parameters,
        reasons=(
            _rate_sentence(ranking, chosen, variants),
            _next_sentence(ranking, chosen, others),
            _cost(question, cost, wanted),
        ),
        block=checkpoint_block(interval)
        if for_checkpoint
        else output_block(chosen.cell.engine, parameters, chosen.cell.precision),
        commands=tuple(one for one in [*commands, *_stripes(results, chosen)] if one),
        notes=tuple(_notes(question, variants, ranking, chosen, found)),
        tied=tied,
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


def _next_sentence(ranking: Ranking, chosen: Summary, others: bool) -> str:
    """:param others: whether variants of other engines are as safe."""
    tied = [one for one in ranking.best if one is not chosen]
    slower = [one for one in ranking.variants if one not in ranking.best]
    if tied:
        names = ", ".join(f"{one.cell.name} ({_gib(one.rate.median)} GiB/s)" for one in tied)
        return f"It ties with {names}: their rounds do not differ, so a preference decided, {WHY}."
    if not slower and others:
        return f"It is the only way of {chosen.cell.engine} that is safe and without doubt; the notes have the others."
    if not slower:
        return "It is the only way that is safe and without doubt, so it was compared with none."
    other = slower[0]
    chance = probability(chosen.seconds.values, other.seconds.values)
    return (
        f"The next, {other.cell.name}, reached {_gib(other.rate.median)} GiB/s and takes "
        f"{other.seconds.median / chosen.seconds.median:.2f} times as long; rounds of one kind would differ so with a "
        f"probability of {chance:.2g} only."
    )


def _cost(question: Question, cost: float, wanted: float) -> str:
    thing = "A checkpoint" if question.purpose == "checkpoint" else "A step"
    what = f" ({question.words()})" if question.bytes is not None else ""
    return f"{thing} of {size(wanted)}{what} costs {_seconds(cost)} at this rate."


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
    if str(dict(cell.parameters).get("checksums", "on")).lower() in ("off", "false"):
        notes.append("without checksums, `tailrace verify` cannot find damage")
    fast = ranking.variants[0].seconds.median
    notes += [f"not advised: {variant.cell.name}, {why}{_faster(variant, fast)}" for variant, why in found.unsafe]
    notes += [
        f"left out, doubtful: {variant.cell.name}, {why}{_faster(variant, fast)}" for variant, why in found.doubtful
    ]
    return notes + [f"not advised: {one.name}, failed: {text.splitlines()[0]}" for one, text in found.failed if text]


def _faster(variant: Summary, seconds: float) -> str:
    return ", though it is faster" if variant.seconds.median < seconds else ""


def _checkpoint_notes(chosen: Summary, found: Sorted) -> list[str]:
    if chosen.cell.engine != OF_CHECKPOINTS:
        return [
            "checkpoints of `tailrace run` are written by raw, of which no safe figure was measured; the engine is for "
            "programs of your own"
        ]
    first = min(found.good, key=lambda one: one.seconds.median)
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


def _seconds(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 60 else duration(seconds)
