"""The box that an index of a field takes, and the index within it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tailrace.steps.stored_field import covering

VALUES = np.arange(60).reshape(5, 4, 3)


@pytest.mark.parametrize(
    ("key", "box"),
    [
        (2, (2, 3, 0, 4, 0, 3)),
        (-1, (4, 5, 0, 4, 0, 3)),
        (-5, (0, 1, 0, 4, 0, 3)),
        (np.int64(3), (3, 4, 0, 4, 0, 3)),
        ((), (0, 5, 0, 4, 0, 3)),
        (..., (0, 5, 0, 4, 0, 3)),
        ((..., 1), (0, 5, 0, 4, 1, 2)),
        ((1, ..., 2), (1, 2, 0, 4, 2, 3)),
        ((1, 2, ...), (1, 2, 2, 3, 0, 3)),
        ((1, 2, 0, ...), (1, 2, 2, 3, 0, 1)),
        ((1, 2, 0), (1, 2, 2, 3, 0, 1)),
        (slice(1, 4), (1, 4, 0, 4, 0, 3)),
        (slice(0, 5, 3), (0, 4, 0, 4, 0, 3)),
        (slice(None, None, -1), (0, 5, 0, 4, 0, 3)),
        ((slice(4, 0, -2), slice(1, 2), slice(-2, None)), (2, 5, 1, 2, 1, 3)),
        ((slice(3, 99), 3, slice(None, None, 2)), (3, 5, 3, 4, 0, 3)),
    ],
    ids=str,
)
def test_an_index_takes_the_smallest_box(key: Any, box: tuple[int, ...]) -> None:
    found = covering(key, VALUES.shape)
    assert found is not None
    slices, within = found
    assert slices == [slice(*box[at : at + 2]) for at in (0, 2, 4)]
    np.testing.assert_array_equal(VALUES[tuple(slices)][within], VALUES[key])


@pytest.mark.parametrize(
    "key", [None, True, [0, 1], (0, [1, 2]), np.arange(5) > 2, slice(3, 3), (0, slice(2, 1)), (..., ...), 0.5, "x",
            (slice(None), None)], ids=str,
)  # fmt: skip
def test_other_indices_take_no_box(key: Any) -> None:
    assert covering(key, VALUES.shape) is None


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (5, "index 5 is out of range for z with 5 points"),
        ((0, -5), "index -5 is out of range for y with 4 points"),
        ((0, 0, 3), "index 3 is out of range for x with 3 points"),
        ((0, 0, 0, 0), r"too many indices: the field has 3 axes \(z, y, x\), but 4 were given"),
        ((0, 0, 0, slice(None)), "too many indices"),
    ],
)
def test_indices_that_are_out_of_range(key: Any, said: str) -> None:
    with pytest.raises(IndexError, match=said):
        covering(key, VALUES.shape)
    with pytest.raises(IndexError):
        VALUES[key]
