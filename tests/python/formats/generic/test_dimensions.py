"""What HDF5 files say of the dimensions and values of their arrays goes before any guess. Written here with h5py."""

import h5py
import numpy as np
import pytest
import xarray as xr

import tailrace as tr
from helpers.harness.as_click import invoke as tailrace
from tailrace.formats.generic.axes import Dimension, axes_of, grid_of

TIMES = np.array([0.0, 0.25, 0.75])
X, Y, Z = np.linspace(0, 2, 8, endpoint=False), np.array([0.0, 0.1, 0.4, 1.0]), np.linspace(-1, 1, 5)


def values(*shape, salt=0):
    """No two are equal."""
    return np.arange(float(np.prod(shape))).reshape(shape) + 1000.0 * salt


def label(data, *names):
    for dimension, name in zip(data.dims, names, strict=True):
        dimension.label = name


def dedalus(file, components=2):
    """Tasks over time, components and x, z, with scales attached as Dedalus 3 does; x is slow."""
    for name, one in (("sim_time", TIMES), ("iteration", np.array([0, 40, 90])), ("wall_time", TIMES * 7)):
        file[f"scales/{name}"] = one
        file[f"scales/{name}"].make_scale(name)
    for name, one in (("x_hash_ab12", X), ("z_hash_cd34", Z)):
        file[f"scales/{name}"] = one
        file[f"scales/{name}"].make_scale(name[0])
    u = file.create_dataset("tasks/u", data=values(3, components, 8, 5))
    label(u, "t", "", "x", "z")
    p = file.create_dataset("tasks/p", data=values(3, 8, 5, salt=1))
    label(p, "t", "x", "z")
    for data in (u, p):
        for name in ("sim_time", "wall_time", "iteration"):
            data.dims[0].attach_scale(file[f"scales/{name}"])
        data.dims[data.ndim - 2].attach_scale(file["scales/x_hash_ab12"])
        data.dims[data.ndim - 1].attach_scale(file["scales/z_hash_cd34"])


@pytest.mark.parametrize("components", [2, 3])
def test_a_dimension_labelled_t_is_time(tmp_path, components):
    with h5py.File(tmp_path / "snap.h5", "w") as file:
        dedalus(file, components)
        u, p = file["tasks/u"][:], file["tasks/p"][:]
    with tr.open(tmp_path / "snap.h5") as series:
        assert list(series.times) == list(TIMES)
        names = ["u_0", "u_1"] if components == 2 else ["u_x", "u_y", "u_z"]
        assert sorted(series[0].names) == sorted([*names, "p", "x_hash_ab12", "z_hash_cd34"])
        for at, step in enumerate(series):
            for c, name in enumerate(names):
                assert np.array_equal(step.read(name)[:, 0, :], u[at, c].T)  # (z, y, x), with one y
            assert np.array_equal(step.read("p"), p[at].T[:, None, :])
            assert step.scalars == {"iteration": [0, 40, 90][at], "wall_time": TIMES[at] * 7}
        grid = series.grid
        assert grid is not None and grid.points == (8, 1, 5)
        assert np.allclose(grid.coordinates[0], X) and np.allclose(grid.coordinates[2], Z)
        box = series[1].read(names[1], ((2, 0, 1), (3, 1, 2)))
        assert np.array_equal(box[:, 0, :], u[1, 1, 2:5, 1:3].T)
        assert any("the dimension 't' of " in note and "'scales/sim_time'" in note for note in series.notes)
    with xr.open_dataset(tmp_path / "snap.h5", engine="tailrace") as data:
        assert np.allclose(data["p"].sel(time=0.25, method="nearest").isel(y=0), p[1].T)


