"""The results of scripts, and where they are stored: rows of a CSV file, a series, and pictures.

NAME.csv has the numbers, NAME.h5 (or that of another engine) fields, arrays and also the numbers, NAME-KEY-000123.png
the figure of step 123. A resumed run first removes the results after its checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.core import FileLock, InputError, IoError
from tailrace.fields.parity import Signs
from tailrace.files import locks
from tailrace.files.failures import io_errors
from tailrace.files.paths import holds_something
from tailrace.io import series
from tailrace.io.engines import default_path
from tailrace.io.time_series import TimeSeries, TimeSeriesError, last_step, read_columns
from tailrace.parallel import first_error, on_root
from tailrace.text import counted

from .errors import AnalysisError
from .ownership import Claim, check_results, title_of
from .pictures import close_figures, draw, is_ours, pictures
from .script_results import ScriptResults

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.fields.operators import Operators


@dataclass(frozen=True)
class _WritePlan:
    """What all ranks must know about the results of the leading rank before they write."""

    numbers: dict[str, float]
    arrays: dict[str, NDArray[Any]]
    fields: dict[str, tuple[str, Signs]]
    pictures: int

    @property
    def has_step(self) -> bool:
        """Whether there is more than pictures."""
        return bool(self.numbers or self.arrays or self.fields)


class ResultSink:
    """The results of one script. Collective over `comm`.

    :param comm: all ranks; some may have no results for a step, see `write`.
    :param operators: the grid of the fields, and this rank's part of it.
    :param attributes: attributes of the source; with them the series of results can be analysed, too.
    :param provenance: the origin of the results, see `files.provenance`.
    :param resume_step: continue after this step: later results are dropped. None: older results are replaced.

    Where the results of a step cannot be stored, nothing of them is kept, and `refuse` is called on all ranks, with the
    reason and with the step in words. None: an AnalysisError is raised.

    :raises InputError: there are files of something else.
    :raises IoError: the files cannot be written.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        comm: MPI.Comm,
        operators: Operators,
        *,
        engine: str,
        attributes: Mapping[str, Any],
        provenance: Mapping[str, Any],
        resume_step: int | None,
    ) -> None:
        self.name, self._directory, self._comm, self.operators = name, directory, comm, operators
        self._engine, self._resume = engine, resume_step
        self._provenance = provenance
        self._attributes = {"analysis": name, **provenance} | {
            key: value
            for key, value in attributes.items()
            if key in ("lengths", "boundaries", "stretching", "beta", "interpolation", "reynolds", "dt", "name")
        }
        self.table = directory / f"{name}.csv"
        self.path = directory / default_path(name, engine)
        self._claim = Claim(self.table, name)  # of rank 0
        self._rows: TimeSeries | None = None  # on rank 0
        self._series: series.ArraySeries | None = None
        self._last: int | None = None
        self.refuse: Callable[[str, str], None] | None = None
        self.written = 0  # steps with numbers, arrays or fields
        self.pictures = 0
        self._lock: FileLock | None = None  # on rank 0, as long as there may be more results
        on_root(comm, self._take_lock)
        try:
            untold = check_results(directory, name, engine, comm)
            on_root(comm, lambda: self._make_ready(untold))
        except BaseException:
            self._release()
            raise
        if resume_step is not None and on_root(comm, lambda: holds_something(self.path)):
            self._open_series()

    def summary(self, more: str = "") -> str:
        """A line: what was stored, then `more`, then where. Local, the same on all ranks."""
        kinds = [(self.written, "step", " with results", ".*"), (self.pictures, "picture", "", "-*.png")]
        stored = [(counted(count, what) + rest, end) for count, what, rest, end in kinds if count]
        said = " and ".join(words for words, _ in stored) or "no results"
        places = ", ".join(f"{self._directory / self.name}{end}" for _, end in stored)
        return f"{self.name}: {said}{more}" + (f" -> {places}" if places else "")

    @property
    def _title(self) -> str:
        return title_of(self.name)

    def _take_lock(self) -> None:
        """Keep other programs from all results of this name, before any of them is removed."""
        with io_errors(f"results {self._directory / self.name}"):
            self._directory.mkdir(parents=True, exist_ok=True)
        self._lock = locks.take(self._directory / f"{self.name}.results")

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _make_ready(self, untold: bool) -> None:
        """Remove the results after the step to continue from, or all; `untold` as of `check_results`."""
        with io_errors(f"results {self._directory / self.name}"):
            for path, step in pictures(self._directory, self.name):
                if (self._resume is None or step > self._resume) and is_ours(path, self._title):
                    path.unlink()
            if self._resume is None and untold:
                self._claim.replace()  # until it is replaced, which a kill may prevent
            elif self._resume is None:
                self.table.unlink(missing_ok=True)
            elif self.table.exists() and not self._claim.is_left():
                TimeSeries(self.table, "", self._resume, columns=_columns_of(self.table)).close()

    def _open_series(self) -> None:
        going_on = self._resume is not None and on_root(self._comm, lambda: holds_something(self.path))
        if not going_on:
            on_root(self._comm, self._claim.make)
        self._series = series.open(
            self.path,
            "a" if going_on else "w",
            comm=self._comm,
            engine=self._engine,
            grid=series.UniformGrid.of(self.operators.grid),
            rewind_to=self._resume if going_on else None,
        )
        if going_on and len(self._series):
            self._last = self._series[-1].index
        elif going_on:
            on_root(self._comm, self._claim.make)
        for key, value in self._attributes.items():
            self._series.set_attribute(key, value)

    # ---- writing -----------------------------------------------------------------------------------------------------
    def write(self, index: int, time: float, results: ScriptResults | None, leader: int = 0) -> None:
        """Store the results of a step, or call `refuse` and store nothing of them.

        :param results: None on ranks that had no part in this step.
        :param leader: the rank whose numbers, arrays and figures are stored.
        :raises IoError: the disk is full or gone.
        """
        figures = {} if results is None else results.figures
        leads = self._comm.rank == leader and results is not None
        plan = self._comm.bcast(_plan_of(results) if leads and results is not None else None, root=leader)
        try:
            if plan is not None:
                self._store(index, time, plan, results, leader)
        finally:
            close_figures(figures)

    def _store(self, index: int, time: float, plan: _WritePlan, results: ScriptResults | None, leader: int) -> None:
        new = plan.has_step and (self._last is None or index > self._last)
        if new and self._series is None:
            self._open_series()
        try:
            if plan.numbers:
                on_root(self._comm, lambda: self._check_columns(plan.numbers))
            if new:
                self._begin_step(index, time, plan, results)
            if plan.pictures:
                self._draw(index, {} if results is None else results.figures, leader)
        except (InputError, IoError) as error:  # on all ranks alike
            if self._series is not None:
                self._series.abandon_step()
            if isinstance(error, IoError):
                raise
            reason, where = f"what it returned cannot be stored: {error}", f"at step {index}, t = {time:g}"
            if self.refuse is None:
                raise AnalysisError(f"{self._title} failed {where}: {reason}") from None
            self.refuse(reason, where)
            return
        self.pictures += plan.pictures
        if plan.numbers:
            on_root(self._comm, lambda: self._append({"step": index, "time": time, **plan.numbers}))
        if new:
            self._end_step(index)
        self.written += plan.has_step

    def _columns(self) -> tuple[str, ...] | None:
        """The columns of the table, on rank 0; None: it has none yet."""
        if self._rows is not None:
            return self._rows.columns
        if self._resume is None or not self.table.exists() or self._claim.is_left():
            return None
        return _columns_of(self.table)

    def _check_columns(self, numbers: Mapping[str, float]) -> None:
        with io_errors(f"{self.table} cannot be read"):
            columns = self._columns()
        known = [] if columns is None else columns[2:]
        parts = {"missing": set(known) - set(numbers), "new": set(numbers) - set(known)}
        if columns is not None and any(parts.values()):
            told = "; ".join(f"{word}: {', '.join(sorted(names))}" for word, names in parts.items() if names)
            raise InputError(
                f"the numbers are not those of the steps before, which are the columns of {self.table} ({told}). "
                "Return the same numbers at every step; to go on with others, choose another directory by -o (of the "
                "command) or out (of the case)"
            )

    def _append(self, row: dict[str, float]) -> None:
        with io_errors(f"cannot write {self.table}"):
            if self._rows is None:
                definitions = "step, time: of the state; the other columns are what the script returned"
                resume_step = None if self._claim.is_left() else self._resume
                self._rows = TimeSeries(
                    self.table, self._title, resume_step, columns=self._columns() or list(row),
                    definitions=definitions, provenance=self._provenance,
                )  # fmt: skip
            self._rows.append(row)

    def _begin_step(self, index: int, time: float, plan: _WritePlan, results: ScriptResults | None) -> None:
        out = self._series
        assert out is not None
        out.begin_step(index, time)
        nodes = tuple(self.operators.grid.nodes)
        for name, (dtype, _) in plan.fields.items():
            if results is None:
                block = series.Block(np.zeros((0, 0, 0), dtype), nodes)  # type: ignore[arg-type] # three of them
            else:
                values = results.fields[name].data.astype(dtype, copy=False)
                block = series.Block(values, nodes, tuple(self.operators.box()[0]))  # type: ignore[arg-type]
            out.write(name, block)
        for name, array in plan.arrays.items():
            out.write_list(name, array if self._comm.rank == 0 else array[:0])
        for name, number in plan.numbers.items():
            out.write_scalar(name, number)
        for name, (_, parity) in plan.fields.items():
            out.set_attribute(f"{name}/parity", list(parity))

    def _end_step(self, index: int) -> None:
        assert self._series is not None
        self._series.end_step()
        on_root(self._comm, self._claim.drop)
        self._last = index

    def _draw(self, index: int, figures: Mapping[str, Any], leader: int) -> None:
        """Draw the figures of the leading rank, all or none."""
        error: Exception | None = None
        if self._comm.rank == leader:
            try:
                draw(self._directory, self.name, index, figures, title=self._title, made_by=self._provenance["made_by"])
            except (InputError, IoError) as caught:
                error = caught
            except Exception as caught:  # the others must not wait for this rank
                error = IoError(f"cannot draw the figures of step {index}: {type(caught).__name__}: {caught}")
        if error := first_error(self._comm, error):
            raise error

    def beside(self, name: str, resume_step: int | None = None) -> ResultSink:
        """A Sink of another name in the same directory, empty or with the results up to a step."""
        return ResultSink(
            self._directory, name, self._comm, self.operators,
            engine=self._engine, attributes=self._attributes, provenance=self._provenance, resume_step=resume_step,
        )  # fmt: skip

    def flush(self) -> None:
        """Wait until everything is on the disk. Collective.

        :raises IoError: the disk is full or gone, or the file of the numbers is not there any more.
        """
        if self._series is not None:
            self._series.flush()
        on_root(self._comm, self._sync_rows)

    def _sync_rows(self) -> None:
        with io_errors(f"cannot write {self.table}"):
            if self._rows is not None:
                self._rows.sync()

    def close(self) -> None:
        """Close all files. Collective; closing twice does nothing."""
        if self._series is not None:
            self._series.close()
            self._series = None
        if self._rows is not None:
            self._rows.close()
            self._rows = None
        self._release()


