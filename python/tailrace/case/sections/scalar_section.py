"""[[scalar]]: what the flow carries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from ...io.names import FIELDS, RAW_NAMES
from ..values import Real, ScalarInitial, ScalarLimits, ScalarName, ScalarSides, Triple
from .grid_section import GridSection
from .section import Section, check_function_of


class ScalarSection(Section):
    """[[scalar]]: something that the flow carries, such as temperature, dye or sediment.

    At each end it is 'no-flux' (where the velocity is free-slip or a wall, by default), a number or a function (the
    value there), 'deposit' (no flux, and what settles stays there), 'free' (nothing is imposed), 'outflow' or
    'periodic'.
    """

    name: ScalarName = Field("phi", description="its name in outputs")
    schmidt: Annotated[Real, Field(gt=0)] = Field(1.0, description="viscosity / diffusivity")
    initial: ScalarInitial = Field(
        0.0,
        description="a number, file.py:function of x, y, z, 'front' (level below x = front, 0 above), 'linear' in y "
        "or 'waves' (sin x sin y cos z)",
    )
    front: Real | None = Field(None, description="of initial = 'front': where it is in x")
    thickness: Annotated[Real, Field(gt=0)] | None = Field(
        None, description="of initial = 'front': the width of its tanh"
    )
    level: Real | None = Field(None, description="of initial = 'front': its value below the front, 1 by default")
    boundaries: Triple[ScalarSides] | None = Field(
        None, description="at the ends in x, y and z: one value for both, or [lower, upper]"
    )
    buoyancy: Triple[Real] = Field((0.0, 0.0, 0.0), description="the force on the flow for a scalar of 1")
    settling: Triple[Real] = Field((0.0, 0.0, 0.0), description="the velocity at which it moves through the flow")
    deposit_distance: Annotated[Real, Field(gt=0)] | None = Field(
        None,
        description="of 'deposit': the distance from the end to the next node that counts; by default the real one",
    )
    limits: ScalarLimits | None = Field(
        None, description="its least and largest value, to which it is cut after each stage"
    )

    @field_validator("initial")
    @classmethod
    def _initial_exists(cls, initial: str | float, info: ValidationInfo) -> str | float:
        if isinstance(initial, str) and ".py:" in initial:
            check_function_of(initial, info)
        return initial

    @field_validator("boundaries")
    @classmethod
    def _functions_exist(cls, boundaries: Any, info: ValidationInfo) -> Any:
        for part in [part for ends in boundaries or () for part in ends]:
            if isinstance(part, str) and ".py:" in part:
                check_function_of(part, info)
        return boundaries

    @model_validator(mode="after")
    def _front(self) -> Self:
        given = [self.front is not None, self.thickness is not None]
        if given != [self.initial == "front"] * 2:
            raise ValueError("front and thickness go with initial = 'front', which needs both")
        if self.level is not None and self.initial != "front":
            raise ValueError("level goes with initial = 'front'")
        if self.deposit_distance is not None and not any("deposit" in ends for ends in self.boundaries or ()):
            raise ValueError("deposit_distance goes with 'deposit' in boundaries")
        return self

    def ends(self, grid: GridSection) -> tuple[tuple[str | float, str | float], ...]:
        """What it is at the lower and the upper end, in x, y and z; given, or as the velocity asks for."""
        if self.boundaries is not None:
            return self.boundaries
        defaults = {"periodic": "periodic", "free-slip": "no-flux", "wall": "no-flux", "outflow": "outflow"}
        return tuple((defaults.get(lower, 0.0), defaults.get(upper, 0.0)) for lower, upper in grid.ends)

    def sides(self, grid: GridSection) -> tuple[str, str, str]:
        """The boundaries of its schemes: what is no mirror is a Dirichlet one."""

        def kind(end: str | float) -> str:
            return {"periodic": "periodic", "no-flux": "free-slip"}.get(str(end), "dirichlet")

        x, y, z = (
            kind(lower) if kind(lower) == kind(upper) else f"{kind(lower)}|{kind(upper)}"
            for lower, upper in self.ends(grid)
        )
        return x, y, z

    def problems(self, label: str, grid: GridSection) -> Iterator[tuple[str, str]]:
        """Key and reason of what does not fit the grid. Local."""
        for d, (ours, theirs) in enumerate(zip(self.ends(grid), grid.ends, strict=True)):
            for mine, word in zip(ours, theirs, strict=True):
                if (mine == "periodic") != (word == "periodic"):
                    yield f"{label}.boundaries[{d}]", f"must be periodic where the flow is ({'xyz'[d]} is {word})"
                    break
                if mine == "outflow" and word != "outflow":
                    yield f"{label}.boundaries[{d}]", f"'outflow' needs an outflow of the flow ({'xyz'[d]} is {word})"
        ends = self.ends(grid)[1]
        if self.initial == "linear" and not all(isinstance(end, float) for end in ends):
            yield (
                f"{label}.initial",
                "'linear' goes from the value at the lower end of y to that at the upper one, and these are "
                f"{ends[0]!r} and {ends[1]!r}; give two numbers in boundaries, or another initial",
            )
        taken = (*FIELDS, *RAW_NAMES.values(), "index", "step", "time")
        if self.name in taken or self.name.startswith(("rhs", "wall_")):
            yield f"{label}.name", f"'{self.name}' is taken; choose another name, such as phi"
