"""Fields that HDF5 files of Athena++ and FLASH store in blocks: those of one level are put together to arrays.

Athena++: https://github.com/PrincetonUniversity/athena/wiki (Outputs). FLASH: its user's guide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError, IoError
from tailrace.formats.hdf5_file import FAULTS
from tailrace.grids import Triple, UniformGrid, triple
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored
from tailrace.io.values import Attribute, Scalar

from .axes import grid_of
from .hdf5_values import Hdf5Values, words_of
from .parts import Names, our_type

_MOST_BLOCKS = 1 << 20
_REFINED = (
    "a mesh that is refined in places is no array. To fix this, write it on one level, or convert it with the tools of "
    "the program"
)


@dataclass(frozen=True)
class _Variable:
    """A dataset of blocks, or one entry of its first dimension.

    :param entry: -1: the dataset has the blocks as its first dimension.
    """

    name: str
    entry: int
    dtype: str


@dataclass
class _Layout:
    """The blocks of a file: where each begins, in points along x, y and z."""

    starts: NDArray[np.int64]
    numbers: NDArray[np.int64]  # of the blocks in the datasets
    size: Triple  # of a block
    points: Triple  # of the whole
    step: tuple[int, float]
    variables: dict[str, _Variable]
    along: list[NDArray[Any]]
    attributes: dict[str, Attribute]
    scalars: dict[str, Scalar]


class BlockDataset(Dataset):
    """One step of a file whose arrays are in blocks of one level."""

    def __init__(self, path: str, kind: str, layout: _Layout) -> None:
        super().__init__(path)
        self.format = kind  # type: ignore[misc] # of this one
        self._layout, self._values = layout, Hdf5Values(path, {})
        self.steps, self.attributes, self.files = [layout.step], layout.attributes, [path]
        self.grid: UniformGrid | None = grid_of(layout.along)
        self.places = tuple(layout.along) if self.grid is not None else None
        blocks = " x ".join(map(str, layout.size))
        self.notes.append(
            f"{len(layout.starts)} blocks of {blocks} points are put together to {layout.points} in x, y, z"
        )

    def variables(self, position: int) -> dict[str, Stored]:
        """See `Dataset`."""
        found = self._layout.variables.items()
        return {name: Stored(str(our_type(np.dtype(one.dtype))), self._layout.points, False) for name, one in found}

    def scalars(self, position: int) -> dict[str, Scalar]:
        """See `Dataset`."""
        return self._layout.scalars

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """See `Dataset`."""
        one, size = self._layout.variables[name], self._layout.size
        first, end = np.array(box.start), np.array(box.start) + np.array(box.count)
        touched = (self._layout.starts < end).all(axis=1) & (self._layout.starts + np.array(size) > first).all(axis=1)
        for begin, number in zip(self._layout.starts[touched], self._layout.numbers[touched], strict=True):
            low, high = np.maximum(begin, first), np.minimum(begin + np.array(size), end)
            inside, count = (low - begin)[::-1], (high - low)[::-1]
            before = [int(number)] if one.entry < 0 else [one.entry, int(number)]
            values = np.empty((*(1 for _ in before), *count), one.dtype)
            self._values.fetch(one.name, [*before, *(int(at) for at in inside)], values)
            k, j, i = (int(at) for at in (low - first)[::-1])
            nz, ny, nx = (int(n) for n in count)
            out[k : k + nz, j : j + ny, i : i + nx] = values.reshape(nz, ny, nx)

    def close(self) -> None:
        """See `Dataset`."""
        self._values.close()


def dataset_of(path: Path, file: h5py.File) -> BlockDataset | None:
    """The dataset of a file of Athena++ or FLASH; None for other HDF5 files.

    :param file: the same, open.

    :raises InputError: its mesh is refined.
    :raises IoError: it is damaged.
    """
    try:
        if {"MeshBlockSize", "VariableNames", "DatasetNames"} <= set(file.attrs) and "LogicalLocations" in file:
            return BlockDataset(str(path), "athena++", _athena(path, file))
        if {"unknown names", "coordinates", "block size", "refine level"} <= set(file):
            return BlockDataset(str(path), "flash", _flash(path, file))
    except (InputError, IoError):
        raise
    except (*FAULTS, LookupError, ArithmeticError, AttributeError, MemoryError) as error:
        raise IoError(f"{path}: its blocks are not as Athena++ and FLASH write them: {words_of(error)}") from None
    return None


# ---- Athena++ --------------------------------------------------------------------------------------------------------
def _athena(path: Path, file: h5py.File) -> _Layout:
    levels = np.asarray(file["Levels"][:]).reshape(-1)
    if not 0 < len(levels) <= _MOST_BLOCKS:
        raise IoError(f"{path}: has {len(levels)} blocks; expected from 1 to {_MOST_BLOCKS}")
    if levels.min() != levels.max():
        raise InputError(f"{path}: its blocks are of the levels {levels.min()} to {levels.max()}: {_REFINED}")
    size = triple(int(n) for n in np.asarray(file.attrs["MeshBlockSize"]).reshape(-1)[:3])
    places = np.asarray(file["LogicalLocations"][:], np.int64).reshape(len(levels), 3)
    starts = (places - places.min(axis=0)) * np.array(size)
    points = _whole(path, starts, size)
    names = [_text(one) for one in np.asarray(file.attrs["VariableNames"]).reshape(-1)]
    counts = np.asarray(file.attrs["NumVariables"]).reshape(-1)
    variables, at, ours = {}, 0, Names()
    for dataset, count in zip(np.asarray(file.attrs["DatasetNames"]).reshape(-1), counts, strict=True):
        data = file[_text(dataset)]
        _check_shape(path, data, (int(count), len(levels), *reversed(size)))
        for entry in range(int(count)):
            variables[ours.take(names[at])] = _Variable(_text(dataset), entry, data.dtype.str)
            at += 1
    along = [_joined(path, file[f"x{d + 1}v"], starts[:, d], points[d]) for d in range(3)]
    step = _step(path, file.attrs.get("NumCycles", 0), file.attrs.get("Time", 0.0))
    coordinates = _text(file.attrs.get("Coordinates", ""))
    attributes: dict[str, Attribute] = {"coordinates": coordinates} if coordinates else {}
    return _Layout(starts, np.arange(len(levels)), size, points, step, variables, along, attributes, {})


def _joined(path: Path, data: h5py.Dataset, starts: NDArray[np.int64], count: int) -> NDArray[Any]:
    """The places along a direction, from those of each block."""
    values = np.asarray(data[:])
    if values.ndim != 2 or len(values) != len(starts) or values.dtype.kind != "f":
        raise IoError(f"{path}: '{data.name}' has the shape {values.shape}; expected {len(starts)} blocks of places")
    out = np.full(count, np.nan, values.dtype)
    for begin, row in zip(starts, values, strict=True):
        out[begin : begin + len(row)] = row[: count - begin]
    return out


# ---- FLASH -----------------------------------------------------------------------------------------------------------
def _flash(path: Path, file: h5py.File) -> _Layout:
    levels = np.asarray(file["refine level"][:]).reshape(-1)
    leaves = np.asarray(file["node type"][:]).reshape(-1) == 1 if "node type" in file else np.ones(len(levels), bool)
    if not 0 < len(levels) <= _MOST_BLOCKS or len(leaves) != len(levels) or not leaves.any():
        raise IoError(f"{path}: has {len(levels)} blocks, of which none is a leaf; expected from 1 to {_MOST_BLOCKS}")
    if levels[leaves].min() != levels[leaves].max():
        raise InputError(
            f"{path}: its leaves are of the levels {levels[leaves].min()} to {levels[leaves].max()}: {_REFINED}"
        )
    names = [_text(one) for one in np.asarray(file["unknown names"][:]).reshape(-1)]
    first = file[names[0]] if names and names[0] in file else None
    if not isinstance(first, h5py.Dataset) or first.ndim != 4:
        raise IoError(f"{path}: '{names[0] if names else 'unknown names'}' is no array of four dimensions")
    size = triple(int(n) for n in reversed(first.shape[1:]))
    length = _of_blocks(path, file["block size"], len(levels))[leaves]
    lower = _of_blocks(path, file["coordinates"], len(levels))[leaves] - 0.5 * length
    with np.errstate(all="ignore"):
        blocks = np.rint((lower - lower.min(axis=0)) / np.where(length > 0, length, 1.0))
    if not np.isfinite(blocks).all() or blocks.max() > _MOST_BLOCKS:
        raise IoError(f"{path}: the places of its blocks are no numbers, or not those of equal blocks")
    starts = blocks.astype(np.int64) * np.array(size)
    points = _whole(path, starts, size)
    variables, ours = {}, Names()
    for name in names:
        _check_shape(path, file[name], (len(levels), *reversed(size)))
        variables[ours.take(name)] = _Variable(name, -1, file[name].dtype.str)
    origin, spacing = lower.min(axis=0), length[0] / np.array(size)
    along = [origin[d] + spacing[d] * (np.arange(points[d]) + 0.5) for d in range(3)]
    real, whole = _pairs(file, "real scalars"), _pairs(file, "integer scalars")
    step = _step(path, whole.get("nstep", 0), real.get("time", 0.0))
    scalars: dict[str, Scalar] = {"dt": float(real["dt"])} if "dt" in real else {}
    return _Layout(starts, np.flatnonzero(leaves), size, points, step, variables, along, {}, scalars)


def _of_blocks(path: Path, data: h5py.Dataset, count: int) -> NDArray[np.float64]:
    """Three numbers of each block; of fewer dimensions the others are 0."""
    values = np.asarray(data[:], float)
    if values.ndim != 2 or len(values) != count or values.shape[1] > 3:
        raise IoError(f"{path}: '{data.name}' has the shape {values.shape}; expected {count} blocks of three numbers")
    return np.pad(values, ((0, 0), (0, 3 - values.shape[1])))


def _pairs(file: h5py.File, name: str) -> dict[str, Any]:
    """A table of names and values, as FLASH stores its parameters."""
    if name not in file or file[name].dtype.names is None or len(file[name].dtype.names) != 2:
        return {}
    key, value = file[name].dtype.names
    return {_text(row[key]): row[value].item() for row in file[name][:].reshape(-1)}


# ---- both ------------------------------------------------------------------------------------------------------------
def _text(value: Any) -> str:
    raw = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    return (raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)).strip("\0 ")


def _step(path: Path, index: Any, time: Any) -> tuple[int, float]:
    number, moment = int(np.asarray(index)), float(np.asarray(time))
    if not 0 <= number < 1 << 62 or not math.isfinite(moment):
        raise IoError(f"{path}: is of step {number} and time {moment}; expected a positive number and a finite time")
    return number, moment


def _check_shape(path: Path, data: Any, expected: Sequence[int]) -> None:
    found = data.shape if isinstance(data, h5py.Dataset) else None
    if found != tuple(expected) or our_type(data.dtype) is None:
        raise IoError(f"{path}: '{data.name}' has the shape {found}; expected {tuple(expected)} numbers")


def _whole(path: Path, starts: NDArray[np.int64], size: Triple) -> Triple:
    """The points of all blocks, which must fill a box once."""
    points = triple(int(n) for n in starts.max(axis=0) + np.array(size))
    different = len(np.unique(starts, axis=0))
    fills = different == len(starts) and math.prod(points) == len(starts) * math.prod(size)
    if min(size) < 1 or starts.min() < 0 or not fills:
        blocks = f"{len(starts)} blocks of {size} points"
        raise IoError(f"{path}: its {blocks} do not fill a box of {points}: some are missing")
    return points
