"""A rank reads what it asks for, and not what others have written beside it or read already."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

import tailrace as tr
from helpers.programs import growth
from tailrace.core import engine_traits

SHAPE = (64, 64, 31)  # less than 1 MiB of float64, which HDF5 would keep in a cache
STEPS = 300


def test_a_box_of_a_small_chunk(tmp_path):
    values = np.random.default_rng(3).random(SHAPE[::-1])
    with tr.open(tmp_path / "run.h5", "w") as out:
        out.write_step(0.0, ux=values)
    with tr.open(tmp_path / "run.h5") as series:
        step = series[0]
        np.testing.assert_array_equal(step.read("ux", ((3, 0, 4), (50, 64, 1))), values[4:5, :, 3:53])
        cost = growth.cost_of(lambda: step.read("ux", ((3, 0, 7), (50, 64, 1))))
        assert cost.read_bytes < values.nbytes / 4


@pytest.mark.parametrize("engine", ["bp4", "bp5"])
def test_the_metadata_of_a_file_at_rest_are_read_by_rank_0(tmp_path, three, engine):
    path = tmp_path / f"run{engine_traits(engine).extensions[0]}"
    with tr.open(path, "w", engine=engine) as out:
        for step in range(STEPS):
            out.write_step(0.5 * step, index=step, ux=np.full((2, 3, 4), float(step)))
    for file in path.iterdir():  # as some time later
        os.utime(file, (time.time() - 60,) * 2)
    first, second, third = three.results(growth.bytes_of_an_opening, path=str(path))
    metadata = sum((path / name).stat().st_size for name in ("md.idx", "md.0"))
    assert metadata > 100_000
    assert first > metadata
    assert max(second, third) < metadata / 2
