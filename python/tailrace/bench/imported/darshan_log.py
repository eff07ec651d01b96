"""Logs of Darshan, which counts what the ranks of a program do, and how long it takes.

The package `darshan` reads them (https://www.mcs.anl.gov/research/projects/darshan). Meaning of the counters:
darshan-util/doc/darshan-util.rst of its source. A library of C parses the log, so a child process does it.
"""

from __future__ import annotations

import importlib.util
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any

from tailrace.io import guard

from ..records.records import Cell, End, Measurement, Record, Run
from .foreign import ForeignError, read_bytes, run_name, shortened, version

_HEAD = struct.Struct("8sq")  # version and magic number, in the byte order of the machine that wrote the log
_MAGIC = 6567223
_LAYERS = {"POSIX": ("POSIX", "POSIX"), "MPI-IO": ("MPIIO", "MPI-IO"), "STDIO": ("STDIO", "STDIO"),
           "H5D": ("H5D", "HDF5")}  # module of a log: prefix of its counters, name  # fmt: skip
_SHARED = -1  # the rank of a record that has the sums of all ranks
_STREAMS = ("<STDIN>", "<STDOUT>", "<STDERR>")
_KINDS = {"write": "F_WRITE_TIME", "read": "F_READ_TIME", "meta": "F_META_TIME"}
_CALLS = {
    "write": ("WRITES", "INDEP_WRITES", "COLL_WRITES", "SPLIT_WRITES", "NB_WRITES"),
    "read": ("READS", "INDEP_READS", "COLL_READS", "SPLIT_READS", "NB_READS"),
    "meta": ("OPENS", "INDEP_OPENS", "COLL_OPENS"),
}
_BYTES = {"write": "BYTES_WRITTEN", "read": "BYTES_READ"}


