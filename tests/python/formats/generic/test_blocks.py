"""Files of Athena++ and FLASH, whose arrays are in blocks; written here with h5py as the programs do."""

import h5py
import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.block_files import POINTS, SIZE, athena, flash, whole


def test_athena(tmp_path):
    along = athena(tmp_path / "disk.athdf")
    with tr.open(tmp_path / "disk.athdf") as series:
        (step,) = series
        assert (series.engine, step.index, step.time, step.names) == ("athena++", 120, 2.5, ["rho", "press", "Bcc1"])
        for salt, name in enumerate(step.names):
            assert np.array_equal(step.read(name), whole(salt).astype("f4"))
        assert np.array_equal(step.read("press", ((3, 1, 2), (6, 3, 2))), whole(1).astype("f4")[2:4, 1:4, 3:9])
        assert all(np.allclose(a, b) for a, b in zip(series.grid.coordinates, along, strict=True))
        assert series.attributes["coordinates"] == "cartesian" and series.verify() == []
    tr.convert(tmp_path / "disk.athdf", tmp_path / "disk.h5")
    assert np.array_equal(tr.open(tmp_path / "disk.h5")[0].read("rho"), whole(0).astype("f4"))


@pytest.mark.parametrize("parents", [True, False])
def test_flash(tmp_path, parents):
    length = flash(tmp_path / "sedov_hdf5_chk_0001", parents)
    with tr.open(tmp_path / "sedov_hdf5_chk_0001") as series:
        (step,) = series
        assert (series.engine, step.index, step.time, step.scalars) == ("flash", 42, 0.75, {"dt": 0.01})
        for salt, name in enumerate(("dens", "velx")):
            assert np.array_equal(step.read(name), whole(salt))
        assert np.array_equal(step.read("velx", ((3, 1, 2), (6, 3, 2))), whole(1)[2:4, 1:4, 3:9])
        assert series.grid.points == POINTS
        assert series.grid.spacing == pytest.approx(tuple(length / np.array(SIZE)))
        assert series.grid.origin == pytest.approx(tuple(-1.0 + 0.5 * length / np.array(SIZE)))


def test_a_refined_mesh_is_refused(tmp_path):
    athena(tmp_path / "a.athdf")
    with h5py.File(tmp_path / "a.athdf", "a") as file:
        file["Levels"][2] = 1
    flash(tmp_path / "f.h5")
    with h5py.File(tmp_path / "f.h5", "a") as file:
        file["refine level"][3] = 5
    for name, levels in (("a.athdf", "0 to 1"), ("f.h5", "2 to 5")):
        with pytest.raises(
            tr.InputError, match=rf"of the levels {levels}: a mesh that is refined in places is no array"
        ):
            tr.open(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("LogicalLocations", lambda data: data.__setitem__(0, data[1]), "do not fill a box .*some are missing"),
        ("x2v", None, "x2v"),
        ("prim", None, "prim"),
    ],
)
def test_damage_is_told(tmp_path, name, change, message):
    athena(tmp_path / "a.athdf")
    with h5py.File(tmp_path / "a.athdf", "a") as file:
        if change:
            change(file[name])
        else:
            del file[name]
            file[name] = np.zeros((2, 2))
    with pytest.raises(tr.IoError, match=rf"a\.athdf: .*{message}"):
        tr.open(tmp_path / "a.athdf")


def test_many_outputs_are_one_series(tmp_path):
    for number in range(3):
        athena(tmp_path / f"disk.out1.{number:05d}.athdf")
        with h5py.File(tmp_path / f"disk.out1.{number:05d}.athdf", "a") as file:
            file.attrs["Time"], file.attrs["NumCycles"] = 0.5 * number, 10 * number
    with tr.open(tmp_path / "disk.out1.*.athdf") as series:
        assert [(step.index, step.time) for step in series] == [(0, 0.0), (10, 0.5), (20, 1.0)]
