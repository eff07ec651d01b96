"""The comparison of a result with its source: whatever differs is named, with both values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace.conversion.checking import Checking
from tailrace.conversion.plan import make_plan
from tailrace.conversion.selection import Selection
from tailrace.io import series

U = np.arange(24.0).reshape(2, 3, 4)
STEPS: list[dict[str, Any]] = [
    {"time": 0.5, "index": 3, "u": U, "n": np.arange(5, dtype="i4"), "energy": 1.5},
    {"time": 0.75, "index": 7, "u": U + 1, "n": np.arange(5, dtype="i4"), "energy": 2.5},
]


def write(path: Path, steps: list[dict[str, Any]], reynolds: Any = 100.0) -> Path:
    with series.open(path, "w", engine="raw") as out:
        out.set_attribute("reynolds", reynolds)
        for step in steps:
            scalars, lists = ({name: step[name] for name in names if name in step} for names in (["energy"], ["n"]))
            fields = {name: step[name] for name in ("u",) if name in step}
            out.write_step(step["time"], fields, index=step["index"], scalars=scalars, lists=lists)
    return path


def compare(source: Path, result: Path, *, is_series: bool = True) -> int:
    """The bytes that were compared."""
    told: list[int] = []
    with series.open(source) as one, series.open(result) as other:
        plan = make_plan(one, Selection(), "raw")
        Checking(one, other, plan, MPI.COMM_SELF, is_series=is_series, told=told.append).run()
    return sum(told)


def with_second(**keys: Any) -> list[dict[str, Any]]:
    """The steps, with other words and values in the second one; None: without them."""
    second = {name: value for name, value in (STEPS[1] | keys).items() if value is not None}
    return [STEPS[0], second]


OTHER_VALUE = U + 1 + 0.25 * (U == 23)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (STEPS[:1], "the result has 1 steps, and the source 2"),
        ([*STEPS, STEPS[1] | {"index": 9, "time": 1.0}], "the result has 3 steps, and the source 2"),
        (with_second(index=8), r"step 7 has the time 0\.75 in the source, and in the result index 8"),
        (with_second(time=0.8), r"step 7 has the time 0\.75 .*and time 0\.8"),
        (with_second(u=None), "step 7: the result has no u; it has n"),
        (with_second(u=None, n=None, energy=None), "step 7: the result has no u; it has nothing|step 7: .*has no n"),
        ([one | {"u": U.astype("f4")} for one in STEPS], r"step 3: u is float32 \(4, 3, 2\) .*instead of float64"),
        ([one | {"u": U[:, :2]} for one in STEPS], r"step 3: u is float64 \(4, 2, 2\) .*instead of .*\(4, 3, 2\)"),
        (with_second(energy=None), r"step 7: energy is None in the result instead of 2\.5"),
        (with_second(energy=2.75), r"step 7: energy is 2\.75 in the result instead of 2\.5"),
        (with_second(energy="2.5"), "step 7: energy is '2.5' in the result"),
        (with_second(u=OTHER_VALUE), r"step 7: u differs in 1 values, the first at .*\(3, 2, 1\): .*24\.0.*24\.25"),
    ],
)
def test_what_differs_is_named(tmp_path: Path, steps: list[dict[str, Any]], message: str):
    source = write(tmp_path / "source", STEPS)
    with pytest.raises(tr.IoError, match=message):
        compare(source, write(tmp_path / "result", steps))


@pytest.mark.parametrize("other", [100.5, "100.0"])
def test_attributes_are_compared(tmp_path: Path, other: Any):
    with pytest.raises(tr.IoError, match="the attribute reynolds of the result is"):
        compare(write(tmp_path / "source", STEPS), write(tmp_path / "result", STEPS, other))


def test_lists_of_texts_are_no_lists_of_numbers(tmp_path: Path):
    for one, other in (([1.0, 2.0], ["1.0", "2.0"]), (["1.0", "2.0"], [1.0, 2.0]), ([1.0, 2.0], [1.0])):
        source = write(tmp_path / f"source-{one}", STEPS, one)
        with pytest.raises(tr.IoError, match="the attribute reynolds of the result is"):
            compare(source, write(tmp_path / f"result-{other}", STEPS, other))


def test_what_is_equal_is_read_as_a_whole(tmp_path: Path):
    """Numbers that are not a number are equal to themselves, in arrays as in single values."""
    steps = with_second(u=np.where(U == 5, np.nan, U), energy=float("nan"))
    size = 2 * (U.nbytes + 5 * 4)
    assert compare(write(tmp_path / "source", steps), write(tmp_path / "result", steps)) == size


def test_formats_of_others_keep_times_by_their_own_rules(tmp_path: Path):
    """They have no attributes and numbers of ours, and round times."""
    source = write(tmp_path / "source", STEPS)
    near = write(tmp_path / "near", with_second(time=0.75 * (1 + 1e-15), index=8, energy=9.0), 1.0)
    assert compare(source, near, is_series=False) > 0
    far = write(tmp_path / "far", with_second(time=0.76))
    with pytest.raises(tr.IoError, match=r"step 7 has the time 0\.75"):
        compare(source, far, is_series=False)
