"""The question of a user to `tailrace advise`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .load import bytes_of

Purpose = Literal["output", "checkpoint"]
VARIABLES = 3  # of a checkpoint of a run with rk3: ux, uy, uz


class AdviceError(ValueError):
    """No advice can be given; the message has the reason."""


@dataclass(frozen=True)
class Question:
    """What is written, by how many ranks, and for which purpose."""

    purpose: Purpose = "output"
    ranks: int | None = None
    shape: tuple[int, int, int] | None = None  # points of the whole, in x, y, z
    local: tuple[int, int, int] | None = None  # points of one rank, instead
    variables: int = VARIABLES
    precision: str = "float64"
    state: float | None = None  # bytes of a step, instead of shape and variables
    directory: str | None = None  # by its name in the results
    mtbf_hours: float | None = None  # mean time between failures of the job

    @property
    def bytes(self) -> float | None:
        """Bytes of a step; None if the question has no size. Raises AdviceError for `local` without `ranks`."""
        if self.state is not None:
            return self.state
        if self.local is not None:
            if self.ranks is None:
                raise AdviceError("--local is the size of one rank: say how many ranks there are, with --ranks")
            return float(bytes_of(self.local, self.variables, self.precision)) * self.ranks
        return None if self.shape is None else float(bytes_of(self.shape, self.variables, self.precision))

    @property
    def stored_precision(self) -> str | None:
        """The precision of the values; None if the question gives only a size in bytes."""
        return self.precision if self.shape or self.local else None

    def words(self) -> str:
        """The size of a step, for people."""
        shape = self.shape or self.local
        if self.state is not None or shape is None:
            return "the state"
        each = " on each rank" if self.shape is None else ""
        return f"{self.variables} variables of {' x '.join(map(str, shape))} points{each}, {self.precision}"
