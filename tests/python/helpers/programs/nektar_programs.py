"""What ranks do in tests of checkpoints of Nektar++."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tailrace.formats.nektar import dataset_at, restart
from tailrace.formats.writers import writer_of
from tailrace.io.placement import Box


def copy(comm: Any, source: str, target: str, name: str, options: dict[str, str]) -> list[str]:
    """Write a checkpoint again, each rank a third of each list; returns what is beside the target."""
    data = dataset_at(Path(source))
    assert data is not None
    writer = writer_of(name)(target, comm, grid=None, attributes=data.attributes, options=options)
    index, time = data.steps[0]
    writer.begin_step(index, time, data.variables(0), data.scalars(0))
    for one, stored in data.variables(0).items():
        columns, rows, _ = stored.shape
        low, high = rows * comm.rank // comm.size, rows * (comm.rank + 1) // comm.size
        values = np.empty((1, high - low, columns), stored.dtype)
        data.read(0, one, Box((0, low, 0), (columns, high - low, 1)), values)
        writer.write(one, Box((0, low, 0), (columns, high - low, 1)), values)
    writer.end_step()
    writer.close()
    return sorted(entry.name for entry in Path(target).parent.iterdir())


def restart_from(comm: Any, path: str, ids: list[list[int]]) -> dict[str, Any]:
    """What this rank gets of a checkpoint."""
    found = restart.read(path, comm, ids[comm.rank])
    parts = [
        {
            "shape": one.definition.shape,
            "z": list(one.definition.z_ids),
            "elements": one.elements.tolist(),
            "orders": None if one.orders is None else one.orders.tolist(),
            "values": {name: values.tolist() for name, values in one.values.items()},
        }
        for one in found.parts
    ]
    return {"parts": parts, "same": found.same_decomposition, "bytes": found.bytes_read}
