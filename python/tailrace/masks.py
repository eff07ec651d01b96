"""Arrays of NumPy with a mask: nothing here has one, so that masked values would be taken for values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import InputError
from .text import visible


def refuse_masked(name: str, data: Any) -> None:
    """Check that no value of an array is masked. Local.

    :raises InputError: some are; the message says what to do.
    """
    count = int(np.ma.getmaskarray(data).sum()) if isinstance(data, np.ma.MaskedArray) else 0
    if count:
        raise InputError(
            f"{visible(name)}: {count} of its {data.size} values are masked, and there are no masks here. To fix this, "
            "give data.filled(numpy.nan), or another number in their place"
        )
