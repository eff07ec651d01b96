"""Files of results made by hand, with a known best answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tailrace.bench.records.records import Cell, End, Failure, Measurement, Record, Run
from tailrace.bench.records.results import BenchResults, ResultFile

MACHINE = {"processor": "a test", "cores": 8, "memory": 2**34, "nodes": 1, "system": "Linux"}
WOBBLE = (0.98, 1.0, 1.02, 0.99, 1.01, 1.03, 0.97)  # of the rounds


@dataclass
class Made:
    """Results under construction: one setting, ways with their seconds."""

    ranks: int = 4
    shape: tuple[int, int, int] = (256, 256, 256)
    variables: int = 1
    cache: str = "synced"
    directory: str = "disk"
    kind: str = "ext4"
    machine: Mapping[str, Any] = field(default_factory=lambda: MACHINE)
    run: str = "one"
    began: str = "2026-01-01T00:00:00+00:00"
    records: list[Record] = field(default_factory=list)

    def __post_init__(self) -> None:
        places = {self.directory: {"path": f"/scratch/{self.directory}", "kind": self.kind}}
        self.records.append(Run(self.run, "bench", self.began, "0.1.0", dict(self.machine), {}, places))

    def cell(self, engine: str, **parameters: Any) -> Cell:
        """The cell of a way."""
        name = " ".join([engine, *(f"{key}={value}" for key, value in sorted(parameters.items()))])
        return Cell(
            "io", "write", name, engine, parameters=tuple(parameters.items()), directory=self.directory,
            ranks=self.ranks, decomposition=(1, 1, self.ranks), shape=self.shape, variables=self.variables,
            cache=self.cache,
        )  # fmt: skip

    def way(
        self,
        engine: str,
        seconds: float | Sequence[float],
        *,
        verified: bool | None = True,
        rounds: int = len(WOBBLE),
        disturbed: Mapping[int, str] = {},
        **parameters: Any,
    ) -> Made:
        """Add the rounds of a way; of one number as many as `rounds` that wobble by 3 %."""
        self._add(self.cell(engine, **parameters), seconds, rounds, verified, disturbed)
        return self

    def limit(self, seconds: float) -> Made:
        """Add what the machine can do at best."""
        cell = replace(self.cell(""), name="pwrite", role="limit", parameters=())
        self._add(cell, seconds, len(WOBBLE), None, {})
        return self

    def fails(self, engine: str, error: str, **parameters: Any) -> Made:
        """Add a failure of a way."""
        self.records.append(Failure(self.cell(engine, **parameters), 1, error, self.run))
        return self

    def _add(
        self,
        cell: Cell,
        seconds: float | Sequence[float],
        rounds: int,
        verified: bool | None,
        disturbed: Mapping[int, str],
    ) -> None:
        times = [seconds * one for one in WOBBLE[:rounds]] if isinstance(seconds, int | float) else list(seconds)
        size = 8 * self.variables * self.shape[0] * self.shape[1] * self.shape[2]
        for at, time in enumerate(times, 1):
            self.records.append(
                Measurement(
                    cell, at, time, size, verified=verified, disturbed=disturbed.get(at, ""), run=self.run
                )
            )  # fmt: skip

    def results(self) -> BenchResults:
        """As if they had been read from a file."""
        return BenchResults(self.all())

    def file(self, path: Path) -> Path:
        """A file of them."""
        with ResultFile(path) as file:
            for record in self.all():
                file.add(record)
        return path

    def all(self) -> list[Record]:
        """The records of the file."""
        return [*self.records, End(self.run, "2026-01-01T01:00:00+00:00")]


def clear_case(**more: Any) -> Made:
    """bp5 writes 0.125 GiB in 0.1 s, the next in 0.2 s."""
    return Made(**more).way("bp5", 0.1).way("hdf5", 0.2).way("raw", 0.3).way("raw", 0.25, strategy="dist").limit(0.08)
