"""A variable of all steps of a series, of which xarray reads parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from xarray.backends import BackendArray
from xarray.backends.locks import SerializableLock
from xarray.core import indexing

from tailrace.io.placement import Box

from .stored_field import covering

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from xarray.backends import CachingFileManager

    from .series import Series

# HDF5 and ADIOS2 are not made for several threads: only one reads at a time, whatever the series.
_LOCK = SerializableLock("tailrace")


@dataclass(frozen=True)
class Source:
    """Where the values of a variable are.

    :param names: the stored name, or the stored names of its components.
    :param there: for each step whether it has the variable.
    """

    names: tuple[str, ...]
    there: tuple[bool, ...]


class StoredArray(BackendArray):
    """A variable of all steps, (time, ...): it reads only what an index takes. Values of steps without it are NaN.

    :param manager: opens the series.
    :param shape: of the variable in one step, the components first where it has some.
    :param dtype: the type in which it is read.
    """

    def __init__(
        self,
        manager: CachingFileManager[Series],
        source: Source,
        shape: Sequence[int],
        dtype: np.dtype[Any],
    ) -> None:
        self._manager, self._source = manager, source
        self.shape = (len(source.there), *shape)
        self.dtype = dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: tuple[Any, ...]) -> NDArray[Any]:
        when, *where = key
        with _LOCK:
            series = self._manager.acquire()
            if not isinstance(when, slice):
                return self._of_step(series, int(when), tuple(where))
            chosen = range(self.shape[0])[when]
            out = np.empty((len(chosen), *self._nothing(tuple(where)).shape), self.dtype)
            for position, at in enumerate(chosen):
                out[position] = self._of_step(series, at, tuple(where))
            return out

    def _nothing(self, where: tuple[Any, ...]) -> NDArray[Any]:
        """The values of a step that has none, without their memory."""
        missing = np.full((), np.nan if self.dtype.kind in "fc" else 0, self.dtype)
        return np.broadcast_to(missing, self.shape[1:])[where]

    def _of_step(self, series: Series, at: int, where: tuple[Any, ...]) -> NDArray[Any]:
        names = self._source.names
        if not self._source.there[at] or not self._nothing(where).size:
            return self._nothing(where).copy()
        if len(names) == 1:
            return self._part(series, at, names[0], where, self.shape[1:])
        which, *inner = where
        inside = tuple(inner)
        if not isinstance(which, slice):
            return self._part(series, at, names[int(which)], inside, self.shape[2:])
        return np.stack([self._part(series, at, name, inside, self.shape[2:]) for name in names[which]])

    def _part(self, series: Series, at: int, name: str, where: tuple[Any, ...], shape: tuple[int, ...]) -> NDArray[Any]:
        """Part of one stored array, or of a list, whose rows are y and whose columns, if it has several, are x."""
        before, after = (0,) * (len(shape) < 3), (0,) * (len(shape) == 1)
        whole = (*(1 for _ in before), *shape, *(1 for _ in after))
        found = covering((*before, *where, *after), whole)
        if found is None:
            raise IndexError(f"{name}: {where!r} is no index of whole numbers and slices")
        box, within = found
        count = tuple(one.stop - one.start for one in box)
        z, y, x = (one.start for one in box)
        asked = str(self.dtype) if self.dtype in (np.float32, np.float64) else None
        values = series.steps[at].read(name, Box((x, y, z), (count[2], count[1], count[0])), dtype=asked)
        return values.reshape(count)[within].astype(self.dtype, copy=False)
