"""The result of a conversion, read back and compared with the source bit by bit. All is collective."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.io.placement import Box
from tailrace.io.values import Attribute
from tailrace.parallel import agree

from .pieces import part_of, pieces, read_box, read_converted
from .plan import Plan, Planned, PlannedStep

if TYPE_CHECKING:
    from mpi4py import MPI

_SAME_TIME = 1e-6  # relative difference of times in formats that round them


class Checking:
    """The comparison of a result with its source.

    :param source, result: series that are open to read, by all ranks.
    :param plan: what the result must have.
    :param is_series: the result is a series, which keeps index, time, numbers and attributes as they are; formats of
        other programs have their own rules for these.
    :param told: callback, called after each piece with the bytes that this rank has compared.
    """

    def __init__(
        self, source: Any, result: Any, plan: Plan, comm: MPI.Comm, *, is_series: bool, told: Callable[[int], None]
    ) -> None:
        self._source, self._result, self._plan = source, result, plan
        self._comm, self._is_series, self._told = comm, is_series, told

    def run(self) -> None:
        """Compare everything.

        :raises IoError: something differs; the message says what, where, and both values.
        """
        agree(self._comm, self._compare_metadata)
        for position, planned in enumerate(self._plan.steps):
            step, result = self._source[planned.position], self._result[position]
            agree(self._comm, lambda planned=planned, result=result: self._compare_step(planned, result))  # type: ignore[misc]
            for name, one in planned.variables.items():
                self._compare(name, one, step, result)

    def _compare_metadata(self) -> None:
        wanted, found = len(self._plan.steps), len(self._result)
        if wanted != found:
            raise IoError(f"the result has {found} steps, and the source {wanted} that were chosen")
        if not self._is_series:
            return
        there: Mapping[str, Attribute] = self._result.attributes
        for name, value in self._plan.attributes.items():
            if name not in there or not _same_value(there[name], value):
                raise IoError(f"the attribute {name} of the result is {there.get(name)!r} instead of {value!r}")

    def _compare_step(self, planned: PlannedStep, result: Any) -> None:
        where = f"step {planned.index}"
        if self._is_series:
            same = planned.index == result.index and _same_value(planned.time, result.time)
        else:
            same = math.isclose(planned.time, result.time, rel_tol=_SAME_TIME, abs_tol=1e-12)
        if not same:
            raise IoError(
                f"{where} has the time {planned.time!r} in the source, and in the result index {result.index} and time "
                f"{result.time!r}"
            )
        there = result.variables
        for name, one in planned.variables.items():
            if name not in there:
                raise IoError(f"{where}: the result has no {name}; it has {', '.join(there) or 'nothing'}")
            if there[name][:2] != one.target[:2]:
                raise IoError(
                    f"{where}: {name} is {there[name].dtype} {there[name].shape} in the result instead of "
                    f"{one.target.dtype} {one.target.shape}"
                )
        for name, value in planned.scalars.items() if self._is_series else ():
            if name not in result.scalars or not _same_value(result.scalars[name], value):
                found = result.scalars.get(name)
                raise IoError(f"{where}: {name} is {found!r} in the result instead of {value!r}")

    def _compare(self, name: str, planned: Planned, step: Any, result: Any) -> None:
        part = part_of(planned.target, self._comm.size, self._comm.rank)
        for box in pieces(planned, part, self._comm):
            wanted = agree(self._comm, lambda box=box: read_converted(step, name, planned, box))  # type: ignore[misc]
            found = agree(self._comm, lambda box=box: read_box(result, name, box))  # type: ignore[misc]
            agree(self._comm, lambda: _check_equal(wanted, found, f"step {step.index}: {name}", box))  # noqa: B023 # called at once
            self._told(wanted.nbytes)


def _check_equal(wanted: NDArray[Any], found: NDArray[Any], what: str, box: Box) -> None:
    first, second = (np.ascontiguousarray(one)[..., None].view(np.uint8) for one in (wanted, found))
    differ = (first != second).any(axis=-1)
    if differ.any():
        z, y, x = (int(one[0]) for one in differ.nonzero())
        place = tuple(start + one for start, one in zip(box.start, (x, y, z), strict=True))
        raise IoError(
            f"{what} differs in {int(differ.sum())} values, the first at (x, y, z) = {place}: the source has "
            f"{wanted[z, y, x]!r}, the result {found[z, y, x]!r}"
        )


def _same_value(one: Any, other: Any) -> bool:
    first, second = np.atleast_1d(one), np.atleast_1d(other)
    numbers = first.dtype.kind in "biuf" and second.dtype.kind in "biuf"
    return isinstance(one, str) == isinstance(other, str) and np.array_equal(first, second, equal_nan=numbers)
