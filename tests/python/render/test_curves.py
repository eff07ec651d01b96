"""Curves of what analyses return, and of fields: against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.flows_on_disk import GRID, arrays, write
from tailrace.render.options import Options
from tailrace.render.others import others
from tailrace.render.plot import figures, plot
from tailrace.render.style import PlotError

N = (16, 12, 20)  # x, y, z
BOX = tr.UniformGrid(N, spacing=(2 * np.pi / 16, 2 * np.pi / 12, 2 * np.pi / 20), boundaries=("periodic",) * 3)
K, EDGES = np.arange(9.0), np.linspace(-1, 2, 8)


def values(number):
    return np.random.default_rng(number).normal(size=N[::-1])


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What an analysis leaves: three steps of arrays and numbers."""
    path = tmp_path_factory.mktemp("results") / "results.h5"
    with tr.open(path, "w", grid=BOX) as out:
        for number in range(3):
            lists = {"k": K, "energy": (number + 1.0) * np.exp(-K), "edges": EDGES, "density": np.arange(7.0) + number}
            lists |= {"y": np.linspace(0, 1, 5) ** 2, "mean": np.arange(5.0) * number, "along_z": np.arange(20.0)}
            lists |= {"odd": np.arange(33.0), "table": np.arange(12.0 * 16).reshape(12, 16)}
            out.write_step(0.5 * number, index=number, lists=lists, scalars={"total": 2.0 * number, "said": "x"})
    return path


@pytest.fixture(scope="module")
def box(tmp_path_factory):
    path = tmp_path_factory.mktemp("box") / "box.h5"
    with tr.open(path, "w", grid=BOX) as out:
        for number in range(2):
            parts = {name: values(10 * number + d) for d, name in enumerate(("ux", "uy", "uz"))}
            out.write_step(0.5 * number, parts, index=number)
    return path


def drawn(*paths, **options):
    ((figure, name),) = figures(list(paths), Options(**options))
    return figure, name


def xy(line):
    return np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)


def test_a_stored_spectrum_is_what_is_drawn_first(results):
    figure, name = drawn(results, slopes=["-3"])
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_xlabel()) == ("log", "log", "wave number  k")
    assert (axes.get_title(loc="left"), name) == ("energy,  t = 1", "results-spectrum.png")
    curve, slope = axes.lines
    np.testing.assert_array_equal(xy(curve), [K, 3 * np.exp(-K)])
    x, y = xy(slope)
    assert np.log(y[1] / y[0]) / np.log(x[1] / x[0]) == pytest.approx(-3, rel=1e-12)


def test_steps_and_files_over_each_other(results, tmp_path):
    other = tmp_path / "other.h5"
    with tr.open(other, "w", grid=BOX) as out:
        out.write_step(2.5, index=9, lists={"k": K[:4], "energy": K[:4] + 1})
    figure, _ = drawn(results, steps=[0, -1])
    assert [line.get_label() for line in figure.axes[0].lines] == ["results, t = 0", "results, t = 1"]
    assert len(figure.legends[0].get_texts()) == 2
    figure, _ = drawn(results, other)
    first, second = figure.axes[0].lines
    assert (first.get_label(), second.get_label()) == ("results, t = 1", "other, t = 2.5")  # not of one time
    assert first.get_color() != second.get_color()
    with tr.open(tmp_path / "same.h5", "w", grid=BOX) as out:
        out.write_step(1.0, index=9, lists={"k": K[:4], "energy": K[:4] + 1})
    figure, _ = drawn(results, tmp_path / "same.h5")
    assert [line.get_label() for line in figure.axes[0].lines] == ["results", "same"]
    assert figure.axes[0].get_title(loc="left") == "energy,  t = 1"
    np.testing.assert_array_equal(xy(second), [K[:4], K[:4] + 1])
    figure, _ = drawn(results, times=[0.6], columns=["energy"])
    np.testing.assert_array_equal(xy(figure.axes[0].lines[0])[1], 2 * np.exp(-K))


