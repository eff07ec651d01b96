"""Distributed fields that obey NumPy.

    w = tr.curl(step.vector("u"))
    enstrophy = 0.5 * tr.mean(w @ w)

A `Field` is one array shared over ranks: each has its part, (nz, ny, nx), with x whole. Arithmetic and NumPy's
functions work on the parts, point by point, and need no other rank. Reductions (`mean`, `sum`, `min`, ...) are over the
whole field, collective, and give the same number on every rank. Indexing is that of the part, as is `np.asarray`.

A field knows how it continues beyond a free-slip boundary: its `parity`, per direction +1 (even: mirrored), -1 (odd:
mirrored with the opposite sign, as a velocity through the wall) or 0 (not known). Products, sums and derivatives keep
track of it, so that a derivative always gets the right closure; a derivative where it is not known is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.core import InputError
from tailrace.grids import UniformGrid
from tailrace.masks import refuse_masked
from tailrace.notebook import card, picture
from tailrace.parallel import extreme
from tailrace.text import visible

from .averages import average
from .parity import EVEN, Signs, mirrors, parity_of
from .points import NODES, Centred, axis_names

if TYPE_CHECKING:
    import xarray
    from numpy.typing import NDArray

    from .operators import Operators


class Field(np.lib.mixins.NDArrayOperatorsMixin):
    """One array on a grid; this rank has a part of it.

    :param data: this rank's part, (nz, ny, nx); kept, not copied.
    :param operators: the grid, how the ranks share it, and the compact schemes on it.
    :param parity: about free-slip boundaries, per direction x, y, z: +1, -1, or 0 where it is not known.
    :param centred: per direction, whether the values are on the cell centres instead of the nodes.
    :param name: for printing and plotting.
    :raises InputError: `data` does not have the shape of this rank's part.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: 3.0 + np.cos(x))
    >>> f.shape  # (nz, ny, nx)
    (8, 12, 16)
    >>> round((f * f).mean(), 6)  # 9 + 1/2
    9.5
    """

    def __init__(
        self,
        data: NDArray[Any],
        operators: Operators,
        *,
        parity: Signs = EVEN,
        centred: Centred = NODES,
        name: str = "",
    ) -> None:
        refuse_masked(name or "field", data)
        values = np.asarray(data)
        self.operators = operators
        self.centred = centred
        self.name = name
        bounds = operators.grid.boundaries
        self.parity: Signs = tuple(  # type: ignore[assignment] # three of them
            sign if mirrors(kind) else 1 for sign, kind in zip(parity, bounds, strict=True)
        )
        expected = operators.local_shape(centred)
        if values.shape != expected:
            raise InputError(
                f"{name or 'field'}: the array has shape {values.shape}; this rank's part of the grid is "
                f"{expected} in z, y, x"
            )
        self._data = values

    # ---- making ------------------------------------------------------------------------------------------------------
    @classmethod
    def from_function(
        cls,
        operators: Operators,
        values: Callable[..., Any] | NDArray[Any] | float,
        *,
        parity: Signs = EVEN,
        name: str = "",
    ) -> Field:
        """A field on the nodes, in the type of the operators. Local.

        :param values: a function of the coordinates x, y, z, which come as arrays of shape (1, 1, nx), (1, ny, 1) and
            (nz, 1, 1); or this rank's part of an array, (nz, ny, nx); or one number for all points.
        """
        out = operators.empty()
        x, y, z = operators.coordinates()
        found = values(x[None, None, :], y[None, :, None], z[:, None, None]) if callable(values) else values
        refuse_masked(name or "field", found)
        out[...] = found
        return cls(out, operators, parity=parity, name=name)

    @classmethod
    def empty_like(cls, field: Field) -> Field:
        """A field of unknown values at the points of another one, with its parity. Local.

        Its values have the type of the operators.
        """
        operators = field.operators
        return cls(operators.empty(field.centred), operators, parity=field.parity, centred=field.centred)

    # ---- values and places -------------------------------------------------------------------------------------------
    @property
    def data(self) -> NDArray[Any]:
        """This rank's part, (nz, ny, nx): the memory itself, not a copy."""
        return self._data

    @property
    def grid(self) -> UniformGrid:
        """The nodes: points, coordinates, lengths, boundaries; a `StretchedGrid` where y is stretched. Local."""
        return UniformGrid.of(self.operators.grid)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of this rank's part, (nz, ny, nx); see `global_shape`."""
        return self._data.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self._data.dtype

    @property
    def size(self) -> int:
        """Number of points of this rank."""
        return int(self._data.size)

    @property
    def ndim(self) -> int:
        """Three."""
        return 3

    @property
    def global_shape(self) -> tuple[int, int, int]:
        """Shape of the whole field, (nz, ny, nx)."""
        x, y, z = self.operators.shape(self.centred)
        return z, y, x

    @property
    def start(self) -> tuple[int, int, int]:
        """Global index of this rank's first point, in z, y, x."""
        x, y, z = self.operators.box(self.centred)[0]
        return z, y, x

    def coordinates(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """x, y, z of this rank's points, shaped (1, 1, nx), (1, ny, 1), (nz, 1, 1), so that they broadcast."""
        x, y, z = self.operators.coordinates(self.centred)
        return x[None, None, :], y[None, :, None], z[:, None, None]

    def __len__(self) -> int:
        return len(self._data)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy:
            return np.array(self._data, dtype=dtype)
        return np.asarray(self._data, dtype=dtype)

    def __getitem__(self, key: Any) -> Any:
        return self._data[_plain(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._data[_plain(key)] = _plain(value)

    def __repr__(self) -> str:
        # Local: printing on one rank alone must not wait for the others.
        z, y, x = self.global_shape
        ranks = self.operators.comm.size
        whose = "" if ranks == 1 else f" (rank {self.operators.comm.rank} of {ranks})"
        numbers = "empty"
        if self.size and self.dtype.kind == "c":
            numbers = f"mean {self._data.mean():.6g}"
        elif self.size:
            numbers = f"min {self._data.min():.6g}, mean {self._data.mean():.6g}, max {self._data.max():.6g}"
        named = f"{visible(self.name)}: " if self.name else ""
        return f"<Field {named}{x} x {y} x {z}, {self.dtype}; {numbers}{whose}>"

    def _repr_html_(self) -> str:
        """For notebooks: what it is, and a picture of this rank's middle plane. Local; reads no more than that."""
        x, y, z = self.operators.shape(self.centred)
        rows = [("points", f"{x} x {y} x {z} in x, y, z"), ("type", self.dtype)]
        rows.append(("boundaries", ", ".join(self.operators.grid.boundaries)))
        if self.operators.comm.size > 1:
            rows.append(("rank", f"{self.operators.comm.rank} of {self.operators.comm.size}, with its part"))
        if not self.size or self.dtype.kind == "c":
            return card(f"Field {self.name}", rows)
        along_x, along_y, along_z = self.operators.coordinates(self.centred)
        middle = len(self) // 2
        title = f"{self.name} at z = {along_z[middle]:.4g}"
        plane = picture(np.asarray(self[middle]), (along_x, along_y), ("x", "y"), title)
        return card(f"Field {self.name}", rows, [plane])

    # ---- NumPy -------------------------------------------------------------------------------------------------------
    def like(self, data: Any, *, parity: Signs | None = None, name: str = "") -> Field:
        """A field at the same points with other values. Local."""
        kept = self.parity if parity is None else parity
        return Field(data, self.operators, parity=kept, centred=self.centred, name=name)

    def with_parity(self, parity: Signs) -> Field:
        """The same values with another parity about free-slip boundaries: +1 or -1 for x, y, z. Local."""
        return self.like(self._data, parity=parity, name=self.name)

    def copy(self) -> Field:
        """The same values in new memory. Copy what you keep from a running simulation. Local."""
        return self.like(self._data.copy(), name=self.name)

    def astype(self, dtype: Any) -> Field:
        """The same values in another type. Local."""
        return self.like(self._data.astype(dtype), name=self.name)

    @property
    def real(self) -> Field:
        """The real part. Local."""
        return self.like(self._data.real, name=self.name)

    @property
    def imag(self) -> Field:
        """The imaginary part, zero of real fields. Local."""
        return self.like(self._data.imag, name=self.name)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "reduce" and ufunc in _REDUCTIONS and kwargs.get("axis", 0) is None:
            return _REDUCTIONS[ufunc](inputs[0])
        if method != "__call__" or ufunc.nout != 1 or ufunc.signature is not None:
            return NotImplemented
        fields = [one for one in inputs if isinstance(one, Field)]
        same_points(*fields)
        if any(isinstance(one, np.ndarray) and one.ndim and one.shape != self.shape for one in inputs):
            _check_broadcast(self, inputs)
        plain = [_plain(one) for one in inputs]
        given = kwargs.pop("out", (None,))[0]
        if given is not None:
            ufunc(*plain, out=_plain(given), **kwargs)
            if isinstance(given, Field):
                given.parity = self._parity_of(ufunc, inputs)
            return given
        ours = ufunc in _REAL_FUNCTIONS and not kwargs
        if ours and all(_is_float(one, self.operators.dtype) for one in plain):
            kwargs["out"] = self.operators.empty(self.centred)  # memory that was used before, and is mapped already
        return self.like(ufunc(*plain, **kwargs), parity=self._parity_of(ufunc, inputs))

    def _parity_of(self, ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Signs:
        signs = [one.parity if isinstance(one, Field) else EVEN for one in inputs]
        number = inputs[-1] if not isinstance(inputs[-1], Field) and np.ndim(inputs[-1]) == 0 else None
        return parity_of(ufunc, signs, number)

    # ---- reductions over the whole field -----------------------------------------------------------------------------
    def _whole(self, axis: Any, others: dict[str, Any]) -> bool:
        """Whether a reduction is over the whole field; arguments of NumPy that have no meaning here are errors."""
        for name, value in others.items():
            if value is not None and value is not False and value is not np._NoValue:
                raise InputError(f"a field's reductions take no argument {name}; reduce np.asarray(field) locally")
        return axis is None

    def _check_whole(self, axis: Any, others: dict[str, Any]) -> None:
        if not self._whole(axis, others):
            raise InputError("all and any are over the whole field; use np.asarray(field) for this rank's part")

    def mean(self, axis: str | int | tuple[int, ...] | None = None, **others: Any) -> Any:
        """Average over the box. With `axis`, as "xz": over these directions; the result is an array over the others.

        Nodes at the two ends of a direction count half (the trapezoidal rule), so this is the integral divided by the
        volume. Collective; every rank gets the result.
        """
        check_real(self)
        if self._whole(axis, others) or axis is None:
            return self.integral() / self.operators.volume
        return average(self.operators, self._data, self.centred, axis_names(axis))

    def integral(self) -> float:
        """Integral over the box by the trapezoidal rule. Collective."""
        check_real(self)
        return self.operators.integral(self._data, self.centred)

    def sum(self, axis: Any = None, **others: Any) -> Any:
        """Sum of all values, each counted once. Collective."""
        if not self._whole(axis, others):
            raise InputError("sum is over the whole field; mean(axis) averages over directions")
        total = self._data.sum(dtype=np.result_type(self.dtype, np.float64 if self.dtype.kind == "f" else np.int64))
        return self.operators.comm.allreduce(total)

    def min(self, axis: Any = None, **others: Any) -> Any:
        """Smallest value; NaN if any value is NaN. Collective."""
        return self._extreme(axis, others, largest=False)

    def max(self, axis: Any = None, **others: Any) -> Any:
        """Largest value; NaN if any value is NaN. Collective."""
        return self._extreme(axis, others, largest=True)

    def _extreme(self, axis: Any, others: dict[str, Any], *, largest: bool) -> Any:
        if not self._whole(axis, others):
            raise InputError("min and max are over the whole field; use np.asarray(field) for this rank's part")
        check_real(self)
        if not self.size:  # of this rank's part: the others decide
            own = _bound(self.dtype, largest=not largest)
        else:
            own = self._data.max() if largest else self._data.min()
        return extreme(self.operators.comm, own, largest=largest)[()]

    def var(self, axis: Any = None, *, ddof: Any = 0, **others: Any) -> float:
        """Variance over the volume, <(f - <f>)^2>. Collective.

        :param ddof: given by NumPy; only 0 has a meaning for an average over a volume.
        """
        if ddof != 0:
            raise InputError(
                f"ddof = {ddof!r}: the variance of a field is an average over the volume, without a correction for the "
                "number of points; leave ddof out, or reduce np.asarray(field) locally"
            )
        if not self._whole(axis, others):
            raise InputError("var is over the whole field; over directions take ((f - f.mean()) ** 2).mean(axis)")
        about = self - self.mean()
        return float((about * about).mean())

    def std(self, axis: Any = None, *, ddof: Any = 0, **others: Any) -> float:
        """Standard deviation over the volume. Collective.

        :param ddof: see `var`.
        """
        return float(np.sqrt(self.var(axis, ddof=ddof, **others)))

    def all(self, axis: Any = None, **others: Any) -> bool:
        """Whether all values are true. Collective."""
        self._check_whole(axis, others)
        return bool(extreme(self.operators.comm, self._data.all(), largest=False))

    def any(self, axis: Any = None, **others: Any) -> bool:
        """Whether any value is true. Collective."""
        self._check_whole(axis, others)
        return bool(extreme(self.operators.comm, self._data.any(), largest=True))

    # ---- export ------------------------------------------------------------------------------------------------
    def gather(self, root: int = 0) -> NDArray[Any] | None:
        """The whole field, (nz, ny, nx), on rank `root`; None on the others. Collective; root needs the memory."""
        parts = self.operators.comm.gather((self.start, self._data), root=root)
        if parts is None:
            return None
        whole = np.empty(self.global_shape, self.dtype)
        for start, part in parts:
            whole[tuple(slice(s, s + n) for s, n in zip(start, part.shape, strict=True))] = part
        return whole

    def to_xarray(self) -> xarray.DataArray:
        """This rank's part as an xarray.DataArray with coordinates z, y, x; the memory is shared, not copied."""
        import xarray

        x, y, z = self.operators.coordinates(self.centred)
        attributes = {"global_shape": self.global_shape, "start": self.start}
        return xarray.DataArray(
            self._data, {"z": z, "y": y, "x": x}, ("z", "y", "x"), name=self.name or None, attrs=attributes
        )


def check_fields(*fields: object) -> None:
    """Check that these are fields. Local.

    :raises InputError: one is an array, as what is stored without a grid is.
    """
    for one in fields:
        if not isinstance(one, Field):
            raise InputError(
                f"expected a field on a grid, found {type(one).__name__}; a series whose grid is not known is opened "
                "by tr.open(path, grid=FILE), an array gets its grid by tr.Field(array, operators)"
            )


def check_real(*fields: object) -> None:
    """Check that these are fields of real numbers. Local.

    :raises InputError: one is complex, or see `check_fields`.
    """
    check_fields(*fields)
    for one in fields:
        if isinstance(one, Field) and one.dtype.kind == "c":
            raise InputError(
                f"{visible(one.name) or 'the field'}: its values are complex; expected real ones. To fix this, take "
                "its .real, its .imag or abs() of it"
            )


def same_points(*fields: Field) -> None:
    """Check that fields are at the same points of the same grid. Local.

    :raises InputError: they are not, or see `check_fields`.
    """
    check_fields(*fields)
    first = fields[0]
    for other in fields[1:]:
        if other.operators is not first.operators and not other.operators.same_points(first.operators):
            raise InputError(
                f"{other.name or 'a field'} is on another grid, or on another decomposition, than "
                f"{first.name or 'the other'}"
            )
        if other.centred != first.centred:
            raise InputError(
                f"{first.name or 'one field'} is on the {_places(first.centred)}, {other.name or 'the other'} on the "
                f"{_places(other.centred)}; tr.interpolate moves fields between them"
            )


def _places(centred: Centred) -> str:
    found = [axis for axis, is_centred in zip("xyz", centred, strict=True) if is_centred]
    return f"cell centres in {', '.join(found)}" if found else "nodes"


def known_parity(f: Field, direction: int) -> int:
    """The parity of a field in a direction in which a scheme needs it. Local.

    :raises InputError: it is not known.
    """
    if f.parity[direction] == 0:
        axis = "xyz"[direction]
        raise InputError(
            f"{f.name or 'the field'}: its parity about the free-slip boundary in {axis} is not known, since it is "
            f"made of parts with different parities; set it by field.with_parity(({_example(f.parity, direction)}))"
        )
    return f.parity[direction]


def _example(parity: Signs, direction: int) -> str:
    return ", ".join("1 or -1" if d == direction else str(sign or 1) for d, sign in enumerate(parity))


# ---- helpers ---------------------------------------------------------------------------------------------------------
_REDUCTIONS = {np.add: Field.sum, np.minimum: Field.min, np.maximum: Field.max}
_REAL_FUNCTIONS = {
    np.add, np.subtract, np.multiply, np.divide, np.negative, np.absolute, np.square, np.sqrt, np.power, np.exp, np.log,
    np.sin, np.cos, np.minimum, np.maximum,
}  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, Field):
        return value.data
    return tuple(_plain(one) for one in value) if isinstance(value, tuple) else value


def _bound(dtype: np.dtype[Any], *, largest: bool) -> Any:
    """The largest or least number of a type."""
    if dtype.kind == "f":
        return dtype.type(np.inf if largest else -np.inf)
    if dtype.kind == "b":
        return dtype.type(largest)
    known = np.iinfo(dtype)
    return dtype.type(known.max if largest else known.min)


def _is_float(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether NumPy's result with this operand has the type of the operators."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype == dtype
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_broadcast(field: Field, inputs: tuple[Any, ...]) -> None:
    for one in inputs:
        if not isinstance(one, np.ndarray):
            continue
        fits = one.ndim <= 3 and all(n in (1, m) for n, m in zip(reversed(one.shape), reversed(field.shape)))  # noqa: B905
        if not fits:
            raise InputError(
                f"an array of shape {one.shape} does not fit this rank's part of the field, {field.shape} in z, y, x"
            )
