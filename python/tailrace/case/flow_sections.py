"""The sections of a case file that describe a flow besides its beginning: grid, boundaries, forces, scalars."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from ..io.names import FIELDS, RAW_NAMES
from . import scripts
from .values import (
    Extent,
    Flag,
    Length,
    OutflowSpeed,
    Points,
    Real,
    ScalarInitial,
    ScalarLimits,
    ScalarName,
    ScalarSides,
    Sides,
    Text,
    Triple,
    Whole,
)

ENDS = tuple(f"{axis}_{side}" for axis in "xyz" for side in ("lower", "upper"))


def directory_of(info: ValidationInfo) -> Path:
    """What the Python files and series of a case are relative to."""
    return Path((info.context or {}).get("directory", "."))


def _function(word: str | None, info: ValidationInfo) -> str | None:
    if word is not None:
        scripts.check_function(word, directory_of(info))
    return word


class Section(BaseModel):
    """A table of the case file: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)


class GridSection(Section):
    """[grid]: nodes, lengths and boundaries, each for x, y and z, and where nodes in y are close together.

    A boundary is a word, or two of them in a list where the ends of the direction differ.
    """

    points: Triple[Points] = Field(description="nodes in x, y and z")
    lengths: Triple[Length] = Field(description="lengths of the box in x, y and z")
    boundaries: Triple[Sides] = Field(
        description="in x, y and z: 'periodic', 'free-slip', 'wall', or [\"inflow\", \"outflow\"]"
    )
    stretching: Literal["centre", "walls", "bottom"] | None = Field(
        None, description="where nodes in y are close together; they are uniform by default"
    )
    beta: Annotated[Real, Field(gt=0)] | None = Field(
        None, description="how close together: the smaller beta is, the closer"
    )

    @model_validator(mode="after")
    def _stretched(self) -> Self:
        if (self.stretching is None) != (self.beta is None):
            missing = "beta" if self.beta is None else "stretching"
            raise ValueError(f"stretching and beta go together; {missing} is missing")
        if self.stretching and self.boundaries[1] == "periodic":
            raise ValueError("stretching: nodes of a periodic y are uniform; use walls or free-slip in y")
        return self

    @property
    def ends(self) -> tuple[tuple[str, str], ...]:
        """The words of the lower and the upper end, in x, y and z."""
        return tuple((one, one) if isinstance(one, str) else one for one in self.boundaries)

    @property
    def sides(self) -> tuple[str, str, str]:
        """The boundaries of the schemes: where a velocity is given they are Dirichlet ones."""

        def kind(word: str) -> str:
            return word if word in ("periodic", "free-slip") else "dirichlet"

        x, y, z = (
            kind(lower) if kind(lower) == kind(upper) else f"{kind(lower)}|{kind(upper)}" for lower, upper in self.ends
        )
        return x, y, z

    def given_ends(self) -> Iterator[tuple[int, bool, str]]:
        """Direction, whether it is the upper end, and word of each end where a velocity is given."""
        for d, ends in enumerate(self.ends):
            for upper, word in enumerate(ends):
                if word in ("wall", "inflow"):
                    yield d, bool(upper), word


