"""What lies where a run is going to write: only what Tailrace wrote may be replaced."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tailrace import _core
from tailrace.analysis.results import check_results
from tailrace.io.marks import why_foreign, why_not_emptied
from tailrace.io.regular import refuse_special
from tailrace.parallel import on_root

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.case.case import Case
    from tailrace.case.places import Place

_FAMILIES = {"bp4": "bp", "bp5": "bp"}  # engines that may replace the series of each other; others stand alone


def check_targets(case: Case, comm: MPI.Comm) -> None:
    """Check everything that a run replaces, before it replaces any of it. Collective.

    :raises InputError: something is not of Tailrace.
    :raises OSError, IoError: it cannot be read.
    """
    on_root(comm, lambda: _check_all(case))
    for section in case.analysis:
        for name in (section.name, f"{section.name}-final"):
            check_results(Path(section.out), name, section.engine, comm)


def _check_all(case: Case) -> None:
    writes_checkpoints = case.checkpoint.every or case.checkpoint.minutes
    for place in case.places():
        if place.kind == "input" or (place.key == "checkpoint.path" and not writes_checkpoints):
            continue
        if reason := _why_not(place):
            raise _core.InputError(f"{place.key}: {reason}")
    for at, output in enumerate(case.output):
        if output.engine not in ("null", "sst") and (reason := _why_not_of(output.engine, output.path)):
            raise _core.InputError(f"output[{at}].path: {reason}")


def _why_not(place: Place) -> str:
    """Why a run must not write at a place; "" if it may."""
    path = Path(place.named)
    above = next(each for each in (path.absolute(), *path.absolute().parents)[1:] if each.exists())
    if not above.is_dir():
        return f"{path} cannot be made, because {above} is a file; choose another path, or move that away"
    if place.kind == "file":
        if path.is_dir():
            return f"{path} is there already, and is a directory; expected a file. Choose another path, or move it away"
        return why_foreign(path, place.mark) if place.mark else ""
    if not path.exists():
        return ""
    refuse_special(path)
    if not path.is_dir():
        return f"{path} is there already, and is a file; expected a directory. Choose another path, or move it away"
    return why_not_emptied(path) if place.kind == "emptied" else ""


def _why_not_of(engine: str, path: str) -> str:
    """Why an engine must not write at a path: there is a series of another kind."""
    there = _core.engine_at(path)
    if not there or _FAMILIES.get(there, there) == _FAMILIES.get(engine, engine):
        return ""
    return f"{path} holds a series of the engine {there}; choose the engine {there}, or another path, or remove it"
