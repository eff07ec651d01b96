"""The time series of volume averages as a consumer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from typing import Any, Self

from tailrace.case.schedule import Schedule
from tailrace.core import IoError
from tailrace.flow.measuring.energy import NOTES
from tailrace.flow.model import Model
from tailrace.flow.stability import diffusivities_of, stability_of
from tailrace.io.time_series import COLUMNS, DEFINITIONS, TimeSeries
from tailrace.parallel import agree, on_root
from tailrace.steps.step import Step
from tailrace.text import visible

from .consumer import Consumer
from .warnings import Warnings


class AveragesTable(Consumer):
    """Measures the state of a model, and writes the numbers as a row of a file that rank 0 holds. Collective.

    A context manager. A failure of the file is raised on every rank. The last state of a run has a row too.

    :param say: prints a line on rank 0.
    :param resumed: continue after this step: later rows are dropped. None: an earlier file is replaced.
    :param provenance: see `files.provenance`.
    :raises TimeSeriesError, OSError: see `TimeSeries`.
    """

    def __init__(
        self, model: Model, resumed: int | None, provenance: Mapping[str, Any], say: Callable[[str], None] = print
    ) -> None:
        case = model.case
        super().__init__("diagnostics", Schedule(every=case.diagnostics.every, dt=case.time.constant_dt))
        self._model, self._comm, self._say = model, model.comm, say
        self.numbers: dict[str, float] = {}  # the last measured values
        self.dt = model.dt  # the size of the last step
        self.at_end = False  # whether it is the last state of the run
        spacing = tuple(model.grid.spacing(d) for d in range(3))
        self._warnings = Warnings(
            spacing, model.shape, case.viscosity, stability_of(case, model.grid), auto=case.time.constant_dt is None,
            moving=case.boundary.moves_walls(case.grid), diffusivities=diffusivities_of(case),
        )  # fmt: skip
        if resumed is None:
            for line in model.concerns():
                self._say(f"warning: {line}")
        else:  # the next row may be far away
            for line in self._warnings.look_at_step(model.step, model.time, model.rate(), model.dt):
                self._say(line)
        nx, ny, nz = model.shape
        title = f"{case.case.name}: Re = {case.case.reynolds:g}, {nx} x {ny} x {nz} nodes, {case.time.scheme}"

        def open_series() -> TimeSeries | None:
            if model.comm.rank != 0:
                return None
            try:
                return TimeSeries(
                    case.diagnostics.path,
                    title,
                    resumed,
                    columns=COLUMNS + model.measures.columns + model.energy.columns,
                    definitions=DEFINITIONS + model.measures.definitions + model.energy.definitions,
                    provenance=provenance,
                )
            except OSError as error:
                if isinstance(error, IoError):
                    raise
                raise IoError(f"cannot write {case.diagnostics.path}: {error.strerror or error}") from error

        self._rows = agree(model.comm, open_series)

    def wants(self, index: int, time: float) -> bool:
        """Whether a row is due; for the last state it always is. Local."""
        return self.at_end or super().wants(index, time)

    def prepare(self) -> None:
        """Note the energy of a state a few steps before a row: the row has its rate of change. Call it in each step."""
        model, end = self._model, self._model.case.time
        ahead = [-model.step % model.case.diagnostics.every]
        ahead += [end.steps - model.step] if end.steps is not None else []
        ahead += [int((end.end - model.time) / model.dt)] if end.end is not None else []
        if min(ahead) < NOTES:
            model.energy.note(model.step, model.time)

    def take(self, step: Step) -> None:
        """Measure the state of the model, print warnings about it, and write a row.

        :raises IoError: the disk is full or gone.
        """
        self.numbers = self._model.measure()
        for line in self._warnings.look(self.numbers):
            self._say(line)
        if self.numbers["dt"] > 0:
            self.numbers["cfl"] *= self.dt / self.numbers["dt"]  # of the last step, which may have been shortened
        self.numbers["dt"] = self.dt
        self.append(self.numbers)

    def append(self, numbers: Mapping[str, float]) -> None:
        """Write a row. Raises IoError if the disk is full or gone."""
        self._on_root(lambda rows: rows.append(numbers))

    def flush(self) -> None:
        """Wait until all rows are on the disk. Raises IoError if they could not be written."""
        self._on_root(TimeSeries.sync)

    def _on_root(self, work: Callable[[TimeSeries], None]) -> None:
        def guarded() -> None:
            assert self._rows is not None
            try:
                work(self._rows)
            except OSError as error:
                raise IoError(f"cannot write {self._rows.path}: {error.strerror or error}") from error

        on_root(self._comm, guarded)

    def close(self) -> None:
        """Close the file. Local."""
        if self._rows:
            self._rows.close()

    def warnings(self) -> list[str]:
        """The worst warning of each kind so far. Local."""
        return self._warnings.summary()

    def report(self) -> None:
        """Print the worst warning of each kind."""
        for line in self._warnings.summary():
            print(visible(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # On a full disk the buffer of the file still has data, and closing fails again. That error was reported once.
        with suppress(OSError) if kind else nullcontext():
            self.close()
