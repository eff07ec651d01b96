"""Where converted steps go: a series of any engine, or the Writer of another program's format. All is collective."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tailrace.core import Error, engine_at
from tailrace.formats.writer import Writer
from tailrace.grids import UniformGrid
from tailrace.io import series
from tailrace.io.connection import Mode
from tailrace.io.placement import Block
from tailrace.io.values import Attribute
from tailrace.parallel import agree

from .pieces import part_of, pieces, read_converted
from .plan import Planned, PlannedStep

if TYPE_CHECKING:
    from mpi4py import MPI


class ConversionSink(ABC):
    """A new target that takes steps. A context manager: it completes the target, or after an exception abandons it.

    :param told: callback, called after each piece with the bytes that this rank has written.
    """

    def __init__(self, comm: MPI.Comm, told: Callable[[int], None]) -> None:
        self._comm, self._told = comm, told

    @abstractmethod
    def write(self, step: Any, planned: PlannedStep) -> None:
        """Write a step of the source."""

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class SeriesSink(ConversionSink):
    """A series. Each rank holds its part of one variable at a time.

    :param path: the path of the series; with `done`, an unfinished series to continue.
    :param done: the number of steps that it has already; 0: it is new.
    """

    def __init__(
        self,
        path: Path,
        comm: MPI.Comm,
        told: Callable[[int], None],
        *,
        engine: str | None,
        parameters: Mapping[str, object],
        grid: UniformGrid | None,
        attributes: Mapping[str, Attribute],
        done: int,
    ) -> None:
        super().__init__(comm, told)
        mode: Mode = "a" if done else "x"
        self.series = series.open(
            path, mode, comm=comm, engine=engine, parameters=parameters, grid=None if done else grid
        )
        for name, value in attributes.items() if not done else ():
            self.series.set_attribute(name, value)

    def write(self, step: Any, planned: PlannedStep) -> None:  # noqa: D102 # as above
        out = self.series
        out.begin_step(planned.index, planned.time)
        for name, one in planned.variables.items():
            values = self._part(step, name, one)
            if one.target.is_list:
                out.write_list(name, values.data[0])
            else:
                out.write(name, values)
            size = values.data.nbytes
            del values  # before the next one is read
            self._told(size)
        for name, value in planned.scalars.items():
            out.write_scalar(name, value)
        out.end_step()

    def _part(self, step: Any, name: str, planned: Planned) -> Block:
        part = part_of(planned.target, self._comm.size, self._comm.rank)
        if planned.cut is None and planned.source.dtype == planned.target.dtype:
            x, y, z = part.count
            values = agree(self._comm, lambda: step.read(name, part)).reshape(z, y, x)
            return Block(values, planned.target.shape, part.start)
        values = np.empty(tuple(reversed(part.count)), planned.target.dtype)
        for box in pieces(planned, part, self._comm):
            piece = agree(self._comm, lambda box=box: read_converted(step, name, planned, box))  # type: ignore[misc]
            if piece.size:
                x, y, z = (b - p for b, p in zip(box.start, part.start, strict=True))
                deep, high, wide = piece.shape
                values[z : z + deep, y : y + high, x : x + wide] = piece
        return Block(values, planned.target.shape, part.start)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.series.__exit__(kind, error, trace)


class WriterSink(ConversionSink):
    """Files of another program. Each rank holds one piece of a variable at a time."""

    def __init__(self, writer: Writer, told: Callable[[int], None]) -> None:
        super().__init__(writer.comm, told)
        self._writer = writer

    def write(self, step: Any, planned: PlannedStep) -> None:  # noqa: D102 # as above
        writer = self._writer
        targets = {name: one.target for name, one in planned.variables.items()}
        writer.begin_step(planned.index, planned.time, targets, planned.scalars)
        try:
            for name, one in planned.variables.items():
                part = part_of(one.target, self._comm.size, self._comm.rank)
                for box in pieces(one, part, self._comm):

                    def move(name: str = name, one: Planned = one, box: Any = box) -> int:
                        values = read_converted(step, name, one, box)
                        if values.size:
                            writer.write(name, box, values)
                        return int(values.nbytes)

                    self._told(agree(self._comm, move))
        except BaseException:
            writer.abandon_step()
            raise
        writer.end_step()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._writer.close()


def steps_there(path: Path, comm: MPI.Comm) -> list[tuple[int, float]] | None:
    """Index and time of the complete steps of an unfinished series; None if no series there can be continued."""
    try:
        if not engine_at(str(path)):
            return None
        with series.open(path, "r", comm=comm) as found:
            return [(step.index, step.time) for step in found.steps]
    except (Error, OSError, ValueError):
        return None
