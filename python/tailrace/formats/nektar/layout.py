"""The layout of a checkpoint that is written: the place of each value. It is the same on all ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.io.placement import Stored
from tailrace.io.values import Attribute, Scalar

from .checkpoint import EMPTY, ElementRow
from .definition import Definition, DefinitionError
from .hdf5_structure import COLUMNS
from .names import DESCRIBED, ELEMENTS, METADATA, ORDERS, PLANES, PROVENANCE, described, field_names

DECOMPOSITION = ("source", "ranks")


class Target(NamedTuple):
    """A part of a variable: `length` entries from its entry `begin` go to `offset` of a dataset."""

    dataset: str
    begin: int
    length: int
    offset: int
    columns: int


class NektarLayout:
    """Definitions and rows of a step.

    :param path: for messages.
    :param ranks: the number of writing ranks. Without a fitting decomposition, each gets a row of each definition.
    :param decomposition: "source" or "ranks".
    :raises InputError: the variables and numbers do not make a checkpoint; the message says what is missing.
    """

    def __init__(
        self,
        path: str,
        variables: Mapping[str, Stored],
        scalars: Mapping[str, Scalar],
        attributes: Mapping[str, Attribute],
        ranks: int,
        decomposition: str,
    ) -> None:
        self.definitions: list[Definition] = []
        self._names: dict[str, tuple[int, str, int]] = {}  # variable -> definition, kind, field
        self._variables = dict(variables)
        try:
            self._find_definitions(scalars)
            known = self._rows_of(attributes.get("decomposition")) if decomposition == "source" else None
            self.rows = known or self._rows_per_rank(ranks)
        except DefinitionError as error:
            raise InputError(f"{path}: no checkpoint of Nektar++ can be made of this: {error}") from None
        self.mixed = any(one.modes is None for one in self.definitions)
        self.counts = np.array([self._count(row) for row in self.rows], np.int64).reshape(-1, len(COLUMNS))
        self.starts = np.zeros_like(self.counts)
        np.cumsum(self.counts[:-1], axis=0, out=self.starts[1:])

    # ---- what there is -----------------------------------------------------------------------------------------------
    def _find_definitions(self, scalars: Mapping[str, Scalar]) -> None:
        several = sorted(
            (one.removeprefix(ELEMENTS) for one in self._variables if one.startswith(f"{ELEMENTS}.")),
            key=lambda text: (len(text), text),
        )
        suffixes = [""] if ELEMENTS in self._variables else several
        if not suffixes:
            found = ", ".join(list(self._variables)[:8]) or "none"
            raise DefinitionError(f"expected the list '{ELEMENTS}' with the numbers of the elements, found {found}")
        for k, suffix in enumerate(suffixes):
            self._find_definition(k, suffix, scalars)
        unknown = [name for name in self._variables if name not in self._names]
        if unknown:
            raise DefinitionError(f"expected the fields of its definitions only, found also {', '.join(unknown[:8])}")

    def _find_definition(self, k: int, suffix: str, scalars: Mapping[str, Scalar]) -> None:
        planes = {one: self._variables[one + suffix].shape[1] for one in PLANES if one + suffix in self._variables}
        whole = described(scalars, suffix, planes)
        names = [name + suffix for name in field_names(whole)]
        kept = [at for at, name in enumerate(names) if name in self._variables]
        if not kept:
            raise DefinitionError(f"expected lists of fields such as '{names[0]}', found none")
        definition = whole.with_fields(tuple(whole.fields[at] for at in kept))
        elements = self._variables[ELEMENTS + suffix].shape[1]
        for field, at in enumerate(kept):
            self._know(names[at], k, "field", field, "float64", None)
        self._know(ELEMENTS + suffix, k, ELEMENTS, -1, "int64", elements)
        for one in planes:
            self._know(one + suffix, k, one, -1, "int64", None)
        if definition.modes is None:
            self._know(ORDERS + suffix, k, ORDERS, -1, "int64", elements, definition.directions)
        lengths = {self._variables[names[at]].shape[1] for at in kept}
        expected = definition.values(elements) if definition.modes is not None else max(lengths)
        if lengths != {expected}:
            raise DefinitionError(
                f"expected {expected} values in each field of {elements} {definition.shape_text}, found "
                f"{', '.join(map(str, sorted(lengths)))}"
            )
        self.definitions.append(definition)

    def _know(self, name: str, k: int, kind: str, field: int, dtype: str, rows: int | None, columns: int = 1) -> None:
        stored = self._variables.get(name)
        if stored is None:
            raise DefinitionError(f"expected the list '{name}', found none")
        x, y, z = stored.shape
        integers = dtype == "int64" and stored.dtype in ("int32", "int64")
        if (stored.dtype != dtype and not integers) or (x, z) != (columns, 1) or rows not in (None, y):
            raise DefinitionError(
                f"{name}: expected a list of {dtype} with {columns} columns"
                f"{'' if rows is None else f' and {rows} rows'}, found {stored.dtype} {stored.shape}"
            )
        self._names[name] = (k, kind, field)

    def _sizes(self, k: int) -> tuple[int, int]:
        """Elements of a definition, and values of each of its fields."""
        found = {kind: self._variables[name].shape[1] for name, (of, kind, _) in self._names.items() if of == k}
        return found[ELEMENTS], found["field"]

    def _rows_of(self, decomposition: Attribute | None) -> list[ElementRow] | None:
        """The rows of the source; None if it has none, or if they do not fit the variables."""
        if not isinstance(decomposition, Sequence) or isinstance(decomposition, str) or len(decomposition) % len(EMPTY):
            return None
        numbers = [int(one) for one in decomposition]
        rows = [ElementRow(*numbers[at : at + len(EMPTY)]) for at in range(0, len(numbers), len(EMPTY))]
        for k, definition in enumerate(self.definitions):
            ours = [row for row in rows if row.definition == k]
            if (sum(row.elements for row in ours), sum(row.values for row in ours)) != self._sizes(k):
                return None
            modes = definition.modes
            if any(
                min(row) < 0 or (modes is not None and definition.values(row.elements) != row.values) for row in ours
            ):
                return None
        return rows if all(row == EMPTY or 0 <= row.definition < len(self.definitions) for row in rows) else None

    def _rows_per_rank(self, ranks: int) -> list[ElementRow]:
        """A row of each definition for each rank. Elements with different modes stay in one row.

        Rank 0 has a row of each definition, because readers number definitions in the order of the rows.
        """
        rows = []
        for rank in range(ranks):
            for k, definition in enumerate(self.definitions):
                elements, values = self._sizes(k)
                share = elements * rank // -ranks - elements * (rank + 1) // -ranks  # rounded up
                if definition.modes is None:
                    share = 0 if rank else elements
                else:
                    values = definition.values(share)
                rows.append(ElementRow(k, share, values) if share else EMPTY)
        return rows

    def _count(self, row: ElementRow) -> list[int]:
        if row == EMPTY:
            return [0] * len(COLUMNS)
        one = self.definitions[row.definition]
        orders = row.elements * one.directions if self.mixed else 0
        planes = [len(one.y_ids), len(one.z_ids), len(one.s_ids)]
        return [row.elements, row.values * len(one.fields), orders, *planes]

    # ---- where it goes -----------------------------------------------------------------------------------------------
    def targets(self, name: str) -> Iterator[Target]:
        """The places of a variable in the file. Except for planes, they cover its rows in order."""
        k, kind, field = self._names[name]
        begin = 0
        for at, row in enumerate(self.rows):
            if row.definition != k:
                continue
            start = self.starts[at].tolist()
            if kind in PLANES:
                column = 3 + PLANES.index(kind)
                yield Target(COLUMNS[column], 0, int(self.counts[at][column]), start[column], 1)
                continue
            if kind == "field":
                yield Target("DATA", begin, row.values, start[1] + field * row.values, 1)
            elif kind == ELEMENTS:
                yield Target("ELEMENTIDS", begin, row.elements, start[0], 1)
            else:
                yield Target("POLYORDERS", begin, row.elements, start[2], self.definitions[k].directions)
            begin += row.values if kind == "field" else row.elements

    def uniform_orders(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Where POLYORDERS must be filled for rows whose elements have the same modes: offset, values."""
        for at, row in enumerate(self.rows):
            one = self.definitions[row.definition] if row.definition >= 0 else None
            if self.mixed and one is not None and one.modes is not None:
                yield int(self.starts[at][2]), np.tile(np.array(one.modes, np.int64), row.elements)

    def is_number(self, name: str) -> bool:
        """Whether a variable is written as whole numbers below 2^32."""
        return self._names[name][1] != "field"


def metadata_of(scalars: Mapping[str, Scalar], time: float) -> tuple[dict[str, str], dict[str, str]]:
    """Metadata and provenance of a step: those of the source checkpoint, the time, and other numbers and texts."""
    metadata, provenance = {}, {}
    for name, value in scalars.items():
        text = f"{value:.17g}" if isinstance(value, float) else str(value)
        if name.startswith(PROVENANCE):
            provenance[name.removeprefix(PROVENANCE)] = text
        elif name.startswith(METADATA):
            metadata[name.removeprefix(METADATA)] = text
        elif name.partition(".")[0] not in DESCRIBED:
            metadata[name] = text
    if "Time" in metadata or time != 0:  # a checkpoint without a time is read as time 0
        metadata["Time"] = _time_text(metadata.get("Time", ""), time)
    return metadata, provenance


def _time_text(text: str, time: float) -> str:
    """The text of the time: that of the source, if it means the same time."""
    try:
        return text if float(text) == time else f"{time:.17g}"
    except ValueError:
        return f"{time:.17g}"
