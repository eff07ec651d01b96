"""Derivatives of distributed fields by the solver's own sixth-order compact schemes. All collective.

Names and signs are those of textbooks: grad(u)[i, j] = d u_i / d x_j, S = (grad u + grad u^T) / 2,
W = (grad u - grad u^T) / 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

from tailrace.core import InputError

from .field import Field, check_real, known_parity, same_points
from .operators import Term
from .parity import Signs, product_parity, sum_parity
from .points import check_place, direction_of
from .vector import Tensor, Vector

Axis = Literal["x", "y", "z"]


def ddx(f: Field) -> Field:
    """df/dx: f'[i-1]/3 + f'[i] + f'[i+1]/3 = 14/9 (f[i+1] - f[i-1]) / 2h + 1/9 (f[i+2] - f[i-2]) / 4h.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: np.sin(x))
    >>> x, y, z = f.coordinates()
    >>> np.allclose(tr.ddx(f), np.cos(x), atol=1e-5)
    True
    """
    return derivative(f, "x")


def ddy(f: Field) -> Field:
    """df/dy, by the scheme of `ddx`."""
    return derivative(f, "y")


def ddz(f: Field) -> Field:
    """df/dz, by the scheme of `ddx`."""
    return derivative(f, "z")


def derivative(f: Field, axis: Axis, order: Literal[1, 2] = 1) -> Field:
    """First or second derivative along a direction.

    Second: 2/11 f''[i-1] + f''[i] + 2/11 f''[i+1]
    = 12/11 (f[i+1] - 2 f[i] + f[i-1]) / h^2 + 3/11 (f[i+2] - 2 f[i] + f[i-2]) / 4h^2.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: np.sin(x))
    >>> np.allclose(tr.derivative(f, "x", 2), -f, atol=1e-5)
    True
    """
    return _combine([Term(0, 0, direction_of(axis), order)], [f])[0]


@overload
def grad(f: Field) -> Vector: ...
@overload
def grad(f: Vector) -> Tensor: ...
@overload
def grad(f: Sequence[Field]) -> list[Vector]: ...
def grad(f: Field | Vector | Sequence[Field]) -> Vector | Tensor | list[Vector]:
    """Gradient: (df/dx, df/dy, df/dz) of a field, t[i, j] = d v_i / d x_j of a vector.

    Several fields can be given as a sequence; their gradients need no more communication steps than one gradient.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: np.sin(x))
    >>> x, y, z = f.coordinates()
    >>> g = tr.grad(f)
    >>> np.allclose(g.x, np.cos(x), atol=1e-5), np.allclose(g.y, 0)
    (True, True)
    """
    if isinstance(f, Field):
        return Vector(*_combine([Term(0, d, d) for d in range(3)], [f]))
    if not isinstance(f, Vector):
        fields = list(f)
        found = _combine([Term(i, 3 * i + d, d) for i in range(len(fields)) for d in range(3)], fields)
        return [Vector(*found[3 * i : 3 * i + 3]) for i in range(len(fields))]
    nine = _combine([Term(i, 3 * i + d, d) for i in range(3) for d in range(3)], list(f))
    return Tensor([nine[0:3], nine[3:6], nine[6:9]])


def div(v: Vector) -> Field:
    """Divergence, dv_x/dx + dv_y/dy + dv_z/dz, on the nodes.

    The solver makes the divergence on the cell centres zero. On the nodes it is zero up to the order of the schemes.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> v = tr.Vector.from_function(ops, lambda x, y, z: (np.sin(x), 1.0, np.cos(x)))
    >>> np.allclose(tr.div(v), v.z, atol=1e-5)  # d sin(x) / dx
    True
    """
    return _combine([Term(d, 0, d) for d in range(3)], list(v))[0]


def curl(v: Vector) -> Vector:
    """Curl: (dv_z/dy - dv_y/dz, dv_x/dz - dv_z/dx, dv_y/dx - dv_x/dy).

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> v = tr.Vector.from_function(ops, lambda x, y, z: (0.0, np.sin(x), np.cos(x)))
    >>> w = tr.curl(v)  # (0, sin(x), cos(x)): the curl of this velocity is the velocity itself
    >>> [np.allclose(w[axis], v[axis], atol=1e-5) for axis in "xyz"]
    [True, True, True]
    """
    terms = []
    for d in range(3):
        a, b = (d + 1) % 3, (d + 2) % 3
        terms += [Term(b, d, a), Term(a, d, b, factor=-1.0)]
    return Vector(*_combine(terms, list(v)))


def scalar_curl(v: Vector) -> Field:
    """The curl of a vector of two dimensions: its component normal to the plane, dv_y/dx - dv_x/dy in x and y.

    :raises InputError: the grid has several points in all directions, or in one only.

    >>> ops = tr.Operators((16, 24, 1), (2 * np.pi, 2 * np.pi, 1.0), ("periodic",) * 3)
    >>> vortices = tr.Vector.from_function(ops, lambda x, y, z: (-np.sin(y), np.sin(x), 0.0))
    >>> x, y, z = vortices.x.coordinates()
    >>> np.allclose(tr.scalar_curl(vortices), np.cos(x) + np.cos(y), atol=1e-4)
    True
    """
    flat = v.operators.flat
    if len(flat) != 1:
        raise InputError(
            f"a scalar curl is of a plane; the grid has {' x '.join(map(str, v.operators.shape()))} points in x, y, z, "
            "and one direction must have one point. tr.curl(v) has three components"
        )
    d = direction_of(flat)
    a, b = (d + 1) % 3, (d + 2) % 3
    return _combine([Term(b, 0, a), Term(a, 0, b, factor=-1.0)], list(v))[0]


@overload
def laplacian(f: Field) -> Field: ...
@overload
def laplacian(f: Vector) -> Vector: ...
def laplacian(f: Field | Vector) -> Field | Vector:
    """Sum of the second derivatives in x, y and z, of a field or of each component of a vector.

    >>> ops = tr.Operators((16, 24, 8), (2 * np.pi, 2 * np.pi, 1.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: np.sin(x) * np.cos(y))
    >>> np.allclose(tr.laplacian(f), -2 * f, atol=1e-5)
    True
    """
    if isinstance(f, Field):
        return _combine([Term(0, 0, d, 2) for d in range(3)], [f])[0]
    return Vector(*_combine([Term(i, i, d, 2) for i in range(3) for d in range(3)], list(f)))


def strain(v: Vector) -> Tensor:
    """Rate of strain, S_ij = (d v_i / d x_j + d v_j / d x_i) / 2.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> shear = tr.Vector.from_function(ops, lambda x, y, z: (0.0, np.sin(x), 0.0))
    >>> x, y, z = shear.y.coordinates()
    >>> s = tr.strain(shear)
    >>> np.allclose(s["xy"], np.cos(x) / 2, atol=1e-5), np.allclose(s["xy"], s["yx"])
    (True, True)
    """
    g = grad(v)
    return (g + g.T) * 0.5


def rotation(v: Vector) -> Tensor:
    """Rate of rotation, W_ij = (d v_i / d x_j - d v_j / d x_i) / 2.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> shear = tr.Vector.from_function(ops, lambda x, y, z: (0.0, np.sin(x), 0.0))
    >>> x, y, z = shear.y.coordinates()
    >>> w = tr.rotation(shear)
    >>> np.allclose(w["yx"], np.cos(x) / 2, atol=1e-5), np.allclose(w["xy"], -w["yx"])
    (True, True)
    """
    g = grad(v)
    return (g - g.T) * 0.5


def interpolate(f: Field, axis: Axis, to: Literal["centre", "node"]) -> Field:
    """Values between the points along a direction, by the sixth-order interpolation of the solver.

    a (g[i-1] + g[i+1]) + g[i] = b/2 (f[i+1/2] + f[i-1/2]) + c/2 (f[i+3/2] + f[i-3/2]) + d/2 (...). The parameter
    `interpolation` of the operators chooses a (Nagarajan, Lele and Ferziger 2003).

    :param to: "centre", from the nodes to the cell centres, or "node", back.
    :raises InputError: `axis` or `to` is another word, or the values are there already.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: np.sin(x))
    >>> at_centres = tr.interpolate(f, "x", "centre")
    >>> x, y, z = at_centres.coordinates()  # x is half a cell further on
    >>> np.allclose(at_centres, np.sin(x), atol=1e-4)
    True
    """
    direction = direction_of(axis)
    check_place(to)
    check_real(f)
    sign = known_parity(f, direction)
    data = f.operators.staggered(
        f.data, direction, "interpolate", to, parity="odd" if sign < 0 else "even", centred=f.centred
    )
    centred = tuple(to == "centre" if d == direction else there for d, there in enumerate(f.centred))
    return Field(data, f.operators, parity=f.parity, centred=centred, name=f.name)  # type: ignore[arg-type] # three


def _combine(terms: Sequence[Term], fields: list[Field]) -> list[Field]:
    same_points(*fields)
    check_real(*fields)
    operators = fields[0].operators
    if any(fields[0].centred):
        raise InputError("derivatives take fields on the nodes; tr.interpolate(f, axis, 'node') moves a field there")
    parities: list[Any] = [f.parity for f in fields]
    for term in terms:
        known_parity(fields[term.input], term.direction)
    arrays = operators.combine(terms, [f.data for f in fields], parities)
    found: list[Field] = []
    for output, array in enumerate(arrays):
        signs = [_parity_of_term(term, parities[term.input]) for term in terms if term.output == output]
        found.append(Field(array, operators, parity=sum_parity(signs)))
    return found


def _parity_of_term(term: Term, parity: Signs) -> Signs:
    """A first derivative makes odd of even, and even of odd, in its direction."""
    if term.order == 2:
        return parity
    turned: Signs = tuple(-1 if d == term.direction else 1 for d in range(3))  # type: ignore[assignment] # three
    return product_parity(parity, turned)
