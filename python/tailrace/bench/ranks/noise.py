"""Other activity of the machine during a measurement, and memory that a virtual machine has lost."""

from __future__ import annotations

import math
import os
import resource
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .job import nodes_of
from .timing import slowest

if TYPE_CHECKING:
    from mpi4py import MPI

_PIECE = bytes(2**20)
_OTHERS = 0.25  # cores that other programs may use until a round counts as disturbed
_STOLEN = 0.05  # share of the time that the host may take from this machine


class Watch:
    """Finds what disturbs the ranks of this machine between `start` and `stop`. `stop` is collective."""

    def __init__(self, comm: MPI.Comm) -> None:
        from mpi4py import MPI

        self._node = comm.Split_type(MPI.COMM_TYPE_SHARED)
        self._comm = comm
        self.first_of_node = self._node.rank == 0
        self.nodes = nodes_of(comm)
        self.start()

    def start(self) -> None:
        """Begin to watch. Local."""
        self._before = (_machine(), _own_user(), _taken_back(), time.perf_counter())

    def stop(self, friends: float = 0.0) -> str:
        """The disturbances in words; "" if there are none. On systems other than Linux it is always "".

        :param friends: seconds of processor time of other programs on this node that belong to the measurement.
        """
        (user, stolen), own, taken, began = self._before
        (user_now, stolen_now), own_now, taken_now, ended = _machine(), _own_user(), _taken_back(), time.perf_counter()
        seconds = max(ended - began, 1e-3)
        own_cores = (self._node.allreduce(own_now - own) + friends) / seconds
        others = max(0.0, (user_now - user) / seconds - own_cores)
        share = (stolen_now - stolen) / seconds / max(1, os.cpu_count() or 1)
        worst = slowest(self._comm, {"others": others, "stolen": share, "taken": float(taken_now - taken)})
        said = []
        ticks = 2 / os.sysconf("SC_CLK_TCK") / seconds  # a short round sees less than a tick
        if worst["others"] > _OTHERS + ticks:
            said.append(f"other programs used {worst['others']:.1f} cores")
        if worst["stolen"] > _STOLEN + ticks:
            said.append(f"the host took {worst['stolen']:.0%} of the processor time")
        if worst["taken"] > 0:
            said.append(f"the host took {worst['taken']:.0f} pages of memory back")
        return ", ".join(said)


def _machine() -> tuple[float, float]:
    """Processor seconds of all programs, without the kernel, and seconds that the host of a virtual machine took."""
    with suppress(OSError, ValueError, IndexError):
        words = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
        ticks = os.sysconf("SC_CLK_TCK")
        return (int(words[1]) + int(words[2])) / ticks, int(words[8]) / ticks
    return 0.0, 0.0


def _own_user() -> float:
    return sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _taken_back() -> int:
    """Pages that a balloon took from this machine since it started; 0 if the kernel does not count them."""
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("balloon_inflate "):
                return int(line.split()[1])
    return 0


class Warmer:
    """Gives the machine free memory before a measurement: takes some memory and gives it back.

    A virtual machine may lose memory that was free for some seconds. It then gets the memory back slowly, page by page.
    Half of the memory is taken as huge pages, and half by a file in pieces of 1 MiB. The kernel keeps freed huge pages
    for requests of huge pages, and only some writers make such requests.
    """

    def __init__(self, comm: MPI.Comm, directory: Path) -> None:
        self._comm = comm
        self._file = directory / f"warm.{comm.rank}"
        self._fastest = math.inf  # seconds per byte

    def warm(self, size: int) -> None:
        """Take `size` bytes of each half on every rank. Repeat if slow, at most four times in all. Collective.

        Parts differ in size; the largest counts on all ranks, which must repeat equally often.
        """
        size = max(8, int(slowest(self._comm, {"size": float(size)})["size"]))
        for _ in range(4):
            self._comm.barrier()
            begin = time.perf_counter()
            huge = np.ones(size // 8)
            with suppress(OSError), self._file.open("wb", buffering=0) as file:  # a full disk; the cells will report it
                for _ in range(max(1, size // len(_PIECE))):
                    file.write(_PIECE)
            self._comm.barrier()  # otherwise a late rank could get memory that another rank has given back
            del huge
            self._file.unlink(missing_ok=True)
            taken = slowest(self._comm, {"warm": time.perf_counter() - begin})["warm"] / size
            self._fastest = min(self._fastest, taken)
            if taken < 1.5 * self._fastest:
                break
