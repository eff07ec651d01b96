"""Computing for a given time, as a simulation or an analysis would."""

from __future__ import annotations

import time

import numpy as np

_VALUES = np.linspace(0.0, 1.0, 4096)  # fits into the cache of a core, so that ranks do not compete for memory


def compute(seconds: float) -> None:
    """Use `seconds` of processor time. If several ranks share a core, this takes longer."""
    end = time.thread_time() + seconds
    values = _VALUES.copy()
    while time.thread_time() < end:
        np.sqrt(values, out=values)
