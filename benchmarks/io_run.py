"""One measured program of `io.py`. The first argument is a job as JSON. Rank 0 prints the result as JSON."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import tailrace as tr

COMM = MPI.COMM_WORLD
SUFFIX = {"hdf5": ".h5", "adios_hdf5": ".h5", "bp4": ".bp", "bp5": ".bp", "sion": ".sion"}
Case = dict[str, Any]  # keys: engine, parameters
PIECE = bytes(2**20)


# ---- arrays ---------------------------------------------------------------------------------------------
def share(points: int, parts: int, part: int) -> tuple[int, int]:
    """Start and number of points of one of several nearly equal parts."""
    start = points * part // parts
    return start, points * (part + 1) // parts - start


def x_pencil(shape: tuple[int, int, int]) -> tr.Block:
    """Random numbers on the X pencil of this rank: a slab in z, or with four ranks a part of 2 x 2 parts in y and z."""
    rows = 2 if COMM.size == 4 else 1
    (y, ny), (z, nz) = share(shape[1], rows, COMM.rank % rows), share(shape[2], COMM.size // rows, COMM.rank // rows)
    data = np.random.default_rng(COMM.rank).random((nz, ny, shape[0]))
    return tr.Block(data, shape, (0, y, z))


# ---- clocks ---------------------------------------------------------------------------------------------
def start_together() -> float:
    COMM.barrier()
    return time.perf_counter()


def wall_seconds(begin: float, end: float) -> float:
    """Seconds from the earliest begin to the latest end of all ranks: with few cores, ranks begin one after the other.

    Python's clock is the same for all processes of one machine. This does not work on several machines.
    """
    ends = np.array([-begin, end])
    COMM.Allreduce(MPI.IN_PLACE, ends, MPI.MAX)
    return float(ends[0] + ends[1])


def slowest(seconds: list[float]) -> list[float]:
    """For each time, the time of the slowest rank."""
    result = np.array(seconds)
    COMM.Allreduce(MPI.IN_PLACE, result, MPI.MAX)
    return result.tolist()


# ---- memory ---------------------------------------------------------------------------------------------
class Warmer:
    """Gives the machine free memory before a measurement: takes some memory and gives it back.

    A virtual machine may lose memory that was free for some seconds. It then gets the memory back slowly, page by page.
    Half of the memory is taken as huge pages, and half by a file in pieces of 1 MiB. The kernel keeps freed huge pages
    for requests of huge pages, and only some writers make such requests.
    """

    def __init__(self, directory: str) -> None:
        self._file = Path(directory) / f"warm.{COMM.rank}"
        self._fastest = math.inf  # seconds per byte

    def warm(self, size: int) -> None:
        """Take `size` bytes of each half on every rank. Repeat if slow, at most four times in all. Collective."""
        for _ in range(4):
            begin = start_together()
            huge = np.ones(size // 8)
            with self._file.open("wb", buffering=0) as file:
                for _ in range(max(1, size // len(PIECE))):
                    file.write(PIECE)
            COMM.barrier()  # otherwise a late rank could get memory that another rank has given back
            del huge
            self._file.unlink()
            taken = wall_seconds(begin, time.perf_counter()) / size
            self._fastest = min(self._fastest, taken)
            if taken < 1.5 * self._fastest:
                break


# ---- writers --------------------------------------------------------------------------------------------
def place(directory: str, case: Case) -> str:
    return str(Path(directory) / f"series{SUFFIX.get(case['engine'], '')}")


def remove(path: str) -> None:
    COMM.barrier()
    if COMM.rank == 0:
        for found in Path(path).parent.glob(Path(path).name + "*"):  # a journal may exist beside the file
            shutil.rmtree(found) if found.is_dir() else found.unlink()
    COMM.barrier()


def open_series(path: str, case: Case, **more: object) -> tr.Series:
    return tr.open(path, "w", comm=COMM, engine=case["engine"], parameters={**case["parameters"], **more})


def engine_seconds(path: str, case: Case, block: tr.Block, variables: int, sync: bool) -> tuple[float, float]:
    """Seconds from open to close, and seconds of the step alone."""
    begin = start_together()
    series = open_series(path, case, **({"sync": True} if sync else {}))
    step = time.perf_counter()
    series.begin_step(0, 0.0)
    for i in range(variables):
        series.write(f"u{i}", block)
    series.end_step()
    written = time.perf_counter()
    series.close()
    closed = time.perf_counter()
    remove(path)
    return wall_seconds(begin, closed), wall_seconds(step, written)


def plain_seconds(path: str, block: tr.Block, variables: int, sync: bool, shared: bool) -> float:
    """Write the same bytes with pwrite. Each rank writes its own new file, or its part of a shared file."""
    mine = path if shared else f"{path}.{COMM.rank}"
    data = block.data.data.cast("B")
    begin = start_together()
    file = os.open(mine, os.O_WRONLY | os.O_CREAT, 0o666)
    offset = COMM.rank * len(data) * variables if shared else 0
    for _ in range(variables):
        done = 0
        while done < len(data):  # Linux writes at most 2 GiB per call
            done += os.pwrite(file, data[done:], offset + done)
        offset += done
    if sync:
        os.fsync(file)
    os.close(file)
    closed = time.perf_counter()
    COMM.barrier()
    if COMM.rank == 0 or not shared:
        Path(mine).unlink()
    return wall_seconds(begin, closed)


# ---- jobs -----------------------------------------------------------------------------------------------
def write_once(job: dict[str, Any]) -> Any:
    """Seconds of one step with pwrite into one file per rank, with pwrite into one file, and with every case, in turn.

    The first round is not counted.
    """
    block = x_pencil(tuple(job["shape"]))
    variables, sync = job["variables"], job["sync"]
    plain = str(Path(job["directory"]) / "plain")
    plains = ("plain", "shared")
    result: dict[str, Any] = {
        "plain": [],
        "shared": [],
        "cases": {name: {"all": [], "step": []} for name in job["cases"]},
    }
    order = [*plains, *job["cases"]]
    warmer = Warmer(job["directory"])
    shuffle = random.Random(0).shuffle  # the order is the same on all ranks
    for turn in range(job["repetitions"] + 1):
        shuffle(order)  # the data of one case may still be on the way to the disk while the next case writes
        for name in order:
            warmer.warm(variables * block.data.nbytes * 5 // 4)  # memory for the file and for the buffers of an engine
            if name in plains:
                whole = plain_seconds(plain, block, variables, sync, name == "shared")
            else:
                case = job["cases"][name]
                whole, inner = engine_seconds(place(job["directory"], case), case, block, variables, sync)
            if turn == 0:
                continue
            if name in plains:
                result[name].append(whole)
            else:
                result["cases"][name]["all"].append(whole)
                result["cases"][name]["step"].append(inner)
    result["bytes"] = COMM.allreduce(block.data.nbytes) * variables
    return result


def many_steps(job: dict[str, Any]) -> Any:
    """Seconds from open to close of many tiny steps with 2 x 2 x 2 numbers per rank and a scalar."""
    case, path = job["case"], place(job["directory"], job["case"])
    count, tenth = job["steps"], job["steps"] // 10
    block = tr.Block(np.random.default_rng(0).random((2, 2, 2)), (2, 2, 2 * COMM.size), (0, 0, 2 * COMM.rank))
    result: dict[str, Any] = {"seconds": [], "first_tenth": [], "last_tenth": []}
    for _ in range(job["repetitions"]):
        begin = start_together()
        marks = []
        series = open_series(path, case)
        for i in range(count):
            if i in (0, tenth, count - tenth):
                marks.append(time.perf_counter())
            series.begin_step(i, float(i))
            series.write("u", block)
            series.write_scalar("energy", float(i))
            series.end_step()
        marks.append(time.perf_counter())
        series.close()
        whole, first, last = slowest([time.perf_counter() - begin, marks[1] - marks[0], marks[3] - marks[2]])
        remove(path)
        result["seconds"].append(whole)
        result["first_tenth"].append(first)
        result["last_tenth"].append(last)
    return result


CACHED = np.linspace(1.0, 2.0, 1024)  # 8 KiB: the data stay in the cache during the computation


def compute(rounds: int) -> None:
    for _ in range(rounds):
        np.sqrt(CACHED, out=CACHED)
        np.square(CACHED, out=CACHED)


def step_costs(job: dict[str, Any], block: tr.Block, rounds: int, warmer: Warmer, **more: int) -> dict[str, Any]:
    """The time that output costs the caller: seconds of write and of end_step per step, and of the whole run."""
    path, unseen = place(job["directory"], job["case"]), 2
    writes, ends = [], []
    warmer.warm((unseen + job["steps"] + more.get("buffers", 0)) * block.data.nbytes)
    series = open_series(path, job["case"], **({"sync": True} if job["sync"] else {}), **more)
    for i in range(unseen + job["steps"]):
        compute(rounds)
        start = start_together()
        if i == unseen:
            begin = start
        series.begin_step(i, float(i))
        series.write("u", block)
        written = time.perf_counter()
        series.end_step()
        writes.append(written - start)
        ends.append(time.perf_counter() - written)
    drained = time.perf_counter()
    series.close()
    whole, close = slowest([time.perf_counter() - begin, time.perf_counter() - drained])
    remove(path)
    both = slowest([w + e for w, e in zip(writes, ends, strict=True)])[unseen:]
    return {"both": both, "end_step": slowest(ends)[unseen:], "whole": whole, "close": close}


def overlap(job: dict[str, Any]) -> Any:
    """Output of a step, then a longer computation. Runs alternate between no buffers and buffers."""
    block = x_pencil(tuple(job["shape"]))
    open_series(place(job["directory"], job["case"]), job["case"], buffers=job["buffers"]).close()  # fails if refused
    remove(place(job["directory"], job["case"]))
    warmer = Warmer(job["directory"])
    alone = step_costs(job, block, 0, warmer)["both"]
    rounds = 1000
    while True:
        start = start_together()
        compute(rounds)
        [took] = slowest([time.perf_counter() - start])
        wanted = 1.25 * max(alone)
        if took >= wanted:
            break
        rounds = int(rounds * min(10.0, 1.1 * wanted / took)) + 1
    result: dict[str, Any] = {"compute": took, "alone": alone, "synchronous": [], "asynchronous": []}
    for _ in range(job["repetitions"]):
        result["synchronous"].append(step_costs(job, block, rounds, warmer))
        result["asynchronous"].append(step_costs(job, block, rounds, warmer, buffers=job["buffers"]))
    return result


# ---- peaks of memory ------------------------------------------------------------------------------------
def status(*names: str) -> list[int]:
    """Bytes of some lines of /proc/self/status."""
    found = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return [int(found[name].split()[0]) * 1024 for name in names]


class Peak:
    """How much resident memory grows within the block, without pages of files and memory that processes share.

    The kernel stores the peak of all resident memory. The growth of file pages and shared memory is subtracted. If the
    peak cannot be reset, a thread reads the size of the anonymous pages every millisecond.
    """

    def __enter__(self) -> Peak:
        try:
            Path("/proc/self/clear_refs").write_text("5")
            self.sampled = None
        except OSError:
            [self.sampled] = status("RssAnon")
            self._done = threading.Event()
            self._sampler = threading.Thread(target=self._sample)
            self._sampler.start()
        self.before = status("VmRSS", "RssAnon", "RssFile", "RssShmem")
        return self

    def _sample(self) -> None:
        while not self._done.wait(0.001):
            self.sampled = max(self.sampled or 0, *status("RssAnon"))

    def __exit__(self, *_: object) -> None:
        total, anonymous, files, shared = self.before
        top, files_now, shared_now = status("VmHWM", "RssFile", "RssShmem")
        self.shared = shared_now - shared
        if self.sampled is None:
            self.private = top - total - max(0, files_now - files) - max(0, self.shared)
        else:
            self._done.set()
            self._sampler.join()
            self.private = self.sampled - anonymous


def memory(job: dict[str, Any]) -> Any:
    """Peak memory of a few steps relative to the block of the rank; the largest value of all ranks."""
    case, path = job["case"], place(job["directory"], job["case"])
    more = {"buffers": job["buffers"]} if job["buffers"] else {}
    tiny = x_pencil((8, 8, 8 * COMM.size))
    with open_series(path, case, **more) as series:  # loads the libraries, and initialises MPI and the engine
        series.write_step(0.0, u=tiny)
    remove(path)
    block = x_pencil(tuple(job["shape"]))
    COMM.barrier()
    with Peak() as peak:
        series = open_series(path, case, **more)
        for i in range(job["buffers"] + 2):
            series.write_step(float(i), u=block)
        # The series is still open: close would free memory that ranks share.
    series.close()
    remove(path)
    size = block.data.nbytes
    private, shared = slowest([peak.private / size, peak.shared / size])
    return {"private": private, "shared": shared, "block": size, "sampled": peak.sampled is not None}


JOBS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "write_once": write_once,
    "many_steps": many_steps,
    "overlap": overlap,
    "memory": memory,
}


def main() -> None:
    job = json.loads(sys.argv[1])
    try:
        result = JOBS[job["task"]](job)
    except tr.InputError as error:  # this error is the same on every rank
        result = {"unavailable": str(error)}
    except tr.IoError as error:
        result = {"failed": str(error)}
    except BaseException:  # the error may be on one rank only: do not let the others wait
        traceback.print_exc()
        COMM.Abort(1)
    if COMM.rank == 0:
        print(json.dumps(result))


main()
