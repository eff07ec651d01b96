"""The values that a producer sends and its consumer expects. They differ from step to step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.io.placement import Block

from ..ranks.partition import box_of, made_up, partition_of
from .setting import CoupleSetting

_SAMPLE = 61  # a cheap comparison looks at one of so many values; no divisor of usual grid sizes


class StreamValues:
    """The arrays of one rank of one side."""

    def __init__(self, setting: CoupleSetting, ranks: int, rank: int) -> None:
        self.box = box_of(setting.shape, partition_of("pencils", ranks), rank)
        self._shape = setting.shape
        numbers = range(setting.variables)
        self._base = [made_up(setting.shape, self.box, number, setting.precision) for number in numbers]
        self._sent = [np.empty_like(values) for values in self._base]
        self.names = [f"u{number}" for number in numbers]

    def blocks(self, index: int) -> list[Block]:
        """The blocks of a step. They reuse the memory of the step before."""
        for base, sent in zip(self._base, self._sent, strict=True):
            np.add(base, base.dtype.type(index), out=sent)
        return [Block(sent, self._shape, self.box.start) for sent in self._sent]

    def right(self, read: Sequence[NDArray[Any]], index: int, *, all_of_them: bool) -> bool:
        """Whether arrays that were read are those of a step: all values, or a sample that changes with the step."""
        every = slice(None) if all_of_them else slice(index % _SAMPLE, None, _SAMPLE)
        return len(read) == len(self._base) and all(
            base.dtype == other.dtype
            and base.shape == other.shape
            and np.array_equal(base.ravel()[every] + base.dtype.type(index), other.ravel()[every])
            for base, other in zip(self._base, read, strict=True)
        )
