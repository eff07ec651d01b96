"""Files arranged by their shape, as the branch of Xcompact3D writes them that the Python toolbox belongs to."""

import numpy as np
import pytest

import tailrace as tr
from helpers.harness.as_click import invoke as tailrace
from helpers.inputs.xcompact3d_files import NX, NY, NZ, input_text

STEPS = (0, 5, 10)


def values(step, shape=(NZ, NY, NX)):
    return np.arange(np.prod(shape), dtype="f4").reshape(shape) + 1000 * step


@pytest.fixture
def run(tmp_path):
    (tmp_path / "input.i3d").write_text(input_text())
    for name, shape in {
        "3d_snapshots": (NZ, NY, NX), "xy_planes": (1, NY, NX), "xz_planes": (NZ, 1, NX), "zy_planes": (NZ, NY, 1)
    }.items():  # fmt: skip
        (tmp_path / "data" / name).mkdir(parents=True)
        for step in STEPS:
            values(step, shape).tofile(tmp_path / f"data/{name}/ux-{step:09d}.bin")
            (-values(step, shape)).tofile(tmp_path / f"data/{name}/uy-{step:09d}.bin")
    return tmp_path


@pytest.mark.parametrize("place", [".", "data", "data/3d_snapshots"])
def test_fields_by_every_way_to_name_them(run, place):
    with tr.open(run / place) as series:
        assert [step.index for step in series] == list(STEPS)  # numbers of time steps, not of outputs
        dt = series.attributes["dt"]
        assert list(series.times) == pytest.approx([step * dt for step in STEPS])
        assert sorted(series[1].names) == ["ux", "uy"] and series.grid.points == (NX, NY, NZ)
        assert np.array_equal(series.step(10).read("ux"), values(10))
        assert np.array_equal(series.step(5).read("uy", ((1, 2, 3), (3, 2, 1))), -values(5)[3:4, 2:4, 1:4])
        assert series.verify() == []
    assert tailrace("info", run / place).exit_code == 0


def test_one_file(run):
    with tr.open(run / "data/3d_snapshots/ux-000000005.bin") as series:
        assert [(step.index, step.names) for step in series] == [(5, ["ux"])]
        assert np.array_equal(series[0].read("ux"), values(5))


@pytest.mark.parametrize(
    ("name", "shape"), [("xy_planes", (1, NY, NX)), ("xz_planes", (NZ, 1, NX)), ("zy_planes", (NZ, NY, 1))]
)
def test_planes(run, name, shape):
    with tr.open(run) as series:
        assert any(one.endswith(name) for one in series.dataset.auxiliary)
    with tr.open(run / "data" / name) as series:
        assert [step.index for step in series] == list(STEPS)
        assert np.array_equal(series.step(10).read("ux"), values(10, shape))
        assert any("do not say where they are" in note for note in series.notes)


def test_without_its_input_it_is_not_guessed(run):
    (run / "input.i3d").unlink()
    with pytest.raises((tr.InputError, tr.IoError)):
        tr.open(run / "data/3d_snapshots")


def test_a_file_that_is_cut_off(run):
    path = run / "data/3d_snapshots/ux-000000010.bin"
    path.write_bytes(path.read_bytes()[:-4])
    with tr.open(run) as series:
        assert series.step(10).names == ["uy"] and any("ux-000000010.bin" in line for line in series.verify())