class BoundarySection(Section):
    """[boundary]: the velocity at walls and inflows, where it is not zero, and how an outflow carries away."""

    velocity: Text | None = Field(
        None, description="at all walls and inflows, as file.py:function of x, y, z, t that returns ux, uy, uz"
    )
    x_lower: Triple[Real] | None = Field(None, description="a constant velocity at the lower end of x, instead")
    x_upper: Triple[Real] | None = Field(None, description="a constant velocity at the upper end of x, instead")
    y_lower: Triple[Real] | None = Field(None, description="a constant velocity at the lower end of y, instead")
    y_upper: Triple[Real] | None = Field(None, description="a constant velocity at the upper end of y, instead")
    z_lower: Triple[Real] | None = Field(None, description="a constant velocity at the lower end of z, instead")
    z_upper: Triple[Real] | None = Field(None, description="a constant velocity at the upper end of z, instead")
    outflow_speed: OutflowSpeed = Field(
        "largest",
        description="the speed of an outflow: the largest velocity before it, the middle of the largest and "
        "the least, or a number",
    )
    balance: Flag = Field(True, description="as much flows out as flows in; a body may need false")

    _velocity = field_validator("velocity")(_function)

    def constant(self, d: int, upper: bool) -> tuple[float, float, float] | None:
        """The velocity that is given as numbers at an end."""
        found: tuple[float, float, float] | None = getattr(self, ENDS[2 * d + upper])
        return found

    def moves_walls(self, grid: GridSection) -> bool:
        """Whether a wall has a velocity that is not zero, or a function."""
        at_walls = [self.constant(d, upper) for d, upper, word in grid.given_ends() if word == "wall"]
        return any(any(one) if one is not None else self.velocity is not None for one in at_walls)

    def problems(self, grid: GridSection) -> Iterator[tuple[str, str]]:
        """Key and reason of what does not fit the grid. Local."""
        given = {ENDS[2 * d + upper]: word for d, upper, word in grid.given_ends()}
        for name in ENDS:
            value = getattr(self, name)
            if value is not None and name not in given:
                word = grid.ends["xyz".index(name[0])][name.endswith("upper")]
                yield f"boundary.{name}", f"this end is {word}; a velocity is given at a wall or an inflow"
            if value is not None and self.velocity is not None:
                yield f"boundary.{name}", "give it here or by boundary.velocity, not both"
            if value is None and self.velocity is None and given.get(name) == "inflow":
                yield f"boundary.{name}", "is missing: the velocity of this inflow (or boundary.velocity)"
        if self.velocity is not None and not given:
            yield "boundary.velocity", "there is neither a wall nor an inflow"
        outflow = any(word == "outflow" for ends in grid.ends for word in ends)
        for name in () if outflow else ("outflow_speed", "balance"):
            if getattr(self, name) != type(self).model_fields[name].default:
                yield f"boundary.{name}", 'is that of an outflow; there is none: boundaries = ["inflow", "outflow"]'
        if self.velocity is None and not outflow:
            yield from self._unbalanced(grid)

    def _unbalanced(self, grid: GridSection) -> Iterator[tuple[str, str]]:
        """A flow through constant ends that does not leave again: no velocity is free of divergence then."""
        x, y, z = grid.lengths
        flows = {}
        for d, upper, _ in grid.given_ends():
            normal = (self.constant(d, upper) or (0.0, 0.0, 0.0))[d]
            flows[ENDS[2 * d + upper]] = normal * (y * z, x * z, x * y)[d] * (-1 if upper else 1)
        net = sum(flows.values())
        if abs(net) > 1e-9 * sum(map(abs, flows.values())):
            entries = ", ".join(f"{name} {flow:+.4g}" for name, flow in flows.items() if flow)
            yield (
                "boundary",
                f"as much must flow out as in; {net:+.4g} is left (volume per time into the box: {entries}). "
                "Change a velocity, or make an end an outflow",
            )


class BandSection(Section):
    """[forcing.band]: a random force on low wave numbers, another one in each step, for isotropic turbulence."""

    k_min: Annotated[Real, Field(gt=0)] = Field(description="the smallest wave number, in radians per unit of length")
    k_max: Annotated[Real, Field(gt=0)] = Field(description="the largest wave number")
    power: Annotated[Real, Field(gt=0)] = Field(description="the energy that it adds per unit of time, in the mean")
    seed: Annotated[Whole, Field(ge=0, lt=2**32)] = Field(1, description="another seed gives other random numbers")

    def problems(self, grid: GridSection) -> Iterator[tuple[str, str]]:
        """Key and reason of what does not fit the grid. Local."""
        width = 2 * math.pi / max(grid.lengths)
        most = min(math.pi * n / length for n, length in zip(grid.points, grid.lengths, strict=True))
        if any(side != "periodic" for side in grid.boundaries):
            yield "forcing.band", "needs periodic boundaries in x, y and z"
        elif not width * (1 - 1e-9) <= self.k_min <= self.k_max:
            yield "forcing.band.k_min", f"must be from {width:g}, the smallest wave number of the box, to k_max"
        elif math.floor(self.k_max / width + 0.5) < math.ceil(self.k_min / width - 0.5):
            yield "forcing.band.k_max", f"there is no wave number of the box, in steps of {width:g}, in this band"
        elif self.k_max > most / 2:
            yield "forcing.band.k_max", f"must be at most {most / 2:g}, half of what the grid has"


