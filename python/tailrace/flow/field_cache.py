"""The fields of the present state of a flow, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailrace.io.names import COMPONENTS
from tailrace.io.placement import Block

if TYPE_CHECKING:
    from numpy.typing import NDArray


class FieldCache:
    """Each derived field is computed once, however often it is asked for.

    :param scalars: names of the scalars, in their order in the solver.
    """

    def __init__(self, flow: Any, shape: tuple[int, int, int], scalars: tuple[str, ...] = ()) -> None:
        self._flow, self._shape, self._scalars = flow, shape, scalars
        self._made: dict[str, NDArray[Any]] = {}

    def __call__(self, name: str) -> Block:
        """The field as this rank's block of the whole. Collective for derived fields.

        :raises InputError: there is no such field.
        """
        if name in COMPONENTS:
            values = self._flow.velocity(COMPONENTS.index(name))
        elif name in self._scalars:
            values = self._flow.scalar(self._scalars.index(name))
        else:
            if name not in self._made:
                self._made[name] = self._flow.derive(name)
            values = self._made[name]
        return Block(values, self._shape, tuple(self._flow.box[0]))
