"""Measured writes as observations of the model, and a first profile for a fit."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailrace.io.engines import STORING

from ..records.records import Cell
from ..records.results import BenchResults
from ..records.summary import Summary, summarise
from .fit import Fit, FitError, Observation, fit
from .load import GIB, Durability, Load
from .model import predict
from .profile import Profile

CACHES: dict[str, Durability] = {"page cache": "page cache", "synced": "synced"}
EVERY_TARGET = 2**20  # stripes: more than any file system has, so all of them
SEED = 1974  # of the halves of a cross-validation
PARALLEL = ("gpfs", "beegfs", "panfs", "ceph", "nfs", "nfs4")


def is_write(cell: Cell) -> bool:
    """Whether the cell is a write of fields by an engine that stores them."""
    return (
        cell.bench == "io"
        and cell.operation == "write"
        and cell.role == "way"
        and cell.engine in STORING
        and cell.cache in CACHES
        and len(cell.shape) == 3
    )


def load_of(summary: Summary) -> Load:
    """What a cell wrote."""
    cell = summary.cell
    size = statistics.median(one.bytes for one in summary.rounds)
    return Load(
        size, cell.ranks, cell.variables, cell.steps, CACHES[cell.cache],
        planes=cell.decomposition[2] if len(cell.decomposition) == 3 else 0, nodes=cell.nodes,
    )  # fmt: skip


def observations_of(results: BenchResults) -> list[Observation]:
    """The median of each write whose values were never read wrong, the cells in the order of their words."""
    found = [one for one in summarise(results.measurements) if is_write(one.cell) and one.right]
    found = [one for one in found if min(one.rate.values) > 0]
    return [_observation(one) for one in sorted(found, key=lambda one: (one.cell.words(), repr(one.cell)))]


def _observation(summary: Summary) -> Observation:
    parameters = dict(summary.cell.parameters)
    stripes = str(parameters.get("stripe_count", ""))
    number = EVERY_TARGET if stripes == "-1" else int(stripes) if stripes.isdigit() else None
    return Observation(load_of(summary), summary.cell.engine, summary.seconds.median, parameters, number)


def start_of(results: BenchResults) -> Profile:
    """A first profile for a fit: the machine from the records, and the largest measured rates."""
    data = observations_of(results)
    if not data:
        raise FitError("the results have no writes of fields whose values were not wrong")
    written = {one.run: one.cell.directory for one in results.measurements if is_write(one.cell)}
    run = next(run for run in results.runs if run.run in written)
    kinds = {str(one.get("kind", "")) for name, one in run.directories.items() if name == written[run.run]}
    system = "lustre" if "lustre" in kinds else "parallel" if kinds & set(PARALLEL) else "local"
    best = {durability: _largest(data, durability) for durability in ("synced", "page cache")}
    top = max(best.values())
    disk = best["synced"] or top
    stream = max(one.load.gib / one.seconds / one.load.ranks for one in data)
    cores = max(1, int(run.machine.get("cores", 1) or 1))
    memory = float(run.machine.get("memory", 0) or 0) / GIB
    return Profile(
        name=str(run.machine.get("processor") or "a measured machine"), file_system=system,
        cores_per_node=max([cores, *(-(-one.load.ranks // max(1, one.load.nodes)) for one in data)]),
        memory_gib_per_s_per_node=4 * top, network_gib_per_s_per_node=10.0, step_seconds=1e-3, open_seconds=1e-4,
        creates_per_second=1e4, opens_per_second=1e5, sync_seconds=1e-3, client_gib_per_s_per_node=4 * top,
        stream_gib_per_s=2 * stream, ost_gib_per_s=1.5 * disk, total_gib_per_s=1.5 * disk,
        shared_stripe_gib_per_s=top, shared_file_writers_per_stripe=8.0,
        page_cache_gib_per_s_per_node=1.5 * top if best["page cache"] else None,
        page_cache_gib_per_node=0.1 * memory,
    )  # fmt: skip


def _largest(data: Sequence[Observation], durability: str) -> float:
    return max((one.load.gib / one.seconds for one in data if one.load.durability == durability), default=0.0)


@dataclass(frozen=True)
class CrossValidation:
    """How well a fit to half of the variants predicts the other half; factors are at least 1."""

    fitted: int
    predicted: int
    median: float
    most_of: float  # nine of ten factors are below


def cross_validate(data: Sequence[Observation], start: Profile, **options: Any) -> CrossValidation:
    """Fit to one half of the observations and predict the others.

    The halves are drawn with a fixed seed; neighbours in the list differ in a systematic way.

    :raises FitError: too few observations.
    """
    order = np.random.default_rng(SEED).permutation(len(data))
    fitted, others = ([data[at] for at in half] for half in (order[::2], order[1::2]))
    factors = factors_of(fit(fitted, start, **options), others)
    median, most = np.quantile(factors, (0.5, 0.9))
    return CrossValidation(len(fitted), len(others), float(median), float(most))


def factors_of(fitted: Fit, data: Sequence[Observation]) -> list[float]:
    """Measured over predicted seconds, or the inverse, whichever is above 1."""
    ratios = [
        one.seconds / predict(fitted.profile, one.load, one.engine, one.parameters, one.stripes).seconds for one in data
    ]
    return [max(ratio, 1 / ratio) for ratio in ratios]
