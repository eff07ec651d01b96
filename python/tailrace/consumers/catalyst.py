"""Pipelines of ParaView as consumers of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.case.sections.catalyst_section import VELOCITY
from tailrace.catalyst.executions import Executions
from tailrace.catalyst.packages import CatalystError
from tailrace.catalyst.pipeline import Pipeline
from tailrace.catalyst.vtk_part import VtkPart
from tailrace.core import Error, InputError
from tailrace.io.names import COMPONENTS
from tailrace.parallel import on_root
from tailrace.pictures.quantity import Function, quantity

from .consumer import Consumer
from .user_functions import UserFunctions

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.case.schedule import Schedule
    from tailrace.case.sections.catalyst_section import CatalystSection
    from tailrace.fields.field import Field
    from tailrace.fields.vector import Vector
    from tailrace.steps.step import Step

    from .opening import Opening


class Catalyst(Consumer):
    """Executes a pipeline for the steps that are due and that its triggers want. Collective.

    What fails costs a step, and a line tells it; the run goes on. `left_out`: how many steps.

    :param directory: the script is relative to it.
    :param scalars: the names of fields that steps have beside those of every flow.
    :param say: prints a line on rank 0.
    :param functions: those that `fields` names, by 'file.py:function'.
    :param resumed: continue after this step; None: it starts from the beginning.
    :raises InputError, IoError: its record cannot be opened.
    """

    def __init__(
        self,
        section: CatalystSection,
        comm: MPI.Comm,
        say: Callable[[str], None],
        schedule: Schedule,
        *,
        directory: Path,
        scalars: Sequence[str],
        functions: Mapping[str, Function],
        resumed: int | None,
    ) -> None:
        super().__init__(f"catalyst {section.name}", schedule)
        self._section, self._comm, self._say = section, comm, say
        self._fields, self._functions = section.wanted(directory, scalars), UserFunctions(comm, functions)
        self._off = ""  # why it is executed no more
        self.left_out, self._executed = 0, 0
        self._pipeline: Pipeline | None = None
        self._record: Executions | None = None
        self._last = on_root(comm, lambda: self._open(resumed))
        for name in section.unknown(directory, scalars):
            say(
                f"warning: catalyst '{section.name}': {section.script} uses the array '{name}', which it does not get; "
                "fields = [...] of the block gives it what it needs"
            )
        script = (directory / section.script).resolve()
        try:
            source, out = section.told(directory).source, section.directory.resolve()
            self._pipeline = Pipeline(comm, script, source, section.parameters, out)
        except CatalystError as error:
            self._switch_off(str(error))

    def _open(self, resumed: int | None) -> int | None:
        """Open the record on rank 0; returns the last step that was executed."""
        self._record = Executions(self._section.record_path, self._section.directory, resumed)
        return self._record.last

    def _switch_off(self, reason: str) -> None:
        self._off = reason
        self._say(f"warning: catalyst '{self._section.name}' is switched off: {reason}")

    def take(self, step: Step) -> None:
        """Execute the pipeline for a step, if it wants it and the record does not have it."""
        pipeline = self._pipeline
        if self._off or pipeline is None or (self._last is not None and step.index <= self._last):
            return
        if not pipeline.wants(step.index, step.time):
            return
        try:
            arrays = {name: self._array(step, name) for name in self._fields}
            if set(COMPONENTS) <= set(arrays):
                arrays[VELOCITY] = step.vector("u")
            due = pipeline.execute(step.index, step.time, VtkPart(arrays))
        except (CatalystError, InputError) as error:
            self.left_out += 1
            self._say(f"warning: catalyst '{self._section.name}' of step {step.index} is left out: {error}")
            return
        if not due:
            return
        self._executed += 1
        try:
            on_root(self._comm, lambda: self._of_root.note(step.index, step.time))
        except (Error, OSError) as error:
            self._switch_off(str(error))
        self._last = step.index

    def _array(self, step: Step, name: str) -> Field | Vector:
        return step.vector("u") if name == VELOCITY else quantity(step, name, self._functions.by_name)

    @property
    def _of_root(self) -> Executions:
        assert self._record is not None
        return self._record

    def flush(self) -> None:
        """Wait until the record is on the disk."""
        if not self._off:
            on_root(self._comm, lambda: self._of_root.sync())

    def close(self) -> None:
        """Let the script finish. Closing twice does nothing."""
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            pipeline.close()
        self._functions.close()
        record, self._record = self._record, None
        with suppress(OSError) if self._off else nullcontext():  # what failed has been told
            if record is not None:
                record.close()

    @property
    def incomplete(self) -> bool:
        """Whether a step was left out, or all from one on. Local."""
        return bool(self._off or self.left_out)

    def report(self) -> None:
        """Print how often it was executed."""
        if not self._off:
            print(f"{self._section.directory}: {self._executed} executions of {self._section.script}")
        if self.left_out:
            print(f"warning: {self.left_out} executions of '{self._section.name}' failed, see above")


def open_catalyst(opening: Opening) -> list[Catalyst]:
    """The [[catalyst]] blocks of a case. Collective."""
    case = opening.model.case
    return [
        Catalyst(
            section,
            opening.model.comm,
            opening.say,
            section.schedule(case.time),
            directory=case.directory,
            scalars=[scalar.name for scalar in case.scalar],
            functions={word: case.function(f"catalyst '{section.name}'", word) for word in section.functions()},
            resumed=opening.resumed,
        )
        for section in case.catalyst
    ]