def test_steps_of_nearly_one_time_are_told_apart(tmp_path):
    with tr.open(tmp_path / "late.h5", "w", grid=BOX) as out:
        for step in range(3):
            out.write_step(100.01 + 0.01 * step, index=step, lists={"k": K, "energy": K + step})
    figure, _ = drawn(tmp_path / "late.h5", steps=[0, 1, 2])
    assert [line.get_label() for line in figure.axes[0].lines] == [f"late, t = 100.0{n}" for n in (1, 2, 3)]
    assert len({line.get_color() for line in figure.axes[0].lines}) == 3


def test_two_files_whose_names_differ_by_their_endings(tmp_path):
    for name in ("late.h5", "late.bp"):
        with tr.open(tmp_path / name, "w", grid=BOX) as out:
            out.write_step(0.5, lists={"k": K, "energy": K})
    figure, _ = drawn(tmp_path / "late.h5", tmp_path / "late.bp")
    assert [line.get_label() for line in figure.axes[0].lines] == ["late (late.h5)", "late (late.bp)"]


def test_a_stored_histogram(results):
    for options in ({"kind": "histogram"}, {"columns": ["density"]}, {"field": "density"}):
        (axes,) = drawn(results, **options)[0].axes
        (stairs,) = axes.patches
        np.testing.assert_array_equal(stairs.get_data().values, np.arange(7.0) + 2)
        np.testing.assert_array_equal(stairs.get_data().edges, EDGES)
        assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "linear")
    assert drawn(results, kind="histogram", log=True)[0].axes[0].get_yscale() == "log"


def test_stored_profiles(results):
    figure, _ = drawn(results, kind="profile")
    found = {axes.get_title(loc="left").split(",")[0]: axes for axes in figure.axes}
    assert set(found) == {"mean", "along_z", "odd"}
    np.testing.assert_array_equal(xy(found["mean"].lines[0]), [np.linspace(0, 1, 5) ** 2, 2 * np.arange(5.0)])
    np.testing.assert_allclose(xy(found["along_z"].lines[0])[0], 2 * np.pi / 20 * np.arange(20), atol=1e-14)
    assert [found[name].get_xlabel() for name in found] == ["y", "z", "index"]
    (axes,) = drawn(results, columns=["density"], x="edges")[0].axes
    assert len(axes.patches) == 1


def test_numbers_of_steps_are_time_series(results, tmp_path):
    (axes,) = drawn(results, columns=["total"])[0].axes
    np.testing.assert_array_equal(xy(axes.lines[0]), [[0, 0.5, 1], [0, 2, 4]])
    assert axes.get_xlabel() == "time"
    with tr.open(tmp_path / "numbers.h5", "w") as out:
        for number in range(2):
            out.write_step(float(number), scalars={"a": 1.5 * number})
    assert drawn(tmp_path / "numbers.h5")[0].axes[0].get_title(loc="left") == "a"


def test_an_array_of_two_dimensions(results):
    axes = drawn(results, field="table")[0].axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), np.arange(12.0 * 16).reshape(12, 16))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y"), "it has as many points as the grid there"


def test_a_computed_spectrum_is_that_of_numpy(box):
    (axes,) = drawn(box, kind="spectrum", steps=[1])[0].axes
    x, y = xy(axes.lines[0])
    power = sum(abs(np.fft.fftn(values(10 + d)) / np.prod(N)) ** 2 for d in range(3)) / 2
    kz, ky, kx = np.meshgrid(*(np.fft.fftfreq(n, 1 / n) for n in N[::-1]), indexing="ij")
    shells = np.bincount(np.rint(np.sqrt(kx**2 + ky**2 + kz**2)).astype(int).ravel(), power.ravel())
    np.testing.assert_allclose(x, np.arange(len(shells)), atol=1e-13)
    np.testing.assert_allclose(y, shells, rtol=1e-12)
    assert axes.get_title(loc="left") == "E(k) of u,  t = 0.5"
    x, y = xy(drawn(box, kind="spectrum", field="uy", axis="z")[0].axes[0].lines[0])
    lines = (abs(np.fft.fft(values(11), axis=0) / N[2]) ** 2).mean(axis=(1, 2)) / 2
    np.testing.assert_allclose(y[1:10], 2 * lines[1:10], rtol=1e-12)


