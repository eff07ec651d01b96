"""Real numbers in texts that Fortran has written."""

from __future__ import annotations

import re

_NO_LETTER = re.compile(r"(?<=[\d.])([+-]\d{3})$")


def real_of(word: str) -> float:
    """The number in a word: Fortran may write D for E, and omits the letter of exponents with three digits, 0.1-100.

    :raises ValueError: it is no number.
    """
    if "_" in word:  # Python takes it between digits
        raise ValueError(f"{word} is no number of Fortran")
    return float(_NO_LETTER.sub(r"E\1", word.upper().replace("D", "E")))
