"""[forcing]: what drives a flow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from ..values import Real, Triple, Whole
from .grid_section import GridSection
from .section import Section


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
