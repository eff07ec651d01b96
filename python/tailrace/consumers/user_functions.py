"""Functions of a step that a user gives to pictures and pipelines: a failure on one rank is one on all ranks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace.analysis.calls import call_together
from tailrace.analysis.errors import AnalysisError
from tailrace.core import InputError

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.pictures.quantity import Function
    from tailrace.steps.step import Step


class UserFunctions:
    """Functions by their names, 'file.py:function', as `pictures.quantity` calls them. Collective.

    A function that fails on one rank raises an InputError on all. One that fails while the others wait for it in a
    collective call ends the program after `analysis.calls.PATIENCE` seconds, with a message.
    """

    def __init__(self, comm: MPI.Comm, functions: Mapping[str, Function]) -> None:
        self._comm = comm.Dup() if functions else None
        self.by_name = {name: self._together(name, function) for name, function in functions.items()}

    def _together(self, name: str, function: Function) -> Function:
        def called(step: Step) -> Any:
            assert self._comm is not None
            try:
                return call_together(
                    self._comm,
                    lambda: function(step),
                    label=name,
                    path=Path(name.rpartition(":")[0]),
                    where=f"at step {step.index}, t = {step.time:.4g}",
                    sign=lambda found: [type(found).__name__],
                )
            except AnalysisError as error:
                raise InputError(str(error)) from error

        return called

    def close(self) -> None:
        """Free what the calls need. Collective; closing twice does nothing."""
        comm, self._comm = self._comm, None
        if comm is not None:
            comm.Free()
