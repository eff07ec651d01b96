"""A model of writing: the seconds of an engine from the profile of a machine.

The formulas, their sources and where they fail are in docs/theory/io_model.md; symbols there are names here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from .load import GIB, Load
from .pattern import Pattern, pattern_of
from .profile import Profile

# Collective calls of a step, and more for each variable; about the numbers in docs/io/cost.md.
CALLS, CALLS_PER_VARIABLE = 6, 4
MESSAGE_GIB = 4 * 2**20 / GIB  # blocks are sent in messages of 4 MiB
# Files that a rank opens, and names that it looks at, to load Python, MPI and the modules of a run.
START_OPENS, START_LOOKS = 870, 2200


@dataclass(frozen=True)
class Prediction:
    """The seconds of a write, by part."""

    opens: float  # of a step: collective calls, opening files, the metadata server, and the description of the blocks
    messages: float  # to the ranks that write
    memory: float  # copies and checksums
    storage: float  # bytes on their way to the storage, or to the page cache
    sync: float
    factor: float = 1.0  # of the engine
    bytes: float = 0.0
    bound: str = ""  # what limits the storage

    @property
    def seconds(self) -> float:
        """Seconds of the whole write, from open to close."""
        return self.factor * (self.opens + self.messages + self.memory + self.storage + self.sync)

    @property
    def gib_per_s(self) -> float:
        """Bytes over seconds."""
        return self.bytes / GIB / self.seconds


def predict(
    profile: Profile, load: Load, engine: str, parameters: Mapping[str, Any] | None = None, stripes: int | None = None
) -> Prediction:
    """The seconds of writing `load` with an engine.

    :param stripes: of each new file; by default those of the profile, at most all targets.
    :raises PatternError: the model does not describe the engine.
    """
    stripes = stripes_of(profile, stripes)
    pattern = pattern_of(engine, parameters or {}, load, profile, stripes)
    found = predict_pattern(profile, load, pattern, engine, stripes)
    return replace(found, bound=_bound(profile, load, pattern, stripes))


def start_seconds(profile: Profile, ranks: int) -> float:
    """Seconds in which the metadata server answers the start of a run: each rank opens its files, and a node keeps what
    it has learnt of names."""
    return (ranks * START_OPENS + profile.nodes(ranks) * START_LOOKS) / profile.opens_per_second


def stripes_of(profile: Profile, stripes: int | None) -> int:
    """The stripes of a new file, if the user asked for `stripes`."""
    return min(stripes or profile.default_stripes, profile.ost_count)


def predict_pattern(
    profile: Profile, load: Load, pattern: Pattern, engine: str, stripes: int, sharpness: float = math.inf
) -> Prediction:
    """The same for a known pattern, and for one profile or many: if its figures are arrays, the seconds are arrays.

    :param sharpness: how sharply one limit changes into the next; a fit begins with a low one, which gives no kinks.
    """
    nodes = load.nodes or profile.nodes(load.ranks)
    calls = (CALLS + CALLS_PER_VARIABLE * load.variables) * math.ceil(math.log2(load.ranks))
    step = profile.step_seconds + calls * profile.message_seconds + _opens(profile, load, pattern)
    step = step + _rows(profile, load, pattern)
    return Prediction(
        opens=load.steps * step,
        messages=_messages(profile, load, pattern, nodes),
        memory=pattern.passes * load.gib / (nodes * profile.memory_gib_per_s_per_node),
        storage=_storage(profile, load, pattern, stripes, sharpness),
        sync=profile.sync_seconds * pattern.opened * load.steps if load.durability == "synced" else 0.0,
        factor=profile.engine_factor.get(engine, 1.0),
        bytes=load.bytes,
    )


def _opens(profile: Profile, load: Load, pattern: Pattern) -> float:
    """Seconds of a step: each writer opens its files one by one, and one server makes the files of all writers."""
    openers = pattern.openers or pattern.writers
    opened = max(pattern.files, openers * pattern.opened)
    return (
        profile.open_seconds * pattern.opened
        + pattern.files / profile.creates_per_second
        + (opened - pattern.files) / profile.opens_per_second
    )


def _rows(profile: Profile, load: Load, pattern: Pattern) -> float:
    """Seconds of a step in which rank 0 receives the description of all blocks, and writes it."""
    gib = pattern.row * load.ranks * load.variables / GIB
    return gib / profile.network_gib_per_s_per_node + gib / profile.stream_gib_per_s


def _messages(profile: Profile, load: Load, pattern: Pattern, nodes: int) -> float:
    """Seconds in which the busiest node receives, plus seconds in which bytes move within nodes."""
    if pattern.writers >= load.ranks and not pattern.exchange:
        return 0.0
    receiving = min(pattern.writers, nodes)
    between = 1 - 1 / nodes if pattern.exchange else max(0.0, 1 - pattern.writers / nodes)
    network = load.gib * between / (receiving * profile.network_gib_per_s_per_node)
    inside = load.gib * (1 - between) * (1 - pattern.writers / load.ranks) / (nodes * profile.memory_gib_per_s_per_node)
    count = math.ceil(load.gib / pattern.writers / MESSAGE_GIB)
    if pattern.exchange:  # each round is a collective call of all ranks
        count *= max(1, math.ceil(math.log2(load.ranks)))
    else:
        count = max(count, load.steps * (math.ceil(load.ranks / pattern.writers) - 1))
    return network + inside + count * profile.message_seconds


def _storage(profile: Profile, load: Load, pattern: Pattern, stripes: int, sharpness: float) -> float:
    """Seconds until the bytes reach the storage, or the page cache. Bytes beyond the page cache go to the storage."""
    front, back = _front(profile, pattern, stripes), _back(profile, load, pattern, stripes)
    cache = _cache(profile, load, pattern)
    if cache is None:
        return load.gib / _least([*front.values(), *back.values()], sharpness)
    rate, room = cache
    into_cache = load.gib / _least([*front.values(), rate], sharpness)
    to_disk = np.maximum(0.0, load.gib - room) / _least(list(back.values()), sharpness)
    return np.maximum(into_cache, to_disk)


def _bound(profile: Profile, load: Load, pattern: Pattern, stripes: int) -> str:
    front, back = _front(profile, pattern, stripes), _back(profile, load, pattern, stripes)
    cache = _cache(profile, load, pattern)
    rates = {**front, **back}
    if cache is not None:
        first = {**front, "page cache": cache[0]}
        slow = (load.gib - cache[1]) / min(back.values()) > load.gib / min(first.values())
        rates = back if slow else first
    return min(rates, key=lambda name: rates[name])


def _cache(profile: Profile, load: Load, pattern: Pattern) -> tuple[float, float] | None:
    """GiB/s into the page cache, and its capacity; None if the write waits for the storage."""
    if load.durability != "page cache" or profile.page_cache_gib_per_s_per_node is None:
        return None
    writing = min(pattern.writers, load.nodes or profile.nodes(load.ranks))
    return writing * profile.page_cache_gib_per_s_per_node, writing * profile.page_cache_gib_per_node


def _front(profile: Profile, pattern: Pattern, stripes: int) -> dict[str, float]:
    """GiB/s of the writers, and GiB/s that the locks of shared files allow."""
    rates = {"writers": pattern.writers * profile.stream_gib_per_s}
    if pattern.shared:
        # Files of one step are written one after the other (raw, mpiio), or at once (the files of a container).
        at_once = max(1, pattern.files // pattern.opened)
        lanes = at_once * (1 if profile.file_system == "local" else stripes)
        rates["stripes of a shared file"] = lanes * profile.shared_stripe * _unlocked(profile, pattern, lanes)
    return rates


def _unlocked(profile: Profile, pattern: Pattern, lanes: int) -> float:
    """The share of its speed that a shared file keeps under locks; at worst, all writers are as fast as one."""
    if not pattern.locked:
        return 1.0
    crowd = pattern.writers / lanes
    return np.maximum(1 / lanes, np.minimum(1.0, profile.shared_file_writers_per_stripe / crowd))


def _back(profile: Profile, load: Load, pattern: Pattern, stripes: int) -> dict[str, float]:
    """GiB/s that the nodes can send to the storage, and GiB/s that the storage accepts."""
    at_once = max(1, pattern.files // pattern.opened)
    targets = min(at_once * stripes, profile.ost_count)
    crowd = pattern.writers * (1 if pattern.shared else stripes) / targets
    each = profile.ost_gib_per_s / (1 + max(0.0, crowd - 1) / profile.ost_writers)
    sent = min(pattern.writers, load.nodes or profile.nodes(load.ranks)) * profile.client_gib_per_s_per_node
    return {"nodes": sent, "storage targets": targets * each, "file system": profile.total_gib_per_s}


def _least(rates: Sequence[float], sharpness: float) -> float:
    """The smallest rate, or a norm that is a little below it."""
    smallest = reduce(np.minimum, rates)
    if sharpness == math.inf:
        return smallest
    return smallest * sum((smallest / rate) ** sharpness for rate in rates) ** (-1 / sharpness)
