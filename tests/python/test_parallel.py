"""The number of ranks and their arrangement change nothing; failures on one rank are raised on all."""

import numpy as np
import pytest

from helpers.harness.kept import KEPT
from helpers.inputs import cases

RANKS = (1, 2, 3, 4, 6)
STEPS = 50

DECOMPOSITIONS = """
import sys
import numpy as np
from mpi4py import MPI
import tailrace as tr

comm = MPI.COMM_WORLD
case_path, result, *methods = sys.argv[1:]

def whole(simulation, name):
    start, count = simulation.box
    parts = comm.gather((start, simulation.field(name).copy()))
    if comm.rank:
        return None
    nx, ny, nz = simulation.shape
    out = np.full((nz, ny, nx), np.nan)
    for (i, j, k), part in parts:
        n = part.shape
        assert np.isnan(out[k:k + n[0], j:j + n[1], i:i + n[2]]).all(), "parts overlap"
        out[k:k + n[0], j:j + n[1], i:i + n[2]] = part
    assert np.isfinite(out).all()
    return out

stored = {}
for rows in range(1, comm.size + 1):
    if comm.size % rows:
        continue
    cols = comm.size // rows
    for method in methods:
        given = {"rows": rows, "cols": cols, "transpose": method}
        case = tr.load_case(case_path, [f"parallel.{key}={value}" for key, value in given.items()])
        s = tr.Simulation(case)
        divergence = []
        for step in range(int(case.time.total_steps)):
            s.advance()
            largest = comm.allreduce(max(float(abs(s.field(n)).max()) for n in ("ux", "uy", "uz")), op=MPI.MAX)
            divergence.append(s.flow.max_divergence() * max(case.grid.lengths) / largest)
        numbers = s.measure()
        fields = {n: whole(s, n) for n in ("ux", "uy", "uz", "pressure", "vorticity_x", "q")}
        if comm.rank == 0:
            label = f"{rows}x{cols}-{method}"
            stored.update({f"{label}/{n}": f for n, f in fields.items()})
            stored[f"{label}/divergence"] = divergence
            stored[f"{label}/numbers"] = [numbers[n] for n in sorted(numbers) if n != "max_divergence"]
if comm.rank == 0:
    np.savez(result, **stored)
"""


def computed(directory, case, ranks, methods):
    KEPT.script(DECOMPOSITIONS, case, f"{ranks}.npz", *methods, cwd=directory, ranks=ranks, limit=200)
    results = {}
    with np.load(directory / f"{ranks}.npz") as file:
        for key in file.files:
            label, _, name = key.partition("/")
            results.setdefault(label, {})[name] = file[key]
    return results


@pytest.mark.parametrize(
    "box, methods",
    [("periodic", ["alltoall", "subarray"]), ("free-slip", ["shared"]), ("mixed", ["shared", "alltoall"])],
)
def test_fields_are_the_same_on_every_process_grid(tmp_path, box, methods):
    case = cases.write_case(tmp_path, box, steps=STEPS)
    alone = computed(tmp_path, case, 1, ["alltoall"])["1x1-alltoall"]
    for one, other in (("ux", "uy"), ("uy", "uz"), ("ux", "uz")):
        assert abs(alone[one] - alone[other]).max() > 0.1, "a symmetric flow would hide mistakes"
    worst, bitwise, count, divergence = 0.0, 0, 0, alone["divergence"].max()
    for ranks in RANKS[1:]:
        results = computed(tmp_path, case, ranks, methods)
        assert len(results) == len(methods) * sum(ranks % rows == 0 for rows in range(1, ranks + 1))
        for label, result in results.items():
            for name in ("ux", "uy", "uz", "pressure", "vorticity_x", "q"):
                error = abs(result[name] - alone[name]).max() / max(1.0, abs(alone[name]).max())
                assert error <= 1e-12, f"{name} on {label}"
                worst = max(worst, error)
            # Sums over the ranks are added in another order.
            assert abs(result["numbers"] / np.where(alone["numbers"] == 0, 1, alone["numbers"]) - 1).max() < 1e-12, (
                label
            )
            assert len(result["divergence"]) == STEPS
            divergence = max(divergence, result["divergence"].max())
            count += 1
            bitwise += all(result[name].tobytes() == alone[name].tobytes() for name in ("ux", "uy", "uz"))
    print(f"{box}: fields within {worst:.1e}, {bitwise} of {count} bitwise equal; max |div u| L / U = {divergence:.1e}")
    assert divergence <= 1e-11


HELPERS = """
from mpi4py import MPI
from tailrace import _core
from tailrace.case.document import ConfigError
from tailrace.parallel import agree, on_root, spread
comm = MPI.COMM_WORLD
rank = comm.rank

def kind(work):
    try:
        return work()
    except Exception as error:
        return f"{type(error).__name__}: {error}"

assert agree(comm, lambda: 10 * rank) == 10 * rank
def fails(*ranks, error=_core.IoError):
    def work():
        if rank in ranks:
            raise error(f"rank {rank}")
    return work
# The first that failed tells the others; the one that failed keeps its own.
assert kind(lambda: agree(comm, fails(2))) == "IoError: rank 2"
assert kind(lambda: agree(comm, fails(1, 2))) == ("IoError: rank 2" if rank == 2 else "IoError: rank 1")
assert on_root(comm, lambda: rank) == 0
assert kind(lambda: on_root(comm, fails(0))) == "IoError: rank 0"
assert kind(lambda: on_root(comm, fails(1, 2))) is None

def odd():
    # An error that cannot be sent as it is: its constructor wants more than its text.
    raise ConfigError.single("case.toml", "time.dt", "is wrong")
assert "time.dt: is wrong" in kind(lambda: on_root(comm, odd))
def odd_somewhere():
    if rank == 1:
        odd()
assert "time.dt: is wrong" in kind(lambda: agree(comm, odd_somewhere))
class Local(Exception):
    pass
assert "gone" in kind(lambda: on_root(comm, lambda: (_ for _ in ()).throw(Local("gone"))))
assert spread(comm, {"a": float(rank), "b": 2.0}) == {"a": (0.0, 1.0, 2.0), "b": (2.0, 2.0, 2.0)}
comm.barrier()
"""


def test_failures_are_shared(tmp_path):
    KEPT.script(HELPERS, cwd=tmp_path, ranks=3, limit=60)
