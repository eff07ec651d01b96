"""Show a stream to pages: `python -m tailrace.replay.shown_stream STREAM DIRECTORY`, which `tailrace live` starts.

It reads a stream beside a run, and leaves in a directory what a run leaves: a table of numbers, and a board.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace.consumers.publisher import Publisher
from tailrace.core import Error
from tailrace.fields.field import Field
from tailrace.io.coupling import explain
from tailrace.io.time_series import TimeSeries
from tailrace.live_run.board import board_of
from tailrace.text import message, reason

from .source import SeriesSource

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.steps.step import Step

_DEFINITIONS = "step, time, and of each field its mean, least and largest value"


class ShownStream:
    """A stream, of which a board tells. It takes each step at once, and looks into one of a second.

    :raises InputError, IoError: it is no stream, or nothing came in time.
    """

    def __init__(self, stream: str, directory: Path, comm: MPI.Comm) -> None:
        self._source = SeriesSource(stream, comm)
        self._read = 0
        self._now: dict[str, Any] = {}
        names = self._source.names
        means = [f"{name} {what}" for name in names for what in ("mean", "least", "largest")]
        self._columns = ("step", "time", *means)
        table = directory / "time_series.csv"
        self._rows = TimeSeries(table, f"Steps of {stream}", columns=self._columns, definitions=_DEFINITIONS)
        self._publisher = Publisher(
            board_of(table), comm, names, seconds=dict, facts=self._facts, say=lambda line: print(line, flush=True)
        )

    def _facts(self) -> dict[str, Any]:
        told: dict[str, Any] = {"title": f"stream {self._source.path}", "host": socket.gethostname()}
        coupling = self._source.coupling
        done = {"stream": self._source.path, "steps": self._read, "dropped": coupling.dropped}
        notes = explain(coupling)
        return {
            **told, "process": os.getpid(), **self._now, "consumers": [done], "log": notes,
            "case": str(self._source.attributes.get("case", "")),
        }  # fmt: skip

    def run(self) -> None:
        """Follow the stream to its end."""
        state = "failed"
        try:
            for step in self._source.stream(slice(None)):
                self._read += 1
                if self._publisher.wants(step.index, step.time):
                    self._look(step)
            state = "finished"
        except (Error, OSError, ValueError) as error:
            state = f"failed: {reason(error)}"
            raise
        finally:
            self._publisher.end(state)
            self._publisher.close()
            self._rows.close()
            self._source.close()

    def _look(self, step: Step) -> None:
        self._now = {"step": step.index, "time": step.time}
        row = {"step": float(step.index), "time": step.time}
        for name in step.names:
            field = step[name]
            if isinstance(field, Field):
                row |= {f"{name} mean": field.mean(), f"{name} least": field.min(), f"{name} largest": field.max()}
        self._rows.append({name: row.get(name, float("nan")) for name in self._columns})
        self._publisher.take(step)


def main() -> int:
    """The program; its exit code."""
    from mpi4py import MPI

    os.nice(19)  # the run that writes the stream goes first
    try:
        ShownStream(sys.argv[1], Path(sys.argv[2]), MPI.COMM_WORLD).run()
    except (Error, OSError, ValueError) as error:
        print(message(f"{sys.argv[1]}: {reason(error)}"), file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
