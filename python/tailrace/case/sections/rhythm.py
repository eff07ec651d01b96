"""[[output]], [[analysis]], [[picture]] and [[catalyst]] have a rhythm."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from ..schedule import Schedule
from ..values import Real, Times, Whole
from .section import Section
from .time_section import TimeSection


class Rhythm(Section):
    """How often: one of `every` (steps), `interval` (time) and `times` (a list)."""

    every: Annotated[Whole, Field(ge=1)] | None = Field(None, description="number of steps between two times")
    interval: Annotated[Real, Field(gt=0)] | None = Field(
        None, description="interval of time; its ends are met exactly"
    )
    times: Times | None = Field(None, description="times in rising order; met exactly")

    @model_validator(mode="after")
    def _one_rhythm(self) -> Self:
        found = [key for key in ("every", "interval", "times") if getattr(self, key) is not None]
        if len(found) != 1:
            raise ValueError(
                "give exactly one of every (steps), interval (time) and times (a list); "
                f"found {' and '.join(found) or 'none'}"
            )
        return self

    def schedule(self, time: TimeSection) -> Schedule:
        """The rhythm in a run with the steps of [time]."""
        return Schedule(every=self.every, interval=self.interval, times=self.times, dt=time.constant_dt)
