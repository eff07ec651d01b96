"""[diagnostics] and [checkpoint]: the time series, and states to go on from."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..values import Real, Text, Whole
from .section import Section


class DiagnosticsSection(Section):
    """[diagnostics]: the time series of volume averages."""

    every: Annotated[Whole, Field(ge=1)] = Field(10, description="number of steps between two rows")
    path: Text = Field("time_series.csv", description="the file of the time series")


class CheckpointSection(Section):
    """[checkpoint]: how often a state to resume from is stored (0: never), how many are kept, and where."""

    every: Annotated[Whole, Field(ge=0)] = Field(0, description="number of steps between two; 0: never")
    minutes: Annotated[Real, Field(ge=0)] = Field(
        0.0, description="minutes of the clock between two; 0: never. Whichever comes first counts"
    )
    keep: Annotated[Whole, Field(ge=1)] = Field(2, description="how many are kept")
    path: Text = Field("checkpoints", description="directory of the checkpoints")
