"""Numbers of elements as Nektar++ writes them in text: "0-3,7"."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_MOST = (1 << 32) - 1
_ENTRY = re.compile(r"\s*(\d{1,10})(?:\s*-\s*(\d{1,10}))?\s*(,|$)")


@dataclass(frozen=True)
class Ids:
    """Numbers in their order, held as ranges: `first[i]`, and `begin[i]` numbers before it."""

    first: NDArray[np.int64]
    begin: NDArray[np.int64]  # one more than ranges; the last is how many numbers there are

    def __len__(self) -> int:
        return int(self.begin[-1])

    def part(self, at: int, count: int) -> NDArray[np.int64]:
        """Numbers at .. at + count."""
        places = np.arange(at, at + count, dtype=np.int64)
        ranges = np.searchsorted(self.begin, places, side="right") - 1
        found: NDArray[np.int64] = self.first[ranges] + (places - self.begin[ranges])
        return found


def parse_ids(text: str) -> Ids:
    """The numbers of a text; they are not written out, so that a short text cannot fill the memory.

    :raises ValueError: it is another text.
    """
    first, count = array("q"), array("q")
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _ENTRY.match(text, at)
        if found is None or (found[3] == "," and found.end() >= end):
            raise ValueError(f"expected numbers such as '0-3,7', found '{text[at : at + 20]}' at letter {at}")
        low = int(found[1])
        high = int(found[2]) if found[2] else low
        if high < low or high > _MOST:
            raise ValueError(f"expected a range of numbers below 2^32, found '{found[0].strip()}' at letter {at}")
        first.append(low)
        count.append(high - low + 1)
        at = found.end()
    begin = np.zeros(len(count) + 1, np.int64)
    np.cumsum(np.frombuffer(count, np.int64) if count else np.empty(0, np.int64), out=begin[1:])
    return Ids(np.array(first, np.int64), begin)


def ids_text(ids: NDArray[np.int64]) -> str:
    """The text of numbers in their order, with ranges."""
    if not len(ids):
        return ""
    breaks = np.flatnonzero(np.diff(ids) != 1) + 1
    lows = ids[np.concatenate(([0], breaks))].tolist()
    highs = ids[np.concatenate((breaks - 1, [len(ids) - 1]))].tolist()
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in zip(lows, highs, strict=True))
