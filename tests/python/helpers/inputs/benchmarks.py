"""Results of benchmarks that never ran: every figure is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tailrace.bench.records.records import Cell, End, Failure, Measurement, Record, Run
from tailrace.bench.records.results import BenchResults

NOISE = (1.0, 1.02, 0.99, 1.01, 0.98, 1.03, 1.005)  # of rounds, by which their seconds are multiplied
SPEED = {"raw": 2.0, "hdf5": 1.2, "bp5": 1.9, "mpiio": 1.0, "sion": 1.4}  # GiB/s on one rank
GIB = 2**30


def run(name: str = "run 1", **changes: Any) -> Run:
    values: dict[str, Any] = {
        "command": "tailrace bench io --ranks 1,2,4",
        "began": "2026-03-14T15:09:26+01:00",
        "tailrace": "1.8.0",
        "machine": {"processor": "Example 9000", "cores": 64, "memory": 256 * GIB, "nodes": 1, "system": "Linux 6.12"},
        "software": {"Python": "3.11.9", "MPI": "Open MPI 4.1.4", "HDF5": "1.14.5", "ADIOS2": "2.10.2"},
        "directories": {"scratch": {"path": "/scratch/bench", "kind": "lustre", "free": 900 * GIB, "stripes": 8}},
    }
    return Run(name, **{**values, **changes})


def cell(name: str = "raw", *, ranks: int = 1, points: Sequence[int] = (64, 64, 64), **changes: Any) -> Cell:
    values: dict[str, Any] = {
        "engine": name if name in SPEED else "",
        "role": "limit" if name == "pwrite" else "way",
        "directory": "scratch",
        "decomposition": (1, 1, ranks),
        "halo": 1,
        "variables": 3,
        "cache": "synced",
        "source": "synthetic",
    }
    return Cell(
        "io", changes.pop("operation", "write"), name, ranks=ranks, shape=tuple(points), **{**values, **changes}
    )


def rounds(one: Cell, seconds: float, noise: Sequence[float] = NOISE, **changes: Any) -> list[Measurement]:
    """Rounds of a cell; of the arguments of a `Measurement`, `disturbed` is a mapping from rounds to reasons."""
    disturbed = changes.pop("disturbed", {})
    count = 8 * one.variables * one.steps
    for points in one.shape:
        count *= points
    changes.setdefault("bytes", count)
    return [
        Measurement(one, number, seconds * factor, disturbed=disturbed.get(number, ""), run="run 1", **changes)
        for number, factor in enumerate(noise, 1)
    ]


def results(*parts: Iterable[Record], ended: bool = True, notes: Iterable[str] = ()) -> BenchResults:
    records: list[Record] = [run()]
    for part in parts:
        records += part
    return BenchResults([*records, *([End("run 1", "2026-03-14T15:19:26+01:00")] if ended else [])], notes)


def small(slower: dict[str, float] | None = None, noise: Sequence[float] = NOISE) -> BenchResults:
    """Five engines and a limit in two settings; `slower` multiplies the seconds of some of them."""
    parts = []
    for ranks in (1, 2):
        for name, speed in {**SPEED, "pwrite": 4.0}.items():
            seconds = 1 / (speed * ranks) * (slower or {}).get(name, 1.0)
            parts.append(rounds(cell(name, ranks=ranks), seconds, noise))
    return results(*parts)


def _stacks(one: Cell, seconds: float) -> dict[str, float]:
    shares = {"open;metadata": 0.04, "write": 0.05, "write;copy": 0.2, "write;pwrite": 0.4, "sync": 0.22, "close": 0.03}
    if one.operation == "read":
        shares = {"open;metadata": 0.1, "read": 0.1, "read;pread": 0.6, "read;copy": 0.1, "close": 0.02}
    return {
        f"rank {rank};{path}": share * seconds * (1 - 0.12 * (rank % 3))
        for rank in range(one.ranks)
        for path, share in shares.items()
    }


def _phases(one: Cell, seconds: float) -> dict[str, float]:
    reading = one.operation == "read"
    shares = {"open": 0.1, "read": 0.8} if reading else {"open": 0.04, "write": 0.62, "sync": 0.24, "close": 0.03}
    if one.cache == "page cache" and not reading:
        shares.pop("sync")
    return {name: share * seconds for name, share in shares.items()}


def rich_example(factor: float = 1.0) -> BenchResults:
    """All that a report can show: scalings, caches, two directories, groups of rounds, failures, wrong values."""
    parts: list[Iterable[Record]] = []
    sizes = [(64, 64, 64), (128, 128, 128), (256, 256, 256)]
    plans = [(points, ranks) for points in sizes for ranks in (1, 2, 4)] + [((128, 128, 256), 2), ((128, 256, 256), 4)]
    caches = [("write", "page cache", 3.0), ("write", "synced", 1.0), ("read", "cold", 1.5), ("read", "warm", 6.0)]
    for points, ranks in plans:
        for operation, cache, quick in caches:
            for at, (name, speed) in enumerate({**SPEED, "raw aggregators=node": 2.02, "pwrite": 4.0}.items()):
                if (name, operation) == ("pwrite", "read"):
                    name = "pread"
                one = cell(name, ranks=ranks, points=points, operation=operation, cache=cache,
                           role="limit" if name in ("pwrite", "pread") else "way")  # fmt: skip
                parts.append(_example(one, speed * quick * ranks**0.6, at, factor))
    return results(*parts, ended=False, notes=["results.jsonl:912: the line is not whole and is left out"])


def _example(one: Cell, speed: float, at: int, factor: float) -> list[Record]:
    count = 24
    for points in one.shape:
        count *= points
    seconds = count / (speed * GIB) + (5e-5 if one.role == "limit" else 1e-4 * (1 + at))
    noise = [1 + 0.04 * ((7 * number + 3 * at) % 5 - 2) / 2 for number in range(7)]
    disturbed = {}
    if one.name == "hdf5" and one.cache == "synced":
        seconds *= factor
    if one.name == "mpiio" and one.ranks == 4:
        noise[1], noise[4], noise[5] = 1.9, 2.0, 1.95
    if one.name == "bp5" and one.cache == "synced" and one.ranks == 2:
        noise[3], disturbed = 2.6, {4: "another program used 1.8 cores"}
    if one.name == "sion" and one.ranks == 4 and one.operation == "read":
        error = 'sion: /scratch/bench/x.sion: expected 4 "chunks" <of> ranks, found 3 & no more; write it again'
        return [Failure(one, number, error, "run 1") for number in (1, 2)]
    made = rounds(one, seconds, noise, bytes=count, disturbed=disturbed, phases=_phases(one, seconds),
                  stacks={} if one.role == "limit" else _stacks(one, seconds),
                  per_rank={"min": 0.8 * seconds, "mean": 0.9 * seconds, "max": seconds},
                  counts={"files": one.ranks if one.name in ("raw", "bp5") else 1, "stored": count * (1 + 0.01 * at)},
                  verified=not (one.name == "mpiio" and one.ranks == 2 and one.cache == "cold"))  # fmt: skip
    return list(made)
