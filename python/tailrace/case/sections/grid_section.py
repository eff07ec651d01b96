"""[grid]: nodes, lengths and boundaries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ..values import Length, Points, Real, Sides, Triple
from .section import Section


class GridSection(Section):
    """[grid]: nodes, lengths and boundaries, each for x, y and z, and where nodes in y are close together.

    A boundary is a word, or two of them in a list where the ends of the direction differ.
    """

    points: Triple[Points] = Field(description="nodes in x, y and z")
    lengths: Triple[Length] = Field(description="lengths of the box in x, y and z")
    boundaries: Triple[Sides] = Field(
        description="in x, y and z: 'periodic', 'free-slip', 'wall', or [\"inflow\", \"outflow\"]"
    )
    stretching: Literal["centre", "walls", "bottom"] | None = Field(
        None, description="where nodes in y are close together; they are uniform by default"
    )
    beta: Annotated[Real, Field(gt=0)] | None = Field(
        None, description="how close together: the smaller beta is, the closer"
    )

    @model_validator(mode="after")
    def _stretched(self) -> Self:
        if (self.stretching is None) != (self.beta is None):
            missing = "beta" if self.beta is None else "stretching"
            raise ValueError(f"stretching and beta go together; {missing} is missing")
        if self.stretching and self.boundaries[1] == "periodic":
            raise ValueError("stretching: nodes of a periodic y are uniform; use walls or free-slip in y")
        return self

    @property
    def ends(self) -> tuple[tuple[str, str], ...]:
        """The words of the lower and the upper end, in x, y and z."""
        return tuple((one, one) if isinstance(one, str) else one for one in self.boundaries)

    @property
    def sides(self) -> tuple[str, str, str]:
        """The boundaries of the schemes: where a velocity is given they are Dirichlet ones."""

        def kind(word: str) -> str:
            return word if word in ("periodic", "free-slip") else "dirichlet"

        x, y, z = (
            kind(lower) if kind(lower) == kind(upper) else f"{kind(lower)}|{kind(upper)}" for lower, upper in self.ends
        )
        return x, y, z

    def given_ends(self) -> Iterator[tuple[int, bool, str]]:
        """Direction, whether it is the upper end, and word of each end where a velocity is given."""
        for d, ends in enumerate(self.ends):
            for upper, word in enumerate(ends):
                if word in ("wall", "inflow"):
                    yield d, bool(upper), word
