"""What other processes do with series, steps and fields that are handed to them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

import tailrace as tr


def length_and_last(series: tr.Series) -> tuple[int, float, str, int]:
    """Number of steps, the sum of the last ux, the path and the process."""
    return len(series), float(np.asarray(series[-1]["ux"]).sum()), series.path, os.getpid()


def of_step(step: Any) -> tuple[int, float, float, dict[str, Any]]:
    """Index, time, the sum of ux and the parameters."""
    return step.index, step.time, float(np.asarray(step["ux"]).sum()), dict(step.parameters)


def of_field(field: tr.Field) -> tuple[float, float, str]:
    """The sum, the mean square of the derivative, and the name."""
    return float(np.asarray(field).sum()), float(tr.mean_square(tr.ddx(field))), field.name


def mean_of(path: Path) -> float:
    """The mean of ux in the second step."""
    with tr.open(path) as series:
        return float(series[1]["ux"].mean())
