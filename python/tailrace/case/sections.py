"""The sections of a case file: their keys, types, limits and defaults. `case.case` makes the whole case of them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationInfo, field_validator, model_validator

from tailrace.io.engines import DEFAULT, ENGINES, FileEngine, OutputEngine, default_path

from ..io.names import FIELDS
from . import scripts
from .flow_sections import EddySection, HyperviscositySection, Section, directory_of
from .output_place import AtSection
from .schedule import Schedule
from .values import (
    MOST_RANKS,
    MOST_STEPS,
    Flag,
    Index,
    Name,
    Parameter,
    Real,
    Step,
    StepSize,
    Text,
    Times,
    Triple,
    Whole,
    one_of,
)

if TYPE_CHECKING:
    from .flow_sections import GridSection

TAYLOR_GREEN, ISOTROPIC, CHANNEL, MIXING_LAYER, UNIFORM, XCOMPACT3D = READY_FLOWS = (
    "taylor-green", "isotropic", "channel", "mixing-layer", "uniform", "xcompact3d",
)  # fmt: skip
# The keys of [case.parameters] that each of them takes.
_TAKES = {
    TAYLOR_GREEN: (),
    ISOTROPIC: ("k0", "energy", "seed"),
    CHANNEL: ("noise", "seed"),
    MIXING_LAYER: ("lower", "upper", "thickness", "noise", "seed"),
    UNIFORM: ("speed", "noise", "seed"),
    XCOMPACT3D: ("kind", "direction", "noise", "seed"),
}
CFL = 0.6  # the default of time.cfl
LARGEST_CFL = 0.75  # rk3 is stable up to 0.87 (flow/stability.py); velocities grow between two evaluations of the step


class FlowParameters(Section):
    """[case.parameters], of a flow that the solver has by name; each of them takes some of the keys."""

    k0: Annotated[Real, Field(gt=0)] | None = Field(
        None, description="isotropic: the wave number of the largest energy, in radians per unit of length"
    )
    energy: Annotated[Real, Field(gt=0)] | None = Field(
        None, description="isotropic: the kinetic energy <u . u> / 2, 1.5 by default"
    )
    lower: Real | None = Field(None, description="mixing-layer: the velocity below, -0.5 by default")
    upper: Real | None = Field(None, description="mixing-layer: the velocity above, 0.5 by default")
    thickness: Annotated[Real, Field(gt=0)] | None = Field(
        None, description="mixing-layer: the vorticity thickness, 1 by default"
    )
    speed: Real | None = Field(None, description="uniform: the velocity in x, 1 by default")
    kind: Literal["taylor-green", "channel", "laminar", "mixing-layer"] | None = Field(
        None, description="xcompact3d: which of its first velocities; laminar is a channel without noise (iin = 0)"
    )
    direction: Literal["x", "z"] | None = Field(None, description="xcompact3d: direction of the channel, x by default")
    noise: Annotated[Real, Field(ge=0)] | None = Field(
        None, description="random velocities of up to this size are added, away from walls; none by default"
    )
    seed: Annotated[Whole, Field(ge=0)] | None = Field(
        None, description="another seed gives other random numbers; 1 by default"
    )


class CaseSection(Section):
    """[case]: the flow. It begins with `flow`, which is a vortex by default, or with a step of the series `from`."""

    name: Name = Field("run", description="the name of the run")
    flow: Text | None = Field(
        None, description="the initial flow, by name or as file.py:function; taylor-green by default"
    )
    from_: Text | None = Field(None, alias="from", description="a series that has the initial flow")
    from_step: Annotated[Whole, Field(ge=0)] | None = Field(
        None, description="the index of its step; by default the last"
    )
    from_time: Real | None = Field(None, description="the time of its step, instead of its index")
    project: Flag = Field(True, description="make the initial flow free of divergence; Xcompact3D does not")
    forcing: Text | None = Field(None, description="a body force, as file.py:function")
    reynolds: Real = Field(gt=0, description="the Reynolds number; the viscosity is 1/reynolds")
    parameters: FlowParameters | None = Field(None, description="parameters of a flow that has a name")

    @model_validator(mode="before")
    @classmethod
    def _default_flow(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("flow") is None and data.get("from") is None:
            return {**data, "flow": TAYLOR_GREEN}
        return data

    @model_validator(mode="after")
    def _one_beginning(self) -> Self:
        if self.flow is not None and self.from_ is not None:
            raise ValueError("give flow or from, not both: the run begins with one of them")
        chosen = [key for key in ("from_step", "from_time") if getattr(self, key) is not None]
        if chosen and self.from_ is None:
            raise ValueError(f"{chosen[0]} is of a series, which from names; from is missing")
        if len(chosen) == 2:
            raise ValueError("give from_step or from_time, not both")
        return self

    @field_validator("from_")
    @classmethod
    def _series_exists(cls, path: str | None, info: ValidationInfo) -> str | None:
        if path is not None:
            place = directory_of(info) / path
            if not place.exists():
                names = [one.name for one in place.parent.glob("*")]
                near = difflib.get_close_matches(place.name, names, n=1)
                hint = f"did you mean {near[0]}?" if near else "the path is relative to the case file"
                raise ValueError(f"there is no series {place}; {hint}")
        return path

    @field_validator("forcing")
    @classmethod
    def _forcing_exists(cls, forcing: str | None, info: ValidationInfo) -> str | None:
        if forcing is not None:
            scripts.check_function(forcing, directory_of(info))
        return forcing

    @field_validator("flow")
    @classmethod
    def _flow_exists(cls, flow: str | None, info: ValidationInfo) -> str | None:
        if flow is None or flow in READY_FLOWS:
            return flow
        known = ", ".join(f"'{name}'" for name in READY_FLOWS)
        if not flow.rpartition(":")[0].endswith(".py"):
            near = difflib.get_close_matches(flow, READY_FLOWS, n=1, cutoff=0.6)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise ValueError(f"must be {known} or a Python function as 'file.py:function'{hint}")
        scripts.check_function(flow, directory_of(info))
        return flow

    @model_validator(mode="after")
    def _parameters_fit_flow(self) -> Self:
        if self.flow == ISOTROPIC and (self.parameters is None or self.parameters.k0 is None):
            raise ValueError(
                f"flow = '{ISOTROPIC}' needs [case.parameters] with k0, the wave number of the largest energy"
            )
        if self.flow == XCOMPACT3D and (self.parameters is None or self.parameters.kind is None):
            raise ValueError(
                f"flow = '{XCOMPACT3D}' needs [case.parameters] with kind: 'taylor-green', 'channel', 'laminar' or "
                "'mixing-layer'"
            )
        taken = _TAKES.get(str(self.flow), ())
        if self.flow == XCOMPACT3D and self.parameters and self.parameters.kind in (TAYLOR_GREEN, MIXING_LAYER):
            taken = ("kind",)  # these two have no noise, and one direction
        for key in self.parameters.model_dump(exclude_none=True) if self.parameters is not None else ():
            if key not in taken:
                found = f"flow = '{self.flow}'" if self.flow else "from"
                what = f"it takes {', '.join(taken)}" if taken else "it takes no parameters"
                raise ValueError(f"parameters.{key} does not go with {found}; {what}")
        return self


class ParametersSection(Section):
    """[parameters]: values for the functions of the Python files that the case names, by the names of their arguments.

    An argument is a parameter if it has a default or stands after a `*`: `width` in `def velocity(x, y, z, width=0.1)`.
    A function gets those that it has. A name that no function has is an error.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    @property
    def values(self) -> dict[str, Any]:
        """All of them, by name."""
        return dict(self.model_extra or {})


