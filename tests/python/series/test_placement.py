"""Places of values: grids, blocks, boxes, steps by position and index; types of values."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tailrace import core as _core
from tailrace.core import InputError
from tailrace.grids import StretchedGrid, UniformGrid, triple
from tailrace.io.placement import Block, Box, Region, boxes_of, shape_of
from tailrace.io.steps import Steps
from tailrace.io.values import attribute_value, is_everywhere, parameter_text, scalar_value, stored_array

PERIODIC = ("periodic", "dirichlet", "periodic")


def test_a_uniform_grid():
    grid = UniformGrid((4, 3, 2), (1.0, -1.0, 0.5), (0.5, 2.0, 0.25), boundaries=PERIODIC)
    assert [one.tolist() for one in grid.coordinates] == [[1.0, 1.5, 2.0, 2.5], [-1.0, 1.0, 3.0], [0.5, 0.75]]
    assert grid.lengths == (2.0, 4.0, 0.5), "the closing point of a periodic direction is not stored"
    assert grid.periodic == "xz"
    bare = UniformGrid((4, 3, 2))
    assert (bare.lengths, bare.periodic) == (None, "")
    assert bare.origin == (0.0, 0.0, 0.0) and bare.spacing == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("law", [(), ("centre", 0.5)])
def test_the_grid_of_operators_and_back(law):
    core = _core.Grid((8, 9, 10), (2.0, 1.0, 3.0), PERIODIC, *law)
    grid = UniformGrid.of(core)
    assert isinstance(grid, StretchedGrid) == bool(law)
    assert grid.lengths == pytest.approx((2.0, 1.0, 3.0))
    assert grid.boundaries == PERIODIC and grid.points == (8, 9, 10)
    again = grid.checked()
    for d in range(3):
        np.testing.assert_allclose(grid.coordinates[d], core.coordinates(d), rtol=0, atol=1e-15)
        np.testing.assert_array_equal(again.coordinates(d), core.coordinates(d))
    assert (again.stretching, list(again.boundaries)) == (core.stretching, list(core.boundaries))


def test_a_grid_with_coordinates_and_no_law():
    grid = StretchedGrid((3, 4, 2), (5.0, 5.0, 5.0), (1.0, 1.0, 2.0), ((0.0, 1.0, 4.0), (), (1.0, 3.0)),
                         boundaries=("dirichlet", "free-slip", "periodic"))  # fmt: skip
    assert [one.tolist() for one in grid.coordinates] == [[0.0, 1.0, 4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 3.0]]
    assert grid.lengths == (4.0, 3.0, 4.0), "of a periodic direction the closing interval is not known by coordinates"
    with pytest.raises(InputError, match="fields on stretched points need their law"):
        grid.checked()
    assert StretchedGrid((3, 4, 2), coordinates=((0.0, 1.0, 4.0), (), ())).lengths is None


def test_a_law_and_coordinates_must_agree():
    about = {"spacing": (0.25, 0.125, 0.5), "boundaries": PERIODIC, "stretching": "walls", "beta": 0.4}
    whole = StretchedGrid((8, 9, 10), (0.0, 2.0, 0.0), **about)
    y = np.array(whole.coordinates[1])
    assert y[0] == 2.0 and y[-1] == pytest.approx(3.0) and len(y) == 9
    near, far = y.copy(), y.copy()
    near[4] += 0.9e-6
    far[4] += 1.1e-6
    assert StretchedGrid((8, 9, 10), (0.0, 2.0, 0.0), coordinates=((), near, ()), **about).uneven[1] == tuple(near)
    for wrong in (far, y[:-1], np.append(y, 3.5)):
        with pytest.raises(
            InputError, match=r"the coordinates in y are not those of stretching = 'walls', beta = 0\.4"
        ):
            StretchedGrid((8, 9, 10), (0.0, 2.0, 0.0), coordinates=((), wrong, ()), **about)
    with pytest.raises(InputError, match="its law needs the boundaries of the grid"):
        StretchedGrid((8, 9, 10), stretching="walls", beta=0.4)


@pytest.mark.parametrize("leading", [(), (3,)])
@pytest.mark.parametrize(("ghosts", "width"), [(0, (0, 0, 0)), (2, (2, 2, 2)), ((1, 0, 2), (1, 0, 2))])
def test_the_boxes_of_a_block(leading, ghosts, width):
    data = np.zeros((*leading, 9, 8, 7))
    block, memory = Block(data, (90, 80, 70), (10, 20, 30), ghosts).boxes()
    assert block == Box((10, 20, 30), (7 - 2 * width[0], 8 - 2 * width[1], 9 - 2 * width[2]))
    assert memory == Box((10 - width[0], 20 - width[1], 30 - width[2]), (7, 8, 9))


def test_a_block_begins_at_the_origin_and_has_no_ghosts():
    block = Block(np.zeros((2, 3, 4)), (4, 3, 2))
    assert block.boxes() == (Box((0, 0, 0), (4, 3, 2)), Box((0, 0, 0), (4, 3, 2)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        block.start = (1, 0, 0)
    assert Region((1, 2, 3), (4, 3, 2)).stride == (1, 1, 1)


@pytest.mark.parametrize("shape", [(), (4,), (4, 3), (1, 1, 2, 3, 4)])
def test_arrays_have_three_dimensions_and_perhaps_components(shape):
    with pytest.raises(InputError, match=r"expected an array \(nz, ny, nx\)"):
        shape_of(np.zeros(shape))
    assert shape_of(np.zeros((2, 3, 4))) == (4, 3, 2) == shape_of(np.zeros((5, 2, 3, 4)))
    assert triple(np.array([1.0, 2.0, 3.0])) == (1, 2, 3)
    with pytest.raises(ValueError, match="unpack"):
        triple((1, 2))


@pytest.mark.parametrize(
    ("most", "counts"),
    [(1, (4, 1, 1)), (7, (4, 1, 1)), (8, (4, 2, 1)), (11, (4, 2, 1)), (12, (4, 3, 1)), (23, (4, 3, 1)), (24, (4, 3, 2)),
     (48, (4, 3, 4)), (999, (4, 3, 5))],
)  # fmt: skip
def test_boxes_are_whole_rows_or_planes(most, counts):
    seen = np.zeros((5, 3, 4), int)
    boxes = list(boxes_of((4, 3, 5), most))
    assert boxes[0] == Box((0, 0, 0), counts)
    for (x, y, z), (nx, ny, nz) in boxes:
        assert nx * ny * nz <= max(most, 4)
        seen[z : z + nz, y : y + ny, x : x + nx] += 1
    assert (seen == 1).all()
    assert boxes == sorted(boxes, key=lambda box: box.start[::-1])


# ---- the steps of a series -------------------------------------------------------------------------------------------


def steps_of(*indices):
    return Steps("run.h5", [(index, 0.5 * index) for index in indices], lambda at, index, time: (at, index, time))


def test_steps_by_position():
    steps = steps_of(3, 4, 8)
    assert len(steps) == 3
    assert (steps[0], steps[2], steps[-1], steps[-3]) == ((0, 3, 1.5), (2, 8, 4.0), (2, 8, 4.0), (0, 3, 1.5))
    assert steps[1:] == [(1, 4, 2.0), (2, 8, 4.0)] and steps[::-2] == [(2, 8, 4.0), (0, 3, 1.5)]
    assert repr(steps) == "<3 steps of run.h5>"
    assert [steps.index_at(position) for position in (0, 1, -1)] == [3, 4, 8]
    for position in (3, -4):
        with pytest.raises(IndexError) as error:
            steps[position]
        assert str(error.value) == (
            f"run.h5: there is no step at position {position}; it has positions 0 to 2, -1 being the last"
        )
    with pytest.raises(IndexError, match=r"there is no step at position 0; it has no steps"):
        steps_of()[0]


def test_steps_by_index():
    steps = steps_of(3, 4, 8)
    assert [steps.position_of(index) for index in (3, 4, 8)] == [0, 1, 2]
    for index, near in ((0, 3), (6, 4), (7, 8), (99, 8)):
        with pytest.raises(
            InputError, match=rf"has no step of index {index}; the nearest is {near}; series\.steps has"
        ):
            steps.position_of(index)
    with pytest.raises(InputError, match=r"run\.h5: has no step of index 1; it has no steps"):
        steps_of().position_of(1)


# ---- values ----------------------------------------------------------------------------------------------------------


def test_numbers_and_texts():
    for value, plain in ((True, 1), (np.bool_(False), 0), (np.int32(3), 3), (np.float32(0.5), 0.5), ("a", "a")):
        assert scalar_value("a", value) == plain and type(scalar_value("a", value)) is type(plain)
    for value in (None, [1], 1j, b"a"):
        with pytest.raises(InputError, match="a: expected a number or a text, found"):
            scalar_value("a", value)


def test_attributes():
    for value, plain in (
        ("a", "a"),
        (np.float64(2), 2.0),
        (np.arange(3), [0, 1, 2]),
        ((1, 2.5), [1, 2.5]),
        (("a",), ["a"]),
    ):
        found = attribute_value("a", value)
        assert found == plain and type(found) is type(plain)
    for value in (["a", 1], [1, None], [[1]], [], [b"a"], b"a", {1, 2}, {"a": 1}, None):
        with pytest.raises(
            InputError, match="a: expected a text, a number, a list of numbers or a list of texts, found"
        ):
            attribute_value("a", value)


def test_parameters_and_types_of_arrays():
    assert [parameter_text(one) for one in (True, False, 1, "On", 0.5)] == ["true", "false", "1", "On", "0.5"]
    assert is_everywhere(np.dtype("float32"))
    assert not is_everywhere(np.dtype(">f4")) and not is_everywhere(np.dtype("int16"))
    array = np.arange(6.0).reshape(2, 3)
    assert stored_array("a", array) is array
    assert stored_array("a", array.T).flags.c_contiguous
    swapped = array.astype(">f8")
    assert stored_array("a", swapped).dtype == np.float64 and np.array_equal(stored_array("a", swapped), array)
    with pytest.raises(InputError, match="a: expected an array of numbers or of truth values, found object"):
        stored_array("a", array.astype(object))


def test_the_ends_of_whole_numbers():
    for value in (-(1 << 63), (1 << 63) - 1, -1, 0):
        assert scalar_value("a", value) == attribute_value("a", [value])[0] == value
    for value in (-(1 << 63) - 1, 1 << 63):
        for use in (scalar_value, attribute_value):
            with pytest.raises(
                InputError, match=f"a: {value} does not fit into 64 bits; write it as a text or a float"
            ):
                use("a", value)


def test_masked_values_are_not_stored():
    with pytest.raises(InputError, match=r"a: .*mask"):
        stored_array("a", np.ma.masked_greater(np.arange(4.0), 2.0))


def test_texts_are_in_utf_8():
    assert scalar_value("a", "\u03c0") == attribute_value("a", "\u03c0") == "\u03c0"
    for use in (scalar_value, attribute_value):
        with pytest.raises(InputError, match=r"a: the text '.*' is not in UTF-8"):
            use("a", "x\ud800")
