"""[body]: what the flow goes around."""

from __future__ import annotations

import difflib
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from ..values import Extent, Real, Text, Triple, Whole
from .section import Section, check_function_of


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
        return check_function_of(shape, info) or shape