def _plan_of(results: ScriptResults) -> _WritePlan:
    kinds = {
        name: ("int32" if one.dtype == np.bool_ else one.dtype.name, one.parity) for name, one in results.fields.items()
    }
    return _WritePlan(results.numbers, results.arrays, kinds, len(results.figures))


def last_result(directory: Path, name: str, engine: str, comm: MPI.Comm) -> int | None:
    """The last step whose results are complete; None if there is no such step. Collective.

    A program that was killed may have written a row in one file and not yet in the other: the earlier step counts.
    """
    table, path = directory / f"{name}.csv", directory / default_path(name, engine)
    has_rows = on_root(comm, lambda: table.exists() and not Claim(table, name).is_left())
    found = [on_root(comm, lambda: last_step(table))] if has_rows else []
    if on_root(comm, lambda: holds_something(path)):
        with series.open(path, "r", comm=comm) as stored:
            found.append(stored[-1].index if len(stored) else None)
    steps = [step for step in found if step is not None]
    return min(steps) if steps and len(steps) == len(found) else None


def _columns_of(path: Path) -> tuple[str, ...]:
    try:
        return read_columns(path)
    except TimeSeriesError as error:
        raise TimeSeriesError(
            f"{error}. Put back what was there; or choose another directory by -o (of the command) or out (of the case)"
        ) from None
