"""[time]: the scheme, its steps and the end of a run."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ..values import MOST_STEPS, Real, StepSize, Whole
from .section import Section

CFL = 0.6  # the default of time.cfl
LARGEST_CFL = 0.75  # rk3 is stable up to 0.87 (flow/stability.py); velocities grow between two evaluations of the step


class TimeSection(Section):
    """[time]: the scheme, its step, and the end.

    `cfl` and `dt_max` go with dt = "auto". Adams-Bashforth schemes need a constant step.
    """

    scheme: Literal["euler", "ab2", "ab3", "rk3"] = Field("rk3", description="the time scheme")
    dt: StepSize = Field(description='the time step, or "auto" to choose it by the velocity')
    cfl: Annotated[Real, Field(gt=0, le=LARGEST_CFL)] | None = Field(
        None, description=f'the CFL number that dt = "auto" keeps to; {CFL} by default'
    )
    dt_max: Annotated[Real, Field(gt=0)] | None = Field(None, description='the largest step of dt = "auto"')
    steps: Annotated[Whole, Field(ge=0)] | None = Field(None, description="the number of steps of the run")
    end: Annotated[Real, Field(gt=0)] | None = Field(None, description="the time at which it ends; this or steps")

    @model_validator(mode="before")
    @classmethod
    def _default_cfl(cls, data: Any) -> Any:
        return {"cfl": CFL, **data} if isinstance(data, dict) and data.get("dt") == "auto" else data

    @model_validator(mode="after")
    def _step_fits_scheme(self) -> Self:
        given = [key for key in ("cfl", "dt_max") if getattr(self, key) is not None]
        if self.dt != "auto" and given:
            raise ValueError(f'{given[0]} goes with dt = "auto" only (found dt = {self.dt:g})')
        if self.dt == "auto" and self.scheme not in ("rk3", "euler"):
            raise ValueError(
                f'dt = "auto" changes the step, which {self.scheme} cannot: it extrapolates from steps of one size; '
                'use scheme = "rk3", or give dt as a number'
            )
        return self

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if (self.steps is None) == (self.end is None):
            found = "neither" if self.steps is None else "both"
            raise ValueError(f"give exactly one of steps (a number) and end (a time); found {found}")
        if self.end is not None and self.dt != "auto" and not self.end / self.dt <= MOST_STEPS:
            raise ValueError(f"end = {self.end:g} is more than {MOST_STEPS:g} steps of dt = {self.dt:g} away")
        return self

    @property
    def constant_dt(self) -> float | None:
        """The size of all steps but shortened ones; None where the velocity chooses it."""
        return None if self.dt == "auto" else self.dt

    @property
    def total_steps(self) -> int | None:
        """Steps of `dt` to the end of the run; steps shortened for output times may add a few. None: not known."""
        if self.steps is not None or self.dt == "auto":
            return self.steps
        assert self.end is not None
        return math.ceil(self.end / self.dt * (1 - 1e-12) - 1e-6)

    @property
    def end_time(self) -> float | None:
        """The time at which the run ends; a run of a number of steps may end earlier, by shortened steps.

        None: it is not known.
        """
        if self.steps is None or self.dt == "auto":
            return self.end
        return self.steps * self.dt
