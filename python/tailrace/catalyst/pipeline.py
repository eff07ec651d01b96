"""A pipeline of ParaView, from a script of its version 2."""

from __future__ import annotations

import io
import os
import re
from contextlib import redirect_stderr
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace.parallel import first_error

from .packages import CatalystError
from .paraview import paraview, path_kept

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mpi4py import MPI

    from .vtk_part import VtkPart

_OUT = "PARAVIEW_OVERRIDE_EXTRACTS_OUTPUT_DIRECTORY"


_MOST = 3  # errors of ParaView in a message
_LINE = re.compile(r'File "(.*)", line (\d+)')


class Pipeline:
    """Executes a script for steps. Collective.

    :param script: a Python file, or a package or archive of such.
    :param source: the registration name of the source that takes the steps.
    :param parameters: what the script gets from `catalyst.get_args()`, as --name=value.
    :param out: the directory of its extracts.
    :raises CatalystError: ParaView is not there, or does not take the script.
    """

    def __init__(self, comm: MPI.Comm, script: Path, source: str, parameters: Mapping[str, Any], out: Path) -> None:
        self._comm, self._script, self._source, self._out = comm, script, source, out
        self._arguments = [f"--{name}={value}" for name, value in parameters.items()]
        self._paraview = paraview(comm)
        from paraview.modules.vtkPVPythonCatalyst import vtkCPPythonScriptV2Pipeline

        self._pipeline: Any = vtkCPPythonScriptV2Pipeline()
        self._executed = False
        if not self._pipeline.Initialize(str(script)):
            raise CatalystError(f"ParaView does not take {script}")

    @property
    def version(self) -> str:
        """The version of ParaView. Local."""
        return self._paraview.version

    def wants(self, index: int, time: float) -> bool:
        """Whether a trigger of the script is due; before it was executed first, it wants every step."""
        self._prepare()
        return bool(self._pipeline.RequestDataDescription(self._description(index, time)))

    def execute(self, index: int, time: float, part: VtkPart) -> bool:
        """Execute it for a step that it wants; returns whether a trigger was due, which it knows after the first time.

        :raises CatalystError: it failed; the message has what Python or ParaView said of it.
        """
        from vtkmodules.vtkCommonCore import vtkLogger

        self._prepare()
        description = self._description(index, time)
        about = description.GetInputDescriptionByName(self._source)
        about.SetWholeExtent(*part.whole)
        about.SetGrid(part.grid)
        level = vtkLogger.GetCurrentVerbosityCutoff()
        if not self._executed:  # the first time it warns of a time that it has set itself
            vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)
        said = io.StringIO()
        with redirect_stderr(said), path_kept():
            done = bool(self._pipeline.CoProcess(description))
        vtkLogger.SetStderrVerbosity(level)
        self._executed = True
        told = self._paraview.new_errors()
        error = "; ".join(told[:_MOST])
        due = done or bool(said.getvalue()) or bool(error) or self.wants(index, time)
        if due and not done:
            error = self._error_in(said.getvalue())
        if failed := first_error(self._comm, CatalystError(error) if error else None):
            raise failed
        return due

    def _error_in(self, said: str) -> str:
        """The place of an error in the scripts and the error, out of what Python has printed."""
        lines, places = said.strip().splitlines(), _LINE.findall(said)
        if not lines or not places:
            return f"{self._script}: {said.strip() or 'ParaView gives no reason'}"
        return f"{places[-1][0]}, line {places[-1][1]}: {lines[-1].strip()}"

    def _prepare(self) -> None:
        self._paraview.arguments = self._arguments
        os.environ[_OUT] = str(self._out)

    def _description(self, index: int, time: float) -> Any:
        from paraview.modules.vtkPVCatalyst import vtkCPDataDescription

        description = vtkCPDataDescription()
        description.AddInput(self._source)
        description.SetTimeData(time, index)
        return description

    def close(self) -> None:
        """Let the script finish. Closing twice does nothing."""
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            pipeline.Finalize()
