"""Short writers and readers of the stream `run`. Argument: the function."""

from __future__ import annotations

import sys

import numpy as np

from tailrace import core as _core
from tailrace.io import series as tr


def abandon() -> None:
    """Write steps, and abandon one before its first value and one after it."""
    values = np.ones((3, 4, 5))
    with tr.open("sst:run", "w", parameters={"wait_for_reader": 60}) as out:
        out.write_step(0.0, ux=values, index=0)
        out.begin_step(1, 0.5)
        out.abandon_step()
        out.write_step(1.0, ux=values, index=2)
        out.begin_step(3, 1.5)
        out.write("ux", values)
        out.abandon_step()
        try:
            out.begin_step(4, 2.0)
        except _core.IoError as error:
            print(error, flush=True)


def take() -> None:
    """Read until the writer is lost."""
    try:
        for step in tr.open("sst:run"):
            print("read", step.index, flush=True)
    except _core.IoError:
        print("lost", flush=True)


def send_lists() -> None:
    """Lists of another length in each step, beside fields."""
    with tr.open("sst:run", "w", parameters={"wait_for_reader": 60}) as out:
        for step in range(3):
            rows = np.arange(2.0 * step).reshape(step, 2)
            fields = {"ux": np.full((3, 4, 5), step + 0.5), "aa": np.full((2, 4, 5), 1.0)}
            lists = {"points": rows, "ids": np.arange(step)}
            out.write_step(0.5 * step, fields, index=step, lists=lists, scalars={"n": step})


def take_lists() -> None:
    """Read what `send_lists` writes."""
    with tr.open("sst:run") as stream:
        for step in stream:
            assert list(step.variables) == ["aa", "ids", "points", "ux"], list(step.variables)
            assert step.variables["points"] == ("float64", (2, step.index, 1), True), step.variables
            np.testing.assert_array_equal(step["points"], np.arange(2.0 * step.index).reshape(step.index, 2))
            np.testing.assert_array_equal(step["ids"], np.arange(step.index))
            assert (step["ux"] == step.index + 0.5).all() and step["aa"].shape == (2, 4, 5)
            assert step.scalars["n"] == step.index
            print("read", step.index, flush=True)
    print("end", flush=True)


def _of_types() -> dict[str, np.ndarray]:
    """An array of each type that ADIOS2 has."""
    numbers = np.arange(60.0).reshape(3, 4, 5)
    types = _core.engine_traits("sst").types
    return {f"a_{name}": (numbers + (1j * numbers if "complex" in name else 0)).astype(name) for name in types}


def send_types() -> None:
    """All types, and a list of texts."""
    with tr.open("sst:run", "w", parameters={"wait_for_reader": 60}) as out:
        out.set_attribute("names", ["a", "", "b c"])
        out.write_step(0.0, _of_types(), lists={f"list_{name}": one[0] for name, one in _of_types().items()})


def take_types() -> None:
    """Read what `send_types` writes."""
    with tr.open("sst:run") as stream:
        for step in stream:
            assert stream.attributes["names"] == ["a", "", "b c"]
            for name, one in _of_types().items():
                for found, wanted in ((step.read(name), one), (step.read(f"list_{name}"), one[0])):
                    assert found.dtype == one.dtype and np.array_equal(found, wanted), name
    print("end", flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
