"""Which attributes of a source stay true of a part of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailrace as tr
from tailrace.conversion.selection import Selection
from tailrace.io import series

POINTS = (24, 16, 17)
PLACES = {"lengths": [6.0, 8.0, 2.0], "boundaries": "periodic,periodic,free-slip", "stretching": "walls", "beta": 0.5}
FOUND = {**PLACES, "every": 10, "reynolds": 100.0, "ux/units": "m/s", "p/units": "Pa"}
PART = (slice(0, 12), slice(None), slice(None))


@pytest.mark.parametrize(
    ("chosen", "lost"),
    [
        ({}, ()),
        ({"steps": slice(None, None, 2)}, ("every",)),
        ({"steps": slice(1, None)}, ("every",)),
        ({"steps": slice(None, -1)}, ("every",)),
        ({"precision": "float32"}, ()),
        ({"variables": ("ux",)}, ()),
        ({"coarsen": (3, 2, 2)}, ()),
        ({"coarsen": (5, 1, 1)}, PLACES),
        ({"box": PART}, PLACES),
        ({"box": PART, "steps": slice(0, 2)}, (*PLACES, "every")),
    ],
    ids=str,
)
def test_only_what_the_choice_makes_untrue_is_left_out(chosen: dict[str, Any], lost: tuple[str, ...]):
    kept = Selection(**chosen).attributes(FOUND, (), POINTS)
    assert kept == {name: value for name, value in FOUND.items() if name not in lost}


def test_attributes_of_variables_go_with_them():
    kept = Selection(variables=("ux",)).attributes(FOUND, {"p"}, POINTS)
    assert kept == {name: value for name, value in FOUND.items() if name != "p/units"}


@pytest.mark.parametrize(
    ("found", "base"),
    [(FOUND, None), ({**FOUND, "boundaries": "periodic"}, POINTS), ({**FOUND, "boundaries": ""}, POINTS)],
)
def test_a_part_of_a_box_that_is_not_known_has_no_ends(found: dict[str, Any], base: Any):
    kept = Selection(coarsen=(3, 2, 2)).attributes(found, (), base)
    assert kept == {name: value for name, value in found.items() if name not in PLACES}


def test_readers_of_the_result_count_no_step_as_lost(tmp_path: Path):
    """A reader takes the attribute `every` as the distance of steps."""
    source = tmp_path / "in.h5"
    with series.open(source, "w") as out:
        out.set_attribute("every", 2)
        for index in (0, 2, 4, 6):
            out.write_step(0.1 * index, index=index, ux=np.zeros((8, 8, 8)))
    for name, chosen, every in (("all.h5", {}, 2), ("half.h5", {"steps": slice(None, None, 2)}, None)):
        tr.convert(source, tmp_path / name, **chosen)
        with tr.open(tmp_path / name) as found:
            assert found.attributes.get("every") == every
            assert [step.missed for step in found] == [[]] * len(found)


@pytest.mark.parametrize("steps", ["3:", "", 0, 3, (0, 3), slice("3", None), slice(0.5, None)], ids=repr)
def test_steps_are_a_slice(tmp_path: Path, steps: Any):
    with series.open(tmp_path / "in.h5", "w") as out:
        out.write_step(0.0, ux=np.zeros((8, 8, 8)))
    with pytest.raises(tr.InputError, match=r"steps = .*: expected a slice of whole numbers.*as slice\(3, None\)"):
        tr.convert(tmp_path / "in.h5", tmp_path / "out.h5", steps=steps)
    assert not (tmp_path / "out.h5").exists()
