"""The records of a benchmark: one JSON object per line, in the order of time.

A file begins with the record of a run: machine, software, directories. Measurements and failures follow, each with the
name of its run, then the record of the end if the run was not interrupted. One file may have several runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from typing import Annotated, Any, Literal, Self, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

SCHEMA = 1  # of the records; a reader refuses a larger one

Value = str | int | float | bool | None
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class Cell:
    """What is measured repeatedly. Equal cells of two files can be compared."""

    bench: str  # its name, such as io
    operation: str  # write, read; in other benches their work, such as step
    name: str  # the variant: an engine with its parameters, or a limit such as pwrite
    engine: str = ""  # an engine of Tailrace; "" if it is another program or a limit
    role: Literal["way", "limit"] = "way"  # a limit is what the machine can do at best
    parameters: tuple[tuple[str, Value], ...] = ()
    directory: str = ""  # the name of a directory of the run
    ranks: Positive = 1
    nodes: Count = 1
    decomposition: tuple[Count, ...] = ()  # parts in x, y, z
    shape: tuple[Count, ...] = ()  # points of the whole in x, y, z; for lists, columns and rows
    halo: Count = 0
    variables: Count = 1
    steps: Positive = 1
    precision: str = "float64"
    cache: str = ""  # page cache, synced, direct; for reads cold (evicted), dropped, warm
    source: str = ""  # synthetic, or the file whose values were written; for the solver its flow

    def __post_init__(self) -> None:
        # Also from JSON, which has lists and objects.
        pairs = self.parameters.items() if isinstance(self.parameters, Mapping) else self.parameters
        object.__setattr__(self, "parameters", tuple(sorted((str(key), value) for key, value in pairs)))
        for name in ("decomposition", "shape"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @property
    def setting(self) -> Cell:
        """The cell without what distinguishes variants: those with the same setting can be ranked."""
        return Cell(**{**asdict(self), "name": "", "engine": "", "role": "way", "parameters": ()})

    def words(self) -> str:
        """The cell in a line, for people."""
        size = " x ".join(map(str, self.shape))
        parts = [f"{self.operation} {self.name}", size, f"{self.ranks} ranks" if self.ranks != 1 else "1 rank"]
        source = self.source.rsplit("/", 1)[-1]  # a file without its directory
        return ", ".join(part for part in (*parts, source, self.cache, self.directory) if part)


@dataclass(frozen=True)
class Measurement:
    """One timing of a cell."""

    cell: Cell
    round: Count  # of the repetitions, from 1; cells of one round were measured next to each other. 0 does not count
    seconds: Amount  # from the first rank's start to the last rank's end
    bytes: Count  # of the values, on all ranks; 0 if nothing is moved
    order: Count = 0  # the place in its round
    phases: dict[str, Number] = field(
        default_factory=dict
    )  # seconds of the slowest rank: open, write, sync, close, ...
    per_rank: dict[str, Number] = field(default_factory=dict)  # seconds: min, mean, max over the ranks
    counts: dict[str, Number] = field(default_factory=dict)  # files, stored bytes, bytes from the device, values
    stacks: dict[str, Number] = field(default_factory=dict)  # folded stacks of a rank, "rank 0;write;sync" -> seconds
    verified: bool | None = None  # whether the values were read back and are right; None: nothing to verify
    disturbed: str = ""  # why the figure may be wrong; "" if nothing was seen
    run: str = ""

    @property
    def rate(self) -> float:
        """Bytes per second; 0 if nothing is moved."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {"kind": "measurement", **_without(asdict(self), "cell"), **_flat(self.cell)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """:raises ValueError: a key is missing or wrong."""
        return cls(cell=_cell(record), **_known(cls, record, "cell"))


@dataclass(frozen=True)
class Failure:
    """A cell that could not be measured."""

    cell: Cell
    round: Count
    error: str
    run: str = ""

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {"kind": "failure", **_without(asdict(self), "cell"), **_flat(self.cell)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """:raises ValueError: a key is missing or wrong."""
        return cls(cell=_cell(record), **_known(cls, record, "cell"))


@dataclass(frozen=True)
class Run:
    """One run of a benchmark: its machine, software and directories."""

    run: str  # a name that no other run has
    command: str
    began: str  # ISO 8601, with the offset of the time zone
    tailrace: str  # version
    machine: dict[str, Value]  # processor, cores, memory in bytes, nodes, system
    software: dict[str, str]  # versions
    directories: dict[str, dict[str, Any]] = field(default_factory=dict)  # name -> path, kind, free, device, stripes
    notes: list[str] = field(default_factory=list)
    schema: int = SCHEMA

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {"kind": "run", **asdict(self)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """:raises ValueError: a key is missing or wrong, or the schema is newer than this program."""
        if not isinstance(record.get("schema"), int) or record["schema"] > SCHEMA:
            raise ValueError(f"schema {record.get('schema')!r}: expected a number up to {SCHEMA}; update Tailrace")
        return cls(**_known(cls, record))


@dataclass(frozen=True)
class End:
    """The end of a run that was not interrupted."""

    run: str
    ended: str
    failures: Count = 0

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {"kind": "end", **asdict(self)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """:raises ValueError: a key is missing."""
        return cls(**_known(cls, record))


@dataclass(frozen=True)
class Interruption:
    """The end of a run that was interrupted and could still say so."""

    run: str
    ended: str
    by: str  # Ctrl-C, SIGTERM or an error
    missing: str  # what was not measured, in words

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {"kind": "interruption", **asdict(self)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """:raises ValueError: a key is missing."""
        return cls(**_known(cls, record))


Record = Run | Measurement | Failure | End | Interruption
_KINDS: dict[str, type[Record]] = {
    "run": Run, "measurement": Measurement, "failure": Failure, "end": End, "interruption": Interruption,
}  # fmt: skip


def parse(line: str) -> Record | None:
    """The record of a line; None if this program does not know its kind.

    :raises ValueError: the line is no JSON object, or a key is missing or wrong.
    """
    record = json.loads(line)
    if not isinstance(record, dict) or "kind" not in record:
        raise ValueError('expected a JSON object with the key "kind"')
    kind = _KINDS.get(str(record["kind"]))
    return None if kind is None else kind.from_json(record)


def _flat(cell: Cell) -> dict[str, Any]:
    return {**asdict(cell), "parameters": dict(cell.parameters)}


def _without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in names}


_NUMBERS = {"cores", "memory", "nodes", "load"}  # of a machine
_EXPECTED = {
    "float_type": "a number", "int_type": "a whole number", "string_type": "a text", "bool_type": "true or false",
    "dict_type": "an object", "tuple_type": "a list", "list_type": "a list", "finite_number": "a finite number",
}  # by the types of errors of pydantic  # fmt: skip


@cache
def _adapters(kind: type[Any]) -> dict[str, TypeAdapter[Any]]:
    hints = get_type_hints(kind, include_extras=True)
    return {one.name: TypeAdapter(hints[one.name]) for one in fields(kind) if one.name != "cell"}


def _check(adapter: TypeAdapter[Any], name: str, value: Any) -> None:
    """:raises ValueError: the value is of another type, or out of bounds."""
    if isinstance(value, Mapping) and name == "parameters":
        value = tuple(value.items())
    elif isinstance(value, list) and name in ("shape", "decomposition"):
        value = tuple(value)
    try:
        adapter.validate_python(value, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        expected = _EXPECTED.get(first["type"], first["msg"][0].lower() + first["msg"][1:])
        place = ".".join([name, *map(str, first["loc"][:1])])
        raise ValueError(f"{place}: expected {expected} (found {str(first['input'])[:60]!r})") from None


def _known(kind: type[Any], record: Mapping[str, Any], *without: str) -> dict[str, Any]:
    """The checked values of a record, for the keys that a class has."""
    names = [one.name for one in fields(kind) if one.name not in without]
    found = {name: record[name] for name in names if name in record}
    try:
        kind(**found, **dict.fromkeys(without))
    except TypeError as error:
        raise ValueError(str(error).replace("__init__() ", "record: ")) from None
    adapters = _adapters(kind)  # type: ignore[arg-type]
    for name, value in found.items():
        _check(adapters[name], name, value)
    if kind is Run:
        for name in _NUMBERS & found["machine"].keys():
            _check(_adapters(Measurement)["seconds"], f"machine.{name}", found["machine"][name])
    return found


def _cell(record: Mapping[str, Any]) -> Cell:
    try:
        return Cell(**_known(Cell, record))
    except (TypeError, AttributeError) as error:
        raise ValueError(f"cell: {error}") from None
