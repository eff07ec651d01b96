"""How an engine writes: which ranks write, into how many files, and what they send to each other before.

The numbers follow `docs/io.md` and the pages of its engines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tailrace.core import WriteModel
from tailrace.io.engines import ENGINES

from .load import Load

BP_WRITERS = 64  # up to so many ranks, bp4 and bp5 write a file per rank (io/adios2/bp_opening.cpp)
SION_FILES = 16  # the default of the parameter `files`

# Bytes that rank 0 is sent to describe a block, as counted (tests/scale): its checksum, where it is stored, in which
# task of a container, and what ADIOS2 keeps of it.
CHECKSUM_ROW, PLACE_ROW, TASK_ROW, ADIOS2_ROW = 88.0, 88.0, 51.0, 230.0

STRATEGIES = {  # of raw: aggregators, layout
    "shared": ("all", "shared"), "dist": ("all", "files"), "node": ("node", "files"),
    "collect_xy": ("plane", "shared"), "collect": ("one", "shared"),
}  # fmt: skip


@dataclass(frozen=True)
class Pattern:
    """The writing of one step."""

    writers: int  # ranks that write
    files: int  # new files
    shared: bool  # several ranks write into one file
    locked: bool = False  # ... and their pieces alternate within its stripes
    exchange: bool = False  # every rank sends to every writer, as in two-phase collective writing
    opened: int = 1  # files that each writer opens, one after the other
    openers: int = 0  # ranks that open; 0: the writers
    passes: float = 1.0  # passes over the bytes in memory besides writing: checksums, copies
    row: float = 0.0  # bytes that rank 0 is sent to describe a block: one of each rank and variable


class MachineTraits(Protocol):
    """The properties of a machine that a pattern depends on. A `Profile` has them."""

    @property
    def file_system(self) -> str:
        """The kind of the file system: lustre, parallel or local."""

    @property
    def default_stripes(self) -> int:
        """The number of stripes of a new file."""

    def nodes(self, ranks: int) -> int:
        """The nodes that so many ranks fill."""


class PatternError(ValueError):
    """An engine that the model does not describe."""


def pattern_of(
    engine: str, parameters: Mapping[str, Any], load: Load, machine: MachineTraits, stripes: int | None = None
) -> Pattern:
    """The pattern of an engine with its parameters.

    :param stripes: of a new file; those of the machine by default.
    :raises PatternError: the engine stores nothing, or has unknown parameters.
    """
    nodes = load.nodes or machine.nodes(load.ranks)
    stripes = stripes or machine.default_stripes
    checked = str(parameters.get("checksums", "on")).lower() not in ("off", "false")
    passes, row = float(checked), CHECKSUM_ROW * checked
    model = ENGINES[engine].model if engine in ENGINES else None
    if model is None or not model.pattern:
        raise PatternError(f"the model does not describe the engine {engine}: it stores nothing, or is not known")
    match model.pattern:
        case "aggregators":
            found = _aggregated(parameters, load, nodes, passes)
            return replace(found, row=row + PLACE_ROW * (_raw(parameters)[1] == "files"))
        case "shared":
            return replace(_shared(model, parameters, load, machine, nodes, stripes, passes), row=row)
        case "subfiles":
            return replace(_subfiles(model, parameters, load, nodes, passes), row=row + ADIOS2_ROW)
    files = min(_number(parameters, "files", SION_FILES), load.ranks)
    # Containers: chunks begin at multiples of the blocks of the file system, so that no lock is shared.
    return Pattern(load.ranks, files, shared=files < load.ranks, passes=passes, row=row + PLACE_ROW + TASK_ROW)


def _raw(parameters: Mapping[str, Any]) -> tuple[str, str]:
    """Who writes, and into which files."""
    strategy = str(parameters.get("strategy", "shared"))
    if strategy not in STRATEGIES:
        raise PatternError(f"strategy = {strategy}: expected {', '.join(STRATEGIES)}")
    who, layout = STRATEGIES[strategy]
    return str(parameters.get("aggregators", who)), str(parameters.get("layout", layout))


def _aggregated(parameters: Mapping[str, Any], load: Load, nodes: int, passes: float) -> Pattern:
    who, layout = _raw(parameters)
    planes = load.planes or max(1, math.isqrt(load.ranks))  # of pencils, as many parts in z as in y
    known = {"all": load.ranks, "node": nodes, "plane": planes, "one": 1}
    if who not in known and not who.isdigit():
        raise PatternError(f"aggregators = {who}: expected all, node, plane, one or a number")
    writers = min(load.ranks, known[who] if who in known else max(1, int(who)))
    shared = layout == "shared" and writers > 1
    files = load.variables * (1 if layout == "shared" else writers)
    # Ranks that collect whole planes write whole stripes. Blocks of all ranks alternate row by row.
    locked = shared and writers == load.ranks
    return Pattern(writers, files, shared, locked, opened=load.variables, passes=passes)


def _shared(
    model: WriteModel,
    parameters: Mapping[str, Any],
    load: Load,
    machine: MachineTraits,
    nodes: int,
    stripes: int,
    passes: float,
) -> Pattern:
    files = load.variables if model.file_per_variable else 1
    if not _collective(model, parameters, machine):
        return Pattern(load.ranks, files, load.ranks > 1, load.ranks > 1, opened=files, passes=passes)
    # ROMIO and Cray MPI-IO use one aggregator per stripe on Lustre, and one per node elsewhere.
    usual = stripes if machine.file_system == "lustre" else nodes
    writers = min(load.ranks, _number(parameters, "hints.cb_nodes", usual))
    return Pattern(
        writers, files, writers > 1, exchange=load.ranks > 1, opened=files, openers=load.ranks, passes=passes
    )


def _collective(model: WriteModel, parameters: Mapping[str, Any], machine: MachineTraits) -> bool:
    word = str(parameters.get(model.collective_parameter, model.collective_default)).lower()
    return word in ("collective", "yes", "true", "on", "1") or (word == "auto" and machine.file_system != "local")


def _subfiles(model: WriteModel, parameters: Mapping[str, Any], load: Load, nodes: int, passes: float) -> Pattern:
    given = {key.lower(): value for key, value in parameters.items()}
    writers = load.ranks if load.ranks <= BP_WRITERS else nodes
    for key in ("numaggregators", "numsubfiles"):
        writers = _number(given, key, writers)
    if str(given.get("aggregationtype", "")).lower() == "everyonewrites":
        files = min(max(1, writers), load.ranks)
        return Pattern(load.ranks, files, shared=files < load.ranks, passes=passes + _copies(model, given))
    writers = min(max(1, writers), load.ranks)
    return Pattern(writers, writers, shared=False, passes=passes + _copies(model, given))


def _copies(model: WriteModel, given: Mapping[str, Any]) -> float:
    """Passes of ADIOS2 over the values: copies, and minima and maxima if they are computed."""
    return model.copies + (str(given.get("statslevel", int(model.statistics))) != "0")


def _number(parameters: Mapping[str, Any], key: str, usual: int) -> int:
    """The number of a parameter, at least 1; `usual` if it is left out or 0."""
    text = str(parameters.get(key, 0))
    if not text.isdigit():
        raise PatternError(f"{key} = {text}: expected a whole number")
    return max(1, int(text) or usual)
