"""An output as a consumer: fields of steps, written to a series."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace.case.places import left_out
from tailrace.case.region import region_of
from tailrace.core import IoError
from tailrace.files.paths import holds_something
from tailrace.io import series
from tailrace.io.coupling import explain
from tailrace.io.engines import ENGINES, stored_name
from tailrace.io.time_series import TimeSeries, last_step
from tailrace.parallel import on_root

from .consumer import Consumer
from .output_table import output_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mpi4py import MPI

    from tailrace.case.sections.output_section import OutputSection
    from tailrace.case.sections.time_section import TimeSection
    from tailrace.steps.step import Step

    from .opening import Opening

_LEFT_OUT = "skipped = 1: to keep to the share of time that the stream may cost; 0: dropped, because the queue was full"


class Output(Consumer):
    """Fields of steps, written to a series that is open until `close`. Collective.

    :param section: the [[output]] block.
    :param grid: the places of the points of a whole field.
    :param attributes: attributes of the series. The output interval is added, so stream readers can count missed steps.
    :param resume_step: continue after this step. Later steps, from before the interruption, are dropped.
    :raises InputError, IoError: the series cannot be opened.
    """

    def __init__(
        self,
        section: OutputSection,
        time: TimeSection,
        grid: series.UniformGrid,
        comm: MPI.Comm,
        *,
        attributes: Mapping[str, Any],
        resume_step: int | None,
    ) -> None:
        super().__init__("output", section.schedule(time))
        self.section = section
        path = Path(section.path)
        traits = ENGINES[section.engine]
        kept = resume_step is not None and (traits.stores or traits.streams)
        self._region = region_of(section, grid)
        going_on = kept and on_root(comm, lambda: holds_something(path))
        on_root(comm, lambda: _make_directory(path.parent, section.name))
        self._series = series.open(
            path,
            "a" if going_on else "w",
            comm=comm,
            engine=section.engine,
            parameters=_with_closing(section.parameters, grid, self._region),
            grid=grid if self._region is None else _grid_of(grid, self._region),
            precision=section.precision,
            rewind_to=resume_step if going_on else None,
        )
        self._written = resume_step if going_on and self._last_index() == resume_step else None
        rhythm = {"every": section.every} if section.every is not None else {}
        for name, value in {**attributes, **rhythm}.items():
            self._series.set_attribute(name, value)
        self._summary: list[series.PhaseSummary] = []
        self._notes: list[str] = []
        self._comm, self._resumed, self._is_closed = comm, resume_step, False
        self._taken = self._bytes = 0  # steps, and the bytes of a closed series
        self._recorded = -1  # the last step that is recorded as left out

    def _last_index(self) -> int | None:
        return self._series[-1].index if len(self._series) else None

    def take(self, step: Step) -> None:
        """Write the fields. A step that the series already has (in a resumed run) is not written again.

        :raises IoError: the disk is full or gone.
        """
        if step.index == self._written:
            return
        if self._series.begin_step(step.index, step.time):  # False: a stream leaves it out, so no field is computed
            for name in self.section.fields:
                self._series.write(stored_name(self._series.engine, name), step.block(name), region=self._region)
        self._series.end_step()
        self._written = step.index
        self._taken += 1

    @property
    def bytes_written(self) -> int:
        """Bytes written by this rank."""
        return self._bytes if self._is_closed else int(self._series.counters["bytes_written"])

    def progress(self) -> Mapping[str, str | float]:
        """The steps and bytes of this rank and the time of writing them, and what a stream had to leave out."""
        if self._is_closed:
            return {"output": self.section.path, "steps": self._taken}
        counted = self._series.counters
        told: dict[str, str | float] = {
            "output": self.section.path, "engine": self.section.engine, "steps": self._taken,
            "bytes of rank 0": counted["bytes_written"], "seconds writing": counted["write_seconds"],
            "seconds waiting": counted["wait_seconds"], "step": -1 if self._written is None else self._written,
        }  # fmt: skip
        coupling = self._series.coupling
        if coupling.role != "none":
            told |= {"dropped": coupling.dropped, "skipped": coupling.skipped, "not read": coupling.unread}
            told |= {"reader": explain(coupling)[-1]}
        return told

    def flush(self) -> None:
        """Wait until everything is written. Collective. Raises IoError if something could not be written."""
        self._series.flush()
        self._record_left_out()

    def _record_left_out(self) -> None:
        """Write the steps that a stream dropped or skipped to NAME-left-out.csv, if there are any."""
        if not ENGINES[self.section.engine].streams:
            return
        found = [one for one in self._series.dropped if one.index > self._recorded and one.why != "unread"]
        on_root(self._comm, lambda: self._append_left_out(found))

    def _append_left_out(self, found: list[series.LeftOut]) -> None:
        if not found:
            return
        resumed = self._resumed if self._recorded < 0 else self._recorded
        path = left_out(self.section.name)
        try:
            if self._recorded >= 0 and last_step(path) != self._recorded:
                raise OSError("it was replaced by somebody else while it was being written")
            with TimeSeries(
                path, f"Steps that the stream {self.section.path} left out", resumed,
                columns=("step", "time", "skipped"), definitions=_LEFT_OUT,
            ) as rows:  # fmt: skip
                for one in found:
                    rows.append({"step": one.index, "time": one.time, "skipped": float(one.why == "skipped")})
        except OSError as error:
            raise IoError(f"cannot write {path}: {error.strerror or error}") from error
        self._recorded = found[-1].index

    def close(self) -> None:
        """Complete and close the series; then `report` has its costs. Closing twice does nothing. Collective."""
        if self._is_closed:
            return
        self._series.flush()
        self._summary = self._series.summary()
        self._notes = list(self._series.notes)
        self._bytes = self.bytes_written
        self._series.close()
        self._is_closed = True
        self._record_left_out()
        self._notes += explain(self._series.coupling)

    def report(self) -> None:
        """Print a table of its writes and of the time in each phase, and the notes of the series."""
        output_table(f"{self.section.name}: {self.section.path}", self._summary, self._notes)


def open_outputs(opening: Opening) -> list[Output]:
    """The [[output]] blocks of a case. Collective."""
    model, case = opening.model, opening.model.case
    grid, attributes = series.UniformGrid.of(model.grid), {**model.about, **opening.provenance}
    return [
        Output(section, case.time, grid, model.comm, attributes=attributes, resume_step=opening.resumed)
        for section in case.output
    ]


def _with_closing(
    parameters: Mapping[str, Any], grid: series.UniformGrid, region: series.Region | None
) -> Mapping[str, Any]:
    """The parameters; `closing = true` becomes the names of the periodic directions that are stored as a whole."""
    if parameters.get("closing") is not True:
        return parameters
    start, count, stride = region or ((0, 0, 0), grid.points, (1, 1, 1))
    whole = [
        axis
        for axis, first, n, step, points in zip("xyz", start, count, stride, grid.points, strict=True)
        if axis in grid.periodic and first == 0 and n * step == points
    ]
    return {**parameters, "closing": "".join(whole)}


def _grid_of(grid: series.UniformGrid, region: series.Region) -> series.UniformGrid:
    origin = tuple(float(along[s]) for along, s in zip(grid.coordinates, region.start, strict=True))
    spacing = tuple(h * n for h, n in zip(grid.spacing, region.stride, strict=True))
    place: tuple[Any, Any, Any] = (region.count, origin, spacing)
    if not isinstance(grid, series.StretchedGrid):
        return series.UniformGrid(*place)
    along = zip(grid.uneven, region.start, region.count, region.stride, strict=True)
    x, y, z = (tuple(one[s : s + (n - 1) * step + 1 : step]) for one, s, n, step in along)
    return series.StretchedGrid(*place, (x, y, z))


def _make_directory(path: Path, output: str) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IoError(f"output '{output}': cannot make the directory {path}: {error.strerror}") from error
