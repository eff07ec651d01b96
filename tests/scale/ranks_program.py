"""What one rank does for grow_with_ranks.py: phases, each counted alone.

    ranks_program.py PLACE ENGINE PARAMETERS NAME [write]
                                         write, read and verify a series of tiny blocks, or only write
    ranks_program.py PLACE stream RANKS  send steps of tiny blocks; RANKS: those that send (aggregators)
    ranks_program.py PLACE take          receive them, on one rank, uncounted
    ranks_program.py PLACE run           a run with a checkpoint, and one that goes on from it
    ranks_program.py PLACE start         load Python, MPI and the modules of a run

Rank 0 prints a line of JSON for each phase: the sum over the ranks and the largest of a rank, of each count.
"""

import ctypes
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from mpi4py import MPI

import tailrace as tr

COUNTS = (
    "opens", "looks", "names", "syncs", "read", "written", "collectives", "messages", "received", "sent", "sockets",
)  # fmt: skip
LIBRARY = ctypes.CDLL(None)  # whose counting functions LD_PRELOAD has brought
VARIABLES = ("ux", "uy", "p")
STEPS = 3
AT_REST = 4.0  # seconds after which a file cannot have changed unseen: readers need not look again


def taken() -> list[int]:
    """What was counted since the last call."""
    numbers = (ctypes.c_int64 * len(COUNTS))()
    LIBRARY.count_take(numbers)
    return list(numbers)


comm = MPI.COMM_WORLD


def tell(phase: str, counts: list[int]) -> None:
    """Print what all ranks counted. Collective."""
    own = np.array(counts, np.int64)
    total, most = np.empty_like(own), np.empty_like(own)
    comm.Allreduce(own, total)
    comm.Allreduce(own, most, op=MPI.MAX)
    if comm.rank == 0:
        print(json.dumps({"phase": phase, "sum": total.tolist(), "most": most.tolist(), "first": own.tolist()}),
              flush=True)  # fmt: skip
    comm.Barrier()
    taken()


@contextmanager
def counted(phase: str) -> Iterator[None]:
    """Count what the block does. Collective."""
    comm.Barrier()
    taken()
    yield
    tell(phase, taken())


def block(step: int, variable: int) -> tr.Block:
    """This rank's block of a tiny field: 2 planes of 3 x 4 nodes."""
    begin = 2 * comm.rank
    z, y, x = np.meshgrid(np.arange(begin, begin + 2), np.arange(3), np.arange(4), indexing="ij")
    return tr.Block(np.asarray(1000 * step + 100 * variable + x + 10 * y + 0.25 * z, float),
                    (4, 3, 2 * comm.size), (0, 0, begin))  # fmt: skip


def write_steps(out: tr.Series, steps: range) -> None:
    """Write these steps of a few tiny fields."""
    for step in steps:
        out.write_step(0.5 * step, index=step, **{name: block(step, at) for at, name in enumerate(VARIABLES)})


def write_all(out: tr.Series) -> None:
    """Write the first step and the others, and close."""
    with counted("first step"):
        write_steps(out, range(1))
    with counted(f"{STEPS} steps"):
        write_steps(out, range(1, STEPS + 1))
    with counted("close"):
        out.close()


def send(name: str, ranks: str) -> None:
    """Send steps to a reader that waits for them."""
    with counted("open to send"):
        out = tr.open(name, "w", comm=comm, parameters={"wait_for_reader": 300, "aggregators": ranks})
    write_all(out)


def receive(name: str) -> None:
    """Receive what `send` sends."""
    with tr.open(name, parameters={"OpenTimeoutSecs": 300}) as stream:
        for step in stream:
            for at, name in enumerate(VARIABLES):
                assert step[name][-1, 2, 3] == 1000 * step.index + 100 * at + 23 + 0.25 * (len(step[name]) - 1)


def series(path: Path, engine: str) -> None:
    """Write, read, verify and append to a series of this engine."""
    parameters = json.loads(sys.argv[3])
    with counted("open to write"):
        out = tr.open(path, "w", engine=engine, comm=comm, parameters=parameters)
    write_all(out)
    if sys.argv[5:] == ["write"]:
        return
    time.sleep(AT_REST)
    with counted("open to read"):
        stored = tr.open(path, comm=comm)
    with counted("read own blocks"):
        mine = block(2, 1)
        box = mine.start, (4, 3, 2)
        found = stored[2].read("uy", box)
    np.testing.assert_array_equal(found, mine.data)
    with counted("read others' blocks"):
        begin = 2 * ((comm.rank + 1) % comm.size)
        stored[3].read("p", ((0, 0, begin), (4, 3, 2)))
    with counted("verify"):
        damage = stored[1].verify()
    assert damage == [], damage
    with counted("close read"):
        stored.close()
    with counted("open to append"):
        out = tr.open(path, "a", engine=engine, comm=comm, parameters=parameters)
    with counted("append"):
        write_steps(out, range(9, 10))
    out.close()


def case(ranks: int) -> str:
    """A case with 8 x 8 x 8 nodes a rank."""
    nodes, left, axis = [8, 8, 8], ranks, 0
    while left > 1:
        factor = next(f for f in (2, 3, 5, 7, left) if left % f == 0)
        nodes[axis], left, axis = nodes[axis] * factor, left // factor, (axis + 1) % 3
    return f"""
[case]
reynolds = 100.0
[grid]
points = {nodes}
lengths = [1.0, 2.0, 3.0]
boundaries = ["periodic", "periodic", "periodic"]
[time]
dt = 0.001
steps = 4
[diagnostics]
every = 2
[checkpoint]
every = 2
[[output]]
name = "fields"
engine = "raw"
path = "fields"
every = 2
fields = ["ux", "pressure"]
"""


def run(folder: Path) -> None:
    """A run of four steps with two checkpoints, and one of two steps more from the last."""
    from tailrace.case.case import load_case

    folder.mkdir(exist_ok=True)
    text = folder / "case.toml"
    if comm.rank == 0:
        text.write_text(case(comm.size))
    comm.Barrier()
    with counted("case"):
        wanted = load_case(text)
    with counted("run of 4 steps"):
        tr.run(wanted)
    with counted("run of 4 steps resumed"):
        tr.run(wanted, resume=True)


def main() -> None:
    place, what = Path(sys.argv[1]), sys.argv[2]
    if what == "start":
        from tailrace.simulation import simulation  # noqa: F401

        tell("start", taken())
        return
    if what == "take":
        receive(f"sst:{place / 'run'}")
        return
    LIBRARY.count_below(sys.argv[1].encode())
    if what == "stream":
        send(f"sst:{place / 'run'}", sys.argv[3])
    elif what == "run":
        run(place / "run")
    else:
        series(place / sys.argv[4], what)


main()
