"""The grid of a source that does not have it: a small TOML file.

reynolds = 1600.0

[grid]
points = [128, 128, 128]
lengths = ["2*pi", "2*pi", "2*pi"]
boundaries = ["periodic", "dirichlet", "periodic"]   # of two different ends ["dirichlet", "free-slip"]
stretching = "walls"   # where y is stretched: centre, walls or bottom, and its beta
beta = 0.259

[variables]   # our name = the source's
ux = "u"

[time]        # where the source has no time: start + index * dt
dt = 0.001
"""

from __future__ import annotations

import difflib
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from tailrace.case.document import ConfigError, explain, read_toml
from tailrace.case.sections.section import Section
from tailrace.case.values import Length, Points, Real, Text, Triple
from tailrace.core import Grid, InputError
from tailrace.grids import UniformGrid

_ENDS = ("periodic", "free-slip", "dirichlet")


def _boundary(value: Any) -> str:
    """One word for both ends; of two, given as a list or with a bar between them, "lower|upper" where they differ."""
    parts = value.split("|") if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else []
    differ = len(parts) == 2 and parts[0] != parts[1]
    if not 1 <= len(parts) <= 2 or any(part not in _ENDS for part in parts) or (differ and "periodic" in parts):
        near = difflib.get_close_matches(str(next((one for one in parts if one not in _ENDS), "")), _ENDS, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise ValueError(
            "must be 'periodic', 'free-slip' or 'dirichlet', or a list of two of them for the lower and the upper end, "
            f"as ['dirichlet', 'free-slip']{hint}"
        )
    return "|".join(parts) if differ else str(parts[0])


Boundary = Annotated[str, BeforeValidator(_boundary)]


class GridPart(Section):
    """[grid]."""

    points: Triple[Points] | None = Field(None, description="nodes in x, y and z")
    lengths: Triple[Length] = Field(description="the box in x, y and z")
    boundaries: Triple[Boundary] = Field(description="'periodic', 'free-slip' or 'dirichlet' in x, y and z")
    stretching: Literal["centre", "walls", "bottom"] | None = Field(None, description="where y is stretched")
    beta: Annotated[Real, Field(gt=0)] | None = Field(None, description="of the stretching")

    @model_validator(mode="after")
    def _check_stretching(self) -> Self:
        if (self.stretching is None) != (self.beta is None):
            raise ValueError("stretching and beta belong together; one of them is missing")
        if self.stretching and self.boundaries[1] == "periodic":
            raise ValueError("y is periodic; only a y with free-slip or dirichlet boundaries can be stretched")
        return self


class TimePart(Section):
    """[time]."""

    dt: Annotated[Real, Field(gt=0)]
    start: Real = 0.0


class GridFile(Section):
    """The whole file. Its values have priority over those of the source."""

    grid: GridPart | None = None
    variables: dict[str, Text] = Field(default_factory=dict)
    time: TimePart | None = None
    reynolds: Annotated[Real, Field(gt=0)] | None = None

    def attributes(self) -> dict[str, Any]:
        """Its values, by the names of the attributes of a series. Local."""
        found: dict[str, Any] = {}
        if self.grid:
            found = {"lengths": list(self.grid.lengths), "boundaries": ",".join(self.grid.boundaries)}
            if self.grid.stretching:
                found |= {"stretching": self.grid.stretching, "beta": self.grid.beta}
        if self.reynolds is not None:
            found["reynolds"] = self.reynolds
        if self.time:
            found["dt"] = self.time.dt
        return found

    def time_of(self, index: int) -> float:
        """The time of a step of a source that has none, and counts its steps instead; by [time]. Local."""
        assert self.time is not None
        return self.time.start + index * self.time.dt


def read_grid_file(path: Path) -> GridFile:
    """Read and check such a file. Local.

    :raises ConfigError: it has all problems of the file.
    """
    document = read_toml(path)
    try:
        return GridFile.model_validate(document)
    except ValidationError as error:
        raise ConfigError(str(path), explain(error, GridFile, document, ())) from None


def given_grid(grid: UniformGrid | Grid | GridFile | str | PathLike[str] | None) -> GridFile:
    """The user's knowledge of a grid, in one form. Local.

    :raises ConfigError, InputError: it is wrong, or not enough.
    """
    if isinstance(grid, Grid):
        grid = UniformGrid.of(grid)
    if grid is None or isinstance(grid, GridFile):
        return grid or GridFile()
    if not isinstance(grid, UniformGrid):
        return read_grid_file(Path(grid))
    if grid.boundaries is None:
        raise InputError(
            'grid: a UniformGrid to read with needs its boundaries, as boundaries=("periodic", "free-slip", "periodic")'
        )
    known = grid.checked()
    box = {"points": grid.points, "lengths": tuple(known.lengths), "boundaries": grid.boundaries}
    law = {"stretching": known.stretching, "beta": known.beta} if known.stretching else {}
    return GridFile(grid=GridPart.model_validate({**box, **law}))
