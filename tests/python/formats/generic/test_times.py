"""The times of files of other programs, written here with h5py."""

import h5py
import numpy as np
import pytest

import tailrace as tr


@pytest.mark.parametrize(("again", "taken"), [(2.0, 4), (2.0 + 4e-16, 4), (2.5, 2)])
def test_times_that_go_back(tmp_path, again, taken):
    """A run that was started again from an earlier step, and went on in the same file."""
    times = np.array([0.0, 1.0, 2.0, 3.0, again, again + 1, again + 2])
    with h5py.File(tmp_path / "r.nc", "w") as file:
        file["time"] = times
        file["u"] = np.arange(7.0)[:, None, None, None] + np.zeros((7, 3, 4, 6))
    with tr.open(tmp_path / "r.nc") as series:
        np.testing.assert_array_equal(series.times, times)
        assert series.at(2.0).index == taken and float(series.at(2.0)["u"].max()) == taken
        assert series.at(2.1, "pad").index == taken and series.at(1.9, "backfill").index == taken
        assert series.at(1.0).index == 1
        [note] = [one for one in series.notes if "go back" in one]
        assert f"in step 4, from 3 to {again:g}" in note


def test_times_that_stand_still_do_not_go_back(tmp_path):
    with h5py.File(tmp_path / "r.nc", "w") as file:
        file["time"] = np.array([0.0, 1.0, 1.0, 2.0])
        file["u"] = np.arange(4.0)[:, None, None, None] + np.zeros((4, 3, 4, 6))
    with tr.open(tmp_path / "r.nc") as series:
        assert not [one for one in series.notes if "go back" in one]
        assert series.at(1.0).index == 2 and series.at(9.0, "nearest").index == 3
