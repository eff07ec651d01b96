"""Results of IOR, written with `-O summaryFormat=JSON`.

Source of the format: src/ior-output.c of IOR 3.2 to 4.1 (https://github.com/hpc/ior). IOR does not escape what it
writes, counts all times from the first rank's start to the last rank's end, and rounds them to 0.1 ms.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from ..records.records import Cell, End, Failure, Measurement, Record, Run, Value
from .foreign import ForeignError, read_bytes, run_name, shortened, text_of, version

_MOST = 32 << 20  # bytes: 60 000 measurements; JSON takes some ten times as much memory
_MIB = 1 << 20
_ROUNDED = 0.5e-4  # IOR prints four decimals
_START = re.compile(r"^\{", re.MULTILINE)
_DIRECT = re.compile(r"--\w+\.odirect|useo_direct=1", re.IGNORECASE)
_TAKEN = (  # parameters of IOR that distinguish ways of writing the same bytes
    "transferSize", "blockSize", "segmentCount", "collective", "fsync", "fsyncperwrite", "reorderTasks",
    "reorderTasksRandom", "randomOffset", "uniqueDir", "multiFile", "useExistingTestFile", "singleXferAttempt",
    "checkWrite", "checkRead", "preallocate", "useFileView", "useSharedFilePointer", "useStridedDatatype",
    "individualDataSets", "tasksPerNode", "deadlineForStonewall", "stoneWallingWearOut",
)  # fmt: skip


def read_ior(path: Path) -> list[Record]:
    """The records of a file of IOR: a run, a measurement of each write and read, and the end if IOR reached it.

    A cell has no precision, and its shape is one number, the bytes of all ranks: IOR writes no arrays. The cache of
    reads is "direct" or "page cache"; IOR does not say whether it was warm. A run that ends by time (`-D`) has no
    shape, and its bytes are computed from its rate and time.

    :raises ForeignError: the file is no JSON of IOR, or is not whole.
    """
    content = read_bytes(path, _MOST)
    found = _parse(text_of(content, path), path)
    run = _run(found, run_name("ior", content), path)
    records: list[Record] = [run]
    rounds: Counter[Cell] = Counter()
    for number, test in enumerate(_items(found, "tests", path)):
        described = _Test.of(test, str(found.get("Command line", "")), f"{path}: tests[{number}]")
        records += described.records(run.run, rounds)
    failures = sum(isinstance(one, Failure) for one in records)
    if "Finished" in found:
        records.append(End(run.run, _when(found["Finished"]), failures))
    return records


def _parse(text: str, path: Path) -> dict[str, Any]:
    """The object in a text; other programs may have printed before and after it."""
    start = _START.search(text)
    if start is None:
        raise ForeignError(f'{path}: expected JSON of IOR, which begins with "{{", found {shortened(text.strip())}')
    try:
        found, _ = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, strict=False).raw_decode(
            text, start.start()
        )
    except (ValueError, RecursionError) as error:
        raise ForeignError(
            f"{path}: expected whole JSON of IOR, found: {str(error) or type(error).__name__}. IOR mixes it with "
            "messages and does not escape file names; write it with -O summaryFormat=JSON -O summaryFile=FILE"
        ) from None
    if not isinstance(found, dict) or not isinstance(found.get("tests"), list):
        raise ForeignError(f'{path}: expected a JSON object of IOR with the list "tests", found none')
    return found


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"the number {word}")


def _finite(word: str) -> float:
    """A number of JSON; refuses a number that is too large for a float, which could not be stored."""
    value = float(word)
    return value if isfinite(value) else _refuse(word)


def _items(found: dict[str, Any], key: str, where: object) -> list[dict[str, Any]]:
    """The objects of a list. IOR before 4.0 has one inner list for each repetition."""
    listed = found.get(key)
    if not isinstance(listed, list):
        raise ForeignError(f'{where}: expected the list "{key}", found {shortened(repr(listed))}')
    items = [one for part in listed for one in (part if isinstance(part, list) else [part])]
    for one in items:
        if not isinstance(one, dict):
            raise ForeignError(f"{where}: {key}: expected objects, found {shortened(repr(one))}")
    return items


def _run(found: dict[str, Any], name: str, path: Path) -> Run:
    said = str(found.get("Machine", "")).split()
    machine = dict(zip(("system", "host"), said, strict=False))
    software = {"IOR": str(found["Version"])} if "Version" in found else {}
    directories = {}
    for test in _items(found, "tests", path):
        place = _directory(test.get("Parameters"))
        if place:
            directories[place] = {"path": place}
    notes = [f"imported from {path.name}, a file of IOR, which does not tell the time zone of its times"]
    command = str(found.get("Command line", ""))
    return Run(name, command, _when(found.get("Began")), version(), dict(machine), software, directories, notes)


def _when(said: object) -> str:
    """A time as ISO 8601, without time zone, because IOR writes none; "" if it is not in the format of ctime."""
    try:
        return datetime.strptime(str(said), "%a %b %d %H:%M:%S %Y").isoformat()
    except ValueError:
        return ""


def _directory(parameters: object) -> str:
    """The directory of the test file, as given to IOR; "" for the working directory, which IOR does not write."""
    name = str(parameters.get("testFileName", "")) if isinstance(parameters, dict) else ""
    parent = str(Path(name.split("@")[0]).parent)
    return "" if parent == "." else parent


@dataclass(frozen=True)
class _Test:
    parameters: dict[str, Any]
    results: list[dict[str, Any]]
    ranks: int
    nodes: int
    bytes: int  # expected, of all ranks
    transfer: int
    direct: bool | None  # None: not told
    where: str

    @classmethod
    def of(cls, test: dict[str, Any], command: str, where: str) -> _Test:
        """:raises ForeignError: something is missing."""
        parameters, options = test.get("Parameters"), test.get("Options")
        if not isinstance(parameters, dict) or not isinstance(options, dict):
            raise ForeignError(f'{where}: expected the objects "Parameters" and "Options", as IOR 3.2 or newer writes')
        ranks = _whole(options, "tasks", where)
        on_node = _whole(parameters, "tasksPerNode", where)
        sizes = [_whole(parameters, name, where) for name in ("blockSize", "segmentCount", "transferSize")]
        if min(ranks, on_node, *sizes) < 1:
            raise ForeignError(f"{where}: expected numbers of tasks, tasks of a node and bytes above 0")
        told = parameters.get("nodes")
        nodes = told if type(told) is int and told > 0 else -(-ranks // on_node)  # IOR 3.2 writes only the latter
        total = sizes[0] * sizes[1] * ranks
        results = _items(test, "Results", where)
        return cls(parameters, results, ranks, nodes, total, sizes[2], _direct(parameters, command), where)

    @property
    def stonewall(self) -> int:
        """Seconds after which IOR stops; 0: it writes everything."""
        return _whole({"value": self.parameters.get("deadlineForStonewall", 0)}, "value", self.where)

    def cell(self, operation: str) -> Cell:
        """The cell of an operation."""
        own = self.parameters.get("filePerProc")
        words = ["IOR", str(self.parameters.get("api", "")), "file per process" if own else "shared file"]
        words += ["collective"] if self.parameters.get("collective") else []
        pairs = {name: _value(self.parameters[name]) for name in _TAKEN if self.parameters.get(name)}
        return Cell(
            bench="io",
            operation=operation,
            name=" ".join(word for word in words if word),
            parameters=tuple(pairs.items()),
            directory=_directory(self.parameters),
            ranks=self.ranks,
            nodes=self.nodes,
            shape=() if self.stonewall else (self.bytes,),
            precision="",
            cache=self._cache(operation),
            source=f"as many bytes as in {self.stonewall} s" if self.stonewall else "synthetic",
        )

    def _cache(self, operation: str) -> str:
        if self.direct:
            return "direct"
        if operation == "write" and (self.parameters.get("fsync") or self.parameters.get("fsyncperwrite")):
            return "synced"
        return "" if self.direct is None else "page cache"

    def records(self, run: str, rounds: Counter[Cell]) -> Iterator[Measurement | Failure]:
        """A record of each repetition and direction; the removal of files is left out.

        :param rounds: how often each cell was measured until now; it is updated.
        """
        for result in self.results:
            operation = result.get("access")
            if operation == "remove":
                continue
            if operation not in ("write", "read"):
                raise ForeignError(f'{self.where}: expected "access" write or read, found {shortened(repr(operation))}')
            cell = self.cell(operation)
            rounds[cell] += 1
            yield self._record(cell, rounds[cell], result, run)

    def _record(self, cell: Cell, number: int, result: dict[str, Any], run: str) -> Measurement | Failure:
        total = _number(result, "totalTime", self.where)
        endless = result.get("bwMiB") == "inf"  # IOR writes infinite rates, of no time, as texts
        rate = 0.0 if endless else _number(result, "bwMiB", self.where) * _MIB
        seconds, moved = self._moved(total, rate)
        if seconds <= 0:
            return Failure(cell, number, f"IOR tells no time: totalTime {total}, bwMiB {result['bwMiB']}", run)
        phases = {
            name: max(_number(result, key, self.where), 0.0)
            for name, key in (("open", "openTime"), (cell.operation, "wrRdTime"), ("close", "closeTime"))
            if key in result
        }
        return Measurement(cell, number, seconds, moved, order=0, phases=phases, run=run)

    def _moved(self, total: float, rate: float) -> tuple[float, int]:
        """Seconds and bytes of a result. IOR writes the seconds and the rate, both with four decimals."""
        if rate >= _ROUNDED * _MIB and not self.stonewall:
            seconds = self.bytes / rate
            unsure = _ROUNDED * _MIB / rate  # relative
            if abs(seconds - total) <= _ROUNDED * 1.01 + unsure * seconds:
                better = total <= 0 or unsure < _ROUNDED / total
                return (seconds if better else total), self.bytes
        if total <= 0 or rate <= 0:
            return 0.0, 0
        return total, round(rate * total / self.transfer) * self.transfer


def _direct(parameters: dict[str, Any], command: str) -> bool | None:
    """Whether O_DIRECT was used. IOR up to 3.2 has it in its parameters, later versions only in their command."""
    if "useO_DIRECT" in parameters:
        return bool(parameters["useO_DIRECT"])
    words = command.split()
    if any(word == "-B" or _DIRECT.fullmatch(word) for word in words):
        return True
    return None if "-f" in words else False  # a script of IOR may say it


def _whole(found: dict[str, Any], key: str, where: str) -> int:
    value = found.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise ForeignError(f'{where}: expected "{key}", a whole number, found {shortened(repr(value))}')
    return value


def _number(found: dict[str, Any], key: str, where: str) -> float:
    value = found.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e18:
        raise ForeignError(f'{where}: Results: expected "{key}", a number, found {shortened(repr(value))}')
    return float(value)


def _value(found: object) -> Value:
    return found if isinstance(found, str | int | float | bool) else str(found)
