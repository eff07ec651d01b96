"""Read variables of the datasets of other programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box


def read(dataset: Dataset, position: int, name: str, box: Box | None = None, dtype: Any = None) -> np.ndarray:
    """A variable, or a box of it, (nz, ny, nx)."""
    stored = dataset.variables(position)[name]
    box = box or Box((0, 0, 0), stored.shape)
    out = np.empty(box.count[::-1], dtype or stored.dtype)
    dataset.read(position, name, box, out)
    return out
