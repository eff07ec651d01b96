"""The present state of a model as a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tailrace.io.names import FIELDS
from tailrace.steps.step import Step

if TYPE_CHECKING:
    from tailrace.fields.operators import Operators
    from tailrace.io.placement import Block

    from .model import Model


class ModelStep(Step):
    """The state as it is now: fields share the memory of the solver, and are valid until its next step.

    :param operators: makes the schemes when they are first needed: outputs need none.
    """

    def __init__(self, model: Model, operators: Callable[[], Operators]) -> None:
        self._model, self._make, self._blocks = model, operators, model.fields()
        self._names = [*FIELDS, *(scalar.name for scalar in model.case.scalar)]
        self._scalars, self._missed = {}, []
        self._attributes = {**model.about, "dt": model.dt}
        self._read = lambda name: self._blocks(name).data
        self._begin(model.step, model.time)

    @property
    def operators(self) -> Operators:
        """The grid, how the ranks share it, and the schemes on it."""
        return self._make()

    def block(self, name: str) -> Block:
        """This rank's part of a field as the solver has it. Collective for derived fields.

        :raises InputError: there is no such field.
        """
        return self._blocks(name)
