"""New series in the place of others, for `test_replacing.py`. Every function is called on all ranks (see `workers`)."""

from __future__ import annotations

import gc
import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import tailrace as tr
from helpers.inputs.steps import check_step, write_step

OLD, NEW = [1, 2, 3], [11, 12]


def write_old(comm: Any, path: str, engine: str, parameters: dict[str, Any]) -> None:
    """The series that others replace."""
    with tr.open(path, "w", comm=comm, engine=engine, parameters=parameters) as out:
        for index in OLD:
            write_step(out, comm, index)


def steps_at(path: str | Path) -> list[int]:
    """The indices of the steps of a series, all of which must be whole."""
    with tr.open(path) as series:
        assert series.verify() == []
        for step in series:
            check_step(step)
        return [step.index for step in series]


def replace(comm: Any, path: str, engine: str, parameters: dict[str, Any], how: str) -> dict[str, Any]:
    """A new series, and what a reader sees before its first step is complete.

    :param how: "steps"; "none", closed without a step; "failed", closed after a step that failed; "raised", not closed.
    """
    seen: dict[str, Any] = {}

    def look(out: tr.Series) -> None:
        comm.barrier()
        if comm.rank == 0:
            seen["aside"] = steps_at(f"{path}.replaced")
            try:
                with tr.open(path) as series:
                    seen["text"] = " ".join(series.notes)
            except tr.IoError as error:
                seen["text"] = str(error)
        comm.barrier()

    with suppress(ZeroDivisionError), tr.open(path, "w", comm=comm, engine=engine, parameters=parameters) as out:
        look(out)
        if how == "steps":
            for index in NEW:
                write_step(out, comm, index)
            out.flush()
            comm.barrier()
            seen["gone"] = not list(Path(path).parent.glob("*.replaced*"))
        if how == "failed":
            out.begin_step(11, 0.0)
            with suppress(tr.InputError):
                out.write("ux", np.zeros(3))
        if how == "raised":
            raise ZeroDivisionError
    comm.barrier()
    if how == "raised" and comm.size > 1:  # the next writer puts it back
        with tr.open(path, "a", comm=comm, engine=engine):
            pass
    comm.barrier()
    return {**seen, "steps": steps_at(path) if how != "none" else steps_or_none(path)}


def steps_or_none(path: str) -> list[int]:
    """As `steps_at`; a BP series without steps cannot be opened by every version of ADIOS2."""
    try:
        return steps_at(path)
    except tr.IoError:
        return []


def replace_killed(comm: Any, path: str, engine: str, parameters: dict[str, Any], kills: int) -> list[str]:
    """Kill programs that replace the series, at random moments. What was there afterwards, for each."""
    chance, ends, longest = random.Random(f"{engine} {parameters}"), [], 0.0
    for number in range(kills + 1):
        start = time.monotonic()
        child = os.fork()
        if child == 0:
            with suppress(BaseException), tr.open(path, "w", comm=comm, engine=engine, parameters=parameters) as out:
                for index in NEW:
                    write_step(out, comm, index)
            os._exit(0)
        if number:  # the first is not killed, to know how long it takes
            time.sleep(chance.uniform(0.0, 0.8 * longest))
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        longest = longest or time.monotonic() - start
        ends.append(end_of(path))
        with tr.open(path, "a", comm=comm, engine=engine):  # repairs it
            pass
        found = steps_at(path)
        assert found == OLD or (found and found == NEW[: len(found)]), (number, found, ends[-1])
        assert ends[-1] == "aside" or ends[-1] == str(found), (number, found, ends[-1])
        assert not list(Path(path).parent.glob("*.replaced*")), number
        write_old(comm, path, engine, parameters)
    return ends


def end_of(path: str) -> str:
    """What a reader finds after a kill: the steps, or "aside" where it is told that the earlier series is elsewhere."""
    try:
        with tr.open(path) as series:
            if len(series):
                return str(steps_at(path))
            text = " ".join(series.notes)
    except tr.IoError as error:
        text = str(error)
    assert f"{path}.replaced" in text, text
    return "aside"


def replace_in_the_way(comm: Any, path: str, engine: str, parameters: dict[str, Any]) -> None:
    """A new series that is never closed, while something in the old one keeps it from being removed."""
    out = tr.open(path, "w", comm=comm, engine=engine, parameters=parameters)
    (Path(f"{path}.replaced") / "folder").mkdir()
    for index in NEW:
        write_step(out, comm, index)
    out.flush()
    del out
    gc.collect()
