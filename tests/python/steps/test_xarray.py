"""The engine of xarray: every engine of series, lazily, with dask, with coordinates and attributes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import xarray as xr

import tailrace as tr
from helpers.inputs.flows_on_disk import GRID, arrays, write
from tailrace.steps.xarray_engine import _chunks


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write(tmp_path_factory.mktemp("xarray") / "run.h5")


@pytest.mark.parametrize("chunks", [None, {}], ids=["plain", "dask"])
def test_every_engine(kind, tmp_path, chunks):
    path = write(kind.path(tmp_path), kind.name, **kind.parameters)
    with xr.open_dataset(path, engine="tailrace", chunks=chunks) as found:
        whole = {name: np.stack([arrays(number)[name] for number in range(3)]) for name in ("ux", "uy", "uz")}
        for name, values in whole.items():
            np.testing.assert_array_equal(found[name].isel(z=4).values, values[:, 4])
            np.testing.assert_array_equal(found[name].values, values)
        np.testing.assert_array_equal(found["time"].values, [0, 0.5, 1])
        np.testing.assert_array_equal(found["step"].values, [0, 10, 20])
        for axis, n, h in zip("xyz", GRID.points, GRID.spacing, strict=True):
            np.testing.assert_allclose(found[axis].values, h * np.arange(n), rtol=1e-14)
        np.testing.assert_array_equal(found["p"].values[2], np.arange(6.0).reshape(3, 2) + 2)
        np.testing.assert_array_equal(found["q"].values[2], np.arange(4) * 2)
        np.testing.assert_array_equal(found["count"].values[1], np.ones((4, 3, 2)))
        np.testing.assert_array_equal(found["energy"].values, [0, 0.1, 0.2])
        assert list(found["said"].values) == ["step 0", "step 1", "step 2"]
        assert found["ux"].attrs == {"long_name": "velocity in x", "units": "m/s"}
        assert found["uy"].attrs["units"] == "1" and found.attrs["reynolds"] == 100
        assert found["count"].dims == ("time", "count_z", "count_y", "count_x")


@pytest.mark.parametrize(
    "key",
    [
        {"time": 1, "z": 3},
        {"time": [2, 0], "y": slice(12, 3, -4)},
        {"x": [5, 1, 5], "z": slice(2, 9, 3), "time": slice(None, None, -1)},
        {"x": 0, "y": 0, "z": 0, "time": 0},
        {"z": slice(4, 4)},
        {"time": slice(3, 3)},
        {"x": xr.DataArray([1, 2], dims="at"), "y": xr.DataArray([3, 4], dims="at")},
    ],
    ids=str,
)
@pytest.mark.parametrize("chunks", [None, {}], ids=["plain", "dask"])
def test_indexing(path, key, chunks):
    whole = xr.DataArray(np.stack([arrays(number)["uy"] for number in range(3)]), dims=("time", "z", "y", "x"))
    with xr.open_dataset(path, engine="tailrace", chunks=chunks) as found:
        np.testing.assert_array_equal(found["uy"].isel(key).values, whole.isel(key).values)


def test_by_coordinates(path):
    with xr.open_dataset(path, engine="tailrace") as found:
        near = found["ux"].sel(time=0.6, x=1.0, y=1.0, z=6.0, method="nearest")
        assert near.values == tr.open(path).at(0.6, "nearest")["ux"][10, 5, 4]


def test_reads_only_what_is_used(tmp_path):
    path = write(tmp_path / "run", "raw", checksums=False)
    with xr.open_dataset(path, engine="tailrace") as found:
        series = found["ux"].variable._data
        while not hasattr(series, "_manager"):
            series = series.array
        before = series._manager.acquire().counters["bytes_read"]
        found["ux"].isel(time=1, z=3).load()
        read = series._manager.acquire().counters["bytes_read"] - before
        assert 24 * 17 * 8 <= read < 2 * 24 * 17 * 8  # the plane, and what is known of the step


def test_dask_reads_in_pieces(path):
    with xr.open_dataset(path, engine="tailrace", chunks={}) as found:
        assert found["ux"].chunks == ((1, 1, 1), (20,), (17,), (24,))
        profile = found["ux"].mean(("x", "z")).compute(scheduler="threads")
        expected = np.stack([arrays(number)["ux"].mean((0, 2)) for number in range(3)])
        np.testing.assert_allclose(profile.values, expected, atol=1e-15)
    with xr.open_dataset(path, engine="tailrace", chunks={"z": 5, "y": 6}) as found:
        np.testing.assert_array_equal(found["uz"].isel(time=2).values, arrays(2)["uz"])


def test_other_processes_can_open_it(path):
    with xr.open_dataset(path, engine="tailrace", chunks={}) as found:
        again = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(again["ux"].isel(time=0).values, arrays(0)["ux"])


def test_components_are_one_variable(tmp_path):
    f = np.random.default_rng(1).standard_normal((3, 20, 17, 24)).astype("float32")
    with tr.open(tmp_path / "run.bp", "w", grid=GRID) as out:
        out.write_step(0.0, f=f)
        out.write_step(1.0, f=2 * f)
    with xr.open_dataset(tmp_path / "run.bp", engine="tailrace") as found:
        assert found["f"].dims == ("time", "f_component", "z", "y", "x") and set(found.data_vars) == {"f"}
        np.testing.assert_array_equal(found["f"].values, [f, 2 * f])
        np.testing.assert_array_equal(found["f"].isel(f_component=1, time=1, y=3).values, 2 * f[1, :, 3])
        np.testing.assert_array_equal(found["f"].isel(f_component=[2, 0], time=0).values, f[[2, 0]])
        assert found["f"].dtype == np.float32


def test_steps_that_differ(tmp_path):
    with tr.open(tmp_path / "run.h5", "w", grid=GRID) as out:
        out.write_step(0.0, arrays(0), lists={"p": np.ones((3, 2))}, scalars={"a": 1})
        out.write_step(1.0, ux=arrays(1)["ux"], n=np.ones((20, 17, 24), "int32"), lists={"p": np.ones((4, 2))})
    with pytest.warns(UserWarning, match="left out 'p', whose shape changes from step to step"):
        found = xr.open_dataset(tmp_path / "run.h5", engine="tailrace")
    with found:
        assert np.isnan(found["uy"].isel(time=1)).all() and not np.isnan(found["uy"].isel(time=0)).any()
        assert found["n"].dtype == np.float64 and np.isnan(found["n"].isel(time=0, x=3)).all()
        assert (found["n"].isel(time=1) == 1).all() and "p" not in found
        np.testing.assert_array_equal(found["a"].values, [1, np.nan])


def test_profiles_of_an_analysis(tmp_path):
    """They share their rows, and one of them may have the name of an axis that no field lies on."""
    y = np.linspace(0, 1, 5)
    with tr.open(tmp_path / "run.h5", "w", grid=GRID) as out:
        out.write_step(0.0, lists={"y": y, "mean_u": y**2, "both": np.ones((5, 2))})
    with xr.open_dataset(tmp_path / "run.h5", engine="tailrace") as found:
        assert found["mean_u"].dims == ("time", "y") and found["both"].dims == ("time", "y", "both_column")
        assert found["mean_u"].sel(time=0, y=0.5) == 0.25 and "x" not in found.coords
        assert found.isel(time=0)["mean_u"].plot()[0].get_xdata()[3] == 0.75
    with tr.open(tmp_path / "both.h5", "w", grid=GRID) as out:
        out.write_step(0.0, ux=arrays(0)["ux"], lists={"y": y, "p": np.ones(6)})
    with pytest.warns(UserWarning, match=r"both\.h5: left out 'y', which is the name of a coordinate here; read it by"):
        found = xr.open_dataset(tmp_path / "both.h5", engine="tailrace")
    with found:
        np.testing.assert_allclose(found["y"].values, GRID.spacing[1] * np.arange(17))
        assert found["p"].dims == ("time", "p_row")


def test_names_of_raw_files(tmp_path):
    with tr.open(tmp_path / "run", "w", engine="raw", grid=GRID) as out:
        out.write_step(0.0, pp=arrays(0)["uz"])
    assert set(tr.open(tmp_path / "run")[0].names) == {"pp", "pressure"}
    with xr.open_dataset(tmp_path / "run", engine="tailrace") as found:
        assert set(found.data_vars) == {"pressure"} and found["pressure"].attrs["long_name"] == "pressure over density"
        np.testing.assert_array_equal(found["pressure"].values[0], arrays(0)["uz"])


def test_series_and_steps_to_xarray(path):
    with tr.open(path) as series:
        with series.to_xarray(chunks={}) as whole:
            xr.testing.assert_identical(whole["ux"].isel(time=1).compute(), series[1].to_xarray()["ux"].compute())
        only = series[2].to_xarray(["uz", "energy"])
        assert set(only.data_vars) == {"uz", "energy"} and only["energy"] == 0.2 and only["step"] == 20
        assert set(series[2].to_xarray("uz").data_vars) == {"uz"}, "a name is no list of letters"
        assert set(tr.Step.to_xarray(series[2], "uz").data_vars) == {"uz"}, "as inside a simulation"
        for wrong in (["u"], "u"):
            with pytest.raises(tr.InputError, match="no field 'u'"):
                series[2].to_xarray(wrong)
    with tr.open(path.with_name("new.h5"), "w") as out, pytest.raises(tr.InputError, match="open to write"):
        out.to_xarray()


def test_grids_and_left_out_variables(path, tmp_path):
    plain = write(tmp_path / "run.bp", grid=None)
    with xr.open_dataset(plain, engine="tailrace", drop_variables=["ux", "p"]) as found:
        assert "x" not in found.coords and "ux" not in found and "p" not in found
    with xr.open_dataset(plain, engine="tailrace", grid=GRID, guard=True) as found:
        assert found["ux"].dims == ("time", "z", "y", "x")
        np.testing.assert_allclose(found["y"].values, GRID.spacing[1] * np.arange(17))


def test_what_it_can_guess(path, tmp_path):
    assert xr.open_dataset(write(tmp_path / "run.bp")).attrs["reynolds"] == 100  # without engine="tailrace"
    engine = xr.backends.list_engines()["tailrace"]
    assert engine.guess_can_open(path) and engine.guess_can_open(str(path))
    (tmp_path / "text.h5").write_text("no series")
    (tmp_path / "damaged.fld").write_text("<NEKTAR><ELEMENTS")  # whose reader raises an error
    for other in ("damaged.fld", "text.h5", "missing.h5", "\0", "."):
        assert engine.guess_can_open(str(tmp_path / other)) is False
    for other in (3, b"abc"):
        assert engine.guess_can_open(other) is False
    with pytest.raises(OSError, match=r"text\.h5"):
        xr.open_dataset(tmp_path / "text.h5", engine="tailrace")
    with tr.open(tmp_path / "empty.h5", "w"):
        pass
    with xr.open_dataset(tmp_path / "empty.h5", engine="tailrace") as found:
        assert not found.data_vars and found.sizes["time"] == 0


@pytest.mark.parametrize("count", [2, 3, 6])
def test_components_are_a_dimension(tmp_path, count):
    values = np.arange(count * 24.0).reshape(count, 2, 3, 4)
    with tr.open(tmp_path / "run.h5", "w") as out:
        for step in range(2):
            out.write_step(0.5 * step, u=values + 100 * step)
    with xr.open_dataset(tmp_path / "run.h5", engine="tailrace") as found:
        assert found["u"].dims == ("time", "u_component", "z", "y", "x")
        np.testing.assert_array_equal(found["u"], np.stack([values, values + 100]))
        np.testing.assert_array_equal(found["u"][1, count - 1, 1, :, 2], values[count - 1, 1, :, 2] + 100)


@pytest.mark.parametrize("dropped", ["ux", ["ux"], ["ux", "energy", "said"]])
def test_what_is_dropped_is_not_there(path, dropped):
    with xr.open_dataset(path, engine="tailrace", drop_variables=dropped) as found:
        gone = {dropped} if isinstance(dropped, str) else set(dropped)
        assert {"ux", "uy", "uz", "p", "q", "count", "energy", "said"} - gone == set(found.data_vars)
        assert found.encoding["source"] == str(path)


def test_what_is_not_in_every_step(tmp_path):
    values = np.ones((2, 3, 4))
    with tr.open(tmp_path / "run.h5", "w") as out:
        out.write_step(
            0.0,
            a=values.astype("float32"),
            b=values.astype("int16"),
            c=values,
            v_2=values,
            scalars={"said": "first", "n": 1},
            lists={"rows": np.arange(3), "other": np.arange(4)},
        )
        out.write_step(
            1.0,
            b=values.astype("int16"),
            c=values.astype("float32"),
            v_2=values,
            scalars={"m": 2.5},
            lists={"rows": np.arange(3)},
        )
    with xr.open_dataset(tmp_path / "run.h5", engine="tailrace") as found:
        assert {name: found[name].dtype for name in ("a", "b", "c")} == {"a": "float32", "b": "int16", "c": "float64"}
        assert np.isnan(found["a"].values[1]).all() and (found["a"].values[0] == 1).all()
        assert list(found["said"].values) == ["first", ""]
        np.testing.assert_array_equal(found["n"].values, [1, np.nan])
        np.testing.assert_array_equal(found["m"].values, [np.nan, 2.5])
        assert found["v_2"].dims == ("time", "z", "y", "x"), "one without a first is no component"
        assert found["rows"].dims == ("time", "rows_row") and found["other"].dims == ("time", "other_row")
        assert found["a"].attrs == {}


def test_units_are_known_of_the_fields_of_a_run_only(tmp_path):
    fields = {"pressure": np.ones((2, 3, 4)), "mine": np.ones((2, 3, 4))}
    for name, attributes in (("run.h5", {"reynolds": 50.0, "time/units": "s"}), ("other.h5", {"mine/units": "m"})):
        with tr.open(tmp_path / name, "w") as out:
            for key, value in attributes.items():
                out.set_attribute(key, value)
            out.write_step(0.0, fields)
    with xr.open_dataset(tmp_path / "run.h5", engine="tailrace") as found:
        assert found["pressure"].attrs == {"long_name": "pressure over density", "units": "1"}
        assert found["mine"].attrs == {} and found.attrs == {"reynolds": 50.0}
        assert found["time"].attrs == {"long_name": "time", "units": "s"}
    with xr.open_dataset(tmp_path / "other.h5", engine="tailrace") as found:
        assert found["pressure"].attrs == {"long_name": "pressure over density"}
        assert found["mine"].attrs == {"units": "m"} and found.attrs == {}


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ((3, 64, 256, 512), "float64", {"t": 1}),
        ((3, 65, 256, 512), "float64", {"t": 1, "z": 64}),
        ((3, 129, 256, 512), "float32", {"t": 1, "z": 128}),
        ((3, 2, 65, 256, 512), "float64", {"t": 1, "c": 1, "z": 64}),
        ((3, 2, 8, 8, 8), "float64", {"t": 1, "c": 1}),
        ((3, 4, 4096, 4096), "float64", {"t": 1, "z": 1}),
        ((3, 4096, 4096), "float64", {"t": 1}),
        ((300, 9), "float64", {"t": 1}),
    ],
)
def test_chunks_are_of_64_mib_or_of_one_plane(shape, dtype, expected):
    dims = {2: ("t", "y"), 3: ("t", "y", "x"), 4: ("t", "z", "y", "x"), 5: ("t", "c", "z", "y", "x")}[len(shape)]
    assert _chunks(dims, shape, np.dtype(dtype)) == expected
