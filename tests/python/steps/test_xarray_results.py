"""Results of analyses in xarray: what they are along is a dimension with its places."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import tailrace as tr
from helpers.harness import mpi_run
from tailrace.steps.list_axes import axes_of

OWN = """
import tailrace as tr

def analyse(step):
    ux = step["ux"]
    found = tr.spectrum_1d(ux, "z")
    bins = tr.histogram(ux, bins=8, range=(-1.5, 1.5))
    return {
        "kz": found.k, "energy_kz": found.energy, "ux_edges": bins.edges, "ux_density": bins.density,
        "mean_x": tr.mean(ux, "yz"), "moving": found.k * (1 + step.time), "plane": tr.mean(ux, "y"),
    }
"""
CASE = """
[case]
reynolds = 100.0
[grid]
points = [{points}]
lengths = ["2*pi", "2*pi", "2*pi"]
boundaries = ["periodic", "free-slip", "periodic"]
[time]
dt = 0.01
steps = 2
"""


def analysis(script, parameters=""):
    return f'[[analysis]]\nscript = "{script}"\nevery = 1\n[analysis.parameters]\n{parameters}\n'


def run(directory, points, *analyses):
    (directory / "own.py").write_text(OWN)
    (directory / "case.toml").write_text(CASE.format(points=points) + "".join(analyses))
    result = mpi_run.tailrace("run", "case.toml", cwd=directory, limit=60)
    assert result.code == 0, result.text
    return directory / "analysis"


def opened(path):
    return xr.open_dataset(path, engine="tailrace")


def test_results_of_ready_made_analyses_on_a_cube(tmp_path):
    """All directions have as many points, so that only names tell what a profile is along."""
    (tmp_path / "case.toml").write_text(
        CASE.format(points="12, 12, 12").replace("free-slip", "periodic") + analysis("spectrum")
        + analysis("statistics", 'axes = "xz"')
    )  # fmt: skip
    result = mpi_run.tailrace("run", "case.toml", cwd=tmp_path, limit=60)
    assert result.code == 0, result.text
    with opened(tmp_path / "analysis/spectrum.h5") as found:
        assert found["energy"].dims == ("time", "k") and set(found.data_vars) == {"energy", "kinetic_energy"}
        np.testing.assert_allclose(found["k"].values, np.arange(found.sizes["k"]))
        assert found["k"].attrs["long_name"] == "wave number  k"
        shell = float(found["energy"].sel(k=2, method="nearest").isel(time=0))
        with tr.open(tmp_path / "analysis/spectrum.h5") as stored:
            assert shell == stored[0].read("energy")[2]
    with opened(tmp_path / "analysis/statistics-final.h5") as found:
        assert found["mean_ux"].dims == found["uv"].dims == ("time", "y")
        np.testing.assert_allclose(found["y"].values, 2 * np.pi * np.arange(12) / 12)


def test_planes_of_statistics_have_both_of_their_directions(tmp_path):
    results = run(tmp_path, "12, 11, 12", analysis("statistics", 'axes = "y"'))
    with opened(results / "statistics-final.h5") as found:
        assert found["mean_ux"].dims == ("time", "z", "x")
        assert found["mean_ux"].sel(z=0, x=np.pi / 2, method="nearest").shape == (1,)


def test_results_of_a_channel(tmp_path):
    text = CASE.format(points="12, 17, 12").replace("free-slip", "wall").replace("[case]", '[case]\nflow = "channel"')
    (tmp_path / "case.toml").write_text(text + analysis("channel", "profiles_every = 0.01"))
    result = mpi_run.tailrace("run", "case.toml", cwd=tmp_path, limit=60)
    assert result.code == 0, result.text
    for name in ("channel", "channel-final"):
        with opened(tmp_path / f"analysis/{name}.h5") as found:
            assert found["mean_u"].dims == found["uv"].dims == ("time", "y")
            assert {"y", "y_plus"} <= set(found.coords)
            assert found["y_plus"].dims[-1] == "y"


def test_results_of_an_own_analysis(tmp_path):
    results = run(tmp_path, "16, 11, 12", analysis("own.py"))
    with opened(results / "own.h5") as found:
        dims = {name: one.dims for name, one in found.data_vars.items()}
        assert dims["energy_kz"] == ("time", "kz") and dims["ux_density"] == ("time", "ux_centres")
        assert dims["mean_x"] == ("time", "x") and dims["plane"] == ("time", "z", "x")
        edges = found["ux_edges"].isel(time=0).values
        np.testing.assert_allclose(found["ux_centres"].values, 0.5 * (edges[1:] + edges[:-1]))
        np.testing.assert_allclose(found["x"].values, 2 * np.pi * np.arange(16) / 16)
    with xr.open_dataset(results / "own.h5", engine="tailrace", drop_variables="kz") as found:
        assert "kz" not in found.variables and found["energy_kz"].dims == ("time", "kz")


@pytest.mark.parametrize(
    ("shapes", "fixed", "expected"),
    [
        ({"k": (9,), "energy": (9,)}, {"k"}, {"energy": ("k",), "k": ("k",)}),
        ({"k": (9,), "energy": (9,)}, set(), {}),  # wave numbers of a box that changes
        ({"x": (9,), "y": (9,), "u": (9,)}, {"x", "y"}, {}),  # probes
        ({"kx": (9,), "ky": (9,), "E_ky": (9,)}, {"kx", "ky"}, {"E_ky": ("ky",), "ky": ("ky",)}),
        ({"y": (9,), "u": (8,)}, {"y"}, {}),
    ],
)
def test_lists_that_are_axes(shapes, fixed, expected):
    assert axes_of(shapes, fixed, {}).of == expected


def test_lists_of_other_sources_are_not_along_the_grid(tmp_path):
    grid = tr.UniformGrid((9, 10, 8), boundaries=("periodic",) * 3)
    with tr.open(tmp_path / "own.h5", "w", grid=grid) as out:
        out.write_step(0.0, lists={"mass": np.arange(10.0), "charge": np.arange(10.0)})
    with opened(tmp_path / "own.h5") as found:
        assert found["mass"].dims == found["charge"].dims == ("time", "row")


SMALL = tr.UniformGrid((8, 9, 10), spacing=(0.5, 0.25, 0.125), boundaries=("periodic", "dirichlet", "periodic"))


def write(path, *steps, field=True, analysis=None):
    """Steps of these lists, and perhaps a field beside them."""
    with tr.open(path, "w", grid=SMALL) as out:
        if analysis:
            out.set_attribute("analysis", analysis)
        for time, lists in enumerate(steps):
            out.write_step(float(time), {"ux": np.ones((10, 9, 8))} if field else {}, lists=lists)
    return path


Y = np.array(SMALL.coordinates[1])


def test_a_list_with_the_places_of_the_grid_is_its_axis(tmp_path):
    with opened(write(tmp_path / "a.h5", {"y": Y, "mean": Y**2})) as found:
        assert found["mean"].dims == ("time", "y") and found["ux"].dims == ("time", "z", "y", "x")
        np.testing.assert_allclose(found["y"].values, Y)
    path = write(tmp_path / "b.h5", {"y": Y + 0.01, "mean": Y**2})
    with pytest.warns(UserWarning, match="left out 'y', which is the name of a coordinate here"):
        found = opened(path)
    with found:
        assert found["mean"].dims == ("time", "row")
        np.testing.assert_allclose(found["y"].values, Y)
    with opened(write(tmp_path / "c.h5", {"y": Y + 0.01, "mean": Y**2}, field=False)) as found:
        assert found["mean"].dims == ("time", "y")
        np.testing.assert_allclose(found["y"].values, Y + 0.01)


def test_a_list_that_changes_is_no_axis(tmp_path):
    k = np.arange(5.0)
    for changed in range(3):
        steps = [{"k": k * (2 if at == changed else 1), "e": k} for at in range(3)]
        with opened(write(tmp_path / f"{changed}.h5", *steps)) as found:
            assert found["e"].dims == found["k"].dims == ("time", "row")
    gap = np.where(k == 2, np.nan, k)
    with opened(write(tmp_path / "same.h5", {"e": k}, {"k": gap, "e": k}, {"k": gap, "e": k})) as found:
        assert found["e"].dims == ("time", "k")
        np.testing.assert_array_equal(found["k"].values, gap)


def test_a_measure_of_the_axis_may_change(tmp_path):
    with opened(write(tmp_path / "a.h5", *({"y": Y, "y_plus": n * Y, "u": Y} for n in (1, 2)), field=False)) as found:
        assert found["y_plus"].dims == ("time", "y") and "y_plus" in found.coords
        np.testing.assert_allclose(found["y_plus"].values, [Y, 2 * Y])
        assert found["y_plus"].attrs == {"long_name": "y_plus"}
    with opened(write(tmp_path / "b.h5", *({"y": Y, "y_plus": 3 * Y, "u": Y} for n in (1, 2)), field=False)) as found:
        assert found["y_plus"].dims == ("y",)
        np.testing.assert_allclose(found["y_plus"].values, 3 * Y)


def test_what_an_analysis_returns_lies_along_the_grid(tmp_path):
    lists = {"profile": np.arange(9.0), "plane": np.ones((10, 9)), "other": np.arange(7.0)}
    with opened(write(tmp_path / "a.h5", lists, analysis="own.py")) as found:
        assert found["profile"].dims == ("time", "y") and found["plane"].dims == ("time", "z", "y")
        assert found["other"].dims == ("time", "other_row")
        np.testing.assert_allclose(found["y"].values, Y)
    with opened(write(tmp_path / "b.h5", lists)) as found:
        assert found["profile"].dims == ("time", "profile_row")
        assert found["plane"].dims == ("time", "plane_row", "plane_column")
