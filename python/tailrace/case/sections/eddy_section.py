"""[numerics.eddy_viscosity] and [numerics.hyperviscosity]: large-eddy simulation."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ..values import Real
from .section import Section


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