class ForcingSection(Section):
    """[forcing]: what drives the flow, besides the function case.forcing."""

    flow_rate: Real | None = Field(None, description="the mean velocity along `direction`, which is kept")
    direction: Literal["x", "z"] = Field("x", description="the direction of flow_rate")
    acceleration: Triple[Real] = Field(
        (0.0, 0.0, 0.0), description="a constant force: minus the mean pressure gradient"
    )
    coriolis: Triple[Real] = Field((0.0, 0.0, 0.0), description="twice the angular velocity c: the force -c x u")
    coriolis_until: Annotated[Real, Field(gt=0)] | None = Field(
        None, description="the force coriolis acts in steps whose middle is before this time; by default in all"
    )
    linear: Real = Field(
        0.0, description="the force linear * (u - its mean over the box), by which isotropic turbulence is kept up"
    )
    band: BandSection | None = Field(None, description="a random force on low wave numbers")

    def coriolis_at(self, time: float) -> tuple[float, float, float]:
        """Twice the angular velocity in a step with its middle at this time. Local."""
        ended = self.coriolis_until is not None and time >= self.coriolis_until
        return (0.0, 0.0, 0.0) if ended else self.coriolis

    def problems(self, grid: GridSection) -> Iterator[tuple[str, str]]:
        """Key and reason of what does not fit the grid. Local."""
        d = "xz".index(self.direction) * 2
        if self.flow_rate is not None and grid.boundaries[d] != "periodic":
            yield (
                "forcing.flow_rate",
                f"needs a periodic {self.direction} (found {' and '.join(dict.fromkeys(grid.ends[d]))})",
            )
        if self.flow_rate is None and self.direction != "x":
            yield "forcing.direction", "is that of flow_rate, which is missing"
        if self.coriolis_until is not None and not any(self.coriolis):
            yield "forcing.coriolis_until", "is the end of coriolis, which is missing"
        if self.band is not None:
            yield from self.band.problems(grid)
        for d, each in enumerate(self.acceleration):
            if each != 0 and any(word == "free-slip" for word in grid.ends[d]):
                yield (
                    "forcing.acceleration",
                    f"its component in {'xyz'[d]} must be 0: nothing flows through a free-slip boundary",
                )