class TimeSection(Section):
    """[time]: the scheme, its step, and the end.

    `cfl` and `dt_max` go with dt = "auto". Adams-Bashforth schemes need a constant step.
    """

    scheme: Literal["euler", "ab2", "ab3", "rk3"] = Field("rk3", description="the time scheme")
    dt: StepSize = Field(description='the time step, or "auto" to choose it by the velocity')
    cfl: Annotated[Real, Field(gt=0, le=LARGEST_CFL)] | None = Field(
        None, description=f'the CFL number that dt = "auto" keeps to; {CFL} by default'
    )
    dt_max: Annotated[Real, Field(gt=0)] | None = Field(None, description='the largest step of dt = "auto"')
    steps: Annotated[Whole, Field(ge=0)] | None = Field(None, description="the number of steps of the run")
    end: Annotated[Real, Field(gt=0)] | None = Field(None, description="the time at which it ends; this or steps")

    @model_validator(mode="before")
    @classmethod
    def _default_cfl(cls, data: Any) -> Any:
        return {"cfl": CFL, **data} if isinstance(data, dict) and data.get("dt") == "auto" else data

    @model_validator(mode="after")
    def _step_fits_scheme(self) -> Self:
        given = [key for key in ("cfl", "dt_max") if getattr(self, key) is not None]
        if self.dt != "auto" and given:
            raise ValueError(f'{given[0]} goes with dt = "auto" only (found dt = {self.dt:g})')
        if self.dt == "auto" and self.scheme not in ("rk3", "euler"):
            raise ValueError(
                f'dt = "auto" changes the step, which {self.scheme} cannot: it extrapolates from steps of one size; '
                'use scheme = "rk3", or give dt as a number'
            )
        return self

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if (self.steps is None) == (self.end is None):
            found = "neither" if self.steps is None else "both"
            raise ValueError(f"give exactly one of steps (a number) and end (a time); found {found}")
        if self.end is not None and self.dt != "auto" and not self.end / self.dt <= MOST_STEPS:
            raise ValueError(f"end = {self.end:g} is more than {MOST_STEPS:g} steps of dt = {self.dt:g} away")
        return self

    @property
    def constant_dt(self) -> float | None:
        """The size of all steps but shortened ones; None where the velocity chooses it."""
        return None if self.dt == "auto" else self.dt

    @property
    def total_steps(self) -> int | None:
        """Steps of `dt` to the end of the run; steps shortened for output times may add a few. None: not known."""
        if self.steps is not None or self.dt == "auto":
            return self.steps
        assert self.end is not None
        return math.ceil(self.end / self.dt * (1 - 1e-12) - 1e-6)

    @property
    def end_time(self) -> float | None:
        """The time at which the run ends; a run of a number of steps may end earlier, by shortened steps.

        None: it is not known.
        """
        if self.steps is None or self.dt == "auto":
            return self.end
        return self.steps * self.dt