def test_files_in_parts_as_virtual_datasets(tmp_path):
    """Each process of Dedalus writes a file, and the first one joins them."""
    whole = values(3, 8, 5)
    (tmp_path / "snap").mkdir()
    layout = h5py.VirtualLayout((3, 8, 5), "f8")
    for part in range(2):
        with h5py.File(tmp_path / f"snap/snap_p{part}.h5", "w") as file:
            file["tasks/b"] = whole[:, 4 * part : 4 * part + 4]
        layout[:, 4 * part : 4 * part + 4] = h5py.VirtualSource(f"snap/snap_p{part}.h5", "tasks/b", (3, 4, 5))
    with h5py.File(tmp_path / "snap.h5", "w") as file:
        file["scales/sim_time"] = TIMES
        file["scales/sim_time"].make_scale("sim_time")
        b = file.create_virtual_dataset("tasks/b", layout)
        label(b, "t", "x", "z")
        b.dims[0].attach_scale(file["scales/sim_time"])
    with tr.open(tmp_path / "snap.h5") as series:
        assert list(series.times) == list(TIMES)
        assert np.array_equal(series[2].read("b")[:, 0, :], whole[2].T)


def test_axes_in_any_order(tmp_path):
    """Labels say which dimension is which, also where the time is not the first."""
    data = values(8, 3, 4, 5)
    with h5py.File(tmp_path / "s.h5", "w") as file:
        u = file.create_dataset("u", data=data)
        label(u, "x", "time", "y", "z")
        file["time"] = TIMES
    with tr.open(tmp_path / "s.h5") as series:
        assert list(series.times) == list(TIMES)
        for at in range(3):
            assert np.array_equal(series[at].read("u"), data[:, at].transpose(2, 1, 0))
        assert np.array_equal(series[1].read("u", ((1, 2, 3), (4, 2, 1))), data[1:5, 1, 2:4, 3:4].transpose(2, 1, 0))


def test_a_time_without_values_is_told(tmp_path):
    with h5py.File(tmp_path / "s.h5", "w") as file:
        label(file.create_dataset("u", data=values(3, 4, 5, 8)), "time", "z", "y", "x")
    with tr.open(tmp_path / "s.h5") as series:
        assert list(series.times) == [0, 1, 2] and any("no list has their times" in note for note in series.notes)


def test_a_label_that_is_no_time_keeps_an_array_whole(tmp_path):
    """As many entries as times are no proof where the file names the dimension."""
    with h5py.File(tmp_path / "s.h5", "w") as file:
        file["time"] = TIMES
        label(file.create_dataset("u", data=values(3, 4, 5)), "z", "y", "x")
        file["v"] = values(3, 4, 5, 8)
    with tr.open(tmp_path / "s.h5") as series:
        assert len(series) == 3 and series[0].read("u").shape == (3, 4, 5) and series[0].read("v").shape == (4, 5, 8)


def test_arrays_by_name_and_number(tmp_path):
    """As JLD2 writes them for Oceananigans: timeseries/NAME/NUMBER with timeseries/t/NUMBER."""
    with h5py.File(tmp_path / "o.jld2", "w") as file:
        for number, time in ((0, 0.0), (12, 1.5), (100, 20.0)):
            file[f"timeseries/t/{number}"] = time
            file[f"timeseries/u/{number}"] = values(4, 5, 8, salt=number)
            if number:
                file[f"timeseries/w/{number}"] = values(5, 5, 8, salt=-number)
        file["timeseries/u/serialized/location"] = "Face"
        file["grid/Nx"] = 8
    with tr.open(tmp_path / "o.jld2") as series:
        assert [(step.index, step.time) for step in series] == [(0, 0.0), (12, 1.5), (100, 20.0)]
        assert [sorted(step.names) for step in series] == [["u"], ["u", "w"], ["u", "w"]]
        assert np.array_equal(series.step(100).read("u"), values(4, 5, 8, salt=100))
        assert np.array_equal(series.step(12).read("w"), values(5, 5, 8, salt=-12))


def test_attributes_of_dimensions_that_are_something_else(tmp_path):
    """HDF5's own functions for them end the program."""
    with h5py.File(tmp_path / "s.h5", "w") as file:
        for number, labels in enumerate((7, [1, 2, 3], "x", b"xyz", [0.5], ["x", "y"], 1j)):
            file[f"u{number}"] = values(4, 5, 8, salt=number)
            file[f"u{number}"].attrs["DIMENSION_LABELS"] = labels
            file[f"u{number}"].attrs["DIMENSION_LIST"] = labels
    with tr.open(tmp_path / "s.h5") as series:
        assert all(np.array_equal(series[0].read(f"u{number}"), values(4, 5, 8, salt=number)) for number in range(7))


