"""xarray shows places and ghost zones as the files have them."""

import h5py
import numpy as np
import xarray as xr

import tailrace as tr
from helpers.inputs.pencil_runs import HandMade


def test_coordinates_of_a_run_in_single_precision(tmp_path):
    """They are stored in single precision: computed ones differ in the last digits."""
    made = HandMade(tmp_path / "data", precision="S").texts().dist()
    with tr.open(tmp_path) as series, xr.open_dataset(tmp_path, engine="tailrace") as data:
        assert series.grid is not None
        for axis, stored in zip("xyz", made.axes, strict=True):
            np.testing.assert_array_equal(data[axis].values, stored[3:-3])
            assert data[axis].dtype == np.float32


def test_ghost_zones_that_were_asked_for(tmp_path):
    made = HandMade(tmp_path / "data").texts().dist()
    with tr.open(tmp_path, parameters={"ghosts": True}) as series:
        shape = tuple(made.held[::-1])
        for data in (series.to_xarray(), xr.open_dataset(tmp_path, engine="tailrace", parameters={"ghosts": True})):
            assert data["ux"].shape == (1, *shape)
            np.testing.assert_array_equal(data["ux"][0], made.fields[0])
            np.testing.assert_array_equal(data["y"], made.axes[1])
    with tr.open(tmp_path) as series:
        assert series.to_xarray()["ux"].shape[1:] == tuple(made.points[::-1])


def test_coordinates_of_plain_hdf5(tmp_path):
    """Even to six digits, but not exactly: as stored."""
    along = [np.linspace(0, 1, n).astype("f4") for n in (7, 5, 4)]
    with h5py.File(tmp_path / "p.h5", "w") as file:
        file["u"] = np.ones((4, 5, 7))
        file["x"], file["y"], file["z"] = along
    with xr.open_dataset(tmp_path / "p.h5", engine="tailrace") as data:
        for axis, stored in zip("xyz", along, strict=True):
            np.testing.assert_array_equal(data[axis].values, stored)