def test_a_computed_histogram_is_that_of_numpy(box):
    (stairs,) = drawn(box, kind="histogram", field="u")[0].axes[0].patches
    length = np.sqrt(sum(values(10 + d) ** 2 for d in range(3)))
    density, edges = np.histogram(length, 100, density=True)
    np.testing.assert_allclose(stairs.get_data().values, density, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(stairs.get_data().edges, edges, rtol=1e-12)


def test_a_computed_profile_is_that_of_numpy(tmp_path):
    path = write(tmp_path / "flow.h5")  # with walls in y; and its lists, over no other array, are not what is drawn
    (axes,) = drawn(path, kind="profile", field="uz")[0].axes
    x, y = xy(axes.lines[0])
    np.testing.assert_allclose(x, GRID.spacing[1] * np.arange(17), atol=1e-14)
    np.testing.assert_allclose(y, arrays(2)["uz"].mean(axis=(0, 2)), atol=1e-14)
    x, y = xy(drawn(path, kind="profile", field="ux", axis="x")[0].axes[0].lines[0])
    weights = np.r_[0.5, np.ones(15), 0.5] / 16
    np.testing.assert_allclose(y, np.einsum("zyx,y->x", arrays(2)["ux"], weights) / 20, atol=1e-14)
    with pytest.raises(PlotError, match=r"flow\.h5: .*periodic"):
        drawn(path, kind="spectrum")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["energi"]}, "no array or number 'energi'; did you mean 'energy'"),
        ({"columns": ["energy", "density"]}, "of several: energy (spectrum), density (histogram)"),
        ({"columns": ["mean"], "x": "k"}, "'mean' has 5 values, and 'k' has 9"),
        ({"columns": ["energy"], "axis": "z"}, "'energy' has 9 values, and the grid not as many points in z"),
        ({"kind": "isosurface"}, "there is no field 'vorticity'; there are none"),
        ({"kind": "slice", "field": "table", "index": 2}, "'table' has two dimensions"),
        ({"kind": "time-series", "columns": ["tot"]}, "no number 'tot'; did you mean 'total'"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(results, options, message):
    with pytest.raises(PlotError) as error:
        drawn(results, **options)
    assert message in str(error.value)


def test_files_of_different_kinds_have_different_pictures(results, box, tmp_path):
    found = figures([results, box], Options(slopes=["-2"], axis="y", index=0))
    assert [name for _, name in found] == ["results-spectrum.png", "box-ux-y0-step1.png"]
    with pytest.raises(PlotError, match=r"files of one kind; .*results\.h5: spectrum, .*box\.h5: slice"):
        plot([results, box], tmp_path / "both.png")
    with pytest.raises(PlotError, match="--dt is for pictures of the kind time-series; this is a spectrum and a slice"):
        plot([results, box], dt=0.1)


@pytest.fixture(scope="module")
def thin(tmp_path_factory):
    """What a probe and an output along a line store, and the whole fields."""
    folder = tmp_path_factory.mktemp("thin")
    place, more = {"x": 2 * np.pi / 16 * 3, "z": np.pi / 2}, {"engine": "hdf5", "every": 1, "fields": ["ux", "uy"]}
    outputs = [
        {"name": "probe", "path": str(folder / "probe.h5"), "at": {**place, "y": 2 * np.pi / 12 * 5}, **more},
        {"name": "line", "path": str(folder / "line.h5"), "at": place, **more},
        {"name": "whole", "path": str(folder / "whole.h5"), **more},
    ]
    case = tr.Case(
        case={"reynolds": 100.0, "flow": "taylor-green"},
        grid={"points": (16, 12, 8), "lengths": (2 * np.pi,) * 3, "boundaries": ("periodic",) * 3},
        time={"dt": 0.05, "steps": 3},
        output=outputs,
        diagnostics={"path": str(folder / "time_series.csv")},
        checkpoint={"path": str(folder / "checkpoints")},
    )
    tr.Simulation(case).run()
    with tr.open(folder / "whole.h5") as whole:
        stored = {name: np.stack([step.read(name) for step in whole]) for name in ("ux", "uy")}
    return folder, stored


def test_a_probe_is_drawn_over_time(thin):
    folder, stored = thin
    figure, name = drawn(folder / "probe.h5")
    ux, uy = figure.axes
    assert name == "probe-time-series.png"
    assert (ux.get_title(loc="left"), ux.get_xlabel(), uy.get_title(loc="left")) == ("ux", "time", "uy")
    np.testing.assert_allclose(xy(ux.lines[0])[0], [0, 0.05, 0.1, 0.15])
    np.testing.assert_array_equal(xy(ux.lines[0])[1], stored["ux"][:, 2, 5, 3])
    (alone,) = drawn(folder / "probe.h5", columns=["uy"])[0].axes
    np.testing.assert_array_equal(xy(alone.lines[0])[1], stored["uy"][:, 2, 5, 3])


def test_a_line_is_drawn_along_its_coordinate(thin):
    folder, stored = thin
    figure, name = drawn(folder / "line.h5")
    ux, uy = figure.axes
    assert (name, ux.get_title(loc="left"), ux.get_xlabel()) == ("line-profile.png", "ux,  t = 0.15", "y")
    np.testing.assert_allclose(xy(uy.lines[0])[0], 2 * np.pi / 12 * np.arange(12))
    np.testing.assert_array_equal(xy(uy.lines[0])[1], stored["uy"][-1, 2, :, 3])
    for chosen in ({"field": "uy"}, {"columns": ["uy"]}):
        (alone,) = drawn(folder / "line.h5", **chosen, steps=[0, 2])[0].axes
        for curve, number in zip(alone.lines, (0, 2), strict=True):
            np.testing.assert_array_equal(xy(curve)[1], stored["uy"][number, 2, :, 3])
    with pytest.raises(PlotError, match=r"no array or number 'uz'.* ux, uy"):
        drawn(folder / "line.h5", columns=["uz"])
    assert others(folder / "line.h5", Options()) == others(folder / "probe.h5", Options()) == ""


def test_a_legend_takes_keys_of_the_cases(thin, tmp_path):
    folder, _ = thin
    figure, _ = drawn(folder / "whole.h5", kind="histogram", field="ux", label="Re {reynolds}")
    assert {one.get_label() for one in figure.axes[0].patches} == {"Re 100"}
    (panel,) = drawn(folder / "probe.h5", columns=["ux"], label="dt {time.dt}")[0].axes
    assert panel.lines[0].get_label() == "dt 0.05" and panel.lines[0].get_marker() == "None"
    assert drawn(folder / "time_series.csv", label="{reynolds:.1e}")[0].axes[0].lines[0].get_label() == "1.0e+02"
    with pytest.raises(PlotError, match=r"probe.h5: --label \{reynold\}.*did you mean reynolds"):
        drawn(folder / "probe.h5", label="{reynold}")
    (tmp_path / "own.csv").write_text("k,E\n1,2\n2,1\n")
    with pytest.raises(PlotError, match=r"own.csv: --label \{reynolds\}: the file tells no case"):
        drawn(tmp_path / "own.csv", label="{reynolds}")


def test_planes_of_an_analysis_are_drawn_over_their_places(tmp_path):
    """The places were drawn, as curves over their numbers: statistics with axes = "x" have planes."""
    path = tmp_path / "planes.h5"
    with tr.open(path, "w", grid=BOX) as out:
        lists = {"mean_ux": np.arange(80.0).reshape(16, 5), "y": np.linspace(0, 1, 5), "z": np.arange(16.0)}
        out.write_step(0.5, index=0, lists=lists)
    figure, name = drawn(path)
    assert figure.axes[0].get_title(loc="left").startswith("mean_ux") and "mean_ux" in name
