"""Vectors and tensors of distributed fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError

from .field import Field, check_real, same_points
from .operators import Operators
from .parity import polar, product_parity, sum_parity
from .points import NODES


class Vector:
    """Three fields at the same points: components x, y, z.

    `v @ w` is the scalar product, `v.cross(w)` the vector product; `+`, `-`, and `*`, `/` by numbers and fields work by
    component.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> v = tr.Vector.from_function(ops, lambda x, y, z: (np.cos(x), np.sin(x), 2.0))
    >>> round((v @ v).mean(), 6)  # 1 + 4
    5.0
    >>> np.allclose(v.cross(v * 3.0).z, 0.0), v["x"] is v.x
    (True, True)
    """

    def __init__(self, x: Field, y: Field, z: Field) -> None:
        same_points(x, y, z)
        self.components = (x, y, z)

    @classmethod
    def from_function(cls, operators: Operators, values: Callable[..., Sequence[Any]]) -> Vector:
        """A velocity on the nodes: each component is odd about the free-slip boundaries normal to it. Local.

        :param values: a function of the coordinates x, y, z, as in `Field.from_function`, that returns three arrays or
            numbers.
        """
        x, y, z = operators.coordinates()
        parts = values(x[None, None, :], y[None, :, None], z[:, None, None])
        return cls(*(Field.from_function(operators, part, parity=polar(d)) for d, part in enumerate(parts)))

    @classmethod
    def in_plane(cls, x: Field | None = None, y: Field | None = None, z: Field | None = None) -> Vector:
        """A vector of two dimensions: a component along a direction of one point may be left out, and is zero. Local.

        :raises InputError: a component is left out along which the grid has several points, or all are.

        >>> ops = tr.Operators((16, 12, 1), (2 * np.pi, 2 * np.pi, 1.0), ("periodic",) * 3)
        >>> u = tr.Field.from_function(ops, lambda x, y, z: -np.sin(y))
        >>> v = tr.Field.from_function(ops, lambda x, y, z: np.sin(x))
        >>> tr.Vector.in_plane(u, v).z.mean()
        0.0
        """
        given = [part for part in (x, y, z) if part is not None]
        if not given:
            raise InputError("a vector needs its components; none is given")
        flat = given[0].operators.flat
        for axis, part in zip("xyz", (x, y, z), strict=True):
            if part is None and axis not in flat:
                raise InputError(
                    f"a vector needs its component in {axis}: only along a direction of one point may it be left out "
                    f"({f'here {flat}' if flat else 'the grid has none'})"
                )
        zero = np.zeros_like(given[0].data)
        parts = ((x, polar(0)), (y, polar(1)), (z, polar(2)))
        return cls(*(given[0].like(zero, parity=parity) if part is None else part for part, parity in parts))

    @property
    def operators(self) -> Operators:
        """The grid and the schemes on it."""
        return self.components[0].operators

    def __iter__(self) -> Iterator[Field]:
        return iter(self.components)

    def __len__(self) -> int:
        return 3

    def __getitem__(self, key: int | str) -> Field:
        """A component, by number or by "x", "y", "z".

        :raises InputError: no component has this name.
        """
        return self.components[_number(key) if isinstance(key, str) else key]

    @property
    def x(self) -> Field:
        """The component in x."""
        return self.components[0]

    @property
    def y(self) -> Field:
        """The component in y."""
        return self.components[1]

    @property
    def z(self) -> Field:
        """The component in z."""
        return self.components[2]

    def __repr__(self) -> str:
        return "<Vector\n" + "\n".join(f"  {name} {field!r}" for name, field in zip("xyz", self, strict=True)) + ">"

    def _by_component(self, other: Any, work: Callable[[Any, Any], Field]) -> Vector:
        others = other if isinstance(other, Vector) else (other,) * 3
        return Vector(*(work(a, b) for a, b in zip(self, others, strict=True)))

    def __add__(self, other: Any) -> Vector:
        return self._by_component(other, np.add) if isinstance(other, Vector) else NotImplemented

    def __sub__(self, other: Any) -> Vector:
        return self._by_component(other, np.subtract) if isinstance(other, Vector) else NotImplemented

    def __mul__(self, other: Any) -> Vector:
        return NotImplemented if isinstance(other, Vector | Tensor) else self._by_component(other, np.multiply)

    __rmul__ = __mul__
    __array_ufunc__ = None  # with a number of NumPy on the left, our __rmul__ is called

    def __truediv__(self, other: Any) -> Vector:
        return NotImplemented if isinstance(other, Vector | Tensor) else self._by_component(other, np.divide)

    def __neg__(self) -> Vector:
        return Vector(*(-field for field in self))

    def __matmul__(self, other: Any) -> Field:
        """Scalar product."""
        return dot(self, other) if isinstance(other, Vector) else NotImplemented

    def cross(self, other: Vector) -> Vector:
        """Vector product."""
        (a, b, c), (d, e, f) = self, other
        return Vector(b * f - c * e, c * d - a * f, a * e - b * d)

    def norm(self) -> Field:
        """Length, sqrt(v . v)."""
        return np.sqrt(self @ self)  # type: ignore[return-value] # a Field in, a Field out

    def mean(self) -> NDArray[np.float64]:
        """Volume average of each component. Collective."""
        return np.array([field.mean() for field in self])


class Tensor:
    """Nine fields at the same points, `t[0, 1]` or `t["xy"]`; of a gradient t[i, j] = d u_i / d x_j."""

    def __init__(self, rows: list[list[Field]]) -> None:
        same_points(*(field for row in rows for field in row))
        self.rows = rows

    def __getitem__(self, key: tuple[int, int] | str) -> Field:
        """A component, by two numbers or by two letters, as "xy".

        :raises InputError: no component has this name.
        """
        if len(key) != 2:
            raise InputError(f"a component of a tensor has two indices, as t[0, 1] or t['xy'], not {key!r}")
        i, j = (_number(one) if isinstance(one, str) else one for one in key)
        return self.rows[i][j]

    @property
    def T(self) -> Tensor:  # noqa: N802 # as NumPy's
        """The transposed tensor."""
        return Tensor([[self[j, i] for j in range(3)] for i in range(3)])

    @property
    def trace(self) -> Field:
        """t_ii."""
        return self[0, 0] + self[1, 1] + self[2, 2]

    def _by_component(self, other: Any, work: Callable[[Any, Any], Field]) -> Tensor:
        pick = (lambda i, j: other[i, j]) if isinstance(other, Tensor) else (lambda i, j: other)
        return Tensor([[work(self[i, j], pick(i, j)) for j in range(3)] for i in range(3)])

    def __add__(self, other: Any) -> Tensor:
        return self._by_component(other, np.add) if isinstance(other, Tensor) else NotImplemented

    def __sub__(self, other: Any) -> Tensor:
        return self._by_component(other, np.subtract) if isinstance(other, Tensor) else NotImplemented

    def __mul__(self, other: Any) -> Tensor:
        return NotImplemented if isinstance(other, Vector | Tensor) else self._by_component(other, np.multiply)

    __rmul__ = __mul__
    __array_ufunc__ = None

    def __matmul__(self, other: Any) -> Vector:
        """t_ij v_j."""
        if not isinstance(other, Vector):
            return NotImplemented
        return Vector(*(dot(Vector(*row), other) for row in self.rows))

    def contract(self, other: Tensor) -> Field:
        """t_ij s_ij."""
        return sum_of_products([(self[i, j], other[i, j]) for i in range(3) for j in range(3)])

    def __repr__(self) -> str:
        return "<Tensor\n" + "\n".join(f"  {i}{j} {self[i, j]!r}" for i in range(3) for j in range(3)) + ">"


def _number(name: str) -> int:
    """The number of a direction."""
    if name not in ("x", "y", "z"):
        raise InputError(f"there is no component {name!r}; there are 'x', 'y' and 'z'")
    return "xyz".index(name)


def dot(a: Vector, b: Vector) -> Field:
    """a . b"""
    return sum_of_products(list(zip(a, b, strict=True)))


def sum_of_products(pairs: list[tuple[Field, Field]]) -> Field:
    """a b + c d + ..., in one pass over memory."""
    first = pairs[0][0]
    same_points(*(field for pair in pairs for field in pair))
    check_real(*(field for pair in pairs for field in pair))
    parity = sum_parity([product_parity(a.parity, b.parity) for a, b in pairs])
    ours = first.centred == NODES and all(f.dtype == first.operators.dtype for pair in pairs for f in pair)
    if not ours:
        values = sum(np.asarray(a) * np.asarray(b) for a, b in pairs)
        return first.like(values, parity=parity)
    out = first.operators.sum_of_products([(a.data, b.data) for a, b in pairs])
    return first.like(out, parity=parity)