class ScalarSection(Section):
    """[[scalar]]: something that the flow carries, such as temperature, dye or sediment.

    At each end it is 'no-flux' (where the velocity is free-slip or a wall, by default), a number or a function (the
    value there), 'deposit' (no flux, and what settles stays there), 'free' (nothing is imposed), 'outflow' or
    'periodic'.
    """

    name: ScalarName = Field("phi", description="its name in outputs")
    schmidt: Annotated[Real, Field(gt=0)] = Field(1.0, description="viscosity / diffusivity")
    initial: ScalarInitial = Field(
        0.0,
        description="a number, file.py:function of x, y, z, 'front' (level below x = front, 0 above), 'linear' in y "
        "or 'waves' (sin x sin y cos z)",
    )
    front: Real | None = Field(None, description="of initial = 'front': where it is in x")
    thickness: Annotated[Real, Field(gt=0)] | None = Field(
        None, description="of initial = 'front': the width of its tanh"
    )
    level: Real | None = Field(None, description="of initial = 'front': its value below the front, 1 by default")
    boundaries: Triple[ScalarSides] | None = Field(
        None, description="at the ends in x, y and z: one value for both, or [lower, upper]"
    )
    buoyancy: Triple[Real] = Field((0.0, 0.0, 0.0), description="the force on the flow for a scalar of 1")
    settling: Triple[Real] = Field((0.0, 0.0, 0.0), description="the velocity at which it moves through the flow")
    deposit_distance: Annotated[Real, Field(gt=0)] | None = Field(
        None,
        description="of 'deposit': the distance from the end to the next node that counts; by default the real one",
    )
    limits: ScalarLimits | None = Field(
        None, description="its least and largest value, to which it is cut after each stage"
    )

    @field_validator("initial")
    @classmethod
    def _initial_exists(cls, initial: str | float, info: ValidationInfo) -> str | float:
        if isinstance(initial, str) and ".py:" in initial:
            _function(initial, info)
        return initial

    @field_validator("boundaries")
    @classmethod
    def _functions_exist(cls, boundaries: Any, info: ValidationInfo) -> Any:
        for part in [part for ends in boundaries or () for part in ends]:
            if isinstance(part, str) and ".py:" in part:
                _function(part, info)
        return boundaries

    @model_validator(mode="after")
    def _front(self) -> Self:
        given = [self.front is not None, self.thickness is not None]
        if given != [self.initial == "front"] * 2:
            raise ValueError("front and thickness go with initial = 'front', which needs both")
        if self.level is not None and self.initial != "front":
            raise ValueError("level goes with initial = 'front'")
        if self.deposit_distance is not None and not any("deposit" in ends for ends in self.boundaries or ()):
            raise ValueError("deposit_distance goes with 'deposit' in boundaries")
        return self

    def ends(self, grid: GridSection) -> tuple[tuple[str | float, str | float], ...]:
        """What it is at the lower and the upper end, in x, y and z; given, or as the velocity asks for."""
        if self.boundaries is not None:
            return self.boundaries
        defaults = {"periodic": "periodic", "free-slip": "no-flux", "wall": "no-flux", "outflow": "outflow"}
        return tuple((defaults.get(lower, 0.0), defaults.get(upper, 0.0)) for lower, upper in grid.ends)

    def sides(self, grid: GridSection) -> tuple[str, str, str]:
        """The boundaries of its schemes: what is no mirror is a Dirichlet one."""

        def kind(end: str | float) -> str:
            return {"periodic": "periodic", "no-flux": "free-slip"}.get(str(end), "dirichlet")

        x, y, z = (
            kind(lower) if kind(lower) == kind(upper) else f"{kind(lower)}|{kind(upper)}"
            for lower, upper in self.ends(grid)
        )
        return x, y, z

    def problems(self, label: str, grid: GridSection) -> Iterator[tuple[str, str]]:
        """Key and reason of what does not fit the grid. Local."""
        for d, (ours, theirs) in enumerate(zip(self.ends(grid), grid.ends, strict=True)):
            for mine, word in zip(ours, theirs, strict=True):
                if (mine == "periodic") != (word == "periodic"):
                    yield f"{label}.boundaries[{d}]", f"must be periodic where the flow is ({'xyz'[d]} is {word})"
                    break
                if mine == "outflow" and word != "outflow":
                    yield f"{label}.boundaries[{d}]", f"'outflow' needs an outflow of the flow ({'xyz'[d]} is {word})"
        ends = self.ends(grid)[1]
        if self.initial == "linear" and not all(isinstance(end, float) for end in ends):
            yield (
                f"{label}.initial",
                "'linear' goes from the value at the lower end of y to that at the upper one, and these are "
                f"{ends[0]!r} and {ends[1]!r}; give two numbers in boundaries, or another initial",
            )
        taken = (*FIELDS, *RAW_NAMES.values(), "index", "step", "time")
        if self.name in taken or self.name.startswith(("rhs", "wall_")):
            yield f"{label}.name", f"'{self.name}' is taken; choose another name, such as phi"


