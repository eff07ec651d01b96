"""[[picture]]: what is drawn while a flow is computed, as pictures and as a film."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from ..io.names import FIELDS
from .flow_sections import Section
from .output_place import AtSection
from .sections import Rhythm
from .values import Flag, Name, Real, Text, Whole

Pixels = Annotated[Whole, Field(ge=64, le=7680, multiple_of=2)]
_DERIVED = ("lambda2", "divergence")


class LayerSection(Section):
    """[[picture.layers]]: an isosurface, or a slice."""

    surface: Text = Field("", description="the field whose isosurface is drawn")
    values: list[Real] = Field(
        default_factory=list,
        description="of the surfaces; by default one, a standard deviation above the mean at first",
    )
    colour: Text = Field("", description="the field that colours the surface; by default itself")
    slice: Text = Field("", description="or the field that a slice shows")
    at: AtSection | None = Field(None, description="the place of the slice, as { z = 1.5 }")
    range: tuple[Real, Real] | None = Field(
        None, description="of the colours; by default that of all pictures so far, but for half a percent at each end"
    )
    colours: Text = Field("", description="a colour map of matplotlib; by default RdBu_r for both signs, else viridis")

    @field_validator("surface", "colour", "slice")
    @classmethod
    def _known(cls, name: str, info: ValidationInfo) -> str:
        known = [*FIELDS, *_DERIVED, *(info.context or {}).get("scalars", ())]
        if name and name not in known:
            near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise ValueError(f"'{name}' is no field; there are {', '.join(known)}{hint}")
        return name

    @field_validator("colours")
    @classmethod
    def _known_colours(cls, name: str) -> str:
        from matplotlib import colormaps

        if name and name not in colormaps:
            near = difflib.get_close_matches(name, list(colormaps), n=1)
            raise ValueError(f"'{name}' is no colour map of matplotlib{f'; did you mean {near[0]}?' if near else ''}")
        return name

    @model_validator(mode="after")
    def _surface_or_slice(self) -> Self:
        if bool(self.surface) == bool(self.slice):
            raise ValueError("give surface, the field of an isosurface, or slice, the field of a plane")
        if self.slice and (self.at is None or len(self.at.places) != 1):
            raise ValueError("a slice needs one place, as in at = { z = 1.5 }")
        for key in ("values", "colour") if self.slice else ("at",):
            if getattr(self, key):
                other = "surface" if self.slice else "slice"
                raise ValueError(f"{key} goes with {other}; leave it out")
        if self.range is not None and not self.range[0] < self.range[1]:
            raise ValueError("range must be two rising numbers")
        return self


class PictureSection(Rhythm):
    """[[picture]]: isosurfaces and slices, drawn by all ranks while the flow is computed, as a film and as pictures.

    The film is `out`/NAME.mp4, a picture `out`/NAME-000123.png with the number of its step, and `out`/NAME.csv has the
    step and the time of each. A picture that cannot be drawn is told, and the run goes on.
    """

    name: Name = Field(description="the name of the pictures and of the film")
    layers: list[LayerSection] = Field(min_length=1, description="what is shown")
    out: Text = Field("pictures", description="directory of the pictures and films")
    size: tuple[Pixels, Pixels] = Field((1280, 720), description="columns and rows, even numbers")
    view: Literal["corner", "x", "y", "z"] = Field(
        "corner", description="from where: from a corner, or along an axis without perspective"
    )
    up: Literal["x", "y", "z"] = Field("z", description="the axis that points upwards")
    orbit: Real = Field(0.0, description="degrees by which the camera goes around in a unit of time")
    theme: Literal["light", "dark"] = Field("light", description="the colour of the background")
    title: Text = Field("", description="a text before the time")
    film: Flag = Field(True, description="make a film")
    rate: Annotated[Whole, Field(ge=1, le=120)] = Field(25, description="pictures of the film in a second")
    png: Flag = Field(False, description="write each picture as a file, too")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.film and not self.png:
            raise ValueError("film = false and png = false leave nothing to make")
        return self

    @property
    def film_path(self) -> Path:
        """The film."""
        return Path(self.out) / f"{self.name}.mp4"

    @property
    def table_path(self) -> Path:
        """The table of the pictures."""
        return Path(self.out) / f"{self.name}.csv"

    def png_path(self, step: int) -> Path:
        """The picture of a step."""
        return Path(self.out) / f"{self.name}-{step:06d}.png"

    def png_paths(self) -> list[Path]:
        """The pictures of any step that are there. Local."""
        return sorted(Path(self.out).glob(f"{self.name}-[0-9][0-9][0-9][0-9][0-9][0-9]*.png"))
