"""[numerics] and [parallel]: how a flow is computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from ..values import MOST_RANKS, Flag, Whole
from .eddy_section import EddySection, HyperviscositySection
from .grid_section import GridSection
from .section import Section


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
