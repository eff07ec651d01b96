"""What is written: bytes, ranks, variables and steps, without the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

GIB = 2.0**30
ITEM_BYTES = {"float64": 8, "float32": 4}

Durability = Literal["page cache", "synced"]


@dataclass(frozen=True)
class Load:
    """Steps that are written, open to close."""

    bytes: float  # of the values of all steps, on all ranks
    ranks: int
    variables: int = 1
    steps: int = 1
    durability: Durability = "synced"  # whether the time ends when the disk has the bytes
    planes: int = 0  # parts in z of the decomposition; 0: not known
    nodes: int = 0  # 0: as many as the profile needs for the ranks

    @property
    def gib(self) -> float:
        """The bytes in GiB."""
        return self.bytes / GIB


def bytes_of(shape: Sequence[int], variables: int, precision: str) -> int:
    """The bytes of one step of `variables` arrays of this global shape."""
    return prod(shape) * variables * ITEM_BYTES[precision]
