"""No cost of a step grows with the number of steps before it: what the system counts, of each engine and operation.

`tests/fuzz/growth.py` measures more steps.
"""

from __future__ import annotations

import math

import pytest

from helpers.harness.engines import KINDS, Engine
from helpers.programs import growth

FEW, MANY = 250, 1000
LATE = {"hdf5": 4}  # so many times more steps: what they need must not fit the cache of HDF5
# A file that may have changed is opened for each look, which reads the block of the list of steps that has the step. It
# grows to 64 KiB. docs/io/limits.md says so.
KNOWN = {("hdf5", "read live"): 1.4}
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
