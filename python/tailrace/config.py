"""The case file: what it may say, how it is read, and what is wrong with it, all at once and by name.

A case is TOML (`load_case`). It is validated as a whole before anything starts; `ConfigError` lists every problem with
its key, the reason, the value found and, for names, the nearest valid one.

Paths of outputs, checkpoints and the time series are relative to the directory where the program runs. The Python file
of an initial flow is relative to the case file.
"""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    AllowInfNan,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    Strict,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tailrace import flow_file
from tailrace.case_file import ConfigError, Document, Problem, ProblemsError, apply_overrides, explain, read_toml
from tailrace.schedule import Schedule

if TYPE_CHECKING:
    from tailrace.series import Region

__all__ = ["Case", "ConfigError", "Problem", "case_from_document", "load_case"]

FIELDS = ("ux", "uy", "uz", "pressure", "vorticity", "vorticity_x", "vorticity_y", "vorticity_z", "q")
TAYLOR_GREEN = "taylor-green"
MIN_POINTS = 8  # the widest stencil of the sixth-order schemes, closures at both ends included
_SUFFIX = {
    "adios_hdf5": ".adios_hdf5",
    "bp4": ".bp4",
    "bp5": ".bp",
    "hdf5": ".h5",
    "mpiio": "",
    "null": "",
    "raw": "",
    "sion": ".sion",
}
# Adams-Bashforth extrapolates from steps of one size, so it cannot shorten one to land on a time.
_FIXED_STEP = ("ab2", "ab3")

FieldName = Literal["ux", "uy", "uz", "pressure", "vorticity", "vorticity_x", "vorticity_y", "vorticity_z", "q"]
Boundary = Literal["periodic", "free-slip"]
Parameter = str | int | float | bool


def parse_length(value: Any) -> Any:
    """A length given as a number or as text of numbers, `pi`, `*` and `/`: "2*pi". Anything else passes unchanged.

    :raises ValueError: text of another form.
    """
    if not isinstance(value, str):
        return value
    tokens = re.split(r"\s*([*/])\s*", value.strip())
    result, operator = 1.0, "*"
    try:
        for position, token in enumerate(tokens):
            if position % 2:
                operator = token
                continue
            factor = math.pi if token == "pi" else float(token)
            result = result * factor if operator == "*" else result / factor
    except (ValueError, ZeroDivisionError):
        raise ValueError('must be a number or an expression of numbers, pi, * and /, such as "2*pi"') from None
    return result


def _three(value: Any) -> Any:
    """Three entries, one per direction: the length is judged here, in our words, and the entries after."""
    if not isinstance(value, list | tuple):
        raise ValueError("must be a list of three values, for x, y and z")
    if len(value) != 3:
        raise ValueError(f"must have three values, for x, y and z; it has {len(value)}")
    return tuple(value)


def _boundary(value: Any) -> Any:
    if isinstance(value, str) and value.lower() in ("dirichlet", "no-slip", "wall"):
        raise ValueError(
            "Dirichlet boundaries: the operators exist, but the flow solver does not support them yet; "
            "use 'periodic' or 'free-slip'"
        )
    return value


def _file_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][\w.+-]*", value):
        raise ValueError("must be a name of letters, digits and _ . + - (files are named after it)")
    return value


def _rising(value: list[float]) -> list[float]:
    for earlier, later in itertools.pairwise(value):
        if later <= earlier:
            raise ValueError(f"must rise: {later:g} comes after {earlier:g}")
    return value


def _parameter(value: Any) -> Any:
    if not isinstance(value, str | int | float | bool):
        raise ValueError("must be text, a number or true/false")
    return value


