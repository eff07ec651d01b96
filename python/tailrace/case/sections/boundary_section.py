"""[boundary]: velocities at walls, inflows and outflows."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field, field_validator

from ..values import Flag, OutflowSpeed, Real, Text, Triple
from .grid_section import GridSection
from .section import Section, check_function_of

ENDS = tuple(f"{axis}_{side}" for axis in "xyz" for side in ("lower", "upper"))


class BoundarySection(Section):
    """[boundary]: the velocity at walls and inflows, where it is not zero, and how an outflow carries away."""

    velocity: Text | None = Field(
        None, description="at all walls and inflows, as file.py:function of x, y, z, t that returns ux, uy, uz"
    )
    x_lower: Triple[Real] | None = Field(None, description="a constant velocity at the lower end of x, instead")
    x_upper: Triple[Real] | None = Field(None, description="a constant velocity at the upper end of x, instead")
    y_lower: Triple[Real] | None = Field(None, description="a constant velocity at the lower end of y, instead")
    y_upper: Triple[Real] | None = Field(None, description="a constant velocity at the upper end of y, instead")
    z_lower: Triple[Real] | None = Field(None, description="a constant velocity at the lower end of z, instead")
    z_upper: Triple[Real] | None = Field(None, description="a constant velocity at the upper end of z, instead")
    outflow_speed: OutflowSpeed = Field(
        "largest",
        description="the speed of an outflow: the largest velocity before it, the middle of the largest and "
        "the least, or a number",
    )
    balance: Flag = Field(True, description="as much flows out as flows in; a body may need false")

    _velocity = field_validator("velocity")(check_function_of)

    def constant(self, d: int, upper: bool) -> tuple[float, float, float] | None:
        """The velocity that is given as numbers at an end."""
        found: tuple[float, float, float] | None = getattr(self, ENDS[2 * d + upper])
        return found

    def moves_walls(self, grid: GridSection) -> bool:
        """Whether a wall has a velocity that is not zero, or a function."""
        at_walls = [self.constant(d, upper) for d, upper, word in grid.given_ends() if word == "wall"]
        return any(any(one) if one is not None else self.velocity is not None for one in at_walls)

    def problems(self, grid: GridSection) -> Iterator[tuple[str, str]]:
        """Key and reason of what does not fit the grid. Local."""
        given = {ENDS[2 * d + upper]: word for d, upper, word in grid.given_ends()}
        for name in ENDS:
            value = getattr(self, name)
            if value is not None and name not in given:
                word = grid.ends["xyz".index(name[0])][name.endswith("upper")]
                yield f"boundary.{name}", f"this end is {word}; a velocity is given at a wall or an inflow"
            if value is not None and self.velocity is not None:
                yield f"boundary.{name}", "give it here or by boundary.velocity, not both"
            if value is None and self.velocity is None and given.get(name) == "inflow":
                yield f"boundary.{name}", "is missing: the velocity of this inflow (or boundary.velocity)"
        if self.velocity is not None and not given:
            yield "boundary.velocity", "there is neither a wall nor an inflow"
        outflow = any(word == "outflow" for ends in grid.ends for word in ends)
        for name in () if outflow else ("outflow_speed", "balance"):
            if getattr(self, name) != type(self).model_fields[name].default:
                yield f"boundary.{name}", 'is that of an outflow; there is none: boundaries = ["inflow", "outflow"]'
        if self.velocity is None and not outflow:
            yield from self._unbalanced(grid)

    def _unbalanced(self, grid: GridSection) -> Iterator[tuple[str, str]]:
        """A flow through constant ends that does not leave again: no velocity is free of divergence then."""
        x, y, z = grid.lengths
        flows = {}
        for d, upper, _ in grid.given_ends():
            normal = (self.constant(d, upper) or (0.0, 0.0, 0.0))[d]
            flows[ENDS[2 * d + upper]] = normal * (y * z, x * z, x * y)[d] * (-1 if upper else 1)
        net = sum(flows.values())
        if abs(net) > 1e-9 * sum(map(abs, flows.values())):
            entries = ", ".join(f"{name} {flow:+.4g}" for name, flow in flows.items() if flow)
            yield (
                "boundary",
                f"as much must flow out as in; {net:+.4g} is left (volume per time into the box: {entries}). "
                "Change a velocity, or make an end an outflow",
            )
