"""The points of an [[output]] by their places, `at`: whatever the number of points, the place stays the same."""

import h5py
import numpy as np
import pytest

from helpers.harness import mpi_run
from helpers.inputs.case_texts import GOOD, load, output, problems

CASE = """
[case]
reynolds = 100.0
[grid]
points = [16, 21, 12]
lengths = ["2*pi", 2.0, 3.0]
boundaries = ["periodic", "free-slip", "periodic"]
stretching = "walls"
beta = 0.3
[time]
dt = 0.01
steps = 1
"""


def block(name, extra=""):
    return f'[[output]]\nname = "{name}"\nfields = ["ux"]\nevery = 1\nengine = "hdf5"\n{extra}\n'


# y[row] is the node nearest to 0.3, by the law of the stretched nodes; the nodes in z are 3 k / nz.
@pytest.mark.parametrize(
    ("points", "row", "y", "layer"), [((16, 21, 12), 6, 0.318353, 6), ((12, 33, 17), 9, 0.28682, 8)]
)
def test_the_nearest_node_is_stored_on_any_grid(tmp_path, points, row, y, layer):
    line, plane = block("line", "at = { y = 0.3, z = 1.45 }"), block("plane", 'at = { x = "pi" }')
    (tmp_path / "case.toml").write_text(CASE + block("all") + line + plane)
    chosen = f"grid.points={list(points)}"
    result = mpi_run.tailrace("run", "case.toml", "--set", chosen, cwd=tmp_path, ranks=2, limit=60)
    assert result.code == 0, result.text
    note = f"note: output[1] ('line').at.y = 0.3: stored is the nearest node, number {row}, at y = {y}"
    assert note in result.text
    assert f"('line').at.z = 1.45: stored is the nearest node, number {layer}" in result.text
    assert "('plane').at.x" not in result.text  # there is a node at this place
    with h5py.File(tmp_path / "all.h5") as file:
        whole = file["VTKHDF/PointData/ux"][:]
    with h5py.File(tmp_path / "line.h5") as file:
        assert file["VTKHDF"].attrs["Type"] == b"ImageData", "the stretched direction has one place"
        assert (file["VTKHDF/PointData/ux"][:] == whole[:, layer, row, :]).all()
        origin = file["VTKHDF"].attrs["Origin"]
        assert origin == pytest.approx([0, y, 3 * layer / points[2]], abs=1e-5)
    with h5py.File(tmp_path / "plane.h5") as file:
        middle = points[0] // 2
        assert (file["VTKHDF/PointData/ux"][:] == whole[..., middle : middle + 1]).all()
        assert file["VTKHDF"].attrs["Origin"][0] == pytest.approx(np.pi)


@pytest.mark.parametrize(
    ("extra", "key", "says"),
    [
        ("at = { z = 1.6 }", "output[0] ('a').at.z", "must be from 0 to 1.5, the length of the box in z (found 1.6)"),
        ("at = { x = -0.1 }", "output[0] ('a').at.x", "must be from 0 to 3.14159, the length of the box in x"),
        ("at = {}", "output[0] ('a').at", "names no place; give x, y or z, as in at = { z = 1.5 }"),
        ("at = { w = 1.5 }", "output[0] ('a').at.w", "unknown key"),
        ('at = { y = "half" }', "output[0] ('a').at.y", "must be a number or an expression"),
        (
            "at = { z = 0.5 }\ncount = [0, 0, 1]",
            "output[0] ('a')",
            "at.z and count[2] = 1 both choose points in z; leave at.z out, or set count[2] to 0",
        ),
        ("at = { x = 0.5 }\nstart = [3, 0, 0]", "output[0] ('a')", "at.x and start[0] = 3 both choose points in x"),
        ("at = { y = 0.5 }\nstride = [1, 2, 1]", "output[0] ('a')", "set stride[1] to 1"),
    ],
)
def test_places_that_cannot_be_stored(tmp_path, extra, key, says):
    assert says in problems(tmp_path, GOOD + output(f"every = 10\n{extra}"))[key]


def test_a_place_goes_with_points_of_other_directions_and_survives_toml(tmp_path):
    case = load(tmp_path, GOOD + output("every = 10\nat = { z = 1.5 }\nstart = [4, 0, 0]\nstride = [2, 1, 1]"))
    assert case.notes() == []
    assert load(tmp_path, case.to_toml()) == case


def test_the_end_of_a_periodic_direction_is_its_beginning(tmp_path):
    case = load(tmp_path, GOOD + output('every = 10\nat = { y = "2*pi" }') + output("every = 10\nat = {y = 6.2}", "b"))
    (note,) = case.notes()
    assert note == "output[1] ('b').at.y = 6.2: stored is the nearest node, number 47, at y = 6.15229"
