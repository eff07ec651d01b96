"""Times and names that an XDMF file gives to arrays of an HDF5 file beside it. All is local."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException, ElementTree

from tailrace.core import IoError
from tailrace.files.regular import open_regular

_MOST = 64 << 20  # bytes


def steps_in(path: Path, hdf5: str) -> list[tuple[float | None, dict[str, str]]]:
    """Time and arrays of each grid: name -> place in the file named `hdf5`. Arrays in other files are left out.

    :raises IoError: it is not XML, or has entities.
    """
    with open_regular(path, "rb") as file:
        text = file.read(_MOST + 1)
    if len(text) > _MOST:
        raise IoError(f"{path}: expected at most {_MOST} bytes of XML, found more. To fix this, move it away")
    try:
        root = ElementTree.fromstring(text)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        raise IoError(f"{path}: expected XML without entities, found {error}. To fix this, move it away") from None
    return [(_time(grid), names) for grid in _grids(root) if (names := dict(_arrays(grid, hdf5)))]


def _grids(root: Any) -> Iterator[Any]:
    for one in root.iter("Grid"):
        if one.find("Grid") is None:
            yield one


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
