"""Earlier results of analyses: `tailrace analyse` replaces them only on request, and never those of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.core import InputError
from tailrace.files import locks
from tailrace.files.set_aside import SetAside, record_of
from tailrace.io.engines import default_path
from tailrace.io.found import ExistingResult, check_unlocked, files_of, listed, of_series, of_table
from tailrace.io.names import result_names
from tailrace.parallel import agree, on_root

from .pictures import is_ours, maker, pictures

if TYPE_CHECKING:
    from mpi4py import MPI


def of_analysis(out: Path, name: str, engine: str) -> list[ExistingResult]:
    """The results of an analysis in the directory `out`."""
    found: list[ExistingResult] = []
    for each in result_names(name):
        found += [*of_table(out / f"{each}.csv"), *of_series(out / default_path(each, engine))]
        drawn = pictures(out, each) if out.is_dir() else []
        found += [
            ExistingResult(str(path), [path], maker(path)) for path, _ in drawn if is_ours(path, f"analysis {each}")
        ]
    return found


class EarlierResults:
    """Room for the results of `tailrace analyse`: earlier results are set aside until there is a new step. Collective.

    :param names: names of the scripts.
    :param beside: the analysis belongs to a run, whose earlier results it may replace or go on with.
    :raises InputError: there are earlier results, or results that a run made.
    :raises IoError: another program writes them.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        out: Path,
        names: Sequence[str],
        engine: str,
        *,
        resume: bool,
        overwrite: bool,
        beside: bool,
    ) -> None:
        self._out, self._names, self._engine = out, names, engine
        self._earlier = agree(comm, lambda: self._enter() if comm.rank == 0 else None)
        try:
            on_root(comm, lambda: self._clear(resume, overwrite, beside))
        except BaseException:
            self.close()
            raise

    def _enter(self) -> SetAside:
        return SetAside(record_of(self._out / self._names[0]), [self._out])

    def _clear(self, resume: bool, overwrite: bool, beside: bool) -> None:
        assert self._earlier is not None
        for name in self._names if self._out.is_dir() else ():
            locks.take(self._out / f"{name}.results").release()  # no other analysis writes them
        found = check_free(self._out, self._names, self._engine, beside=beside, may_stay=resume or overwrite)
        if found and not resume:
            check_unlocked(found)
            self._earlier.set_aside(files_of(found))

    def replace(self) -> None:
        """Remove the earlier results, because the new ones have a step. Later calls do nothing."""
        if self._earlier is not None:
            self._earlier.remove()

    def close(self) -> None:
        """Put back what was not replaced. Local."""
        if self._earlier is not None:
            self._earlier.close()


def check_free(out: Path, names: Iterable[str], engine: str, *, beside: bool, may_stay: bool) -> list[ExistingResult]:
    """Check that analyses may write results.

    :param beside: they belong to a run; earlier results of that run count as their own.
    :param may_stay: earlier results are allowed: they are replaced or continued.
    :returns: the earlier results.
    :raises InputError: there are earlier results that are not allowed, or that a run made.
    """
    found = [one for name in names for one in of_analysis(out, name, engine)]
    theirs = [one for one in found if one.made_by == "run" or (one.made_by == "beside" and not beside)]
    if theirs:
        raise InputError(
            f"{listed(theirs)}: the run itself made these results, and no other analysis replaces them; choose another "
            "directory by -o (of `run`: --beside-out)"
        )
    if found and not may_stay:
        elsewhere = "--beside-out DIR" if beside else "-o DIR"
        raise InputError(refusal(found, f"{elsewhere}, to write the new ones there"))
    return found


def refusal(found: Sequence[ExistingResult], elsewhere: str, resume: str = "") -> str:
    """The error message about earlier results, with what the user can do."""
    return (
        f"there are results of an earlier run: {listed(found)}. Nothing was changed. Choose one: {resume}--overwrite "
        f"(overwrite=True in Python), to replace them; {elsewhere}"
    )