class NumericsSection(Section):
    """[numerics]: precision of the arithmetic, interpolation between velocity and pressure grids, and dissipation."""

    precision: Literal["double", "single"] = Field("double", description="precision of the arithmetic")
    interpolation: Literal["classic", "optimised", "aggressive"] = Field(
        "aggressive", description="interpolation between velocity and pressure grids; Xcompact3D's ipinter 1, 2, 3"
    )
    device: Literal["cpu", "gpu"] = Field("cpu", description="what computes the steps: the processor or a GPU")
    implicit_y: Flag = Field(False, description="take second derivatives of diffusion along y implicitly")
    wall_divergence: Literal["mirrored", "one-sided"] = Field(
        "mirrored",
        description="scheme of the divergence beside walls in y; mirrored is that of Xcompact3D, of second order",
    )
    eddy_viscosity: EddySection | None = Field(None, description="a large-eddy simulation; none by default")
    hyperviscosity: HyperviscositySection | None = Field(
        None, description="an implicit large-eddy simulation; none by default"
    )

    def problems(self, grid: GridSection) -> Iterator[tuple[str, str]]:
        """Key and reason of what does not fit the grid. Local."""
        key = "numerics.wall_divergence"
        if self.wall_divergence == "mirrored":
            return
        if "dirichlet" not in grid.sides[1]:
            yield key, f"'one-sided' needs a wall in y (grid.boundaries[1] is {list(grid.ends[1])}); leave it out"
        for d in (0, 2):
            if grid.ends[d][0] != "periodic":
                yield key, f"'one-sided' needs a periodic x and z (grid.boundaries[{d}] is not); take 'mirrored'"


class ParallelSection(Section):
    """[parallel]: the process grid (0: chosen) and the way of transposing."""

    rows: Annotated[Whole, Field(ge=0, le=MOST_RANKS)] = Field(0, description="rows of the process grid; 0: chosen")
    cols: Annotated[Whole, Field(ge=0, le=MOST_RANKS)] = Field(0, description="columns of the process grid; 0: chosen")
    transpose: Literal["auto", "shared", "alltoall", "subarray"] = Field(
        "auto", description="how data move between ranks: shared memory or messages; auto: the fastest, measured"
    )


class DiagnosticsSection(Section):
    """[diagnostics]: the time series of volume averages."""

    every: Annotated[Whole, Field(ge=1)] = Field(10, description="number of steps between two rows")
    path: Text = Field("time_series.csv", description="the file of the time series")


class Rhythm(Section):
    """How often: one of `every` (steps), `interval` (time) and `times` (a list)."""

    every: Annotated[Whole, Field(ge=1)] | None = Field(None, description="number of steps between two times")
    interval: Annotated[Real, Field(gt=0)] | None = Field(
        None, description="interval of time; its ends are met exactly"
    )
    times: Times | None = Field(None, description="times in rising order; met exactly")

    @model_validator(mode="after")
    def _one_rhythm(self) -> Self:
        found = [key for key in ("every", "interval", "times") if getattr(self, key) is not None]
        if len(found) != 1:
            raise ValueError(
                "give exactly one of every (steps), interval (time) and times (a list); "
                f"found {' and '.join(found) or 'none'}"
            )
        return self

    def schedule(self, time: TimeSection) -> Schedule:
        """The rhythm in a run with the steps of [time]."""
        return Schedule(every=self.every, interval=self.interval, times=self.times, dt=time.constant_dt)


