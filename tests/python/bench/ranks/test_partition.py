"""How a grid is shared among ranks, and the values that they write."""

import itertools
from math import prod

import numpy as np
import pytest

from tailrace.bench.ranks.partition import Values, box_of, made_up, partition_of
from tailrace.io.placement import Box


@pytest.mark.parametrize(
    ("text", "ranks", "partition"),
    [
        ("slabs", 6, (1, 1, 6)), ("pencils", 6, (1, 2, 3)), ("blocks", 12, (2, 2, 3)), ("pencils", 7, (1, 1, 7)),
        ("3,2,1", 6, (3, 2, 1)), ("blocks", 1, (1, 1, 1)),
    ],
)  # fmt: skip
def test_parts(text, ranks, partition):
    assert partition_of(text, ranks) == partition


@pytest.mark.parametrize("text", ["cubes", "1,2", "0,2,3", "2,2,2"])
def test_no_parts(text):
    with pytest.raises(ValueError, match="--decomposition"):
        partition_of(text, 6)


def test_every_point_is_in_one_part():
    shape, partition = (11, 7, 5), (2, 3, 2)
    seen = np.zeros(shape[::-1], dtype=int)
    for rank in range(prod(partition)):
        (x, y, z), (nx, ny, nz) = box_of(shape, partition, rank)
        seen[z : z + nz, y : y + ny, x : x + nx] += 1
    assert (seen == 1).all()


def test_values_depend_on_the_place_alone():
    shape = (6, 5, 4)
    whole = made_up(shape, Box((0, 0, 0), shape), 2, "float64")
    assert len(np.unique(whole)) == whole.size
    assert 0 <= whole.min() < 0.1 < 0.9 < whole.max() < 1
    for partition in ((1, 1, 4), (2, 2, 2)):
        for rank in range(prod(partition)):
            box = box_of(shape, partition, rank)
            cut = tuple(slice(s, s + n) for s, n in zip(reversed(box.start), reversed(box.count), strict=True))
            assert np.array_equal(made_up(shape, box, 2, "float64"), whole[cut])
    assert not np.array_equal(made_up(shape, Box((0, 0, 0), shape), 1, "float64"), whole)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_wrong_values_are_found(dtype):
    box = Box((1, 0, 2), (4, 3, 2))
    values = Values((6, 3, 4), box, 2, dtype, halo=2)
    assert values.blocks[0].data.shape == (6, 7, 8)
    assert values.bytes == 2 * 24 * np.dtype(dtype).itemsize
    read = [made_up((6, 3, 4), box, number, dtype) for number in range(2)]
    assert values.equal(read)
    assert not values.equal(read[::-1])
    assert not values.equal(read[:1])
    for place in itertools.islice(np.ndindex(read[1].shape), 0, None, 5):
        read[1][place] = np.nextafter(read[1][place], np.asarray(2, dtype))
        assert not values.equal(read)
        read[1] = made_up((6, 3, 4), box, 1, dtype)
