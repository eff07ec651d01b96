"""Times and names of the arrays of an HDF5 file, from an XDMF file beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailrace.formats.xml_text import parse_xml

_MOST = 64 << 20  # bytes


def steps_in(path: Path, hdf5: str) -> list[tuple[float | None, dict[str, str]]]:
    """Time and arrays of each grid: name -> place in the file named `hdf5`. Arrays in other files are left out.

    :raises IoError: it is not XML, or has entities.
    """
    grids = [grid for grid in parse_xml(path, _MOST).iter("Grid") if grid.find("Grid") is None]
    return [(_time(grid), names) for grid in grids if (names := dict(_arrays(grid, hdf5)))]


def _time(grid: Any) -> float | None:
    time = grid.find("Time")
    try:
        return float(time.get("Value")) if time is not None else None
    except (TypeError, ValueError):
        return None


def _arrays(grid: Any, hdf5: str) -> Iterator[tuple[str, str]]:
    for one in grid.findall("Attribute"):
        item = one.find("DataItem")
        if item is None or item.get("Format", "").upper() != "HDF":
            continue
        place, _, inner = (item.text or "").strip().rpartition(":")
        if place.rsplit("/", 1)[-1] == hdf5 and one.get("Name"):
            yield one.get("Name"), inner.strip("/")
