"""Bytes that each rank reads when a run of N ranks restarts from a checkpoint of N ranks of Nektar++.

    python benchmarks/formats_nektar.py [--writers 2,8,32,128,512] [--elements 200]

The ranks are threads of one process that talk to each other through memory: only bytes are counted, so the number of
processors does not matter. The last columns are what Nektar++ reads: all rows and all numbers of elements on each rank.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from mpi4py import MPI

from tailrace.formats.nektar import restart

MODES = (6, 6)
FIELDS = ["u", "v", "p"]


class ThreadComm:
    """One of `size` ranks that are threads; the collective calls of mpi4py that a restart makes."""

    def __init__(self, rank: int, shared: list[Any], barrier: threading.Barrier) -> None:
        self.rank, self.size, self._shared, self._barrier = rank, barrier.parties, shared, barrier

    def allgather(self, value: Any) -> list[Any]:
        self._shared[self.rank] = value
        self._barrier.wait()
        found = list(self._shared)
        self._barrier.wait()
        return found

    def bcast(self, value: Any, root: int = 0) -> Any:
        return self.allgather(value)[root]

    def Allreduce(self, sent: Any, found: Any, op: Any) -> None:  # noqa: N802 # as in mpi4py, of arrays
        assert sent is MPI.IN_PLACE
        choose = np.max if op == MPI.MAX else np.min
        found[...] = choose(self.allgather(found.copy()), axis=0)

    def alltoall(self, values: list[Any]) -> list[Any]:
        return [row[self.rank] for row in self.allgather(values)]

    def Scan(self, mine: Any, end: Any) -> None:  # noqa: N802 # as in mpi4py
        end[:] = sum(self.allgather(mine)[: self.rank + 1])


def make(path: Path, writers: int, elements: int) -> None:
    """A checkpoint of so many ranks, with triangles and quadrilaterals on each."""
    counts = {"Triangle": 21, "Quadrilateral": 36}
    rows = []
    with h5py.File(path, "w") as file:
        root = file.create_group("NEKTAR")
        root.attrs["FORMAT_VERSION"] = np.uint32(1)
        origin = root.create_group("Metadata/Provenance")
        origin.attrs["NektarVersion"] = "5.3.0"
        for at, (shape, count) in enumerate(counts.items()):
            group = root.create_group(str(1234567 + at))
            group.attrs["FIELDS"], group.attrs["BASIS"] = FIELDS, np.array([4, 5 - at], np.int32)
            group.attrs["SHAPE"], group.attrs["NUMMODESPERDIR"] = shape, "UNIORDER:6,6"
            rows.append([elements // 2, elements // 2 * count * len(FIELDS), 0, 0, 0, 0, 1234567 + at])
        table = np.tile(np.array(rows, np.uint64).reshape(-1), writers)
        root["DECOMPOSITION"] = table
        root["ELEMENTIDS"] = np.arange(writers * (elements // 2) * 2, dtype=np.uint32)
        root["DATA"] = np.random.default_rng(1).standard_normal(int(table.reshape(-1, 7)[:, 1].sum()))


def read_all(path: Path, writers: int, elements: int, shift: int) -> list[restart.Restart]:
    """What each of `writers` ranks gets; a shift of the elements makes it another decomposition."""
    shared, barrier = [None] * writers, threading.Barrier(writers)
    own = elements // 2 * 2
    found: list[Any] = [None] * writers

    def one(rank: int) -> None:
        try:
            ids = (np.arange(rank * own, (rank + 1) * own) + shift) % (writers * own)
            found[rank] = restart.read(path, ThreadComm(rank, shared, barrier), ids)  # type: ignore[arg-type]
        except BaseException:
            barrier.abort()
            raise

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--writers", default="2,8,32,128,512")
    parser.add_argument("--elements", type=int, default=200, help="of each rank")
    options = parser.parse_args()
    print("bytes read by a rank: of values | beside values: rank 0, others (least, most) | every rank in Nektar++")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "checkpoint.chk"
        for writers in map(int, options.writers.split(",")):
            make(path, writers, options.elements)
            all_rows = writers * (2 * 56 + options.elements * 4)
            for name, shift in (("same", 0), ("other", options.elements // 4)):
                found = read_all(path, writers, options.elements, shift)
                values = [sum(v.nbytes for p in one.parts for v in p.values.values()) for one in found]
                beside = [one.bytes_read - value for one, value in zip(found, values, strict=True)]
                assert all(one.same_decomposition == (shift == 0) for one in found)
                print(
                    f"{writers:4d} writers, {name:5s} decomposition: {max(values):8d} | {beside[0]:7d} "
                    f"{min(beside[1:]):7d} {max(beside[1:]):7d} | {all_rows:8d}"
                )


if __name__ == "__main__":
    main()