class OutputSection(Rhythm):
    """[[output]]: fields, their rhythm, and the series that they go to.

    The default path is the name with the suffix of the engine; the default precision is that of the arithmetic. Points
    start, start + stride, ... are stored, `count` of them in each direction: a plane, a line, every n-th point. Of a
    direction in `at`, the node nearest to that place is stored, however many points the grid has.
    """

    name: Name = Field(description="the name of this output")
    fields: list[Text] = Field(min_length=1, description=f"a list out of {', '.join(FIELDS)}, and of the scalars")
    engine: OutputEngine = Field(description=f"how it is stored: {one_of(tuple(ENGINES))}")
    path: Text = Field("", description="file or directory; by default the name with the ending of the engine")
    precision: Literal["float64", "float32"] = Field("float64", description="precision of the stored numbers")
    start: Triple[Index] = Field((0, 0, 0), description="the first point in x, y, z, counted from 0")
    count: Triple[Index] = Field((0, 0, 0), description="points in x, y, z; 0: as many as there are")
    stride: Triple[Step] = Field((1, 1, 1), description="every n-th point in x, y, z")
    at: AtSection | None = Field(None, description="a plane, a line or a point by its place, instead")
    parameters: dict[str, Parameter] = Field(default_factory=dict, description="parameters of the engine")

    @field_validator("fields")
    @classmethod
    def _known_and_once(cls, fields: list[str], info: ValidationInfo) -> list[str]:
        known = [*FIELDS, *(info.context or {}).get("scalars", ())]
        for name in fields:
            if name not in known:
                near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                raise ValueError(f"'{name}' is no field; there are {', '.join(known)}{hint}")
            if fields.count(name) > 1:
                raise ValueError(f"names '{name}' {fields.count(name)} times; once is enough")
        return fields

    @model_validator(mode="before")
    @classmethod
    def _default_path(cls, data: Any) -> Any:
        if isinstance(data, dict) and "path" not in data and isinstance(data.get("name"), str):
            return {**data, "path": default_path(data["name"], str(data.get("engine")))}
        return data

    @model_validator(mode="after")
    def _place_or_points(self) -> Self:
        for axis in self.places:
            d = "xyz".index(axis)
            for key, free in (("start", 0), ("count", 0), ("stride", 1)):
                if (found := getattr(self, key)[d]) != free:
                    raise ValueError(
                        f"at.{axis} and {key}[{d}] = {found} both choose points in {axis}; leave at.{axis} out, or set "
                        f"{key}[{d}] to {free}"
                    )
        return self

    @property
    def places(self) -> dict[str, float]:
        """The places of `at`, by direction."""
        return {} if self.at is None else self.at.places


class ScriptSection(Rhythm):
    """A script with its rhythm: its results have the name of the file without .py, where none is given."""

    @model_validator(mode="before")
    @classmethod
    def _default_name(cls, data: Any) -> Any:
        if isinstance(data, dict) and "name" not in data and isinstance(data.get("script"), str):
            return {**data, "name": scripts.name_of(data["script"])}
        return data


class AnalysisSection(ScriptSection):
    """[[analysis]]: a script that sees the flow while it is computed, and its rhythm.

    The default name is that of the file without .py; results are `out`/NAME.csv and so on.
    """

    script: Text = Field(description="a Python file, relative to the case file, or the name of a ready-made analysis")
    name: Name = Field("", description="the name of the results; by default that of the script without .py")
    out: Text = Field("analysis", description="directory of the results")
    engine: FileEngine = Field(DEFAULT, description="the engine that stores returned fields")
    parameters: dict[str, Any] = Field(default_factory=dict, description="parameters of the script")
    on_error: Literal["stop", "off"] = Field(
        "stop", description="what an error does: end the run, or switch the script off"
    )

    @field_validator("script")
    @classmethod
    def _script_exists(cls, script: str, info: ValidationInfo) -> str:
        scripts.check_analysis(script, directory_of(info))
        return script


class CheckpointSection(Section):
    """[checkpoint]: how often a state to resume from is stored (0: never), how many are kept, and where."""

    every: Annotated[Whole, Field(ge=0)] = Field(0, description="number of steps between two; 0: never")
    minutes: Annotated[Real, Field(ge=0)] = Field(
        0.0, description="minutes of the clock between two; 0: never. Whichever comes first counts"
    )
    keep: Annotated[Whole, Field(ge=1)] = Field(2, description="how many are kept")
    path: Text = Field("checkpoints", description="directory of the checkpoints")
