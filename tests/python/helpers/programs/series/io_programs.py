"""What the ranks do with a series in the fault tests. Every function is called on all ranks (see `workers`)."""

from __future__ import annotations

import contextlib
import io
import os
import resource
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tailrace as tr
from helpers.harness.as_click import as_click
from helpers.inputs.steps import SHAPE, check_step, part, whole, write_arrays, write_rows, write_step


def write_series(comm: Any, path: str, engine: str, parameters: dict[str, Any], steps: int) -> None:
    """A series of `write_step`s 1, 2, ..."""
    with tr.open(path, "w", comm=comm, engine=engine, parameters=parameters) as out:
        out.set_attribute("case", "faults")
        for index in range(1, steps + 1):
            write_step(out, comm, index)


def check_series(comm: Any, path: str) -> list[int]:
    """The indices of the steps; all of them must be whole."""
    if comm.rank:
        return []
    with tr.open(path) as series:
        assert series.verify() == []
        for step in series:
            check_step(step)
        return [step.index for step in series]


def open_series(comm: Any, path: str, mode: str, engine: str | None = None, **options: Any) -> None:
    """Open and close."""
    with tr.open(path, mode, comm=comm, engine=engine, **options):  # type: ignore[arg-type]
        pass


# ---- one rank alone --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def small_files(bytes_at_most: int) -> Iterator[None]:
    """Limit the size of files of this process: like a full disk, on one rank only."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_at_most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def one_rank_cannot_write(comm: Any, path: str, engine: str, parameters: dict[str, Any], which: int) -> dict[str, Any]:
    """Rank `which` runs into a limit in step 2; step 3 is written without."""
    error = ""
    out = tr.open(path, "w", comm=comm, engine=engine, parameters=parameters)
    write_step(out, comm, 1)
    if "buffers" in parameters:
        out.close()
        out = tr.open(path, "a", comm=comm, engine=engine, parameters=parameters)
    comm.barrier()
    with small_files(1000) if comm.rank == which else contextlib.nullcontext():
        try:
            write_step(out, comm, 2)
            out.begin_step(3, 1.5)  # in the background it is found later, but on the disk: not with one more step
            out.end_step()
            out.flush()
        except tr.IoError as caught:
            error = str(caught)
    comm.barrier()
    write_step(out, comm, 4)
    out.close()
    return {"error": error}


def wrong_calls(comm: Any, path: str, engine: str, parameters: dict[str, Any]) -> dict[str, str]:
    """Calls that are wrong, on all ranks or on the last only; the texts of the errors. The series stays usable."""
    last = comm.rank == comm.size - 1
    texts = {}

    def wrong(what: str, call: Any) -> None:
        try:
            call()
        except tr.InputError as error:
            texts[what] = str(error)

    right = part(comm, 1)
    with tr.open(path, "w", comm=comm, engine=engine, parameters=parameters) as out:
        wrong("time nan", lambda: out.begin_step(1, float("nan")))
        wrong("time inf", lambda: out.begin_step(1, float("inf")))
        wrong("no step", lambda: out.write("ux", right))
        out.declare("uy", (6, 5, 4), "float64")
        out.declare("count", (6, 5, 4), "int32")
        write_step(out, comm, 1)
        out.begin_step(2, 1.0)
        out.write("ux", part(comm, 2))
        shorter = tr.Block(right.data[:, :, :-1].copy(), right.shape, right.start)
        wrong("shape of one", lambda: out.write("other", shorter if last else right))
        wrong("start of one", lambda: out.write("other", tr.Block(right.data, SHAPE, (1, 0, 0)) if last else right))
        wrong("type of one", lambda: out.write("other", tr.Block(right.data.astype(int), SHAPE) if last else right))
        wrong("dimensions of one", lambda: out.write("other", tr.Block(np.zeros(5), SHAPE) if last else right))
        wrong("nothing of one", lambda: out.write("other", tr.Block(None, SHAPE) if last else right))  # type: ignore[arg-type]
        wrong("bytes", lambda: out.write("other", tr.Block(right.data.astype("S4"), SHAPE, right.start)))
        texts_there = tr.Block(np.full((1, 1, 1), "x"), SHAPE)
        wrong("text of one", lambda: out.write("other", texts_there if last else right))
        wrong("name of one", lambda: out.write("odd" if last else "other", right))
        wrong("another shape", lambda: out.write("uy", part(comm, 2, (6, 5, 3))))
        wrong("fractions", lambda: out.write("count", part(comm, 2, (6, 5, 4))))
        wrong("twice", lambda: out.write("ux", right))
        wrong("columns of one", lambda: out.write_list("rows", np.zeros((3, 2 if last else 1))))
        wrong("path", lambda: out.write("../ux", right))
        wrong("scalar of one", lambda: out.write_scalar("number", [1] if last else 1))  # type: ignore[arg-type]
        wrong("attribute of one", lambda: out.set_attribute("odd", {"a": "b"} if last else "text"))  # type: ignore[arg-type]
        out.write("uy", part(comm, 2, (6, 5, 4), 0.25))
        write_rows(out, comm)
        out.write_scalar("energy", 0.25)
        out.end_step()
        wrong("same index", lambda: out.begin_step(2, 1.0))
        wrong("index of one", lambda: out.begin_step(4 if last else 3, 1.5))
        wrong("no index of one", lambda: out.begin_step(None if last else 3, 1.5))  # type: ignore[arg-type]
        write_step(out, comm, 3)
    with tr.open(path, comm=comm) as series:
        wrong("unknown", lambda: series[0]["uxx"])
        wrong("outside", lambda: series[0].read("ux", ((10, 0, 0), (8, 1, 1))))
        wrong("box of one", lambda: series[0].read("ux", ((10 if last else 0, 0, 0), (8, 1, 1))))
        wrong("type to read of one", lambda: series[0].read("ux", dtype="no such type" if last else None))
        wrong("as integers", lambda: series[0].read("ux", dtype="int32"))
    return texts


def write_little(comm: Any, path: str, engine: str, parameters: dict[str, Any]) -> None:
    """2 x 2 x 2 points, lists without rows on some and on all ranks; more ranks than planes."""
    shape = (2, 2, 2)
    with tr.open(path, "w", comm=comm, engine=engine, parameters=parameters) as out:
        for index in (1, 2):
            out.begin_step(index, 0.0)
            out.write("ux", part(comm, index, shape))
            out.write_list("nobody", np.zeros((0, 3)))
            out.write_list("last", np.full(int(comm.rank == comm.size - 1), float(index)))
            out.write_list("changing", np.full(0 if index == 1 else comm.rank, 1.5, np.float32))
            out.end_step()
    with tr.open(path, comm=comm) as series:
        assert series.verify() == []
        for step in series:
            np.testing.assert_array_equal(step["ux"], whole(step.index, shape))
            assert step["nobody"].shape == (0, 3) and step["nobody"].dtype == np.float64
            np.testing.assert_array_equal(step["last"], [step.index])
            many = 0 if step.index == 1 else comm.size * (comm.size - 1) // 2
            np.testing.assert_array_equal(step["changing"], np.full(many, 1.5, np.float32))
            assert step["changing"].dtype == np.float32


# ---- damage ----------------------------------------------------------------------------------------------------------


def look_at(comm: Any, path: str) -> dict[str, Any]:
    """What `tailrace verify` and a reader find in a series that may be damaged.

    `right` and `wrong`: steps whose values are, or are not, those written; `refused`: steps that raised an error.
    """
    from tailrace.cli.main import app

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = as_click(app)(["verify", path], standalone_mode=False)
    result: dict[str, Any] = {"code": code, "printed": printed.getvalue(), "right": [], "wrong": [], "refused": {}}
    try:
        with tr.open(path) as series:
            for step in series:
                try:
                    check_step(step)
                    result["right"].append(step.index)
                except AssertionError as error:
                    result["wrong"].append((step.index, str(error)))
                except (tr.IoError, tr.InputError) as error:
                    result["refused"][step.index] = str(error)
    except tr.IoError as error:
        result["refused"]["open"] = str(error)
    return result


# ---- in the background -----------------------------------------------------------------------------------------------


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory_of_buffers(comm: Any, path: str, engine: str, buffers: int, steps: int) -> dict[str, Any]:
    """Write steps of 4 MiB to a rank, faster than they can be written; the memory this takes."""
    shape = (128, 64, 64 * comm.size)
    data = np.random.default_rng(comm.rank).random((64, 64, 128))
    with tr.open(path, "w", comm=comm, engine=engine, parameters={"buffers": buffers, "sync": True}) as out:
        before = most = resident()
        stop = threading.Event()

        def watch() -> None:
            nonlocal most
            while not stop.wait(0.002):
                most = max(most, resident())

        thread = threading.Thread(target=watch)
        thread.start()
        for index in range(steps):
            out.write_step(float(index), ux=tr.Block(data, shape, (0, 0, 64 * comm.rank)))
            data += 1.0
        out.close()
        stop.set()
        thread.join()
    return {"grown": most - before, "step": data.nbytes}


def two_in_the_background(comm: Any, paths: list[str], engines: list[str], between: str) -> None:
    """Two series in the background at once, with a synchronous one and a reader in between."""
    with contextlib.ExitStack() as stack:
        outs = [
            stack.enter_context(tr.open(path, "w", comm=comm, engine=engine, parameters={"buffers": 2}))
            for path, engine in zip(paths, engines, strict=True)
        ]
        with tr.open(between, "w", comm=comm, engine="hdf5") as plain:
            for index in range(1, 9):
                for out in outs:
                    write_step(out, comm, index)
                write_step(plain, comm, index)
        if comm.rank == 0:
            assert len(tr.open(between)) == 8


# ---- killed ----------------------------------------------------------------------------------------------------------


def check_last(comm: Any, path: str, many: int = 12) -> int:
    """How many steps there are, numbered 1, 2, ...; the last ones must be whole."""
    with tr.open(path) as series:
        assert [step.index for step in series] == list(range(1, len(series) + 1))
        for step in series[-many:]:
            assert step.verify() == []
            check_step(step)
        return len(series)


def append_steps(comm: Any, path: str, engine: str, steps: int) -> None:
    """Append steps after those that are there."""
    with tr.open(path, "a", comm=comm, engine=engine) as out:
        for index in range(len(out) + 1, len(out) + steps + 1):
            out.begin_step(index, 0.5 * index)
            write_arrays(out, comm, index)
            out.end_step()


# ---- removed ---------------------------------------------------------------------------------------------------------


def remove_between(
    comm: Any, path: str, engine: str, parameters: dict[str, Any], name: str, how: str, when: str
) -> list[str]:
    """Write steps; another program changes the file `name` after step 2, or in step 3; the errors from then on."""

    def change() -> None:
        comm.barrier()
        if comm.rank == 0:
            (file,) = Path(path).glob(name)
            content = file.read_bytes()
            if how == "cut":
                os.truncate(file, len(content) - 1)
            else:
                file.unlink()
            if how == "replaced":
                file.write_bytes(content)
        comm.barrier()

    errors = []

    def attempt(work: Any) -> None:
        try:
            work()
        except tr.IoError as error:
            errors.append(str(error))

    def third() -> None:
        out.begin_step(3, 1.5)
        write_arrays(out, comm, 3)
        if when == "in a step":
            change()
        out.end_step()
        out.flush()

    out = tr.open(path, "w", comm=comm, engine=engine, parameters=parameters)
    for index in (1, 2):
        write_step(out, comm, index)
    out.flush()
    if when != "in a step":
        change()
    if when != "before close":
        attempt(third)
    attempt(out.close)
    return errors


def write_on_grid(comm: Any, path: str, engine: str, parameters: dict[str, Any]) -> None:
    """Two steps on a grid."""
    grid = tr.UniformGrid(SHAPE)
    with tr.open(path, "w", comm=comm, engine=engine, parameters=parameters, grid=grid) as out:
        for index in (1, 2):
            write_step(out, comm, index)


def write_planes(comm: Any, path: str, shape: list[int]) -> None:
    """A step of which each rank has some planes; a bare array is not taken for a whole."""
    nx, ny, nz = shape
    values = np.arange(nx) + 100.0 * np.arange(ny)[:, None] + 10000.0 * np.arange(nz)[:, None, None]
    begin, end = nz * comm.rank // comm.size, nz * (comm.rank + 1) // comm.size
    with tr.open(path, "w", comm=comm) as out:
        out.write_step(0.0, ux=tr.Block(values[begin:end], (nx, ny, nz), (0, 0, begin)))
        try:
            out.write_step(1.0, ux=values)
        except ValueError as error:
            assert "Block" in str(error)
            out._handle.drop()
        else:
            raise AssertionError("a bare array was taken for a whole")


def write_two_planes_each(comm: Any, path: str, parameters: dict[str, Any]) -> None:
    """Step 7: two planes of each rank, which tell its number."""
    with tr.open(path, "w", comm=comm, parameters=parameters) as out:
        planes = np.full((2, 30, 40), comm.rank + 0.5)
        out.write_step(0.0, index=7, ux=tr.Block(planes, (40, 30, 2 * comm.size), (0, 0, 2 * comm.rank)))
