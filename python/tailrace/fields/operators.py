"""A grid shared by ranks, and the schemes of the solver on it.

    ops = tr.Operators((128, 128, 128), (2 * pi,) * 3, ("periodic",) * 3)
    f = tr.Field.from_function(ops, lambda x, y, z: np.sin(x) * np.cos(y))
    tr.ddx(f)

The methods take and return arrays: this rank's parts of fields, (nz, ny, nx), as the solver has them, x whole, y and z
shared. `parity` matters for free-slip boundaries only: "even" for what is mirrored there (scalars, velocities along the
wall), "odd" for what changes sign (velocity through the wall). A `tr.Field` has its own parity.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from tailrace.core import (
    Grid,
    InputError,
    Operation,
    Operators32,
    Operators64,
    ProcessGrid,
    can_share_memory,
    weighted_sum,
)

from .points import NODES, check_place

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

    from .parity import Signs
    from .points import Centred

    Parity = Literal["even", "odd"]

_SIGN = {"even": 1, "odd": -1}


class Term(NamedTuple):
    """factor * (derivative of order 1 or 2 of input number `input`) adds to output number `output`."""

    input: int
    output: int
    direction: int
    order: int = 1
    factor: float = 1.0


class Operators:
    """Sixth-order compact operators (Lele 1992) on one grid. Collective.

    :param nodes: nodes in x, y, z; one in a periodic direction along which nothing changes, else 8 at least.
    :param lengths: lengths of the box in x, y, z.
    :param boundaries: "periodic", "free-slip" or "dirichlet" per direction; if its two ends differ "lower|upper", as
        "dirichlet|free-slip".
    :param stretching: where nodes in y are close together: "centre", "walls", "bottom"; or "" for equal spacing.
    :param beta: parameter of the stretching, positive. A smaller beta brings nodes closer together (Laizet and
        Lamballais 2009, section 4.2).
    :param comm: the ranks; this one alone (COMM_SELF) by default.
    :param rows, cols: the process grid; 0 for slabs, of z, or of y where z has one point.
    :param processes: an existing process grid, instead of `rows` and `cols`.
    :param transpose: how data move between ranks. "auto" is "shared" if all ranks can reach each other's memory, else
        "alltoall".
    :param interpolation: the scheme between nodes and cell centres: "classic", "optimised" or "aggressive".
    :param dtype: float64 or float32, in which the schemes compute.
    :raises InputError: the grid, the process grid or the type is not possible.

    >>> ops = tr.Operators((16, 13, 8), (2 * np.pi, 2.0, 1.0), ("periodic", "dirichlet", "periodic"))
    >>> ops.shape(), ops.local_shape()  # on one rank
    ((16, 13, 8), (8, 13, 16))
    >>> round(ops.volume / np.pi, 6)
    4.0
    """

    def __init__(
        self,
        nodes: Sequence[int],
        lengths: Sequence[float],
        boundaries: Sequence[str],
        *,
        comm: MPI.Comm | None = None,
        rows: int = 0,
        cols: int = 0,
        processes: ProcessGrid | None = None,
        transpose: Literal["auto", "shared", "alltoall", "subarray"] = "auto",
        interpolation: str = "aggressive",
        dtype: Any = np.float64,
        stretching: str = "",
        beta: float = 0.0,
    ) -> None:
        if comm is None:
            from mpi4py import MPI

            comm = MPI.COMM_SELF
        self.comm = comm
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float64, np.float32):
            raise InputError(f"operators work in float64 or float32, not {self.dtype}")
        make = Operators64 if self.dtype == np.float64 else Operators32
        self.grid = Grid(nodes, lengths, boundaries, stretching, beta)
        if self.flat.endswith("z") and not rows and not cols:
            rows = comm.size
        self.processes = processes or ProcessGrid(comm.py2f(), rows, cols)
        self._made_with: dict[str, Any] = {"transpose": transpose, "interpolation": interpolation}
        if transpose == "auto":
            transpose = "shared" if can_share_memory(comm.py2f()) else "alltoall"
        self.core = make(self.grid, self.processes, transpose, interpolation)
        self._weights_of: dict[Centred, list[list[float]]] = {}
        self.used = False  # whether a derivative or an interpolation was taken; who asks may set it back

    def __reduce__(self) -> tuple[Any, ...]:
        """What pickle needs to make the same in another process.

        :raises InputError: several ranks share the grid.
        """
        if self.comm.size > 1:
            raise InputError(
                f"the field or grid is shared by {self.comm.size} ranks, whose communicator no other process has, so "
                "it cannot be pickled; give the other process this rank's array, numpy.asarray(field)"
            )
        law = {"stretching": self.grid.stretching, "beta": self.grid.beta, "dtype": self.dtype}
        where = tuple(self.grid.nodes), tuple(self.grid.lengths), tuple(self.grid.boundaries)
        return partial(Operators, **self._made_with, **law), where

    # ---- the grid and this rank's part of it -------------------------------------------------------------------------
    def shape(self, centred: Centred = NODES) -> tuple[int, int, int]:
        """Points of the whole grid in x, y, z. Local."""
        x, y, z = self.core.shape(centred)
        return x, y, z

    @property
    def flat(self) -> str:
        """The directions of one point, along which nothing changes: "z" of a flow in x and y, "" in three. Local."""
        return "".join(axis for axis, count in zip("xyz", self.grid.nodes, strict=True) if count == 1)

    def box(self, centred: Centred = NODES) -> tuple[Any, Any]:
        """(start, count) in x, y, z of this rank's part. Local."""
        return self.core.box(centred)

    def local_shape(self, centred: Centred = NODES) -> tuple[int, int, int]:
        """Shape of this rank's arrays, (nz, ny, nx). Local."""
        x, y, z = self.box(centred)[1]
        return z, y, x

    def coordinates(self, centred: Centred = NODES) -> tuple[NDArray[np.float64], ...]:
        """x, y, z of this rank's points, each one-dimensional. Local.

        Where y is stretched, the centres are halfway in the uniform coordinate, not in y.
        """
        start, count = self.box(centred)
        return tuple(np.array(self.grid.coordinates(d, centred[d]))[start[d] : start[d] + count[d]] for d in range(3))

    @property
    def volume(self) -> float:
        """Volume of the box. Local."""
        return float(np.prod(self.grid.lengths))

    def weights(self, direction: int, centred: Centred = NODES) -> NDArray[np.float64]:
        """Weights of the trapezoidal rule for this rank's points along a direction (0, 1, 2), as lengths. Local.

        Where y is stretched, a node has half the distance of its neighbours, a centre that of the nodes around it.
        """
        start, count = (three[direction] for three in self.box(centred))
        weights = np.array(self.grid.weights(direction, centred[direction]))
        return weights[start : start + count] * self.grid.spacing(direction)

    def same_points(self, other: Operators) -> bool:
        """Whether arrays of both are parts of the same grid on the same decomposition. Local."""
        mine, theirs = self.grid, other.grid
        return (
            tuple(mine.nodes) == tuple(theirs.nodes)
            and tuple(mine.lengths) == tuple(theirs.lengths)
            and tuple(mine.boundaries) == tuple(theirs.boundaries)
            and (mine.stretching, mine.beta) == (theirs.stretching, theirs.beta)
            and self.box() == other.box()
            and self.comm.size == other.comm.size
        )

    # ---- memory ------------------------------------------------------------------------------------------------------
    def empty(self, centred: Centred = NODES) -> NDArray[Any]:
        """An array of unknown values for this rank's part; its memory, on the nodes, is reused later. Local."""
        return self.core.empty() if centred == NODES else np.empty(self.local_shape(centred), self.dtype)

    def register_shared(self, values: NDArray[Any]) -> None:
        """Tell that an array lies in memory that all ranks can reach, so that schemes read it there without a copy.

        Local, but every rank tells of its parts of the same fields in the same order. The array must live as long as
        these operators.
        """
        self.core.register_shared(values)

    # ---- reductions and derivatives ----------------------------------------------------------------------------------
    def integral(self, values: NDArray[Any], centred: Centred = NODES) -> float:
        """Integral over the box by the trapezoidal rule, the same to the last bit on any ranks. Collective."""
        array = np.ascontiguousarray(values, values.dtype if values.dtype == np.float32 else np.float64)
        return weighted_sum(self.processes, self._weights(centred), array)

    def integral_of_products(self, pairs: list[tuple[NDArray[Any], NDArray[Any]]], centred: Centred = NODES) -> float:
        """Integral of a b + c d + ..., without storing the sum. Collective."""
        return weighted_sum(self.processes, self._weights(centred), pairs)

    def _weights(self, centred: Centred) -> list[list[float]]:
        if centred not in self._weights_of:
            self._weights_of[centred] = [self.weights(d, centred).tolist() for d in range(3)]
        return self._weights_of[centred]

    def sum_of_products(self, pairs: list[tuple[NDArray[Any], NDArray[Any]]]) -> NDArray[Any]:
        """a b + c d + ... point by point, of at most 9 pairs on the nodes. Local."""
        return self.core.sum_of_products(pairs)

    def combine(
        self, terms: Sequence[Term], inputs: Sequence[NDArray[Any]], parities: Sequence[Signs]
    ) -> list[NDArray[Any]]:
        """Sums of derivatives, as curl, divergence and Laplacian, several together. Collective.

        :param inputs: this rank's parts of fields on the nodes, with their `parities`.
        :returns: one array for each output that the terms name.
        """
        self.used = True
        told = [
            (
                term.input,
                term.output,
                term.direction,
                Operation.first_derivative if term.order == 1 else Operation.second_derivative,
                parities[term.input][term.direction],
                term.factor,
            )
            for term in terms
        ]
        arrays = [np.ascontiguousarray(array, self.dtype) for array in inputs]
        return self.core.combine(told, arrays, 1 + max(term.output for term in terms))

    def ddx(self, values: NDArray[Any], parity: Parity = "even") -> NDArray[Any]:
        """First derivative along x. Collective.

        f'[i-1]/3 + f'[i] + f'[i+1]/3 = 14/9 (f[i+1] - f[i-1]) / 2h + 1/9 (f[i+2] - f[i-2]) / 4h
        """
        return self._apply(Operation.first_derivative, 0, values, parity)

    def ddy(self, values: NDArray[Any], parity: Parity = "even") -> NDArray[Any]:
        """First derivative along y, by the formula of `ddx`; where y is stretched, times dY/dy. Collective."""
        return self._apply(Operation.first_derivative, 1, values, parity)

    def ddz(self, values: NDArray[Any], parity: Parity = "even") -> NDArray[Any]:
        """First derivative along z, by the formula of `ddx`. Collective."""
        return self._apply(Operation.first_derivative, 2, values, parity)

    def second(self, values: NDArray[Any], direction: int, parity: Parity = "even") -> NDArray[Any]:
        """Second derivative along a direction (0, 1, 2). Collective.

        2/11 f''[i-1] + f''[i] + 2/11 f''[i+1]
            = 12/11 (f[i+1] - 2 f[i] + f[i-1]) / h^2 + 3/11 (f[i+2] - 2 f[i] + f[i-2]) / 4h^2

        Where y is stretched, d2f/dy2 = (dY/dy)^2 f'' + d2Y/dy2 f', with both derivatives along the uniform coordinate.
        """
        return self._apply(Operation.second_derivative, direction, values, parity)

    def staggered(
        self,
        values: NDArray[Any],
        direction: int,
        what: Literal["derivative", "interpolate"],
        to: Literal["centre", "node"],
        *,
        parity: Parity = "even",
        centred: Centred = NODES,
    ) -> NDArray[Any]:
        """First derivative or interpolation between nodes and cell centres along one direction. Collective.

        :param values: this rank's part, (nz, ny, nx).
        :param direction: 0, 1, 2 for x, y, z.
        :param parity: of the values about free-slip boundaries in this direction.
        :param centred: per direction, whether `values` are on the cell centres.
        """
        check_place(to)
        operation = getattr(Operation, f"{what}_to_{to}")
        return self._apply(operation, direction, values, parity, centred)

    def _apply(
        self,
        operation: Operation,
        direction: int,
        values: NDArray[Any],
        parity: Parity,
        centred: Centred = NODES,
    ) -> NDArray[Any]:
        self.used = True
        array = np.ascontiguousarray(values, dtype=self.dtype)
        return self.core.apply(operation, direction, _SIGN[parity], centred, array)
