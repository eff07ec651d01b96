"""Make the groups, attributes and rows of an HDF5 checkpoint of Nektar++."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

import h5py
import numpy as np

from tailrace.core import InputError
from tailrace.formats.contiguous_hdf5 import allocate

from .definition import Definition, bases_of
from .hdf5_structure import COLUMNS, WIDTH
from .layout import NektarLayout

_TEXT = h5py.string_dtype()
_TYPES = {name: "<f8" if name == "DATA" else "<u4" for name in COLUMNS}


def datasets(layout: NektarLayout) -> list[str]:
    """The large datasets of a checkpoint. Those of orders and planes exist only if they have entries."""
    totals = dict(zip(COLUMNS, layout.counts.sum(axis=0).tolist(), strict=True))
    return [name for name in COLUMNS if name in ("ELEMENTIDS", "DATA") or totals[name]]


def group_names(definitions: Sequence[Definition]) -> list[int]:
    """The numbers that name the groups of definitions, one for each: all may be written as MIXORDER, and look alike."""
    texts = [json.dumps([one.fields, one.shape_text, one.basis, one.lengths, one.modes]) for one in definitions]
    again = [texts[:at].count(text) for at, text in enumerate(texts)]
    return [_number_of(text + "\0" * count) for text, count in zip(texts, again, strict=True)]


def _number_of(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") or 1


def make_file(
    file: h5py.File, layout: NektarLayout, metadata: Mapping[str, str], provenance: Mapping[str, str]
) -> None:
    """Fill a new file with everything except the values.

    :raises InputError: a basis has no number in the version of Nektar++ that the provenance names.
    """
    root = file.create_group("NEKTAR")
    root.attrs.create("FORMAT_VERSION", 1, dtype=np.uint32)
    described = root.create_group("Metadata")
    origin = described.create_group("Provenance")
    for place, texts in ((described, metadata), (origin, provenance)):
        for name, text in texts.items():
            place.attrs.create(name, text, dtype=_TEXT)
    bases = bases_of(provenance.get("NektarVersion", ""))
    groups = group_names(layout.definitions)
    for one, group in zip(layout.definitions, groups, strict=True):
        _describe(root.create_group(str(group)), one, bases, layout.mixed)
    table = np.zeros((len(layout.rows), WIDTH), np.uint64)
    table[:, : len(COLUMNS)] = layout.counts
    table[:, -1] = [groups[row.definition] if row.elements else 0 for row in layout.rows]
    root.create_dataset("DECOMPOSITION", data=table.reshape(-1), dtype="<u8")
    totals = dict(zip(COLUMNS, layout.counts.sum(axis=0).tolist(), strict=True))
    for name in datasets(layout):
        allocate(root, name, (totals[name],), _TYPES[name])


def _describe(group: h5py.Group, definition: Definition, bases: tuple[str, ...], mixed: bool) -> None:
    missing = [one for one in definition.basis if one not in bases]
    if missing:
        raise InputError(
            f"{group.file.filename}: the basis {missing[0]} has no number in the version of Nektar++ that the "
            "provenance names; leave out 'provenance.NektarVersion'"
        )
    group.attrs.create("BASIS", [bases.index(one) for one in definition.basis], dtype=np.int32)
    group.attrs.create("FIELDS", list(definition.fields), dtype=_TEXT)
    group.attrs.create("SHAPE", definition.shape_text, dtype=_TEXT)
    modes = definition.modes
    text = "MIXORDER" if mixed or modes is None else f"UNIORDER:{','.join(map(str, modes))}"
    group.attrs.create("NUMMODESPERDIR", text, dtype=_TEXT)
    if definition.homogeneous:
        group.attrs.create("HOMOGENEOUSLENGTHS", definition.lengths, dtype=np.float64)
