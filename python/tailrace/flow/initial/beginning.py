"""The first state of a flow: the velocity and the scalars that a case or a program gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.fields.vector import Vector
from tailrace.parallel import agree
from tailrace.steps.step import Step
from tailrace.text import named

from . import from_series, ready
from .values import coordinates, evaluate, scalar_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.case.case import Case
    from tailrace.case.scripts import Velocity
    from tailrace.case.sections.scalar_section import ScalarSection
    from tailrace.core import Flow32, Flow64, Grid

    InitialFlow = Velocity | Sequence[NDArray[Any]] | Vector | Step

_FEW = 8  # nodes in each direction, of the part on which a function is tried again


class Beginning:
    """Sets the first state in a solver. All methods are collective.

    What they raise: InputError, where a flow or a scalar fails, has another shape, or is not finite.
    """

    def __init__(self, case: Case, flow: Flow32 | Flow64, grid: Grid, comm: MPI.Comm) -> None:
        self._case, self._flow, self._grid, self._comm = case, flow, grid, comm
        self._functions: list[tuple[str, Callable[..., Any], list[NDArray[Any]]]] = []  # with what they gave
        self._not_taken: list[str] = []  # scalars that the series of `case.from` has

    def set(self, given: InitialFlow | None) -> list[str]:
        """The velocity, by default that of the case, and the scalars.

        :returns: a line for each function whose values depend on how the ranks share the grid, and for each scalar that
            the series of `case.from` has: it begins as the case says.
        """
        self._set_velocity(given)
        for number, section in enumerate(self._case.scalar):
            self._set_scalar(number, section)
        # When all are set: generators of random numbers go on with each call.
        lines = [line for each in self._functions for line in self._try_part(*each)]
        lines += [
            f"case.from: the series has '{name}' too, which is not taken: the scalar begins with its initial"
            for name in self._not_taken
        ]
        self._functions.clear()
        return lines

    def _set_velocity(self, given: InitialFlow | None) -> None:
        told = self._case.case
        if given is not None:
            name = f"flow '{named(given)[0]}'" if callable(given) else "flow"
        elif told.from_ is not None:
            path = self._case.directory / told.from_
            with from_series.opened(path, told.from_step, told.from_time, self._comm) as step:
                self.fill(step, f"{path}, step {step.index},")
                self._not_taken = [scalar.name for scalar in self._case.scalar if scalar.name in step.names]
            return
        else:
            own = agree(self._comm, self._case.initial_velocity)
            given, name = own or ready.ready_made(self._case, self._grid), str(told.flow)
        self.fill(given, name)
        if callable(given):
            self._functions.append((name, given, self._components()))

    def _set_scalar(self, number: int, section: ScalarSection) -> None:
        key, values = f"scalar[{number}].initial", self._flow.scalar(number)
        work = agree(self._comm, lambda: ready.scalar(section, key, self._case, self._grid))
        if not callable(work):
            values[...] = work
            return
        name = f"{section.initial} ({key})"
        values[...] = agree(self._comm, lambda: scalar_values(work, self._grid, self._flow.box, name))
        self._functions.append((name, work, [values]))

    def fill(self, given: InitialFlow, name: str) -> None:
        """Set the velocity.

        :param name: of the flow, for messages.
        """
        grid, box = self._grid, self._flow.box
        if isinstance(given, Step | Vector):
            given = from_series.components(given, grid, box, name, self._comm)
        # Without the projection the first stage takes away what goes through a free-slip boundary.
        values = evaluate(given, grid, box, name, self._comm, self._case.case.project)
        ours = self._components()
        # A component that is itself a part of the velocity would change while the others are set.
        safe = [one.copy() if any(np.may_share_memory(one, each) for each in ours) else one for one in values]
        for component, value in zip(ours, safe, strict=True):
            component[...] = value

    def _components(self) -> list[NDArray[Any]]:
        return [self._flow.velocity(i) for i in range(3)]

    def _try_part(self, name: str, work: Callable[..., Any], values: list[NDArray[Any]]) -> Iterator[str]:
        """A line if the function gives a part of the nodes other values than it gave them among all of a rank."""
        from mpi4py import MPI

        if self._comm.allreduce(self._differs(work, values), op=MPI.LOR):
            yield (
                f"{name} gives a node another value where it is asked for a part of the grid: the flow depends on the "
                "number of ranks. It may draw random numbers for the nodes that it gets (tr.noise gives the same ones "
                "on any number of ranks), or take a mean or a largest value of them"
            )

    def _differs(self, work: Callable[..., Any], values: list[NDArray[Any]]) -> bool:
        start, count = self._flow.box
        few = [max(min(n // 2, _FEW), min(n, 1)) for n in count]
        part = ([s + n - f for s, n, f in zip(start, count, few, strict=True)], few)
        given = [one[tuple(slice(n - f, n) for n, f in zip(count[::-1], few[::-1], strict=True))] for one in values]
        if tuple(few) == tuple(count) or 0 in count:
            return False
        try:
            found = work(*coordinates(self._grid, part))
            again = [np.broadcast_to(one, given[0].shape) for one in (found if len(given) > 1 else [found])]
        except (Exception, SystemExit):  # it can do it for a rank's whole part only
            return True
        close = 1e-4 if given[0].dtype == np.float32 else 1e-10  # functions may round by the place in an array
        largest = max(float(np.abs(one).max(initial=0)) for one in given)
        return not all(np.allclose(a, b, close, close * largest) for a, b in zip(again, given, strict=True))
