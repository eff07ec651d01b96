"""Checks of the paths that a run is going to write: only files that Tailrace wrote may be replaced."""

from __future__ import annotations

import glob
import json
import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.analysis.ownership import check_results
from tailrace.core import InputError, IoError, check_only_bp, engine_at, foreign_files
from tailrace.files.marks import why_foreign
from tailrace.files.paths import holds_something
from tailrace.files.regular import refuse_special
from tailrace.io.engines import ENGINES, default_path, stored_name
from tailrace.io.found import of_series, of_table
from tailrace.io.names import result_names
from tailrace.parallel import on_root

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpi4py import MPI

    from tailrace.case.case import Case
    from tailrace.case.places import Place
    from tailrace.case.sections.output_section import OutputSection
    from tailrace.flow.checkpoint import OpenCheckpoint

_MOST_NAMED = 4  # files in a message
_FILES = "files"  # attribute of a checkpoint: the files that existed


def check_targets(case: Case, comm: MPI.Comm) -> None:
    """Check all files that a run replaces, before it replaces one. Collective.

    :raises InputError: a file is not of Tailrace.
    :raises OSError, IoError: it cannot be read.
    """
    on_root(comm, lambda: _check_all(case))
    for section in case.analysis:
        for name in result_names(section.name):
            check_results(Path(section.out), name, section.engine, comm)


def _check_all(case: Case) -> None:
    writes_checkpoints = case.checkpoint.every or case.checkpoint.minutes
    for place in case.places():
        if place.kind == "input" or (place.key == "checkpoint.path" and not writes_checkpoints):
            continue
        if reason := _why_not(place):
            raise InputError(f"{place.key}: {reason}")
    for at, output in enumerate(case.output):
        if ENGINES[output.engine].stores and (reason := _why_not_of(output.engine, output.path)):
            raise InputError(f"output[{at}].path: {reason}")


def check_names(case: Case) -> None:
    """Check that no file of another program has a name that a step of an output, now or later, will have. Local.

    Call this when the replacement of a killed run is settled: until then its files have no owner.

    :raises InputError: some have; the message names them.
    """
    for at, output in enumerate(case.output):
        if ENGINES[output.engine].step_files:
            _check_names(f"output[{at}].path", output)


def _check_names(key: str, output: OutputSection) -> None:
    stored = [glob.escape(stored_name(output.engine, field)) for field in output.fields]
    patterns = {one.replace("{variable}", name) for one in ENGINES[output.engine].step_files for name in stored}
    taken = [name for name in foreign_files(output.path) if any(fnmatchcase(name, one) for one in patterns)]
    if taken:
        names = ", ".join(sorted(taken)[:_MOST_NAMED]) + (
            f" and {len(taken) - _MOST_NAMED} more" if taken[_MOST_NAMED:] else ""
        )
        raise InputError(
            f"{key}: {output.path} has files of another program, whose names this run needs for its steps: {names}. To "
            "fix this, write to another directory (--directory DIR, or another path), or move them away"
        )


def _why_not(place: Place) -> str:
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
    if place.kind == "emptied":
        try:
            check_only_bp(str(path))
        except IoError as error:
            return str(error)
    return ""


def _why_not_of(engine: str, path: str) -> str:
    """Why an engine must not write at a path that has a series of another kind; "" if it may."""
    there = engine_at(path)
    if not there or ENGINES[there].family == ENGINES[engine].family:
        return ""
    return f"{path} holds a series of the engine {there}; choose the engine {there}, or another path, or remove it"


def files_there(case: Case, comm: MPI.Comm) -> dict[str, str]:
    """For a checkpoint: the files that a resumed run continues. Collective."""
    found = on_root(comm, lambda: [path for path in _written(case) if holds_something(Path(path))])
    return {_FILES: json.dumps(found)}


def check_files_there(case: Case, checkpoint: OpenCheckpoint, comm: MPI.Comm) -> None:
    """Check that all files that a run continues still exist, and are its own. Collective.

    Otherwise it would begin them again, or cut those of another run and go on with them.

    :raises IoError: some are missing, or are of another run; the message names them.
    """
    on_root(comm, lambda: _check_there(case, checkpoint))


def _check_there(case: Case, checkpoint: OpenCheckpoint) -> None:
    try:
        listed = json.loads(checkpoint.about.get(_FILES, "[]"))
    except (ValueError, TypeError, RecursionError) as error:
        raise IoError(f"checkpoint {checkpoint.path}: its attribute '{_FILES}' is damaged: {error}") from None
    known = _written(case)
    missing = [f"{path} ({known[path]})" for path in listed if path in known and _is_missing(Path(path))]
    if missing:
        raise IoError(
            f"checkpoint {checkpoint.path}: the run wrote files that are not there any more: {', '.join(missing)}. To "
            "fix this, put them back; or name another path in the case, where what is to come will be written"
        )
    foreign = _of_another_run(known, set(listed), checkpoint.about.get("run", ""))
    if foreign:
        raise IoError(
            f"checkpoint {checkpoint.path}: there are results of another run than that of the checkpoint: "
            f"{', '.join(f'{path} ({known[path]})' for path in foreign)}. This run would cut them and go on with them. "
            "To fix this, move them away, or name another path in the case; or put back what belongs together"
        )


def _of_another_run(paths: Iterable[str], listed: set[str], run: str) -> list[str]:
    """Those that have results of another run.

    :param listed: the paths where this run had its results: what does not say its run is taken for its own there.
    :param run: the name of this run; "": it is not known.
    """
    foreign = []
    for path in paths if run else ():
        for one in of_table(Path(path)) if path.endswith(".csv") else of_series(Path(path), guarded=False):
            if one.files is not None and one.run != run and (one.run or path not in listed):
                foreign.append(path)
    return foreign


def _is_missing(path: Path) -> bool:
    return not path.exists() or (path.is_dir() and not holds_something(path))


def _written(case: Case) -> dict[str, str]:
    """The files that a resumed run continues -> the key of the case that names them."""
    found = {case.diagnostics.path: "diagnostics.path"}
    found |= {one.path: f"path of output '{one.name}'" for one in case.output if ENGINES[one.engine].stores}
    for one in case.analysis:
        for name in (f"{one.name}.csv", default_path(one.name, one.engine)):
            found[str(Path(one.out) / name)] = f"out of analysis '{one.name}'"
    return {os.path.normpath(path): key for path, key in found.items()}
