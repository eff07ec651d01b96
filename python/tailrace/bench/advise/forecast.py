"""Advice from the profile of a machine: the prediction of the model for each engine, and its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailrace.text import counted, size

from .advice import OF_CHECKPOINTS, Advice, time_words
from .case_block import checkpoint_block, environment_line, output_block
from .choice import WHY, preference
from .interval import HOUR, interval_of
from .load import Durability, Load
from .model import START_OPENS, Prediction, predict, start_seconds
from .pattern import pattern_of
from .profile import Profile
from .question import AdviceError, Question
from .striping import ALL, stripe_command, stripes_for
from .sureness import LEVELS, Sureness
from .uncertainty import HIGH, LOW, StripedVariant, Uncertainty, range_of, seconds_of

SURE = 0.8  # a variant counts as slower if it is slower in this share of the draws
DIRECTORY = "DIR"

VARIANTS = (
    *(StripedVariant("hdf5", given) for given in ({}, {"transfer": "collective"})),
    *(StripedVariant(engine, {}) for engine in ("bp5", "bp4", "adios_hdf5", "raw")),
    *(StripedVariant("raw", {"strategy": word}) for word in ("dist", "node", "collect_xy", "collect")),
    *(StripedVariant(engine, {}) for engine in ("mpiio", "sion")),
)


@dataclass(frozen=True)
class Row:
    """The prediction of one variant."""

    variant: StripedVariant
    prediction: Prediction
    rate: Uncertainty  # GiB/s


@dataclass(frozen=True)
class Forecast:
    """The predictions of all variants, the fastest first, and the advice that follows."""

    rows: tuple[Row, ...]
    load: Load
    advice: Advice


def forecast(profile: Profile, question: Question, stripes: int | None = None) -> Forecast:
    """Predict all engines.

    :param stripes: of all files; by default all targets for a file of several writers, and one for others.
    :raises AdviceError: ranks or size are missing.
    """
    if question.ranks is None or question.bytes is None:
        raise AdviceError("a prediction needs --ranks, and --global or --local or --state")
    cached = question.purpose == "output" and profile.page_cache_gib_per_s_per_node is not None
    durability: Durability = "page cache" if cached else "synced"
    load = Load(question.bytes, question.ranks, question.variables, 1, durability)
    variants = [_striped(variant, profile, load, stripes) for variant in VARIANTS]
    draws = seconds_of(profile, load, variants)
    rows = [
        Row(
            variant,
            predict(profile, load, variant.engine, variant.parameters, variant.stripes),
            range_of(load.gib / each),
        )
        for variant, each in zip(variants, draws, strict=True)
    ]
    order = sorted(range(len(rows)), key=lambda at: rows[at].prediction.seconds)
    allowed = [at for at in order if question.purpose == "output" or rows[at].variant.engine == OF_CHECKPOINTS]
    tied = _tied(draws, allowed)
    chosen = min(tied, key=lambda at: preference(rows[at].variant.engine, rows[at].variant.parameters))
    slower = [rows[at] for at in allowed if at not in tied]
    advice = _advice(profile, question, load, rows[chosen], [rows[at] for at in tied if at != chosen], slower)
    return Forecast(tuple(rows[at] for at in order), load, advice)


def _striped(variant: StripedVariant, profile: Profile, load: Load, stripes: int | None) -> StripedVariant:
    count = stripes
    if count is None:
        best = stripes_for(pattern_of(variant.engine, variant.parameters, load, profile, profile.ost_count))
        count = profile.ost_count if best == ALL else best
    return StripedVariant(variant.engine, variant.parameters, min(count, profile.ost_count))


def _tied(draws: NDArray[np.float64], order: Sequence[int]) -> list[int]:
    """The fastest variant, and those that are slower in too few draws to count as slower."""
    first = draws[order[0]]
    return [at for at in order if at == order[0] or float(np.mean(first < draws[at])) < SURE]


def _advice(
    profile: Profile, question: Question, load: Load, row: Row, tied: Sequence[Row], slower: Sequence[Row]
) -> Advice:
    variant, cost = row.variant, row.prediction.seconds
    checkpoint = question.purpose == "checkpoint"
    hours = question.mtbf_hours
    interval = interval_of(cost, hours * HOUR) if checkpoint and hours is not None else None
    commands = [environment_line(variant.parameters, load.ranks)] if checkpoint else []
    if profile.file_system == "lustre":
        commands.append(stripe_command(variant.engine, variant.parameters, load, DIRECTORY))
    return Advice(
        engine=variant.engine,
        parameters=dict(variant.parameters),
        reasons=_reasons(profile, question, load, row, tied, slower),
        block=checkpoint_block(interval)
        if checkpoint
        else output_block(variant.engine, variant.parameters, question.stored_precision or "float64"),
        commands=tuple(one for one in commands if one),
        notes=_notes(profile, question, load),
        tied=tuple(one.variant.name for one in tied),
        cost=cost,
        interval=interval,
        sureness=_sureness(profile, tied),
    )


def _sureness(profile: Profile, tied: Sequence[Row]) -> Sureness:
    """A prediction is never more than fairly sure."""
    others = "" if not tied else f"; {' and '.join(row.variant.name for row in tied)} may be as fast or faster"
    reason = f"it is predicted from the profile of {profile.name}, and nothing was measured{others}"
    remedy = "`tailrace bench io` there, then `tailrace advise results.jsonl`"
    return Sureness(LEVELS[2] if tied else LEVELS[1], (reason,), remedy)


def _reasons(
    profile: Profile, question: Question, load: Load, row: Row, tied: Sequence[Row], slower: Sequence[Row]
) -> tuple[str, ...]:
    share = row.prediction.gib_per_s / profile.total_gib_per_s
    of_limit = f", {share:.2f} of the {profile.total_gib_per_s:g} GiB/s of the file system"
    of_limit = of_limit if load.durability == "synced" else ""
    first = (
        f"{row.variant.name} is predicted to write {row.prediction.gib_per_s:.3g} GiB/s, in four of five draws "
        f"{row.rate.low:.3g} to {row.rate.high:.3g}{of_limit}; what limits it is: {row.prediction.bound}."
    )
    if tied:
        names = ", ".join(f"{one.variant.name} ({one.prediction.gib_per_s:.3g} GiB/s)" for one in tied)
        second = f"It cannot be told from {names}, so a preference decided: {WHY}."
    else:
        other = slower[0]
        second = (
            f"The next, {other.variant.name}, is predicted to write {other.prediction.gib_per_s:.3g} GiB/s, "
            f"{other.rate.low:.3g} to {other.rate.high:.3g}, and is slower in {SURE:.0%} of the draws or more."
        )
    thing = "A checkpoint" if question.purpose == "checkpoint" else "A step"
    seconds = row.prediction.seconds
    return first, second, f"{thing} of {size(load.bytes)} ({question.words()}) costs {time_words(seconds)}."


def _notes(profile: Profile, question: Question, load: Load) -> tuple[str, ...]:
    notes = [
        f"a prediction for {profile.name}, {counted(profile.nodes(load.ranks), 'node')}: nothing was measured for it; "
        f"the range is what {LOW:.0%} to {HIGH:.0%} of the draws of its figures give"
    ]
    if load.durability == "page cache":
        notes.append("into the page cache: the disk has the bytes later")
    if question.purpose == "checkpoint":
        notes.append("checkpoints of `tailrace run` are written by raw; the choice is between its strategies")
    if profile.file_system != "local":
        start = time_words(start_seconds(profile, load.ranks))
        notes.append(
            f"before the run, each rank opens {START_OPENS} files of Python and its packages: {start} of the metadata "
            "server, if they are on this file system; `tailrace pack` makes them one file, which each node reads once"
        )
    return tuple(notes)
