"""Attributes of HDF5 objects by h5py's low-level functions: a thousand files are opened in half the time."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import h5py
import numpy as np
from h5py import h5, h5a, h5d, h5g, h5p, h5t

from tailrace.formats.hdf5_file import FAULTS
from tailrace.io.values import Attribute

Object: TypeAlias = "h5g.GroupID | h5d.DatasetID"

_REFERENCES = (b"DIMENSION_LIST", b"REFERENCE_LIST", b"DIMENSION_LABELS")  # attributes that `dimensions_of` reads
_MOST_VALUES = 4096  # of an attribute
MOST_TEXT = 1 << 16  # bytes of a text of fixed length
_DIRECT = (h5t.INTEGER, h5t.FLOAT)


class _Holder:
    """What h5py's own access to attributes needs of an object."""

    def __init__(self, one: Object) -> None:
        self.id = one


def value_at(one: Object, name: bytes) -> Any:
    """The value of an attribute as h5py gives it. Raises one of `FAULTS`."""
    return h5py.AttributeManager(_Holder(one))[name]


def plain(value: Any) -> Any:
    """A value as a number or text that we can store; None if that is impossible."""
    if isinstance(value, h5py.Empty):
        return None
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, int | np.integer):
        return int(value) if -(1 << 63) <= int(value) < 1 << 63 else None
    if isinstance(value, float | np.floating):
        return float(value)
    return None


def attributes_of(one: Object) -> dict[str, Attribute]:
    """The attributes that are texts, numbers or lists of them; those that cannot be read are left out."""
    result: dict[str, Attribute] = {}
    count = h5a.get_num_attrs(one)
    tracked = count > 0 and one.get_create_plist().get_attr_creation_order() & h5p.CRT_ORDER_TRACKED
    for number in range(count):
        try:
            about = h5a.open(one, index=number, index_type=h5.INDEX_CRT_ORDER if tracked else h5.INDEX_NAME)
            value = None if about.name in _REFERENCES else _value(one, about)
        except FAULTS:
            continue
        if value is not None:
            result[about.name.decode(errors="replace")] = value
    return result


def _value(one: Object, about: h5a.AttrID) -> Attribute | None:
    shape, kind = about.shape or (), about.get_type()
    if math.prod(shape) > _MOST_VALUES or kind.get_size() > MOST_TEXT:
        return None
    if kind.get_class() in _DIRECT or (kind.get_class() == h5t.STRING and not kind.is_variable_str()):
        if about.shape is None:
            return None
        value: Any = np.empty(shape, kind.dtype)
        about.read(value)
    else:
        value = value_at(one, about.name)
    if not isinstance(value, np.ndarray):
        return plain(value)
    parts = [plain(part) for part in value.reshape(-1)]
    if len(parts) == 1:
        return parts[0]
    if parts and all(isinstance(part, str) for part in parts):
        return parts
    if parts and all(isinstance(part, int | float) for part in parts):
        whole = all(isinstance(part, int) for part in parts)
        return parts if whole else [float(part) for part in parts]
    return None
