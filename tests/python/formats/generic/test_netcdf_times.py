"""The time of netCDF files of ocean and atmosphere models, by what the CF conventions say: it has many names."""

import h5py
import numpy as np
import pytest

import tailrace as tr

U = np.arange(360.0).reshape(3, 4, 5, 6)
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable.%10d"


def write(path, times, attributes, *, name="ocean_time", placeholder=False):
    """u along a dimension of that name, the others without places; `times` None: they are not stored."""
    with h5py.File(path, "w") as file:
        for label, count in ((name, 3), ("s_rho", 4), ("eta_u", 5), ("xi_u", 6)):
            held = label == name and times is not None and not placeholder
            file[label] = np.asarray(times) if held else np.zeros(count, "f4")
            file[label].make_scale(label if held else NO_VARIABLE % count)
            if held:
                file[label].attrs.update(attributes)
        data = file.create_dataset("u", data=U)
        for d, label in enumerate((name, "s_rho", "eta_u", "xi_u")):
            data.dims[d].attach_scale(file[label])
        if placeholder and times is not None:
            file["XTIME"] = np.asarray(times)
            file["XTIME"].dims[0].attach_scale(file[name])
            file["XTIME"].attrs.update(attributes)
    return path


@pytest.mark.parametrize(
    "attributes",
    [
        {"units": "hours since 2001-01-01 00:00:00"},
        {"standard_name": "time"},
        {"axis": "T"},
        {"units": "Seconds since 1-1-1"},
    ],
)
def test_a_dimension_is_the_time_by_what_its_scale_says(tmp_path, attributes):
    """It was taken for the components of a vector."""
    with tr.open(write(tmp_path / "roms.nc", [0, 6, 24], attributes)) as found:
        assert list(found.times) == [0, 6, 24] and found[0].names == ["u"]
        for step, expected in zip(found, U, strict=True):
            np.testing.assert_array_equal(step.read("u"), expected)
        assert any("the dimension 'ocean_time' of u has the steps" in note for note in found.notes)


def test_another_scale_is_no_time(tmp_path):
    with tr.open(write(tmp_path / "a.nc", [0, 6, 24], {"units": "m"}, name="station")) as found:
        assert len(found) == 1


def test_a_dimension_without_values_gives_no_times(tmp_path):
    """Its zeros were taken for them."""
    with tr.open(
        write(
            tmp_path / "wrf.nc",
            [0.0, 360.0, 1440.0],
            {"units": "minutes since 2001-01-01"},
            name="Time",
            placeholder=True,
        )
    ) as found:
        assert list(found.times) == [0, 360, 1440] and found[2].names == ["u"]
        assert any("their times are 'XTIME'" in note for note in found.notes)
        np.testing.assert_array_equal(found[2].read("u"), U[2])
    with tr.open(write(tmp_path / "none.nc", None, {}, name="Time", placeholder=True)) as found:
        assert list(found.times) == [0, 1, 2]
        assert any("no list has their times: their numbers stand for them" in note for note in found.notes)


def month(path, start, units, shift=0.0, calendar="standard"):
    """Three steps of six hours each from a date on."""
    write(
        path, [shift, shift + 6.0, shift + 12.0], {"units": f"{units} since {start}", "calendar": calendar}, name="time"
    )


def test_files_that_count_from_different_dates_are_one_series(tmp_path):
    month(tmp_path / "m_1.nc", "2001-01-01", "hours")
    month(tmp_path / "m_2.nc", "2001-02-01", "hours")
    write(
        tmp_path / "m_3.nc",
        [59.0, 59.25, 59.5],
        {"units": "days since 2001-01-01", "calendar": "standard"},
        name="time",
    )
    with tr.open(tmp_path / "m_*.nc") as found:
        january, february = 31 * 24, 28 * 24
        expected = [first + more for first in (0, january, january + february) for more in (0, 6, 12)]
        assert list(found.times) == pytest.approx(expected)
        assert found.attributes["time/units"] == "hours since 2001-01-01"
        assert any("2 of 3 files are converted to 'hours since 2001-01-01'" in note for note in found.notes)
        assert not any("differ from file to file" in note for note in found.notes)


@pytest.mark.parametrize(
    ("units", "calendar", "why"),
    [("hours", "noleap", "the calendars are standard and noleap"), ("parsecs", "standard", "cannot be converted")],
)
def test_units_that_cannot_be_converted_are_refused(tmp_path, units, calendar, why):
    month(tmp_path / "m_1.nc", "2001-01-01", "hours")
    month(tmp_path / "m_2.nc", "2001-02-01", units, calendar=calendar)
    with pytest.raises(
        tr.InputError, match=rf"m_\*\.nc: the times are in 'hours since 2001-01-01' in m_1\.nc and .*{why}"
    ):
        tr.open(tmp_path / "m_*.nc")


@pytest.mark.parametrize("days", [2, 3])
def test_another_time_is_no_direction(tmp_path, days):
    """Arrays along a second time were read as if its entries were planes, and numbers as those of the steps."""
    path = write(tmp_path / "two.nc", [0, 6, 24], {"units": "hours since 2001-01-01"})
    with h5py.File(path, "a") as file:
        file["day"] = np.arange(float(days))
        file["day"].make_scale("day")
        file["day"].attrs["units"] = "days since 2001-01-01"
        file["mean"], file["rain"] = np.ones(days), np.ones((days, 5, 6))
        file["mean"].dims[0].attach_scale(file["day"])
        for d, label in enumerate(("day", "eta_u", "xi_u")):
            file["rain"].dims[d].attach_scale(file[label])
        file["v"], file["forecast"] = U, np.ones((3, days, 5))
        for name, labels in (
            ("v", ("ocean_time", "s_rho", "eta_u", "xi_u")),
            ("forecast", ("ocean_time", "day", "eta_u")),
        ):
            for d, label in enumerate(labels):
                file[name].dims[d].attach_scale(file[label])
    with tr.open(path) as found:
        assert list(found.times) == [0, 6, 24]
        assert not {"rain", "mean", "day", "forecast"} & {*found[0].names, *found[0].scalars} and {"u", "v"} <= {
            *found[0].names
        }
        assert any(
            note.startswith("left out: ") and "rain" in note and "'day' has other times than the steps" in note
            for note in found.notes
        )
