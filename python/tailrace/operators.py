"""The solver's own operators on distributed fields, for Python.

    ops = tr.Operators((128, 128, 128), (2 * pi,) * 3, ("periodic",) * 3)
    dudx = ops.ddx(u)

Arrays are this rank's part of a field, (nz, ny, nx), as the solver has it: x whole, y and z shared. All operators are
collective. `parity` matters for free-slip boundaries only: "even" for what is mirrored there (scalars, velocities along
the wall), "odd" for what changes sign (velocity through the wall).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpi4py import MPI
    from numpy.typing import NDArray

    Parity = Literal["even", "odd"]

_NODES = (False, False, False)
_SIGN = {"even": 1, "odd": -1}


class Operators:
    """Sixth-order compact operators (Lele 1992) on one grid. Collective.

    :param nodes: nodes in x, y, z.
    :param lengths: of the box.
    :param boundaries: "periodic", "free-slip" or "dirichlet" per direction.
    :param comm: the ranks; this one alone (COMM_SELF) by default.
    :param rows, cols: the process grid; 0 for slabs.
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
        interpolation: str = "aggressive",
        dtype: Any = np.float64,
    ) -> None:
        if comm is None:
            from mpi4py import MPI

            comm = MPI.COMM_SELF
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float64, np.float32):
            raise _core.InputError(f"operators work in float64 or float32, not {self.dtype}")
        make = _core.Operators64 if self.dtype == np.float64 else _core.Operators32
        self.grid = _core.Grid(nodes, lengths, boundaries)
        self._core = make(self.grid, _core.ProcessGrid(comm.py2f(), rows, cols), "alltoall", interpolation)

    def box(self) -> tuple[Any, Any]:
        """(start, count) in x, y, z of this rank's part of the nodes."""
        return self._core.box(_NODES)

    def ddx(self, values: NDArray[Any], parity: Parity = "even") -> NDArray[Any]:
        """First derivative along x.

        f'[i-1]/3 + f'[i] + f'[i+1]/3 = 14/9 (f[i+1] - f[i-1]) / 2h + 1/9 (f[i+2] - f[i-2]) / 4h
        """
        return self._apply(_core.Operation.first_derivative, 0, values, parity)

    def ddy(self, values: NDArray[Any], parity: Parity = "even") -> NDArray[Any]:
        """First derivative along y; the formula of `ddx`."""
        return self._apply(_core.Operation.first_derivative, 1, values, parity)

    def ddz(self, values: NDArray[Any], parity: Parity = "even") -> NDArray[Any]:
        """First derivative along z; the formula of `ddx`."""
        return self._apply(_core.Operation.first_derivative, 2, values, parity)

    def second(self, values: NDArray[Any], direction: int, parity: Parity = "even") -> NDArray[Any]:
        """Second derivative along a direction (0, 1, 2).

        2/11 f''[i-1] + f''[i] + 2/11 f''[i+1]
            = 12/11 (f[i+1] - 2 f[i] + f[i-1]) / h^2 + 3/11 (f[i+2] - 2 f[i] + f[i-2]) / 4h^2
        """
        return self._apply(_core.Operation.second_derivative, direction, values, parity)

    def staggered(
        self,
        values: NDArray[Any],
        direction: int,
        what: Literal["derivative", "interpolate"],
        to: Literal["centre", "node"],
        *,
        parity: Parity = "even",
        centred: tuple[bool, bool, bool] = _NODES,
    ) -> NDArray[Any]:
        """Derivative or interpolation between nodes and cell centres along one direction.

        :param centred: per direction, whether `values` are on the cell centres.
        """
        operation = getattr(_core.Operation, f"{what}_to_{to}")
        return self._apply(operation, direction, values, parity, centred)

    def _apply(
        self,
        operation: _core.Operation,
        direction: int,
        values: NDArray[Any],
        parity: Parity,
        centred: tuple[bool, bool, bool] = _NODES,
    ) -> NDArray[Any]:
        array = np.ascontiguousarray(values, dtype=self.dtype)
        return self._core.apply(operation, direction, _SIGN[parity], centred, array)