def test_no_places_are_no_grid():
    assert grid_of([np.zeros(0), X, Z]) is None and grid_of([X, Y, Z]).points == (8, 4, 5)


def test_pflotran(tmp_path):
    """Times are names of groups, x is slow, and places are those of faces."""
    faces = [np.array([0.0, 1, 2, 4, 8, 16]), np.array([0.0, 10, 20, 30, 40]), np.array([0.0, 1, 3, 5])]
    with h5py.File(tmp_path / "p.h5", "w") as file:
        for axis, one in zip("XYZ", faces, strict=True):
            file[f"Coordinates/{axis} [m]"] = one
        for time in (0.0, 2.5, 10.0):
            group = file.create_group(f"Time:  {time:.5E} y")
            group["Liquid_Pressure [Pa]"] = values(5, 4, 3, salt=time)
            group["Material_ID"] = np.arange(60, dtype="i4").reshape(5, 4, 3)
    with tr.open(tmp_path / "p.h5") as series:
        assert list(series.times) == [0.0, 2.5, 10.0] and any("in the unit 'y'" in note for note in series.notes)
        step = series[1]
        assert sorted(step.names) == ["Liquid_Pressure", "Material_ID"]
        assert np.array_equal(step.read("Liquid_Pressure"), values(5, 4, 3, salt=2.5).transpose(2, 1, 0))
        assert series.attributes["Liquid_Pressure/units"] == "Pa" and series.grid.points == (5, 4, 3)
        assert np.allclose(series.grid.coordinates[0], [0.5, 1.5, 3, 6, 12])


# ---- packed and missing values ---------------------------------------------------------------------------------------
NETCDF = {
    "packed": ("i2", {"scale_factor": 0.5, "add_offset": 10.0, "_FillValue": np.int16(7)}),
    "scaled": ("i4", {"scale_factor": np.float64(0.01)}),
    "floats": ("f4", {"_FillValue": np.float32(0.1)}),
    "doubles": ("f8", {"missing_value": 11.0}),
    "counts": ("i4", {"_FillValue": np.int32(0)}),
    "bytes": ("i1", {"_Unsigned": "true", "scale_factor": 2.0, "_FillValue": np.int8(-1)}),
    "plain": ("f4", {"units": "m s-1"}),
}


def packed(path):
    """A file like those of netCDF-4, and its raw content for xarray's own decoding."""
    raw = {}
    with h5py.File(path, "w") as file:
        file["time"] = np.arange(3.0)
        file["time"].make_scale("time")
        file["time"].attrs["units"] = "hours since 2000-01-01"
        file["time"].attrs["calendar"] = "noleap"
        for name, (dtype, about) in NETCDF.items():
            stored = (np.arange(360) - (180 if dtype == "i1" else 0)).astype(dtype).reshape(3, 4, 5, 6)
            stored.reshape(-1)[30] = about.get("_FillValue", 30)
            data = file.create_dataset(name, data=stored)
            data.dims[0].attach_scale(file["time"])
            for key, value in about.items():
                data.attrs[key] = value
            raw[name] = (("time", "z", "y", "x"), stored, about)
    return xr.decode_cf(xr.Dataset(raw))


