"""[[picture]]: what is drawn while a flow is computed, as pictures and as a film."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from ...expression import names_in
from ...io.names import FIELDS
from ..scripts import check_function
from ..values import Flag, Name, Pair, Real, Text, Triple, View, Whole
from .output_place import AtSection
from .rhythm import Rhythm
from .section import Section, directory_of

Pixels = Annotated[Whole, Field(ge=64, le=7680, multiple_of=2)]
DERIVED = ("lambda2", "divergence")
_VECTORS = ("u", "vorticity")
_NAMED = "or an expression, as sqrt(ux**2 + uy**2), or file.py:function of a step"
Vector3 = Triple[Real]


def check_quantity(name: str, info: ValidationInfo) -> None:
    """Check that a name is that of a field, or an expression of fields, or a function of a step. Local.

    :raises ValueError: it is none of them.
    """
    if ".py:" in name:
        check_function(name, directory_of(info))
        return
    known = list(dict.fromkeys([*FIELDS, *DERIVED, *(info.context or {}).get("scalars", ())]))
    for one in names_in(name) if name not in known else ():
        if one not in known:
            near = difflib.get_close_matches(one.lower(), known, n=1, cutoff=0.5)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise ValueError(f"'{one}' is no field; there are {', '.join(known)}{hint}")


class LayerSection(Section):
    """[[picture.layers]]: an isosurface, a slice, arrows on a plane, or a volume."""

    surface: Text = Field("", description=f"the field whose isosurface is drawn; {_NAMED}")
    values: list[Real] = Field(
        default_factory=list,
        description="of the surfaces; by default one, a standard deviation above the mean at first",
    )
    colour: Text = Field("", description="the field that colours the surface; by default itself")
    slice: Text = Field("", description="or the field that a slice shows")
    vectors: Text = Field("", description="or the vector whose arrows are drawn on a plane: u, vorticity, a function")
    spacing: Annotated[Whole, Field(ge=1)] | None = Field(
        None, description="nodes between arrows, 4 by default; the longest is as long at first"
    )
    volume: Text = Field("", description="or the field that is seen as a cloud, the denser the larger its values")
    opacity: Annotated[Real, Field(gt=0, le=1)] | None = Field(
        None, description="what a tenth of the box hides where a volume is densest, 0.5 by default"
    )
    at: AtSection | None = Field(None, description="the place of the slice or the arrows, as { z = 1.5 }")
    normal: Vector3 | None = Field(None, description="or the direction across an oblique slice")
    through: Vector3 | None = Field(None, description="a point of an oblique slice; by default the middle of the box")
    range: Pair[Real] | None = Field(
        None, description="of the colours; by default that of all pictures so far, but for half a percent at each end"
    )
    colours: Text = Field("", description="a colour map of matplotlib; by default RdBu_r for both signs, else viridis")

    label: Text = Field("", description="the name beside the colours, with a unit; by default the field")

    @field_validator("surface", "colour", "slice", "volume")
    @classmethod
    def _known(cls, name: str, info: ValidationInfo) -> str:
        if name:
            check_quantity(name, info)
        return name

    @field_validator("colours")
    @classmethod
    def _known_colours(cls, name: str) -> str:
        from matplotlib import colormaps

        if name and name not in colormaps:
            near = difflib.get_close_matches(name, list(colormaps), n=1)
            raise ValueError(f"'{name}' is no colour map of matplotlib{f'; did you mean {near[0]}?' if near else ''}")
        return name

    @field_validator("vectors")
    @classmethod
    def _known_vector(cls, name: str, info: ValidationInfo) -> str:
        if ".py:" in name:
            check_function(name, directory_of(info))
        elif name and name not in _VECTORS:
            raise ValueError(f"'{name}' is no vector; there are {', '.join(_VECTORS)}, and file.py:function")
        return name

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if [bool(self.surface), bool(self.slice), bool(self.vectors), bool(self.volume)].count(True) != 1:
            raise ValueError(
                "give surface, the field of an isosurface, or slice, the field of a plane, vectors or volume"
            )
        if self.opacity is not None and not self.volume:
            raise ValueError("opacity goes with volume; leave it out")
        if self.vectors and (self.at is None or len(self.at.places) != 1):
            raise ValueError("vectors need one place, as in at = { z = 1.5 }")
        if self.slice and self.normal is None and (self.at is None or len(self.at.places) != 1):
            raise ValueError("a slice needs one place, as in at = { z = 1.5 }, or a normal")
        if self.spacing is not None and not self.vectors:
            raise ValueError("spacing goes with vectors; leave it out")
        if self.normal is not None and (self.at is not None or not any(self.normal)):
            raise ValueError("normal is a direction other than zero, and goes without at")
        if self.through is not None and self.normal is None:
            raise ValueError("through goes with normal; leave it out")
        of_planes = ("at", "normal") if self.surface or self.volume else ()
        of_surfaces = () if self.surface else ("values", "colour")
        for key in (*of_planes, *of_surfaces):
            if getattr(self, key):
                other = "slice" if key in of_planes else "surface"
                raise ValueError(f"{key} goes with {other}; leave it out")
        if self.range is not None and not self.range[0] < self.range[1]:
            raise ValueError("range must be two rising numbers")
        return self


class DatabaseSection(Section):
    """[picture.database]: several pictures of each step, which a page shows by sliders, in the layout Cinema D."""

    phi: Annotated[Whole, Field(ge=1, le=360)] = Field(1, description="cameras around the axis that points upwards")
    values: list[Real] = Field(default_factory=list, description="values of the first isosurface, one for each picture")
    places: list[Real] = Field(default_factory=list, description="places of the first slice, one for each picture")


class PictureSection(Rhythm):
    """[[picture]]: isosurfaces and slices, drawn by all ranks while the flow is computed, as a film and as pictures.

    The film is `out`/NAME.mp4 or .webm, a picture `out`/NAME-000123.png with the number of its step, and `out`/NAME.csv
    has the step and the time of each. A picture that cannot be drawn is told, and the run goes on.
    """

    name: Name = Field(description="the name of the pictures and of the film")
    layers: list[LayerSection] = Field(min_length=1, description="what is shown")
    out: Text = Field("pictures", description="directory of the pictures and films")
    size: Pair[Pixels] = Field((1280, 720), description="columns and rows, even numbers")
    smooth: Annotated[Whole, Field(ge=1, le=4)] = Field(
        2, description="each side of a pixel is drawn by so many, which smooths edges; 1 takes the least time"
    )
    view: View = Field(
        "corner",
        description='from where: "corner"; "x", "y" or "z", along an axis without perspective; or the direction '
        "towards the camera",
    )
    up: Literal["x", "y", "z"] = Field("z", description="the axis that points upwards")
    orbit: Real = Field(0.0, description="degrees by which the camera goes around in a unit of time")
    theme: Literal["light", "dark"] = Field("light", description="the colour of the background")
    title: Text = Field("", description="a text before the time; {reynolds} is the value of that key")
    film: Flag = Field(True, description="make a film")
    format: Literal["mp4", "webm"] = Field("mp4", description="of the film: H.264, or VP9, which is free of patents")
    rate: Annotated[Whole, Field(ge=1, le=120)] = Field(25, description="pictures of the film in a second")
    png: Flag = Field(False, description="write each picture as a file, too")
    database: DatabaseSection | None = Field(None, description="several pictures of each step")
    transparent: Flag = Field(False, description="nothing is behind what is shown, in these files")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not any(self.view):
            raise ValueError("view = [0, 0, 0] is no direction")
        if self.transparent and not (self.png or self.database):
            raise ValueError("transparent is for pictures as files; give png = true, too")
        if not (self.film or self.png or self.database):
            raise ValueError("film = false and png = false leave nothing to make")
        wanted = self.database or DatabaseSection()
        if wanted.values and not any(layer.surface for layer in self.layers):
            raise ValueError("database.values are those of a surface, and no layer is one")
        if wanted.places and not any(layer.slice and layer.at for layer in self.layers):
            raise ValueError("database.places are those of a slice with a place, and no layer is one")
        return self

    def functions(self) -> list[str]:
        """Those of users that the layers show, as 'file.py:function'."""
        words = [word for one in self.layers for word in (one.surface, one.slice, one.vectors, one.volume, one.colour)]
        return list(dict.fromkeys(word for word in words if ".py:" in word))

    @property
    def film_path(self) -> Path:
        """The film."""
        return Path(self.out) / f"{self.name}.{self.format}"

    @property
    def database_path(self) -> Path:
        """The directory of the database."""
        return Path(self.out) / f"{self.name}.cdb"

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
