"""A place that an output stores, `at = { z = 1.5 }`, and the node of the grid that stands for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple, Self

from pydantic import BeforeValidator, Field, model_validator

from ..values import Real, parse_length
from .section import Section

if TYPE_CHECKING:
    from tailrace.grids import UniformGrid

Coordinate = Annotated[Real, BeforeValidator(parse_length)]
_ROUNDING = 1e-9  # of the length of the box: a place as near to a node is that of the node


class AtSection(Section):
    """[output.at]: places in x, y or z. In each of these directions, the node nearest to the place is stored."""

    x: Coordinate | None = Field(None, description='a place in x, from 0 to the length of the box, or as "pi/2"')
    y: Coordinate | None = Field(None, description="a place in y")
    z: Coordinate | None = Field(None, description="a place in z")

    @model_validator(mode="after")
    def _some_place(self) -> Self:
        if not self.places:
            raise ValueError("names no place; give x, y or z, as in at = { z = 1.5 }, or leave at out")
        return self

    @property
    def places(self) -> dict[str, float]:
        """The places that are given, by direction."""
        given = {"x": self.x, "y": self.y, "z": self.z}
        return {axis: place for axis, place in given.items() if place is not None}


class Node(NamedTuple):
    """The node that stands for a place: its number, where it is, and whether that is the place."""

    number: int
    place: float
    exact: bool


def nearest_node(grid: UniformGrid, axis: str, place: float) -> Node:
    """The node nearest to a place; of two that are as near, the lower one. Local.

    :raises ValueError: the place is not in the box.
    """
    d = "xyz".index(axis)
    assert grid.lengths is not None  # a case knows its boundaries
    along, length = grid.coordinates[d], grid.lengths[d]
    slack = _ROUNDING * length
    if not -slack <= place <= length + slack:
        raise ValueError(f"at.{axis}: must be from 0 to {length:g}, the length of the box in {axis} (found {place:g})")
    distances = abs(along - place)
    if axis in grid.periodic and length - place < distances.min():
        return Node(0, 0.0, exact=length - place <= slack)  # the end of the box is its beginning
    index = int(distances.argmin())
    return Node(index, float(along[index]), exact=bool(distances[index] <= slack))
