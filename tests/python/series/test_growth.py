"""No cost of a step grows with the number of steps before it: what the system counts, of each engine and operation.

`tests/fuzz/growth.py` measures more steps.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

import pytest

import tailrace as tr
from helpers.harness.engines import KINDS, Engine
from helpers.programs import growth

FEW, MANY = 250, 1000
LATE = {"hdf5": 4}  # so many times more steps: what they need must not fit the cache of HDF5
# A file that may have changed is opened for each look, which reads the block of the list of steps that has the step. It
# grows to 64 KiB. docs/io/limits.md says so.
KNOWN = {("hdf5", "read new"): 1.4}
COUNTED = ("read_bytes", "written_bytes", "reads", "writes")
SMALL = 4096  # a cost below it says nothing of growth


@pytest.mark.parametrize("engine", KINDS, ids=str)
def test_costs_are_proportional_to_the_number_of_steps(tmp_path, engine: Engine):
    """Bytes and calls have an exponent of one at most."""
    costs = {}
    few, many = (number * LATE.get(engine.name, 1) for number in (FEW, MANY))
    for steps in (few, many):
        folder = tmp_path / str(steps)
        folder.mkdir()
        for operation in growth.OPERATIONS:
            costs[operation, steps] = growth.measure(folder / engine.place, engine.name, steps, operation).as_dict()
    steep = []
    for operation in growth.OPERATIONS:
        for name in COUNTED:
            less, more = costs[operation, few][name], costs[operation, many][name]
            power = math.log(max(more, SMALL) / max(less, SMALL)) / math.log(MANY / FEW)
            if power > KNOWN.get((engine.name, operation), 1.05):
                steep.append(f"{operation}: {name} {less:,} to {more:,}, exponent {power:.2f}")
    assert not steep, "\n".join(steep)


def test_a_late_step_of_hdf5_is_written_as_an_early_one(tmp_path):
    """What the file has in the upper nodes of HDF5's trees is not read again, of which there are more later."""

    def further(out: tr.Series, first: int) -> growth.Cost:
        for number in range(first, first + 100):
            growth._step(out, number)
        return growth.cost_of(lambda: [growth._step(out, number) for number in range(first + 100, first + 200)])

    with tr.open(tmp_path / "run.h5", "w", grid=growth.GRID) as out:
        early = further(out, 500)
        for number in range(700, 6000):
            growth._step(out, number)
        late = further(out, 6000)
    assert late.read_bytes < 1.15 * early.read_bytes, (early, late)
    assert late.reads < 1.15 * early.reads, (early, late)


def read_two(path: Path) -> int:
    """The bytes that are read for two steps of a series that is open, of the file and of its journal."""
    with tr.open(path) as series:
        series[0].read("ux")
        return growth.cost_of(lambda: [series[number].read("ux") for number in (1, 2)]).read_bytes


def test_beside_a_writer_that_waits_a_file_of_hdf5_is_opened_once(tmp_path):
    """Its journal tells that nothing has changed, however short ago the last change was; it is not read as a whole."""
    path = tmp_path / "run.h5"
    growth.write(path, "hdf5", 1000)
    with tr.open(path, "a") as out:
        out.set_attribute("long", "x" * 60_000)  # so that the journal is large
        growth._step(out, 1000)
        assert read_two(path) < 12_000
        with tr.open(path) as series:
            growth._step(out, 1001)
            assert len(tr.open(path)) == 1002
            assert series[5].read("ux")[1, 2, 3] == 5.5


def test_a_file_of_hdf5_that_stays_the_same_is_old_whatever_its_clock_says(tmp_path):
    path = tmp_path / "run.h5"
    growth.write(path, "hdf5", 1000)
    ahead = time.time() + growth.HOUR
    os.utime(path, (ahead, ahead))
    with tr.open(path) as series:
        once = growth.cost_of(lambda: series[1].read("ux")).read_bytes
        time.sleep(4.2)  # more than the step of any file system's clock
        series[2].read("ux")
        later = growth.cost_of(lambda: series[3].read("ux")).read_bytes
    assert later < once / 4
