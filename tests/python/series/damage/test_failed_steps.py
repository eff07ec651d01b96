"""A step that fails leaves the series as it was before: it takes the same step again, and the files are whole."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.harness.engines import ENGINES, KINDS
from helpers.programs.series import failed_steps, io_programs
from tailrace.io import series as tr

WORDS = {
    "in the first step": "(nz, ny, nx)",
    "type in the first step": "found object",
    "shape": "6 x 5 x 3",
    "shape of one": "6 x 5 x 3",
    "type of one": "complex64",
    "points": "points together",
    "name": "../uy",
    "another variable of one": "odd",
    "one more of one": "more",
    "kind of one": "b (a single value)",
    "scalar of one": "energy",
    "scalar": "a number or a text",
    "list": "twice",
    "columns of one": "same variables in the same order",
    "index": "cannot follow",
    "time": "every step has",
    "changed": "was changed",
    "after it": "6 x 5 x 3",
}
ALONE = (
    "another variable of one",
    "one more of one",
    "kind of one",
    "scalar of one",
    "columns of one",
)  # no errors there

# One buffer of bp4 is ADIOS2's own; with the others it is as two.
OWN = [one for one in ENGINES if one.name == "bp4"]  # engine: its own way
WAYS = [pytest.param(one, n, id=f"{one}-{n}") for one in ENGINES for n in (0, 2, *([1] if one in OWN else []))]


@pytest.mark.parametrize(("engine", "buffers"), WAYS)
def test_steps_that_fail(tmp_path, engine, some, buffers):
    given = {
        "path": str(engine.path(tmp_path)),
        "engine": engine.name,
        "parameters": {**engine.parameters, "buffers": buffers},
    }
    found = some.results(failed_steps.fail_steps, **given)
    assert all(one == found[0] for one in found), "every rank gets the same errors"
    expected = [what for what in WORDS if some.size > 1 or what not in ALONE]
    assert [*found[0]] == expected
    for what in expected:
        assert WORDS[what] in found[0][what], (what, found[0][what])
    assert some.results(io_programs.check_series, path=given["path"])[0] == [1, 2, 3]


@pytest.mark.parametrize("buffers", [0, 2])
@pytest.mark.parametrize("engine", KINDS, ids=str)
def test_shapes_and_types_of_a_dropped_step_bind_nothing(tmp_path, engine, buffers):
    path, parameters = engine.path(tmp_path), {**engine.parameters, "buffers": buffers}
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    with tr.open(path, "w", engine=engine.name, parameters=parameters) as out:
        out.begin_step(1, 0.0)
        out.write("ux", np.zeros((4, 3, 2), np.int64))
        out.write_list("rows", np.zeros((2, 3)))
        out.abandon_step()
        out.write_step(0.5, ux=values, lists={"rows": np.ones(5)}, index=1)
    with tr.open(path) as stored:
        if engine.traits.one_file:  # whose first field tells other programs the points
            assert stored.grid is not None and stored.grid.points == (4, 3, 2)
        assert stored[0].variables["ux"] == ("float32", (4, 3, 2), False)
        np.testing.assert_array_equal(stored[0]["ux"], values)
        np.testing.assert_array_equal(stored[0]["rows"], np.ones(5))
        assert stored.verify() == []
