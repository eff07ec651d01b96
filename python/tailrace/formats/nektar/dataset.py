"""Checkpoints of Nektar++ as steps of lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.formats.overlaps import rows_in
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored
from tailrace.io.values import Scalar

from .checkpoint import NektarCheckpoint
from .definition import DefinitionError
from .names import ELEMENTS, METADATA, ORDERS, PLANES, PROVENANCE, describe, field_names, lists, named, suffixes
from .slabs import PIECE

_MOST_ROWS = 1024  # rows of a decomposition that becomes an attribute


class NektarDataset(Dataset):
    """One checkpoint, or several that follow each other."""

    format = "nektar"

    def __init__(self, path: str, checkpoints: Sequence[NektarCheckpoint], numbers: Sequence[int] = ()) -> None:
        super().__init__(path)
        self._checkpoints = list(checkpoints)
        found = [_step(one) for one in checkpoints]
        indices = [index for index, _ in found]
        if numbers and any(a >= b for a, b in pairwise(indices)):
            found = [(number, time) for number, (_, time) in zip(numbers, found, strict=True)]
        self.steps = found
        self.files = [file for one in checkpoints for file in one.files]
        self.removable = list(self.files)
        self.notes = list(dict.fromkeys(note for one in checkpoints for note in one.notes))
        self._tables = [self._table(one) for one in checkpoints]
        first = checkpoints[0]
        dt = _number(first.metadata.get("TimeStep"))
        if dt is not None:
            self.attributes["dt"] = dt
        self._tell_decomposition()

    def _tell_decomposition(self) -> None:
        """Make an attribute of the rows (definition, elements, values of each field); a writer can repeat them."""
        rows = self._checkpoints[0].rows
        if any(one.rows != rows for one in self._checkpoints):
            self.notes.append("The decomposition differs between the steps and is not told.")
        elif len(rows) > _MOST_ROWS:
            self.notes.append(f"The decomposition has {len(rows)} rows, more than {_MOST_ROWS}, and is not told.")
        else:
            self.attributes["decomposition"] = [number for row in rows for number in row]

    def _table(self, one: NektarCheckpoint) -> dict[str, tuple[int, str, int, Stored]]:
        """Variable -> definition, kind, number of the field, type and shape."""
        found: dict[str, tuple[int, str, int, Stored]] = {}
        for k, (definition, suffix) in enumerate(zip(one.definitions, suffixes(len(one.definitions)), strict=True)):
            rows = [row for row in one.rows if row.definition == k]
            elements, values = sum(row.elements for row in rows), sum(row.values for row in rows)
            try:
                fields = field_names(definition)
                new = lists(definition, suffix, elements, values)
            except DefinitionError as error:
                raise IoError(f"{one.path}: {error}") from None
            for name, stored in new.items():
                short = name.removesuffix(suffix) if suffix else name
                if name in found:
                    raise IoError(f"{one.path}: expected fields with different names, found '{name}' twice")
                found[name] = (k, short, fields.index(short) if short in fields else -1, stored)
        return found

    def variables(self, position: int) -> dict[str, Stored]:  # noqa: D102
        return {name: stored for name, (_, _, _, stored) in self._tables[position].items()}

    def scalars(self, position: int) -> dict[str, Scalar]:  # noqa: D102
        one = self._checkpoints[position]
        found: dict[str, Scalar] = {}
        for definition, suffix in zip(one.definitions, suffixes(len(one.definitions)), strict=True):
            found |= {name + suffix: value for name, value in describe(definition).items()}
        return found | named(one.metadata, METADATA) | named(one.provenance, PROVENANCE)

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:  # noqa: D102
        one = self._checkpoints[position]
        k, kind, field, _ = self._tables[position][name]
        (column, at, _), (columns, count, _) = box
        if kind in PLANES:
            definition = one.definitions[k]
            ids = dict(zip(PLANES, (definition.y_ids, definition.z_ids, definition.s_ids), strict=True))[kind]
            out[0, :, 0] = ids[at : at + count]
            return
        flat = out.reshape(count, columns)  # of a contiguous array: no copy
        rows = [
            (number, row.values if field >= 0 else row.elements)
            for number, row in enumerate(one.rows)
            if row.definition == k
        ]
        for row, first, _, place in rows_in(at, count, rows):
            part = flat[place]
            if kind == ORDERS and field < 0:
                _read_orders(one, row, first, column, part)
            elif kind == ELEMENTS and field < 0:
                one.elements(row, first, part.reshape(-1))
            else:
                one.values(row, field, first, part.reshape(-1))

    def check(self, position: int) -> list[str]:  # noqa: D102
        return self._checkpoints[position].check()

    def close(self) -> None:  # noqa: D102
        for one in self._checkpoints:
            one.close()


def _read_orders(one: NektarCheckpoint, row: int, first: int, column: int, out: NDArray[Any]) -> None:
    directions = one.definitions[one.rows[row].definition].directions
    if out.shape[1] == directions and out.dtype == np.int64:
        one.orders(row, first, out)
        return
    some = max(1, PIECE // (8 * directions))
    for at in range(0, len(out), some):
        part = out[at : at + some]
        whole = np.empty((len(part), directions), np.int64)
        one.orders(row, first + at, whole)
        part[:] = whole[:, column : column + out.shape[1]]


def _number(text: str | None) -> float | None:
    try:
        found = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _step(one: NektarCheckpoint) -> tuple[int, float]:
    """Index and time, from the time and the time step in the metadata."""
    time, dt = _number(one.metadata.get("Time")), _number(one.metadata.get("TimeStep"))
    if time is None:
        one.notes.append("It does not say its Time; 0 is assumed.")
        return 0, 0.0
    if dt is None or not dt > 0 or not 0 <= time / dt < 2**53:
        return 0, time
    return round(time / dt), time