class BodySection(Section):
    """[body]: something solid at rest that the flow goes around.

    With `box`, from where to where in x, y and z, the time series has the force on it, by the momentum in that box.
    """

    shape: Text = Field(description="'cylinder', 'sphere', or file.py:function of x, y, z that tells what is inside")
    centre: list[Real] | None = Field(
        None, description="centre of a sphere (x, y, z) or of a cylinder (across its axis)"
    )
    radius: Annotated[Real, Field(gt=0)] | None = Field(None, description="radius of a sphere or cylinder")
    axis: Literal["x", "y", "z"] = Field("z", description="axis of a cylinder")
    refinement: Annotated[Whole, Field(ge=1, le=1000)] = Field(
        10, description="by how much lines are refined to find where they enter; Xcompact3D's nraf"
    )
    box: Triple[Extent] | None = Field(
        None, description='box around it in which the force on it is measured: [from, to] or "all" in x, y and z'
    )

    @model_validator(mode="after")
    def _form(self) -> Self:
        if self.shape in ("cylinder", "sphere"):
            count = 2 if self.shape == "cylinder" else 3
            if self.centre is None or self.radius is None or len(self.centre) != count:
                raise ValueError(f"a {self.shape} needs a centre of {count} numbers and a radius")
        elif self.centre is not None or self.radius is not None:
            raise ValueError("centre and radius are of a cylinder or a sphere")
        return self

    @field_validator("shape")
    @classmethod
    def _shape_exists(cls, shape: str, info: ValidationInfo) -> str:
        if shape in ("cylinder", "sphere"):
            return shape
        if ".py:" not in shape:
            near = difflib.get_close_matches(shape.lower(), ("cylinder", "sphere"), n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise ValueError(f"must be 'cylinder', 'sphere' or a function as 'file.py:function'{hint}")
        return _function(shape, info) or shape


class EddySection(Section):
    """[numerics.eddy_viscosity]: a large-eddy simulation by an eddy viscosity."""

    model: Literal["smagorinsky", "wale"] = Field(
        description="Smagorinsky's, damped at walls, or WALE, which vanishes there by itself"
    )
    constant: Annotated[Real, Field(gt=0)] | None = Field(
        None, description="constant of the model: 0.1 (smagorinsky) or 0.5 (wale) by default"
    )
    schmidt: Annotated[Real, Field(gt=0)] | None = Field(
        None, description="eddy viscosity / eddy diffusivity of scalars: 0.9 by default; of the conservative form only"
    )
    form: Literal["conservative", "xcompact3d"] = Field(
        "conservative",
        description="the divergence of the stress, or what Xcompact3D computes: nu_t lap u + 2 S grad nu_t, widths by "
        "the distance to the next node, no damping at walls, and for `schmidt` the Schmidt number of each scalar",
    )

    @property
    def model_constant(self) -> float:
        """The constant of the model: the given one, else the usual one. Local."""
        return self.constant or {"smagorinsky": 0.1, "wale": 0.5}[self.model]

    @property
    def turbulent_schmidt(self) -> float:
        """The Schmidt number of the eddies: the given one, else the usual one. Local."""
        return self.schmidt or 0.9

    @model_validator(mode="after")
    def _schmidt_has_a_meaning(self) -> Self:
        if self.form == "xcompact3d" and self.schmidt is not None:
            raise ValueError(
                f"schmidt = {self.schmidt:g} is of the conservative form; with form = 'xcompact3d' it is the Schmidt "
                "number of each scalar: leave it out"
            )
        return self


class HyperviscositySection(Section):
    """[numerics.hyperviscosity]: a second derivative that dissipates more near the grid scale than viscosity does.

    It is the only model of an implicit large-eddy simulation; Xcompact3D's nu0nu and cnu.
    """

    at_cutoff: Annotated[Real, Field(ge=0)] = Field(
        4.0, description="what it adds at the grid scale, as a multiple of the viscosity"
    )
    middle: Annotated[Real, Field(ge=0)] = Field(
        0.44, description="what it adds at 2/3 of that wave number, as a multiple of at_cutoff"
    )
    directions: Annotated[list[Literal["x", "y", "z"]], Field(min_length=1)] = Field(
        ["x", "y", "z"], description="of the second derivatives that it changes; the others have viscosity alone"
    )
