"""ParaView in this process: loaded once, on all ranks, and closed when the program ends."""

from __future__ import annotations

import atexit
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace.parallel import agree, extreme

from .display import make_display, needs_display
from .packages import INSTALL, CatalystError, linked, packages

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass
class ParaView:
    """What pipelines need of it.

    :param log: of its errors, on this rank.
    :param arguments: what a script gets from `catalyst.get_args()`; set before it is executed.
    """

    place: Path
    version: str
    log: Path
    arguments: list[str] = field(default_factory=list)
    _seen: int = 0  # bytes of the log

    def new_errors(self) -> list[str]:
        """What it has told as errors since the last call, without repetitions. Local."""
        with self.log.open(encoding="utf-8", errors="replace") as file:
            file.seek(self._seen)
            text = file.read()
            self._seen = file.tell()
        return list(dict.fromkeys(_ADDRESS.sub("", one) for one in _ERROR.findall(text)))


_LOADED: list[ParaView | CatalystError] = []
_ERROR = re.compile(r"(?:ERR|FATL)\| (.*)")  # in its log
_ADDRESS = re.compile(r" \(0x[0-9a-f]+\)")
_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def paraview(comm: MPI.Comm) -> ParaView:
    """ParaView, loaded at the first call. Collective over all ranks of the job, which ParaView takes.

    :raises CatalystError: it is not there or does not load, or `comm` has not all ranks.
    """
    from mpi4py import MPI

    if comm.size != MPI.COMM_WORLD.size:
        raise CatalystError(f"ParaView takes all {MPI.COMM_WORLD.size} ranks of the job, and this run has {comm.size}")
    if not _LOADED:
        try:
            _LOADED.append(_load(comm))
        except CatalystError as error:
            _LOADED.append(error)
    found = _LOADED[0]
    if isinstance(found, CatalystError):
        raise found
    return found


def _load(comm: MPI.Comm) -> ParaView:
    place = agree(comm, _import)
    if extreme(comm, needs_display(), largest=True):
        make_display(comm)
    version = agree(comm, _begin)
    log = Path(_KEPT[-1].name) / "errors.log"
    agree(comm, lambda: _log_errors(log))
    loaded = ParaView(place, version, log)
    _give_arguments(loaded)
    return loaded


def _import() -> Path:
    place = packages()
    if place is None:
        raise CatalystError(f"there is no ParaView; {INSTALL}")
    if "vtkmodules" in sys.modules:
        raise CatalystError("another VTK is loaded in this program, with which ParaView cannot be; do not import it")
    _KEPT.append(linked(place))
    sys.path.insert(0, _KEPT[-1].name)
    try:
        import paraview.modules.vtkPVPythonCatalyst  # noqa: F401
        import vtkmodules.vtkCommonDataModel  # noqa: F401
    except ImportError as error:
        version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        raise CatalystError(f"ParaView in {place} does not load in this {version}: {error}") from None
    return place


def _begin() -> str:
    """Initialize ParaView for programs on all ranks; returns its version."""
    import paraview
    from paraview.modules.vtkPVCatalyst import vtkCPProcessor

    paraview.options.batch = True
    paraview.options.symmetric = True
    processor = vtkCPProcessor()
    with path_kept():
        done = processor.Initialize()
    if not done:
        raise CatalystError("ParaView does not initialize Catalyst")
    atexit.register(_finalize, processor)
    return str(paraview.__version__)


@contextmanager
def path_kept() -> Iterator[None]:
    """Put this around calls of ParaView: directories that it puts first on Python's path, which may have other
    versions of NumPy and others, come last."""
    before = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = before + [one for one in sys.path if one not in before]


def _finalize(processor: Any) -> None:
    from vtkmodules.vtkCommonCore import vtkLogger

    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)  # it complains of its own order of destruction
    processor.Finalize()


def _log_errors(log: Path) -> None:
    from vtkmodules.vtkCommonCore import vtkLogger

    log.touch()
    vtkLogger.LogToFile(str(log), vtkLogger.APPEND, vtkLogger.VERBOSITY_ERROR)


def _give_arguments(loaded: ParaView) -> None:
    """Let `catalyst.get_args()` return those of the pipeline at work: with this way to ParaView it knows none."""
    from paraview import catalyst

    catalyst.get_args = lambda: list(loaded.arguments)