Whole = Annotated[int, Strict()]
Real = Annotated[float, Strict(), AllowInfNan(False)]
Text = Annotated[str, Strict(), Field(min_length=1)]
Name = Annotated[Text, AfterValidator(_file_name)]
Points = Annotated[Whole, Field(ge=MIN_POINTS)]
Index = Annotated[Whole, Field(ge=0)]
Step = Annotated[Whole, Field(ge=1)]
Length = Annotated[Real, Field(gt=0), BeforeValidator(parse_length)]
Side = Annotated[Boundary, BeforeValidator(_boundary)]
_Entry = TypeVar("_Entry")
Triple = Annotated[tuple[_Entry, _Entry, _Entry], BeforeValidator(_three)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CaseSection(_Section):
    """[case]: what flows."""

    name: Name = "run"
    flow: Text = Field(TAYLOR_GREEN, description="the initial flow")
    reynolds: Real = Field(gt=0, description="the Reynolds number; the viscosity is 1/reynolds")

    @field_validator("flow")
    @classmethod
    def _flow_exists(cls, flow: str, info: ValidationInfo) -> str:
        if flow == TAYLOR_GREEN:
            return flow
        if difflib.get_close_matches(flow, [TAYLOR_GREEN], cutoff=0.7):
            raise ValueError(f"must be '{TAYLOR_GREEN}' or a Python function as 'file.py:function'")
        flow_file.check(flow, Path((info.context or {}).get("directory", ".")))
        return flow


class GridSection(_Section):
    """[grid]: nodes, lengths and boundaries, each for x, y and z."""

    points: Triple[Points] = Field(description="nodes in x, y and z")
    lengths: Triple[Length] = Field(description="the box in x, y and z")
    boundaries: Triple[Side] = Field(description="'periodic' or 'free-slip' in x, y and z")


class TimeSection(_Section):
    """[time]: the scheme, its step, and how far."""

    scheme: Literal["euler", "ab2", "ab3", "rk3"] = "rk3"
    dt: Real = Field(gt=0, description="the time step")
    steps: Annotated[Whole, Field(ge=0)] | None = None
    end: Annotated[Real, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if (self.steps is None) == (self.end is None):
            found = "neither" if self.steps is None else "both"
            raise ValueError(f"give exactly one of steps (a number) and end (a time); found {found}")
        return self

    @property
    def total_steps(self) -> int:
        """Steps of `dt` to the end of the run; landings on output times may add a few."""
        if self.steps is not None:
            return self.steps
        assert self.end is not None
        return math.ceil(self.end / self.dt * (1 - 1e-12) - 1e-6)

    @property
    def end_time(self) -> float:
        """The time at which the run ends, as far as it is known beforehand."""
        return self.end if self.end is not None else self.total_steps * self.dt


class NumericsSection(_Section):
    """[numerics]: precision of the arithmetic, and the interpolation between velocity and pressure grids."""

    precision: Literal["double", "single"] = "double"
    interpolation: Literal["classic", "optimised", "aggressive"] = "aggressive"


class ParallelSection(_Section):
    """[parallel]: the process grid (0: chosen) and the way of transposing."""

    rows: Annotated[Whole, Field(ge=0)] = 0
    cols: Annotated[Whole, Field(ge=0)] = 0
    transpose: Literal["auto", "shared", "alltoall", "subarray"] = "auto"


class DiagnosticsSection(_Section):
    """[diagnostics]: the time series of volume averages."""

    every: Annotated[Whole, Field(ge=1)] = 10
    path: Text = "time_series.csv"


class OutputSection(_Section):
    """[[output]]: some fields, at some rhythm, to some place.

    The default path is the name with the suffix of the engine; the default precision is that of the arithmetic. Points
    start, start + stride, ... are stored, `count` of them in each direction: a plane, a line, every n-th point.
    """

    name: Name = Field(description="the name of this output")
    fields: list[FieldName] = Field(min_length=1, description=f"a list out of {', '.join(FIELDS)}")
    every: Annotated[Whole, Field(ge=1)] | None = None
    interval: Annotated[Real, Field(gt=0)] | None = None
    times: Annotated[list[Annotated[Real, Field(ge=0)]], Field(min_length=1), AfterValidator(_rising)] | None = None
    engine: Literal["adios_hdf5", "bp4", "bp5", "hdf5", "mpiio", "null", "raw", "sion", "sst"] = Field(
        description="'adios_hdf5', 'bp4', 'bp5', 'hdf5', 'mpiio', 'null', 'raw', 'sion' or 'sst'"
    )
    path: Text = ""
    precision: Literal["float64", "float32"] = "float64"
    start: Triple[Index] = (0, 0, 0)
    count: Triple[Index] = Field((0, 0, 0), description="points in x, y, z; 0: as many as there are")
    stride: Triple[Step] = (1, 1, 1)
    parameters: dict[str, Annotated[Parameter, BeforeValidator(_parameter)]] = Field(default_factory=dict)

    @field_validator("fields")
    @classmethod
    def _once(cls, fields: list[str]) -> list[str]:
        for name in fields:
            if fields.count(name) > 1:
                raise ValueError(f"names '{name}' {fields.count(name)} times; once is enough")
        return fields

    @model_validator(mode="before")
    @classmethod
    def _default_path(cls, data: Any) -> Any:
        if isinstance(data, dict) and "path" not in data and isinstance(data.get("name"), str):
            return {**data, "path": data["name"] + _SUFFIX.get(str(data.get("engine")), "")}
        return data

    @model_validator(mode="after")
    def _one_rhythm(self) -> Self:
        found = [key for key in ("every", "interval", "times") if getattr(self, key) is not None]
        if len(found) != 1:
            raise ValueError(
                "give exactly one of every (steps), interval (time) and times (a list); "
                f"found {' and '.join(found) or 'none'}"
            )
        return self

    def region(self, shape: Sequence[int]) -> Region | None:
        """The points of a field of `shape` that are stored; None: all of them.

        :raises ValueError: names the key that asks for points outside the field.
        """
        from tailrace.series import Region

        axes = list(zip("xyz", self.start, self.count, self.stride, shape, strict=True))
        for axis, start, count, stride, points in axes:
            if start >= points:
                raise ValueError(f"start: {start} in {axis} is outside the field, whose points are 0 to {points - 1}")
            if count and start + (count - 1) * stride >= points:
                raise ValueError(
                    f"count: {count} points in {axis} from {start} with a stride of {stride} go beyond "
                    f"the last, {points - 1}; {(points - 1 - start) // stride + 1} fit"
                )
        counts = tuple(n or (points - 1 - start) // stride + 1 for _, start, n, stride, points in axes)
        if counts == tuple(shape):
            return None
        return Region(self.start, counts, self.stride)  # type: ignore[arg-type] # three of them

    def schedule(self, dt: float) -> Schedule:
        """The rhythm of this output in a run with the nominal step `dt`."""
        return Schedule(every=self.every, interval=self.interval, times=self.times, dt=dt)


class CheckpointSection(_Section):
    """[checkpoint]: how often a state to resume from is stored (0: never), how many are kept, and where."""

    every: Annotated[Whole, Field(ge=0)] = 0
    minutes: Annotated[Real, Field(ge=0)] = 0.0
    keep: Annotated[Whole, Field(ge=1)] = 2
    path: Text = "checkpoints"


class Case(_Section):
    """A whole simulation as its case file describes it."""

    case: CaseSection
    grid: GridSection
    time: TimeSection
    numerics: NumericsSection = NumericsSection()
    parallel: ParallelSection = ParallelSection()
    diagnostics: DiagnosticsSection = DiagnosticsSection()
    output: list[OutputSection] = Field(default_factory=list)
    checkpoint: CheckpointSection = CheckpointSection()

    _directory: Path = PrivateAttr(default=Path())

    @model_validator(mode="before")
    @classmethod
    def _storage_precision(cls, data: Any) -> Any:
        """Outputs follow the arithmetic: a run in single precision stores float32 unless an output says otherwise."""
        numerics, outputs = (data.get("numerics"), data.get("output")) if isinstance(data, dict) else (None, None)
        if not isinstance(numerics, dict) or numerics.get("precision") != "single" or not isinstance(outputs, list):
            return data
        outputs = [{"precision": "float32", **entry} if isinstance(entry, dict) else entry for entry in outputs]
        return {**data, "output": outputs}

    @model_validator(mode="after")
    def _fits_together(self, info: ValidationInfo) -> Self:
        self._directory = Path((info.context or {}).get("directory", "."))
        problems = [*_clashes(self), *_missed_times(self), *_missed_points(self)]
        if problems:
            raise ProblemsError(problems)
        return self

    @property
    def directory(self) -> Path:
        """The directory of the case file."""
        return self._directory

    @property
    def viscosity(self) -> float:
        """Kinematic viscosity, with the velocity and length scales at one."""
        return 1.0 / self.case.reynolds

    def initial_velocity(self) -> flow_file.Velocity | None:
        """The user's function of (x, y, z) returning (ux, uy, uz); None for a flow that the solver knows by name.

        :raises ConfigError: the file fails when it is loaded, or the name is not a function.
        """
        return None if self.case.flow == TAYLOR_GREEN else flow_file.load(self.case.flow, self._directory)

    def warnings(self) -> list[str]:
        """What is allowed but probably not meant: outputs and checkpoints that this run never reaches."""
        steps, end = self.time.total_steps, self.time.end_time
        found = []
        for at, output in enumerate(self.output):
            label = f"output[{at}] ('{output.name}')"
            if output.every is not None and output.every > steps:
                found.append(f"{label}: every = {output.every} is more than the {steps} steps of the run")
            if output.interval is not None and output.interval > end * (1 + 1e-9):
                found.append(f"{label}: interval = {output.interval:g} is more than the run's {end:g}")
            late = [time for time in output.times or [] if time > end * (1 + 1e-9)]
            if late:
                found.append(f"{label}: the run ends at {end:g}, before {', '.join(f'{time:g}' for time in late[:5])}")
        if self.checkpoint.every > steps:
            found.append(f"checkpoint.every = {self.checkpoint.every} is more than the {steps} steps of the run")
        return found

    def to_toml(self) -> str:
        """The case as a TOML document that `load_case` reads back to an equal case; every key is written out."""
        import tomlkit

        document = self.model_dump(mode="json", exclude_none=True)
        for output in document["output"]:
            if not output["parameters"]:
                del output["parameters"]
        if not document["output"]:
            del document["output"]
        return tomlkit.dumps(document)


def _clashes(case: Case) -> Iterable[Problem]:
    """Names and places used twice: the second would write over the first."""
    places = {case.diagnostics.path: "diagnostics.path", case.checkpoint.path: "checkpoint.path"}
    if case.diagnostics.path == case.checkpoint.path:
        yield Problem("checkpoint.path", f"'{case.checkpoint.path}' is taken by diagnostics.path")
    names: dict[str, str] = {}
    for at, output in enumerate(case.output):
        key = f"output[{at}]"
        if output.name in names:
            yield Problem(f"{key}.name", f"'{output.name}' is taken by {names[output.name]}")
        elif output.path in places:
            yield Problem(f"{key}.path", f"'{output.path}' is taken by {places[output.path]}")
        names.setdefault(output.name, f"{key}.name")
        places.setdefault(output.path, f"{key}.path")


def _missed_points(case: Case) -> Iterable[Problem]:
    """Regions of outputs that the grid does not have."""
    for at, output in enumerate(case.output):
        try:
            output.region(case.grid.points)
        except ValueError as error:
            key, reason = str(error).split(": ", 1)
            yield Problem(f"output[{at}] ('{output.name}').{key}", reason)


def _missed_times(case: Case) -> Iterable[Problem]:
    """Times that the steps cannot meet: multiples of dt are needed where the scheme cannot shorten a step."""
    scheme, dt = case.time.scheme, case.time.dt
    wanted: list[tuple[str, float]] = [("time.end", case.time.end)] if case.time.end is not None else []
    for at, output in enumerate(case.output):
        key = f"output[{at}] ('{output.name}')"
        if output.interval is not None:
            wanted.append((f"{key}.interval", output.interval))
            if output.interval < dt * (1 - 1e-6):
                reason = f"{output.interval:g} is shorter than the time step {dt:g}; use every = 1"
                yield Problem(f"{key}.interval", reason)
        wanted += [(f"{key}.times[{entry}]", time) for entry, time in enumerate(output.times or [])]
    if scheme not in _FIXED_STEP:
        return
    for key, time in wanted:
        count = round(time / dt)
        if abs(time - count * dt) > 1e-6 * dt:
            nearest = f"{max(count, 1) * dt:.12g}"
            yield Problem(
                key,
                f"must be a multiple of time.dt = {dt:g}, because {scheme} cannot shorten a step to land on a time "
                f"(found {time:g}); the nearest multiple is {nearest}, or use scheme = 'rk3'",
            )


def load_case(path: str | Path, overrides: Sequence[str] = ()) -> Case:
    """Read and validate a TOML case file.

    :param overrides: `key=value` pairs that take the place of what the file says; see `case_file.apply_overrides`.
    :raises ConfigError: everything that is wrong with the file and the overrides.
    """
    path = Path(path)
    return case_from_document(read_toml(path), source=str(path), directory=path.parent, overrides=overrides)


def case_from_document(document: Document, *, source: str, directory: Path, overrides: Sequence[str] = ()) -> Case:
    """Validate a case given as nested dictionaries, as TOML reads them; `overrides` are applied to it first.

    :param source: names the document in errors.
    :param directory: where the Python file of an initial flow is looked for.
    :raises ConfigError: everything that is wrong with it.
    """
    problems = apply_overrides(document, overrides)
    try:
        case = Case.model_validate(document, context={"directory": directory})
    except ValidationError as error:
        raise ConfigError(source, problems + explain(error, Case, document, overrides)) from None
    if problems:
        raise ConfigError(source, problems)
    return case
