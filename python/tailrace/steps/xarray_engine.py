"""The engine "tailrace" of xarray: `xr.open_dataset(path, engine="tailrace")` opens every series on disk.

Variables have the dimensions time, z, y, x where they are on the grid of the series, and their own otherwise; lists
have that of the list that is their axis, see `list_axes`; an array that was written with components has one more. They
are read when they are used, and with `chunks={}` in pieces by dask.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Iterable, Mapping, Set
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray
from xarray.backends import BackendEntrypoint, CachingFileManager
from xarray.core import indexing

from tailrace.core import Error
from tailrace.files.case_parts import of_all_steps
from tailrace.formats.recognise import dataset_at, is_series_of_ours
from tailrace.io.names import MEANINGS
from tailrace.io.values import parameter_text
from tailrace.text import visible

from .abscissae import is_abscissa, label_of
from .grid_file import given_grid
from .list_axes import axes_of
from .opening import Reopening, absolute
from .stored_array import Source, StoredArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailrace.grids import UniformGrid
    from tailrace.io.placement import Stored

    from .series import Series
    from .stored_step import StoredStep

_CHUNK = 64 << 20  # bytes of a chunk, unless a plane is larger
_COMPONENT = re.compile(r"(.+)_1")


class TailraceBackend(BackendEntrypoint):
    """What xarray finds by the entry point "tailrace"."""

    description = "Series of Tailrace, and files of Xcompact3D, the Pencil Code, Nektar++ and SIONlib"
    open_dataset_parameters: ClassVar[tuple[str, ...]] = (
        "filename_or_obj",
        "drop_variables",
        "grid",
        "guard",
        "parameters",
    )

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        grid: UniformGrid | str | PathLike[str] | None = None,
        guard: bool = False,
        parameters: Mapping[str, object] | None = None,
    ) -> xarray.Dataset:
        """Open a series on disk; `grid`, `guard`, `parameters` as in `tailrace.open`. Local: each rank for itself.

        :raises InputError: there is no series.
        :raises IoError: it cannot be read.
        """
        opening = filename_or_obj
        if not isinstance(opening, Reopening):
            texts = tuple((key, parameter_text(value)) for key, value in (parameters or {}).items())
            where = absolute(opening) if isinstance(opening, str | PathLike) else tuple(map(absolute, opening))
            opening = Reopening(where, None, texts, given_grid(grid).model_dump_json(), None, guard)
        manager = CachingFileManager(_open, opening, mode="r")
        with manager.acquire_context() as series:
            dropped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
            dataset = _Variables(series, manager).dataset(dropped)
        dataset.encoding["source"] = opening.path if isinstance(opening.path, str) else ", ".join(opening.path)
        dataset.set_close(manager.close)
        return dataset

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether this is the path of a series, or of files of a program that nobody else claims."""
        if not isinstance(filename_or_obj, str | PathLike):
            return False
        path = Path(filename_or_obj)
        try:
            if not path.exists():
                return False
            found = None if is_series_of_ours(path) else dataset_at(path)
            return is_series_of_ours(path) if found is None else not found.plain
        except (OSError, Error):
            return False


def _open(opening: Reopening, mode: str) -> Series:
    """What the manager calls, also in another process of dask. It hands over the mode, which xarray compares."""
    return opening.open()


