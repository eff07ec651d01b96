"""What the tests of ranks and their arrangement run on kept ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

import tailrace as tr
from helpers.programs.field_programs import process_grids
from tailrace import core as _core
from tailrace.case.document import ConfigError
from tailrace.parallel import agree, extreme, first_error, on_root, spread


def whole(comm: Any, simulation: Any, name: str) -> Any:
    """A field of all ranks, on rank 0."""
    start, _ = simulation.box
    parts = comm.gather((start, simulation.field(name).copy()))
    if comm.rank:
        return None
    out = np.full(simulation.shape[::-1], np.nan)
    for (i, j, k), part in parts:
        nz, ny, nx = part.shape
        cut = np.s_[k : k + nz, j : j + ny, i : i + nx]
        assert np.isnan(out[cut]).all(), "parts overlap"
        out[cut] = part
    assert np.isfinite(out).all()
    return out


def compute_on_every_process_grid(comm: Any, case: str, result: str, methods: list[str]) -> None:
    """Run a case on each arrangement of the ranks and with each method, and store its fields and numbers."""
    stored: dict[str, Any] = {}
    for grid in process_grids(comm.size):
        for method in methods:
            given = {**grid, "transpose": method}
            loaded = tr.load_case(case, [f"parallel.{key}={value}" for key, value in given.items()])
            simulation = tr.Simulation(loaded, comm)
            divergence = []
            for _ in range(int(loaded.time.total_steps)):
                simulation.advance()
                largest = max(float(abs(simulation.field(name)).max()) for name in ("ux", "uy", "uz"))
                scale = max(loaded.grid.lengths) / comm.allreduce(largest, op=MPI.MAX)
                divergence.append(simulation.flow.max_divergence() * scale)
            numbers = simulation.measure()
            label = f"{grid['rows']}x{grid['cols']}-{method}"
            for name in ("ux", "uy", "uz", "pressure", "vorticity_x", "q"):
                stored[f"{label}/{name}"] = whole(comm, simulation, name)
            stored[f"{label}/divergence"] = divergence
            stored[f"{label}/numbers"] = [numbers[name] for name in sorted(numbers) if name != "max_divergence"]
    if comm.rank == 0:
        np.savez(result, **stored)


def outcome(work: Callable[[], Any]) -> Any:
    """What a function returns, or type and text of its error."""
    try:
        return work()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def share_failures(comm: Any) -> None:
    """Failures on some ranks, with each way to agree on them."""
    rank = comm.rank

    def fails(*ranks: int) -> Callable[[], None]:
        def work() -> None:
            if rank in ranks:
                raise _core.IoError(f"rank {rank}")

        return work

    def odd(*ranks: int) -> Callable[[], None]:
        # An error that cannot be sent as it is: its constructor wants more than its text.
        def work() -> None:
            if rank in ranks:
                raise ConfigError.single("case.toml", "time.dt", "is wrong")

        return work

    class LocalError(Exception):
        pass

    def local() -> None:
        raise LocalError("gone")

    assert agree(comm, lambda: 10 * rank) == 10 * rank
    # The first that failed tells the others; the one that failed keeps its own.
    assert outcome(lambda: agree(comm, fails(2))) == "IoError: rank 2"
    assert outcome(lambda: agree(comm, fails(1, 2))) == ("IoError: rank 2" if rank == 2 else "IoError: rank 1")
    assert on_root(comm, lambda: rank) == 0
    assert outcome(lambda: on_root(comm, fails(0))) == "IoError: rank 0"
    assert outcome(lambda: on_root(comm, fails(1, 2))) is None
    assert "time.dt: is wrong" in outcome(lambda: on_root(comm, odd(0)))
    assert "time.dt: is wrong" in outcome(lambda: agree(comm, odd(1)))
    assert "gone" in outcome(lambda: on_root(comm, local))
    assert spread(comm, {"a": float(rank), "b": 2.0}) == {"a": (0.0, 1.0, 2.0), "b": (2.0, 2.0, 2.0)}


class Flat(MPI.Intracomm):
    """A communicator without what grows with the number of ranks."""

    def allgather(self, sendobj: Any) -> list[Any]:
        raise AssertionError("it receives from every rank")

    gather = alltoall = scatter = allgather


def compare_ranks(comm: Any) -> None:
    """Extremes over the ranks, of every type; nothing is gathered."""
    flat, rank, last = Flat(comm), comm.rank, comm.size - 1
    base = np.array([[3, 1, 2], [0, 5, 4]])
    tables = np.array([base[:, (one + np.arange(3)) % 3] for one in range(comm.size)])
    for largest, of in ((True, max), (False, min)):
        for value in (2**63 + 7, 2**64 - 5):  # more than a float can tell apart
            found = extreme(flat, np.array(value - (rank == last), np.uint64), largest=largest)
            assert found == (of(value, value - 1) if last else value - 1), (found, value)
        for name in ("i1", "u2", "i4", ">i4", "i8", "f2", "f4", "f8", "?"):
            table = tables[rank].astype(name)
            found = extreme(flat, table, largest=largest)
            expected = (tables.max(axis=0) if largest else tables.min(axis=0)).astype(name)
            assert found.dtype == table.dtype and (found == expected).all(), (name, found)
            assert (table == tables[rank].astype(name)).all(), "the values of the caller have changed"
        numbers = np.array([np.inf, -np.inf, rank, np.nan if rank == last else 1.0, -0.5])
        found = extreme(flat, numbers, largest=largest)
        assert found.tolist()[:3] == [np.inf, -np.inf, last if largest else 0]
        assert np.isnan(found[3]) and found[4] == -0.5
    assert first_error(flat, None) is None
    first = first_error(flat, KeyError(f"of {rank}") if rank else None)
    assert (first is None) if last == 0 else str(first) == str(KeyError("of 1"))
    assert agree(flat, lambda: rank) == rank
    names = ["b", "a"] if rank else ["a", "b"]  # a dictionary has the order in which it was made
    told = {name: float(rank) if name == "a" else np.nan for name in names}
    assert spread(flat, told)["a"] == (0.0, last / 2, float(last)) and list(spread(flat, told)) == names


def extremes_of_small_fields(comm: Any, path: str) -> None:
    """Of types and sizes that leave ranks without a value."""
    shape = (1, 2, 3)
    values = {
        "int": np.arange(6, dtype=np.int16).reshape(shape) - 9,
        "big": np.arange(6, dtype=np.uint64).reshape(shape) + 2**63,
        "flag": np.arange(6).reshape(shape) > 3,
        "half": np.arange(6).reshape(shape).astype(np.float16) / 4,
    }
    if comm.rank == 0:
        with tr.open(path, "w", comm=MPI.COMM_SELF) as out:
            out.write_step(0.0, **values)
    comm.Barrier()
    with tr.open(path, comm=comm) as series:
        for name, whole in values.items():
            field = series[0][name]
            assert field.min() == whole.min() and field.max() == whole.max(), name
            assert field.min().dtype == whole.dtype
            assert field.any() == bool(whole.any()) and field.all() == bool(whole.all()), name
