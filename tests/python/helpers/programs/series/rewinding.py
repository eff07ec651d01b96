"""Writers that drop steps and write them again, and ranks that read beside them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from helpers.harness.engines import ENGINES, Engine
from tailrace.core import IoError
from tailrace.io import series as tr

SHAPE = (6, 5, 4)


def field(step: int, salt: float = 0.0) -> Any:
    """Values that tell their step."""
    return np.arange(120.0).reshape(SHAPE) + 1000 * step + salt


def go_on(engine: Engine, path: Path, rewind_to: int | None, steps: Iterable[int], salt: float = 0.0) -> None:
    """Drop the steps after `rewind_to`, and write others."""
    options = {"engine": engine.name, "parameters": dict(engine.parameters)}
    with tr.open(path, "w" if rewind_to is None else "a", rewind_to=rewind_to, **options) as out:
        for step in steps:
            out.write_step(0.5 * step, index=step, ux=field(step, salt))


def lose_a_line(comm: Any, path: str) -> str:
    """The list of an open series loses step 1; returns the error of rank 1, which reads that step."""
    place = Path(path)
    with tr.open(path, comm=comm) as stored:  # rank 0 has read the list, and the other one not
        if comm.rank == 0:
            (place / "series.jsonl").rename(place / "before")
            lines = (place / "before").read_text().splitlines(keepends=True)
            (place / "series.jsonl").write_text("".join(line for line in lines if '"index":1' not in line))
        comm.barrier()
        for step in (0, 2, 3):
            assert stored[step].names == ["ux"], stored[step].names
            assert stored[step].scalars == {"energy": step}, stored[step].scalars
            np.testing.assert_array_equal(stored[step].read("ux"), field(step))
        try:
            return "" if comm.rank == 0 else str(stored[1].scalars)
        except IoError as error:
            return str(error)


def main(label: str, path: str, times: str) -> None:
    """Drop the steps after 1 and write them again, so many times."""
    engine = next(one for one in ENGINES if one.label == label)
    for _ in range(int(times)):
        go_on(engine, Path(path), 1, range(2, 6))


if __name__ == "__main__":
    main(*sys.argv[1:])