class _Variables:
    """The variables of a series, step by step, in the form of xarray. Local."""

    def __init__(self, series: Series, manager: CachingFileManager[Series]) -> None:
        self._series, self._manager = series, manager
        self._steps = list(series.steps)
        self._tables = [_looked_at(step) for step in self._steps]
        rows = {one.shape[1] for table in self._tables for one in table.values() if one.is_list}
        self._rows_agree = len(rows) == 1
        self._names = self._stored()
        self._fixed_values: dict[str, NDArray[Any] | None] = {}
        self._axes = axes_of(*self._lists())

    def dataset(self, dropped: set[str]) -> xarray.Dataset:
        """All of them but those of `dropped`, with coordinates and attributes."""
        attributes = of_all_steps(self._steps[0].known.attributes if self._steps else self._series.attributes)
        variables = {name: self._variable(name, stored) for name, stored in self._names.items() if name not in dropped}
        found = {name: one for name, one in variables.items() if one is not None}
        found |= {name: one for name, one in self._scalars().items() if name not in dropped and name not in found}
        for name, one in found.items():
            one.attrs |= _described(attributes, name)
        plain = {name: value for name, value in attributes.items() if "/" not in name}
        axes = {name: one for name, one in self._list_coordinates(found, attributes).items() if name not in dropped}
        for name in found.keys() & axes.keys():
            del found[name]
        coordinates = (
            self._times(attributes) | self._places({axis for one in found.values() for axis in one.dims}) | axes
        )
        for name in sorted(found.keys() & coordinates.keys()):
            self._warn(f"left out '{name}', which is the name of a coordinate here", name)
            del found[name]
        return xarray.Dataset(found, coordinates, plain)

    def _warn(self, left_out: str, name: str) -> None:
        path = self._series.path
        way = f'read it by tr.open(path)[position].read("{name}")'
        warnings.warn(visible(f"{path}: {left_out}; {way}"), stacklevel=6)

    # ---- coordinates -------------------------------------------------------------------------------------------------
    def _times(self, attributes: dict[str, Any]) -> dict[str, Any]:
        times = np.array([step.time for step in self._steps], np.float64)
        indices = np.array([step.index for step in self._steps], np.int64)
        return {
            "time": ("time", times, {"long_name": "time"} | _described(attributes, "time")),
            "step": ("time", indices, {"long_name": "index of the time step"}),
        }

    def _places(self, used: Set[Hashable]) -> dict[str, Any]:
        """Of the axes that are used: lists and numbers, such as an analysis returns, need none."""
        places = self._steps[0].known.coordinates() if self._steps else None
        pairs = zip("xyz", places or (), strict=False)
        return {axis: (axis, values, {"long_name": axis}) for axis, values in pairs if axis in used}

    # ---- lists that are axes -----------------------------------------------------------------------------------------
    def _lists(self) -> tuple[dict[str, tuple[int, ...]], set[str], dict[str, int]]:
        """The arguments of `axes_of`."""
        shapes: dict[str, tuple[int, ...]] = {}
        on_grid = False
        for name, (first, *_) in self._names.items():
            kinds = {(one.shape, one.is_list) for table in self._tables if (one := table.get(first)) is not None}
            if len(kinds) == 1:
                (((columns, rows, _), is_list),) = kinds
                if is_list:
                    shapes[name] = (rows,) if columns == 1 else (rows, columns)
            on_grid |= any(not is_list for _, is_list in kinds)
        places = self._steps[0].known.coordinates() if self._steps else None
        grid = dict(zip("xyz", places or (), strict=False))
        fixed = set()
        for name, shape in shapes.items():
            if len(shape) == 1 and is_abscissa(name) and (values := self._fixed(name)) is not None:
                there = grid.get(name)
                if not on_grid or there is None or (len(there) == len(values) and np.allclose(there, values)):
                    fixed.add(name)
        # Only an analysis is known to return what lies along the grid; other lists may be as long by chance.
        along = {axis: len(one) for axis, one in grid.items()} if "analysis" in self._series.attributes else {}
        return shapes, fixed, along

    def _fixed(self, name: str) -> NDArray[Any] | None:
        """The values of a list that are the same in all steps that have it; else None."""
        if name not in self._fixed_values:
            having = [
                step for step, table in zip(self._steps, self._tables, strict=True) if self._names[name][0] in table
            ]
            first = np.asarray(having[0].read(name))
            same = all(np.array_equal(first, step.read(name), equal_nan=True) for step in having[1:])
            self._fixed_values[name] = first if same else None
        return self._fixed_values[name]

    def _list_coordinates(
        self, found: dict[str, xarray.Variable], attributes: dict[str, Any]
    ) -> dict[str, xarray.Variable]:
        """Axes, and other measures of the same axis, with the dimension of the axis."""
        made = {}
        for name in self._axes.lists:
            made[name] = xarray.Variable(name, self._fixed(name))
        for name, edges in self._axes.centres.items():
            values = self._fixed(edges)
            assert values is not None  # `axes_of` takes no other
            made[name] = xarray.Variable(name, 0.5 * (values[1:] + values[:-1]))
        for name, axis in self._axes.beside.items():
            values = self._fixed(name)
            if values is not None:
                made[name] = xarray.Variable(axis, values)
            elif name in found:
                made[name] = found[name]
        for name, one in made.items():
            one.attrs |= {"long_name": label_of(name)} | _described(attributes, name)
        used = {axis for one in found.values() for axis in one.dims}
        return {name: one for name, one in made.items() if set(one.dims) - {"time"} <= used}

    # ---- arrays and lists --------------------------------------------------------------------------------------------
    def _stored(self) -> dict[str, tuple[str, ...]]:
        """Our name -> the stored name of each array and list, or the stored names of its components."""
        names: dict[str, tuple[str, ...]] = {}
        for step in self._steps:
            pairs = [(name, step.stored_name(name)) for name in step.names]
            renamed = {stored for name, stored in pairs if stored != name}
            names |= {name: (stored,) for name, stored in pairs if name not in names and name not in renamed}
        for first in [name for name in names if _COMPONENT.fullmatch(name)]:
            whole = first[:-2]
            count = max(step.components(whole) for step in self._steps)
            parts = [f"{whole}_{number}" for number in range(1, count + 1)]
            if count and whole not in names and all(part in names for part in parts):
                names[whole] = tuple(parts)
                for part in parts:
                    del names[part]
        return names

    def _variable(self, name: str, stored: tuple[str, ...]) -> xarray.Variable | None:
        kinds = [table.get(stored[0]) for table in self._tables]
        shapes = {(one.shape, one.is_list) for one in kinds if one is not None}
        if len(shapes) != 1:
            self._warn(f"left out '{name}', whose shape changes from step to step", name)
            return None
        ((shape, is_list),) = shapes
        dtype = self._dtype(stored, kinds)
        inner, dims = self._layout(name, shape, is_list)
        if len(stored) > 1:
            inner, dims = (len(stored), *inner), (f"{name}_component", *dims)
        source = Source(stored, tuple(one is not None for one in kinds))
        array = StoredArray(self._manager, source, inner, dtype)
        variable = xarray.Variable(("time", *dims), indexing.LazilyIndexedArray(array))
        variable.encoding["preferred_chunks"] = _chunks(("time", *dims), array.shape, dtype)
        return variable

    def _dtype(self, stored: tuple[str, ...], kinds: list[Stored | None]) -> np.dtype[Any]:
        """The type that holds the values of all steps, and NaN where a step has none."""
        types = {np.dtype(table[name].dtype) for table in self._tables for name in stored if name in table}
        found = np.result_type(*types)
        return np.dtype(np.float64) if None in kinds and found.kind not in "fc" else found

    def _layout(self, name: str, shape: tuple[int, int, int], is_list: bool) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Shape and dimensions of a variable in one step."""
        x, y, z = shape
        if is_list:
            inner = (y,) if x == 1 else (y, x)
            axes = self._axes.of.get(name, ())
            if len(axes) == len(inner):
                return inner, axes
            row = "row" if self._rows_agree else f"{name}_row"
            return inner, (row, f"{name}_column")[: len(inner)]
        on_grid = shape == self._steps[0].known.points
        return (z, y, x), ("z", "y", "x") if on_grid else (f"{name}_z", f"{name}_y", f"{name}_x")

    # ---- numbers and texts -------------------------------------------------------------------------------------------
    def _scalars(self) -> dict[str, xarray.Variable]:
        rows = [step.scalars for step in self._steps]
        found = {}
        for name in dict.fromkeys(name for row in rows for name in row):
            values = [row.get(name) for row in rows]
            if any(isinstance(value, str) for value in values):
                column = np.array(["" if value is None else str(value) for value in values])
            else:
                column = np.array([np.nan if value is None else value for value in values])
            found[name] = xarray.Variable("time", column)
        return found


def _looked_at(step: StoredStep) -> dict[str, Stored]:
    """The variables of a step, which keeps its names and numbers too: engines keep what they read of one step only."""
    _ = step.names, step.scalars
    return step.variables


def _described(attributes: dict[str, Any], name: str) -> dict[str, Any]:
    """The attributes of one variable, which are stored as "variable/name"; and what is known of the fields of a run.

    A run, which has a Reynolds number, is in units of the velocity and length of its flow.
    """
    found = {"long_name": MEANINGS[name]} if name in MEANINGS else {}
    if found and "reynolds" in attributes:
        found["units"] = "1"
    return found | {key.split("/", 1)[1]: value for key, value in attributes.items() if key.startswith(f"{name}/")}


def _chunks(dims: tuple[str, ...], shape: tuple[int, ...], dtype: np.dtype[Any]) -> dict[str, int]:
    """Chunks of one step and one component, and of so many planes that they have a size that dask works well with.

    Nothing is said of a dimension that need not be cut: xarray warns of a user's chunks that differ.
    """
    chunks = {dims[0]: 1} | ({dims[1]: 1} if len(shape) == 5 else {})
    plane = int(np.prod(shape[-2:])) * dtype.itemsize
    if len(shape) >= 4 and shape[-3] * plane > _CHUNK:
        chunks[dims[-3]] = max(1, _CHUNK // plane)
    return chunks
