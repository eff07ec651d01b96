"""What boxes and lists in parts have in common, held against arrays of NumPy."""

import itertools

import numpy as np
import pytest

from tailrace.formats.overlaps import overlap, rows_in
from tailrace.io.placement import Box


@pytest.mark.parametrize("seed", range(20))
def test_a_box_of_an_array_in_parts(seed):
    dice = np.random.default_rng(seed)
    whole = dice.integers(0, 1000, (7, 5, 6))
    cuts = [sorted({0, n, *dice.integers(1, n, 2)}) for n in (6, 5, 7)]
    low = dice.integers(0, [6, 5, 7])
    count = dice.integers(1, [6, 5, 7] - low + 1)
    wanted = Box(tuple(map(int, low)), tuple(map(int, count)))
    out = np.full(wanted.count[::-1], -1)
    for corners in itertools.product(*(itertools.pairwise(cut) for cut in cuts)):
        (x, y, z), (nx, ny, nz) = zip(*((a, b - a) for a, b in corners), strict=True)
        part = whole[z : z + nz, y : y + ny, x : x + nx]
        common = overlap(wanted, Box((x, y, z), (nx, ny, nz)))
        if common is not None:
            ((i, j, k), (mx, my, mz)), place = common
            out[place] = part[k : k + mz, j : j + my, i : i + mx]
    (x, y, z), (nx, ny, nz) = wanted
    np.testing.assert_array_equal(out, whole[z : z + nz, y : y + ny, x : x + nx])


def test_rows_of_a_list_in_parts():
    parts = [np.arange(4), np.arange(4, 4), np.arange(4, 5), np.arange(5, 12)]
    for first, end in itertools.combinations(range(13), 2):
        out = np.full(end - first, -1)
        for part, at, count, place in rows_in(first, end - first, ((part, len(part)) for part in parts)):
            out[place] = part[at : at + count]
        assert out.tolist() == list(range(first, end))
    assert list(rows_in(12, 3, ((part, len(part)) for part in parts))) == []
