"""A step by itself: what it says of its source, its vectors, and what it says of what is not there."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailrace as tr
from tailrace.steps.step import Step

POINTS = (8, 9, 10)
BOUNDARIES = ("periodic", "free-slip", "periodic")


@pytest.fixture(scope="module")
def operators() -> tr.Operators:
    return tr.Operators(POINTS, (1.0, 2.0, 3.0), BOUNDARIES)


def step_of(operators: tr.Operators, names: str, **more: Any) -> Step:
    """A step whose fields have the values 0, 1, ... in the order of their names."""
    listed = names.split()
    read = {name: np.full(POINTS[::-1], float(at)) for at, name in enumerate(listed)}
    return Step(7, 0.5, operators, listed, read.__getitem__, **{"attributes": {}, **more})


def means(vector: tr.Vector) -> list[float]:
    return [float(one.mean()) for one in vector]


def test_what_a_source_says(operators: tr.Operators) -> None:
    step = step_of(operators, "ux")
    assert (step.dt, step.scalars, step.missed, step.flat, step.parameters) == (None, {}, [], "", {})
    with pytest.raises(tr.InputError, match="the Reynolds number is not known: the source has no attribute"):
        _ = step.viscosity
    step = step_of(operators, "ux", attributes={"dt": 0.25, "reynolds": 50.0}, scalars={"energy": 1.5}, missed=[5, 6])
    assert (step.dt, step.viscosity, step.scalars, step.missed) == (0.25, 0.02, {"energy": 1.5}, [5, 6])
    assert step.names == ["ux"] and "ux" in step and "uy" not in step
    assert step.grid.points == POINTS and step.grid.boundaries == BOUNDARIES


def test_a_field_is_read_once_and_for_all_scripts(operators: tr.Operators) -> None:
    step = step_of(operators, "a b")
    same = step.for_script({"n": 3})
    assert same["b"] is step["b"] and step["b"].max() == 1.0
    assert (same.parameters, step.parameters, same.index, same.time) == ({"n": 3}, {}, 7, 0.5)
    with pytest.raises(tr.InputError, match="step 7: is of a running simulation or a stream, so it cannot be pickled"):
        pickle.dumps(step)


@pytest.mark.parametrize(
    ("names", "vector"),
    [("ux uy uz", "u"), ("w_x w_y w_z", "w"), ("v_1 v_2 v_3", "v"), ("u_1 u_2 u_3 ux uy", "u")],
)
def test_the_components_of_a_vector(operators: tr.Operators, names: str, vector: str) -> None:
    assert means(step_of(operators, names).vector(vector)) == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("names", "vector", "missing"),
    [
        ("ux uz", "u", "uy"),
        ("w_x w_z", "w", "w_y"),
        ("v_1 v_2", "v", "v_3"),
        ("a", "u", "ux"),
        ("u_2 u_3 ux", "u", "u_1"),
    ],
)
def test_a_component_that_is_missing_is_named(operators: tr.Operators, names: str, vector: str, missing: str) -> None:
    with pytest.raises(tr.InputError, match=f"^vector '{vector}': step 7 has no field '{missing}'; "):
        step_of(operators, names).vector(vector)


@pytest.mark.parametrize(("names", "missing"), [("ux uy", "z"), ("w_x w_y", "z"), ("uy", "xz"), ("w_x", "yz")])
def test_along_one_point_a_component_may_be_missing(names: str, missing: str) -> None:
    points = tuple(1 if axis in missing else 8 for axis in "xyz")
    operators = tr.Operators(points, (1.0, 1.0, 1.0), ("periodic",) * 3)
    read = {name: np.full(points[::-1], 1.0 + at) for at, name in enumerate(names.split())}
    step = Step(7, 0.5, operators, list(read), read.__getitem__, attributes={})
    assert step.flat == missing
    there = iter((1.0, 2.0, 3.0))
    assert means(step.vector(names[0])) == [0.0 if axis in missing else next(there) for axis in "xyz"]
    other = Step(7, 0.5, operators, [f"{names[0]}_2"], read.__getitem__, attributes={})
    with pytest.raises(tr.InputError, match="has no field"):
        other.vector(names[0])


def test_parities_are_told_or_known_by_name(operators: tr.Operators) -> None:
    step = step_of(operators, "ux", attributes={"uy/parity": [2, 0, -3]})
    assert (step.parity("uy"), step.parity("mine")) == ((1, 0, -1), (0, 0, 0))
    assert step.parity("ux") == (-1, 1, 1) and step.parity("vorticity_x") == (1, -1, -1)
    assert step.parity("pressure") == (1, 1, 1)


def test_a_step_as_a_dataset(operators: tr.Operators) -> None:
    attributes = {"reynolds": 50.0, "a/units": "m"}
    step = step_of(operators, "a b", attributes=attributes)
    whole, part = step.to_xarray(), step.to_xarray(["b"])
    assert set(whole.data_vars) == {"a", "b"} and set(part.data_vars) == {"b"}
    assert (float(whole["time"]), int(whole["step"]), whole.attrs) == (0.5, 7, {"reynolds": 50.0})
    with pytest.raises(tr.InputError, match="step 7 has no field 'B1'; did you mean 'b'\\? It has a, b"):
        step.to_xarray(["B1"])
    with pytest.raises(tr.InputError, match="step 7 has no field 'ux'; it has a, b"):
        step.to_xarray(["ux"])
    with pytest.raises(tr.InputError, match="step 7 has no field 'ux'; it has none"):
        _ = step_of(operators, "")["ux"]


def test_a_block_is_the_part_of_this_rank(operators: tr.Operators) -> None:
    block = step_of(operators, "a b").block("b")
    assert (block.shape, block.start, block.ghosts) == (POINTS, (0, 0, 0), 0)
    np.testing.assert_array_equal(block.data, np.ones(POINTS[::-1]))


def test_the_steps_of_a_file_say_whether_some_are_missing(tmp_path: Path) -> None:
    gap = [[], [], [20, 30]]
    for made_by, every, missed in (("run", 10, [[]] * 3), ("other", 10, gap), ("", 10, gap), ("", 0, [[]] * 3)):
        with tr.open(tmp_path / "run.h5", "w") as out:
            if made_by:
                out.set_attribute("made_by", made_by)
            if every:
                out.set_attribute("every", every)
            for index in (0, 10, 40):
                out.write_step(float(index), index=index, u=np.zeros((2, 3, 4)))
        with tr.open(tmp_path / "run.h5") as series:
            assert [step.missed for step in series] == missed
