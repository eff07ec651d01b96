"""Files of Athena++ and FLASH, whose arrays are in blocks; written here with h5py as the programs do."""

import h5py
import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.block_files import POINTS, SIZE, athena, flash, whole
from tailrace.formats.generic import blocks


def table_of(kind, **found):
    """Names and values, as FLASH stores them."""
    pairs = np.dtype([("name", "S80"), ("value", kind)])
    return np.array([(name.encode().ljust(80), value) for name, value in found.items()], pairs)


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


@pytest.mark.parametrize(
    ("write", "name", "value", "message"),
    [
        (athena, "Levels", np.zeros(0, "i4"), "has 0 blocks; expected from 1 to"),
        (athena, "x1v", np.zeros((5, SIZE[0])), r"'/x1v' has the shape \(5, 4\); expected 6 blocks of places"),
        (athena, "x1v", np.zeros((6, SIZE[0]), "i4"), "'/x1v' has the shape"),
        (athena, "prim", np.zeros((2, 6, 5, 2, 3)), r"'/prim' has the shape .*; expected \(2, 6, 5, 2, 4\) numbers"),
        (athena, "prim", np.zeros((2, 6, 5, 2, 4), "S3"), "'/prim' has the shape"),
        (flash, "refine level", np.zeros(0, "i4"), "has 0 blocks, of which none is a leaf"),
        (flash, "node type", np.full(7, 2, "i4"), "has 7 blocks, of which none is a leaf"),
        (flash, "node type", np.ones(6, "i4"), "has 7 blocks, of which none is a leaf"),
        (flash, "dens", np.zeros((7, 5, 2)), "'dens' is no array of four dimensions"),
        (flash, "velx", np.zeros((6, 5, 2, 4)), r"'/velx' has the shape \(6, 5, 2, 4\); expected \(7, 5, 2, 4\)"),
        (flash, "unknown names", np.array([["pres"]], "S4"), "'pres' is no array of four dimensions"),
        (flash, "coordinates", np.full((7, 3), np.nan), "the places of its blocks are no numbers"),
        (flash, "coordinates", np.arange(21.0).reshape(7, 3) * 1e9, "not those of equal blocks"),
        (flash, "block size", np.ones((7, 4)), r"'/block size' has the shape \(7, 4\); expected 7 blocks of three"),
        (flash, "block size", np.ones((6, 3)), "expected 7 blocks of three numbers"),
        (flash, "integer scalars", table_of("i4", nstep=-1), "is of step -1 and time 0.75"),
        (flash, "real scalars", table_of("f8", time=np.inf), "is of step 42 and time inf"),
    ],
)
def test_a_description_that_is_wrong_is_told(tmp_path, write, name, value, message):
    write(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "a") as file:
        del file[name]
        file[name] = value
    with pytest.raises(tr.IoError, match=rf"a\.h5: .*{message}"):
        tr.open(tmp_path / "a.h5")


@pytest.mark.parametrize("write", [athena, flash])
def test_more_blocks_than_any_run_has_are_refused(tmp_path, monkeypatch, write):
    write(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as file:
        count = len(file["Levels" if write is athena else "refine level"])
    monkeypatch.setattr(blocks, "_MOST_BLOCKS", count)
    tr.open(tmp_path / "a.h5").close()
    monkeypatch.setattr(blocks, "_MOST_BLOCKS", count - 1)
    with pytest.raises(tr.IoError, match=f"has {count} blocks.*; expected from 1 to {count - 1}"):
        tr.open(tmp_path / "a.h5")


def test_a_file_of_flash_without_its_tables_is_of_step_0(tmp_path):
    flash(tmp_path / "f.h5", parents=False)
    with h5py.File(tmp_path / "f.h5", "a") as file:
        for name in ("real scalars", "integer scalars", "node type"):
            del file[name]
        file["real scalars"] = np.zeros(3)
    with tr.open(tmp_path / "f.h5") as series:
        assert (series[0].index, series[0].time, series[0].scalars) == (0, 0.0, {})
        assert np.array_equal(series[0].read("dens"), whole(0))


def test_many_outputs_are_one_series(tmp_path):
    for number in range(3):
        athena(tmp_path / f"disk.out1.{number:05d}.athdf")
        with h5py.File(tmp_path / f"disk.out1.{number:05d}.athdf", "a") as file:
            file.attrs["Time"], file.attrs["NumCycles"] = 0.5 * number, 10 * number
    with tr.open(tmp_path / "disk.out1.*.athdf") as series:
        assert [(step.index, step.time) for step in series] == [(0, 0.0), (10, 0.5), (20, 1.0)]
