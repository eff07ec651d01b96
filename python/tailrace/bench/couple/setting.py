"""A setting of the benchmark of coupling, and its cells: the data, the ranks of both sides, and their work."""

from __future__ import annotations

from dataclasses import dataclass

from ..ranks.partition import partition_of
from ..records.records import Cell


@dataclass(frozen=True)
class StreamVariant:
    """A variant of coupling: the queue of the stream, and what happens when it is full.

    :param queue: the largest number of steps that wait for the consumer.
    :param policy: "block", "drop_newest", "drop_oldest" or "adapt"; see docs/io/sst.md.
    """

    queue: int
    policy: str

    @property
    def name(self) -> str:
        """The name, such as "sst,queue=2,policy=block"."""
        return f"sst,queue={self.queue},policy={self.policy}"


@dataclass(frozen=True)
class CoupleSetting:
    """One size between two numbers of ranks, with work on both sides.

    :param shape: points of the whole in x, y, z.
    :param steps: the number of steps that count; one more goes before them.
    :param produce: seconds of one core that the producer computes for a step, shared by its ranks.
    :param consume: the same for the consumer.
    """

    directory: str
    producers: int
    consumers: int
    shape: tuple[int, int, int]
    variables: int
    steps: int
    precision: str
    produce: float
    consume: float

    @property
    def step_bytes(self) -> int:
        """Bytes of the values of a step."""
        nx, ny, nz = self.shape
        return nx * ny * nz * self.variables * (4 if self.precision == "float32" else 8)

    def cell(self, operation: str, variant: StreamVariant) -> Cell:
        """The cell of a variant. "produce" and "consume" are the two sides of the same steps."""
        source = f"{self.producers}:{self.consumers} ranks, {self.produce:g} s and {self.consume:g} s of work"
        parameters = (
            ("queue", variant.queue), ("policy", variant.policy), ("consumers", self.consumers), ("cost", self.consume),
            ("producer_cost", self.produce),
        )  # fmt: skip
        return Cell(
            "couple", operation, variant.name, "sst", parameters=parameters, directory=self.directory,
            ranks=self.producers, decomposition=partition_of("pencils", self.producers), shape=self.shape,
            variables=self.variables, steps=self.steps, precision=self.precision, source=source,
        )  # fmt: skip
