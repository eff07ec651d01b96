"""[[output]]: fields that are written."""

from __future__ import annotations

import difflib
from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from tailrace.io.engines import ENGINES, OutputEngine, default_path

from ...io.names import FIELDS
from ..values import Index, Name, Parameter, Step, Text, Triple, one_of
from .output_place import AtSection
from .rhythm import Rhythm


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
