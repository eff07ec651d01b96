"""[case]: how a flow begins, and its Reynolds number."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from .. import scripts
from ..document import Problem
from ..values import Flag, Name, Real, Text, Whole
from .section import Section, directory_of

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


def missing_series(case: CaseSection, directory: Path, checkpoints: Path) -> Iterator[Problem]:
    """The series from which a run begins, if it is not there. A run that has a checkpoint to resume needs none. Local.

    :param directory: that of the case file.
    :param checkpoints: the directory of the checkpoints.
    """
    if case.from_ is None or (place := directory / case.from_).exists() or any(checkpoints.glob("step-*")):
        return
    near = difflib.get_close_matches(place.name, [one.name for one in place.parent.glob("*")], n=1)
    hint = f"did you mean {near[0]}?" if near else "the path is relative to the case file"
    yield Problem("case.from", f"there is no series {place}; {hint}")
