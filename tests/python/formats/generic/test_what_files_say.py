"""What files of other programs say of their values, times and places is done, or a note says that it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import tailrace as tr

SHAPE = (4, 3, 5)


def file(path: Path, **datasets: Any) -> Path:
    """A file with arrays by their paths, and attributes of them as pairs (array, attributes)."""
    with h5py.File(path, "w") as out:
        for name, given in datasets.items():
            values, about = given if isinstance(given, tuple) else (given, {})
            made = out.create_dataset(name.replace("__", "/"), data=values)
            for key, value in about.items():
                made.attrs[key] = value
    return path


def only(path: Path, name: str, step: int = 0) -> np.ndarray:
    with tr.open(path) as found:
        return np.asarray(found[step].read(name))


def stored(dtype: str = "int16") -> np.ndarray:
    return np.arange(60).reshape(SHAPE).astype(dtype)


# ---- values ----------------------------------------------------------------------------------------------------------
def test_a_valid_range_of_integers_without_a_sign(tmp_path: Path) -> None:
    values = np.array([0, 30000, -30000, -6, -5] * 12, "int16").reshape(SHAPE)
    path = file(tmp_path / "a.h5", t=(values, {"_Unsigned": "true", "valid_range": np.array([0, -6], "int16")}))
    expected = values.view("uint16").astype(float)
    np.testing.assert_array_equal(only(path, "t"), np.where(expected > 65530, np.nan, expected))


@pytest.mark.parametrize("of_values", [True, False])
def test_a_valid_range_has_the_type_of_what_it_limits(tmp_path: Path, of_values: bool) -> None:
    values = np.linspace(17000, 32000, 60).reshape(SHAPE).astype("int16")
    limits = np.array([180.0, 310.0], "float32") if of_values else np.array([18000, 31000], "int16")
    path = file(tmp_path / "a.h5", t=(values, {"scale_factor": 0.01, "valid_range": limits}))
    expected = 0.01 * values.astype(float)
    expected[(expected < 180) | (expected > 310)] = np.nan
    np.testing.assert_allclose(only(path, "t"), expected, rtol=1e-12)


def test_packed_places_times_and_numbers(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as out:
        for name, values, about in (
            ("x", np.arange(5, dtype="int16"), {"scale_factor": 0.5, "add_offset": -10.0}),
            ("y", np.arange(3, dtype="int16"), {"scale_factor": 0.25}),
            ("z", np.arange(4, dtype="int16"), {}),
            ("time", np.arange(3, dtype="int16"), {"scale_factor": 6.0}),
        ):
            out[name] = values
            out[name].attrs.update(about)
            out[name].make_scale(name)
        data = out.create_dataset("t", data=np.arange(180.0).reshape(3, *SHAPE))
        for d, name in enumerate(("time", "z", "y", "x")):
            data.dims[d].attach_scale(out[name])
    with tr.open(tmp_path / "a.h5") as found:
        assert list(found.times) == [0.0, 6.0, 12.0]
        assert found.grid is not None and found.grid.origin == (-10.0, 0.0, 0.0)
        assert found.grid.spacing == (0.5, 0.25, 1.0)
    missing = {"_FillValue": -999.0}
    with tr.open(file(tmp_path / "b.h5", u=stored("float64"), gone=(-999.0, missing), there=(2.0, missing))) as found:
        assert np.isnan(found[0].scalars["gone"]) and found[0].scalars["there"] == 2.0


def test_falling_places_without_a_sign_are_no_grid(tmp_path: Path) -> None:
    along = {"x": np.array([9, 7, 5, 3, 1], "uint8"), "y": np.arange(3), "z": np.arange(4)}
    assert tr.open(file(tmp_path / "a.h5", t=stored("float64"), **along)).grid is None


def test_places_in_single_precision_are_equally_far_apart(tmp_path: Path) -> None:
    x = np.linspace(0, 2 * np.pi, 128, endpoint=False).astype("float32")
    path = file(tmp_path / "a.h5", t=np.zeros((4, 3, 128)), x=x, y=np.arange(3.0), z=np.arange(4.0))
    grid = tr.open(path).grid
    assert type(grid) is tr.UniformGrid and grid.spacing[0] == pytest.approx(2 * np.pi / 128, rel=1e-6)


def test_a_number_and_an_array_of_one_name(tmp_path: Path) -> None:
    path = file(tmp_path / "a.h5", mass=2.0, particles__mass=np.arange(60.0).reshape(SHAPE))
    with tr.open(path) as found:
        assert found[0].read("mass").shape == SHAPE and found[0].scalars["mass_2"] == 2.0
    assert tr.convert(path, tmp_path / "b.h5").verified


# ---- times -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("names", "times"),
    [
        (["t_1.0e-01", "t_2.0e-01", "t_3.0e+00"], [0.1, 0.2, 3.0]),
        (["t_-0.50", "t_0.00", "t_0.50"], [-0.5, 0.0, 0.5]),
        (["run-0.50", "run-1.25"], [0.5, 1.25]),
        (["time=0.25", "time=1.5"], [0.25, 1.5]),
    ],
)
def test_times_in_the_names_of_groups(tmp_path: Path, names: list[str], times: list[float]) -> None:
    path = file(tmp_path / "a.h5", **{f"{name}/u".replace("/", "__"): stored() + n for n, name in enumerate(names)})
    if "run" in names[0]:
        path.rename(tmp_path / "b.h5")
        path = file(tmp_path / "a.h5", **{f"t{name[3:]}__u": stored() + n for n, name in enumerate(names)})
    with tr.open(path) as found:
        assert list(found.times) == times
        for n, step in enumerate(found):
            assert step.names == ["u"]
            np.testing.assert_array_equal(step.read("u"), stored() + n)


@pytest.mark.parametrize("told", [[0.25], "0.25"])
def test_a_time_that_is_a_list_of_one_or_a_text(tmp_path: Path, told: Any) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as out:
        for step in range(2):
            out[f"Step{step}/u"] = stored()
            out[f"Step{step}"].attrs["time"] = [one + step for one in told] if isinstance(told, list) else f"{step}.25"
    assert list(tr.open(tmp_path / "a.h5").times) == [0.25, 1.25]


def test_real_times_stay_where_one_of_them_is_its_number(tmp_path: Path) -> None:
    for name, times in (("real", (0.0, 0.5, 2.0)), ("counted", (0.0, 1.0, 2.0))):
        with tr.open(tmp_path / f"{name}.h5", "w") as out:
            for index, time in enumerate(times):
                out.write_step(time, index=index, u=stored("float64"))
    (tmp_path / "grid.toml").write_text("[time]\ndt = 0.1\nstart = 5.0\n")
    with tr.open(tmp_path / "real.h5", grid=tmp_path / "grid.toml") as found:
        assert list(found.times) == [0.0, 0.5, 2.0] and found[2].time == 2.0
    with tr.open(tmp_path / "counted.h5", grid=tmp_path / "grid.toml") as found:
        assert list(found.times) == pytest.approx([5.0, 5.1, 5.2]) and found[2].time == pytest.approx(5.2)


def test_a_rhythm_that_is_no_number_is_none(tmp_path: Path) -> None:
    with tr.open(tmp_path / "a.h5", "w") as out:
        out.set_attribute("every", "10 steps")
        for index in (0, 2):
            out.write_step(0.5 * index, index=index, u=stored("float64"))
    assert tr.open(tmp_path / "a.h5")[1].missed == []


# ---- several files ---------------------------------------------------------------------------------------------------
def test_files_whose_points_are_at_other_places_are_noted(tmp_path: Path) -> None:
    for n in range(2):
        places = {"x": np.arange(5.0) + 5 * n, "y": np.arange(3.0), "z": np.arange(4.0)}
        file(tmp_path / f"tile_{n}.h5", u=stored("float64"), **places)
    with tr.open(str(tmp_path / "tile_*.h5")) as found:
        assert any("tile_1.h5 has its points at other places than tile_0.h5" in one for one in found.notes), found.notes


def test_a_turned_grid_and_field_data_of_vtkhdf_are_noted(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.vtkhdf", "w") as out:
        root = out.create_group("VTKHDF")
        root.attrs.update(
            {"Version": [2, 0], "WholeExtent": [0, 4, 0, 2, 0, 3], "Origin": [0.0] * 3, "Spacing": [1.0] * 3}
        )
        root.attrs["Type"] = np.bytes_("ImageData")
        root.attrs["Direction"] = [0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
        root["PointData/u"] = stored("float64")
        root["FieldData/mass"] = np.ones(2)
    with tr.open(tmp_path / "a.vtkhdf") as found:
        assert found.grid is None
        assert any("Direction" in one for one in found.notes) and any("mass" in one for one in found.notes), found.notes
