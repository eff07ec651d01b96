"""Which way is taken of several that are equally fast. It is a preference, not a measurement. All is local."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Self-describing files first, one file before many, files that other programs read before those that few read.
_ORDER = ("hdf5", "bp5", "bp4", "adios_hdf5", "raw", "mpiio", "sion")
WHY = "one self-describing file first (hdf5), then bp5, bp4, adios_hdf5, raw, mpiio, sion; defaults before parameters"


def preference(engine: str, parameters: Mapping[str, Any]) -> tuple[int, int]:
    """A key to sort by: the preferred way is the smallest."""
    kept = [value for value in parameters.values() if value is not None]
    return (_ORDER.index(engine) if engine in _ORDER else len(_ORDER), len(kept))