def is_log(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a log of Darshan."""
    return len(head) >= _HEAD.size and any(
        struct.unpack_from(f"{order}q", head, 8)[0] == _MAGIC for order in ("<", ">")
    )


def read_darshan(path: Path) -> list[Record]:
    """The records of a log: a run, then for each layer its writes, reads and other calls ("meta"), and the end.

    Seconds are those that the slowest rank spent in such calls, not those from the first call to the last: a program
    does other things in between. The time of a layer contains that of the layers below it: MPI-IO contains POSIX. For a
    file that all ranks share, Darshan has the time of the slowest rank, and for each kind of calls the sum over the
    ranks. The time of the slowest rank is divided in the ratio of these sums.

    Layers and commands are different settings (`source`), so that they are not ranked against each other.

    :raises ForeignError: the package `darshan` is missing, or cannot read the file.
    """
    content = read_bytes(path)
    if not is_log(content):
        raise ForeignError(f"{path}: expected a log of Darshan, found other content")
    package = importlib.util.find_spec("darshan")
    if package is None or package.origin is None:  # missing, or only a directory of that name
        raise ForeignError(f"{path}: is a log of Darshan, which the Python package darshan reads: pip install darshan")
    try:
        found: list[Record] = guard.call(path, "darshan", f"{__name__}:_read", str(path), run_name("darshan", content))
    except OSError as error:
        raise ForeignError(str(error)) from None
    return found


def _read(name: str, run: str) -> list[Record]:
    try:
        from darshan import DarshanReport
    except (ImportError, RuntimeError, OSError) as error:  # it lacks a part, or its library
        raise ForeignError(
            f"{name}: the Python package darshan does not load: {shortened(str(error), 300)}. Install it again, or the "
            "library darshan-util: pip install darshan"
        ) from None
    try:
        report = DarshanReport(name, read_all=False)
        return records_of(report, run, Path(name))
    except ForeignError:
        raise
    except Exception as error:  # whatever the package raises on content that it did not expect
        raise ForeignError(
            f"{name}: expected a whole log of Darshan, found: {type(error).__name__}: {shortened(str(error), 300)}"
        ) from None


def records_of(report: Any, run: str, path: Path) -> list[Record]:
    """The records of an open log.

    :param report: a `darshan.DarshanReport` whose records are not read yet.
    :param run: the name of the run.
    :raises ForeignError: the log has no counters of bytes, or no number of ranks.
    """
    job, command = report.metadata["job"], str(report.metadata.get("exe", "")).strip()
    ranks = int(job["nprocs"])
    if ranks < 1:
        raise ForeignError(f"{path}: expected a number of ranks above 0, found {ranks}")
    measured: list[Record] = []
    for module in _LAYERS:
        if module in report.modules:
            report.mod_read_all_records(module, warnings=False)
            measured += _layer(report, module, ranks).measurements(command, run)
    if not measured:
        raise ForeignError(
            f"{path}: expected counters of {', '.join(_LAYERS)}, found only {', '.join(report.modules) or 'none'}"
        )
    software = {"Darshan": str(job["metadata"]["lib_ver"])} if "lib_ver" in job.get("metadata", {}) else {}
    notes = [
        f"imported from {path.name}, a log of Darshan, which tells neither the nodes nor the cache",
        "seconds of Darshan are those of the slowest rank in the calls of a layer",
    ]
    began, ended = (
        datetime.fromtimestamp(int(job[key]), UTC).isoformat() for key in ("start_time_sec", "end_time_sec")
    )
    return [Run(run, command, began, version(), {}, software, {}, notes), *measured, End(run, ended)]


@dataclass
class _Layer:
    name: str
    ranks: int
    disturbed: str = ""
    bytes: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    calls: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    files: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    shared: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # seconds of the slowest rank
    own: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(float)))

    def add(self, record: Any, values: Mapping[str, float]) -> None:
        """Count a file of one rank, or of all."""
        seconds = {kind: max(float(values.get(key, 0.0)), 0.0) for kind, key in _KINDS.items()}
        whole = sum(seconds.values())
        for kind in _KINDS:
            calls = sum(max(int(values.get(key, 0)), 0) for key in _CALLS[kind])
            moved = max(int(values.get(_BYTES[kind], 0)), 0) if kind in _BYTES else 0
            self.calls[kind] += calls
            self.bytes[kind] += moved
            if calls or moved:
                self.files[kind].add(int(record["id"]))
            if int(record["rank"]) != _SHARED:
                self.own[kind][int(record["rank"])] += seconds[kind]
            elif whole > 0:
                slowest = float(values.get("F_SLOWEST_RANK_TIME", 0.0)) or whole / self.ranks
                self.shared[kind] += slowest * seconds[kind] / whole

    def measurements(self, command: str, run: str) -> Iterator[Measurement]:
        """A measurement for each kind of calls that took time."""
        for kind in _KINDS:
            seconds = self.shared[kind] + max(self.own[kind].values(), default=0.0)
            if not 0 < seconds < inf or (kind in _BYTES and not self.bytes[kind]):
                continue
            cell = Cell(
                bench="io",
                operation=kind,
                name=f"Darshan {self.name}",
                ranks=self.ranks,
                nodes=0,
                precision="",
                source=f"{self.name} of {command}" if command else self.name,
            )
            counts = {"files": float(len(self.files[kind])), "calls": float(self.calls[kind])}
            yield Measurement(
                cell, 1, seconds, self.bytes[kind], phases={kind: seconds}, counts=counts, disturbed=self.disturbed,
                run=run,
            )  # fmt: skip


def _layer(report: Any, module: str, ranks: int) -> _Layer:
    """The sums of a layer; standard input and output are no files and are left out."""
    prefix, name = _LAYERS[module]
    partial = report.modules[module].get("partial_flag")
    layer = _Layer(name, ranks, "Darshan had no memory for all files" if partial else "")
    titles = {
        kind: [title.removeprefix(f"{prefix}_") for title in report.counters[module][kind]]
        for kind in ("counters", "fcounters")
    }
    for record in report.records[module]:
        if report.name_records.get(record["id"]) in _STREAMS:
            continue
        values: dict[str, float] = {}
        for kind, names in titles.items():
            values |= dict(zip(names, record[kind], strict=True))
        layer.add(record, values)
    return layer