def test_values_as_xarray_decodes_them(tmp_path):
    expected = packed(tmp_path / "p.nc")
    with xr.open_dataset(tmp_path / "p.nc", engine="tailrace") as data:
        for name in NETCDF:
            np.testing.assert_allclose(data[name], expected[name], rtol=1e-6, err_msg=name)
            assert not {"scale_factor", "_FillValue", "missing_value"} & data[name].attrs.keys()
        assert np.isnan(data["packed"].values.ravel()[7]) and np.isnan(data["bytes"].values).any()
        assert data["plain"].attrs["units"] == "m s-1" and data["plain"].dtype == np.float32
        assert data["floats"].dtype == np.float32 and data["doubles"].dtype == np.float64
        assert (data["time"].attrs["units"], data["time"].attrs["calendar"]) == ("hours since 2000-01-01", "noleap")
        decoded = xr.decode_cf(data[["plain"]].assign_coords(time=data["time"].assign_attrs(calendar="standard")))
        assert decoded["time"].values[2] == np.datetime64("2000-01-01T02")
    with tr.open(tmp_path / "p.nc") as series:
        notes = " ".join(series.notes)
        assert (
            "'packed' is decoded by its attributes: value = 0.5 * stored + 10, NaN where the stored value is 7" in notes
        )
        assert "the times are in the unit 'hours since 2000-01-01', in the calendar 'noleap'" in notes
        part = series[1].read("packed", ((1, 2, 0), (3, 2, 2)), dtype="float32")
        np.testing.assert_allclose(part, expected["packed"][1, 0:2, 2:4, 1:4])
    tr.convert(tmp_path / "p.nc", tmp_path / "p.h5")
    with tr.open(tmp_path / "p.h5") as series:
        np.testing.assert_allclose(series[2].read("counts"), expected["counts"][2])


def test_a_valid_range(tmp_path):
    with h5py.File(tmp_path / "v.nc", "w") as file:
        for name, about in {
            "both": {"valid_range": [2.0, 5.0]},
            "low": {"valid_min": 3},
            "high": {"valid_max": np.float32(4)},
        }.items():
            file[name] = np.arange(24, dtype="f4").reshape(2, 3, 4)
            file[name].attrs.update(about)
    with tr.open(tmp_path / "v.nc") as series:
        good = {
            name: np.flatnonzero(np.isfinite(series[0].read(name).ravel())).tolist() for name in ("both", "low", "high")
        }
        assert good == {"both": [2, 3, 4, 5], "low": list(range(3, 24)), "high": list(range(5))}
        assert any("not in the valid range from 2 to 5" in note for note in series.notes)


@pytest.mark.parametrize(
    ("magic", "kind"), [(b"CDF\x01", "netCDF-3,"), (b"CDF\x02", "64-bit offsets"), (b"CDF\x05", "CDF-5")]
)
def test_classic_netcdf_is_named(tmp_path, magic, kind):
    (tmp_path / "old.nc").write_bytes(magic + bytes(200))
    with pytest.raises(tr.InputError, match=rf"old\.nc: is .*{kind}.*nccopy -k nc4 old\.nc old-4\.nc"):
        tr.open(tmp_path / "old.nc")
    result = tailrace("info", tmp_path / "old.nc")
    assert result.exit_code == 2 and "nccopy -k nc4" in result.stderr


def test_masked_fields_are_refused():
    operators = tr.Operators((10, 9, 8), (1.0, 1.0, 1.0), ("periodic",) * 3)
    masked = np.ma.masked_greater(values(8, 9, 10), 100)
    for make in (lambda: tr.Field(masked, operators), lambda: tr.Field.from_function(operators, masked, name="t")):
        with pytest.raises(tr.InputError, match=r"of its 720 values are masked.*filled\(numpy\.nan\)"):
            make()


@pytest.mark.parametrize(
    ("names", "shape", "axes"),
    [
        (("z", "y", "x"), (4, 5, 6), (2, 1, 0)),
        (("X", "Z"), (4, 5), (0, -1, 1)),
        (("t", "z", "y", "x"), (3, 4, 5, 6), (3, 2, 1)),
        (("", "y", "x"), (9, 5, 6), (2, 1, -1)),
        (("", "y", "x"), (10, 5, 6), None),
        (("level", "y", "x"), (2, 5, 6), None),
        (("x", "x"), (5, 6), None),
        (("x", "y", "X"), (4, 5, 6), None),
        (("", ""), (2, 3), None),
    ],
)
def test_names_of_dimensions_are_axes_only_where_they_say_all(names, shape, axes):
    """No axis twice, no other name, and without a name only a few components."""
    dimensions = tuple(Dimension(name) for name in names)
    assert axes_of(dimensions, shape, names.index("t") if "t" in names else -1) == axes


def test_scales_name_a_dimension_without_a_label():
    assert axes_of((Dimension("", ("grid/y",)), Dimension("", ("other", "grid/x"))), (20, 30)) == (1, 0, -1)
