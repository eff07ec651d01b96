"""Steps that fail in the middle, for `test_failed_steps.py`. Every function is called on all ranks (see `workers`)."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

import tailrace as tr
from helpers.inputs.steps import part, write_arrays, write_rows, write_step

SMALL = (6, 5, 4)


def retyped(block: tr.Block, dtype: str) -> tr.Block:
    """The block in another type."""
    return tr.Block(block.data.astype(dtype), block.shape, block.start)


def fail_steps(comm: Any, path: str, engine: str, parameters: dict[str, Any]) -> dict[str, str]:
    """Steps 1, 2, 3 are written; before and between them others fail. The texts of the errors."""
    last = comm.rank == comm.size - 1
    texts: dict[str, str] = {}

    def fails(what: str, out: tr.Series, index: int, fields: dict[str, Any], **more: Any) -> None:
        before = len(out), out.attributes
        try:
            out.write_step(99.0, fields, index=index, **more)
            out.flush()
        except tr.InputError as error:
            texts[what] = str(error)
        assert (len(out), out.attributes) == before, what

    with tr.open(path, "w", comm=comm, engine=engine, parameters=parameters) as out:
        out.set_attribute("case", "failed steps")
        right = {"ux": part(comm, 9), "uy": part(comm, 9, SMALL)}
        shorter = tr.Block(right["uy"].data[:-1], SMALL, right["uy"].start)
        flat = part(comm, 9, (6, 5, 3))  # a shape and a type that the first step would have had
        fails("in the first step", out, 1, {"uy": flat, "ux": tr.Block(np.zeros(3), SMALL)})
        fails("type in the first step", out, 1, {"ux": retyped(right["ux"], "float32"), "uy": retyped(flat, "O")})
        write_step(out, comm, 1)
        fails("shape", out, 2, {**right, "uy": flat})
        fails("shape of one", out, 2, {**right, "uy": flat if last else right["uy"]})
        fails("type of one", out, 2, {**right, "uy": retyped(right["uy"], "complex64" if last else "float64")})
        fails("points", out, 2, {**right, "uy": shorter if last else right["uy"]})
        fails("name", out, 2, {**right, "../uy": right["uy"]})
        if comm.size > 1:
            fails("another variable of one", out, 2, {**right, ("odd" if last else "even"): right["uy"]})
            fails("one more of one", out, 2, {**right, **({"more": right["uy"]} if last else {})})
            one_of_two = ({"a": right["uy"]}, {"b": 1.0}) if last else ({"a": right["uy"], "b": right["uy"]}, {})
            fails("kind of one", out, 2, one_of_two[0], scalars=one_of_two[1])
            fails("scalar of one", out, 2, right, scalars={"energy": 1.0} if last else {})
        fails("scalar", out, 2, right, scalars={"energy": [1.0]})
        fails("list", out, 2, right, lists={"ux": np.zeros(3)})
        if comm.size > 1:
            fails("columns of one", out, 2, right, lists={"rows": np.zeros((2, 2 if last else 1))})
        fails("index", out, 1, right)
        fails("time", out, 2, right, scalars={"time": 1.0})
        assert [step.index for step in out] == [1]

        out.begin_step(2, 99.0)  # by hand, and given up
        out.write("ux", part(comm, 9))
        out.write("uz", part(comm, 9, SMALL))
        out.abandon_step()
        out.abandon_step()
        write_step(out, comm, 2)

        changed = part(comm, 9, SMALL)
        try:  # only end_step can see this: data of this step are in the file already
            out.begin_step(3, 99.0)
            out.write("ux", part(comm, 9))
            out.write("uz", changed, deferred=True)
            changed.data[...] += 1
            out.end_step()
            out.flush()
        except tr.InputError as error:
            texts["changed"] = str(error)
        out.set_attribute("late", 1)
        fails("after it", out, 3, {**right, "uy": flat})
        write_step(out, comm, 3)
        out.begin_step(4, 99.0)  # open when the series is closed
        write_arrays(out, comm, 4)
        write_rows(out, comm)
    with tr.open(path, comm=comm) as series:
        assert series.attributes["case"] == "failed steps" and series.attributes["late"] == 1
        assert set(series[-1].names) == {"ux", "uy", "rows"}, series[-1].names
    return texts


def leave_alone(comm: Any, path: str, engine: str) -> None:
    """The last rank fails in its block; the others stay in theirs until it has left."""
    last = comm.size - 1
    with contextlib.suppress(ZeroDivisionError), tr.open(path, "w", comm=comm, engine=engine) as out:
        write_step(out, comm, 1)
        if comm.rank != last:
            comm.recv(source=last)
        raise ZeroDivisionError
    for other in range(last) if comm.rank == last else ():
        comm.send("left", other)
    comm.barrier()
