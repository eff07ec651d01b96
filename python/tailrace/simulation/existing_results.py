"""Results of an earlier run at the places of a new run, and their files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.analysis.earlier_results import of_analysis, refusal
from tailrace.case.places import left_out
from tailrace.catalyst.executions import made_by
from tailrace.core import InputError
from tailrace.files.marks import FILM, PICTURE, is_ours
from tailrace.files.set_aside import SetAside, record_of
from tailrace.flow.checkpoint import CheckpointStore
from tailrace.io.engines import ENGINES
from tailrace.io.found import ExistingResult, check_unlocked, files_of, of_series, of_table
from tailrace.parallel import agree, on_root
from tailrace.pictures import database

from .write_checks import check_names

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.case.case import Case
    from tailrace.case.sections.picture_section import PictureSection


def of_run(case: Case, store: CheckpointStore) -> list[ExistingResult]:
    """The results at the places of a case, with its checkpoints; what holds no step is none."""
    found = [*of_table(Path(case.diagnostics.path))]
    for output in case.output:
        if ENGINES[output.engine].streams:
            found += of_table(Path(left_out(output.name)))
        elif ENGINES[output.engine].stores:
            found += of_series(Path(output.path))
    # Also for a case without checkpoints: a run that is asked to stop writes one, and removes older ones.
    if checkpoints := store.present():
        found.append(ExistingResult(case.checkpoint.path, checkpoints))
    for picture in case.picture:
        found += of_picture(picture)
    for pipeline in case.catalyst:
        if made := made_by(pipeline.record_path, pipeline.directory):
            found.append(ExistingResult(str(pipeline.directory), [pipeline.record_path, *made]))
    for analysis in case.analysis:
        found += of_analysis(Path(analysis.out), analysis.name, analysis.engine)
    return found


def of_picture(section: PictureSection) -> Iterator[ExistingResult]:
    """The film, the table and the pictures of a block, those of other steps too."""
    yield from of_table(section.table_path)
    if section.film_path.is_file() and is_ours(section.film_path, FILM):
        yield ExistingResult(str(section.film_path), [section.film_path])
    if section.database and (files := database.files_of(section.database_path)):
        yield ExistingResult(str(section.database_path), files)
    if section.png and (found := [path for path in section.png_paths() if is_ours(path, PICTURE)]):
        yield ExistingResult(str(found[0]), found)


def _record(case: Case) -> SetAside:
    places = [Path(place.named) for place in case.places() if place.kind != "input"]
    companions = ((output.path, ENGINES[output.engine].companion) for output in case.output)
    places += [Path(f"{path}{companion}") for path, companion in companions if companion]
    places += [Path(analysis.out) / analysis.name for analysis in case.analysis]  # its pictures have longer names
    return SetAside(record_of(case.diagnostics.path), places)


def settle(case: Case) -> bool:
    """After a run that may have been killed: finish or undo its replacement of earlier results.

    :returns: whether earlier results are back in their places.
    :raises IoError: the run is still running, or a file cannot be renamed.
    """
    if not record_of(case.diagnostics.path).exists():
        return False
    with _record(case) as earlier:
        return earlier.returned


def check_free(case: Case, comm: MPI.Comm, *, resume: bool = False, overwrite: bool = False) -> None:
    """Check that a run replaces results only on request; first, finish the work of a killed run. Collective.

    :raises InputError: there are results of an earlier run, and the run neither continues nor replaces them.
    """
    on_root(comm, lambda: _settle(case))
    if not resume and not overwrite:
        store = CheckpointStore(case.checkpoint.path, case.checkpoint.keep, comm)
        on_root(comm, lambda: _check_free(case, store))


def _settle(case: Case) -> None:
    """Also checks that the names of all steps to come are free."""
    if settle(case):
        print("note: a run was killed while it replaced earlier results; these are back in their places", flush=True)
    check_names(case)


def _check_free(case: Case, store: CheckpointStore) -> None:
    if found := of_run(case, store):
        check_unlocked(found)
        steps = [int(path.name[5:]) for path in store.present()]
        resume = f"--resume, to go on from step {max(steps)}; " if steps else ""
        raise InputError(refusal(found, "--directory DIR, to write the new ones there", resume))


@contextmanager
def claimed(case: Case, comm: MPI.Comm, *, resumed: bool, overwrite: bool) -> Iterator[Callable[[], None]]:
    """Put this around a run: no other run may begin at its places. With `overwrite`, earlier results are set aside, and
    put back if the run fails early. Collective.

    :returns: a function to call when the new results have their first step: it removes the earlier ones. From then on
        the locks of the open results keep other runs away.
    :raises InputError, IoError: see `check_free` and `SetAside`.
    """
    store = CheckpointStore(case.checkpoint.path, case.checkpoint.keep, comm)
    on_root(comm, lambda: _settle(case))
    earlier = agree(comm, lambda: _record(case) if comm.rank == 0 else None)

    def look() -> None:
        assert earlier is not None
        earlier.claim()
        if resumed:
            return
        if not overwrite:
            _check_free(case, store)
        else:
            check_unlocked(of_run(case, store))
            if found := of_run(case, store):  # look again: a run that ended meanwhile has removed its journals
                earlier.set_aside(files_of(found))

    def remove() -> None:
        if earlier is not None:
            earlier.remove()

    try:
        on_root(comm, look)
        yield lambda: on_root(comm, remove)
    finally:
        if earlier is not None:
            earlier.close()
