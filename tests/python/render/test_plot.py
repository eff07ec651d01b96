"""Pictures: what they show, from files written here with h5py, and the messages where there is nothing to draw."""

import math
import types
from pathlib import Path

import h5py
import matplotlib.image
import numpy as np
import pytest

from tailrace.case.case import ConfigError
from tailrace.io import series as series_module
from tailrace.io.time_series import COLUMNS, TimeSeries
from tailrace.render import plot
from tailrace.render.plot import Plane, PlotError, plot_slice, plot_time_series, read_plane

SAMPLE = Path(__file__).parents[2] / "data" / "xcompact3d" / "tgv33"
SHAPE = (4, 6, 9)  # nz, ny, nx: all different, so that exchanged directions are seen


def field(step, at=0):
    z, y, x = np.meshgrid(*(np.arange(count) for count in SHAPE), indexing="ij")
    return (x + 100.0 * y + 10_000.0 * z) * (1 + step) + at


@pytest.fixture
def vtkhdf(tmp_path):
    """A temporal VTKHDF image, laid out as its specification says."""
    path = tmp_path / "snapshots.h5"
    with h5py.File(path, "w") as file:
        root = file.create_group("VTKHDF")
        root.attrs.update(Type=np.bytes_("ImageData"), Version=[2, 2], Origin=[0.0, 1.0, 2.0], Spacing=[0.5, 0.25, 1.0])
        for at, name in enumerate(("ux", "vorticity")):
            root[f"PointData/{name}"] = np.stack([field(step, at) for step in range(3)])
            root[f"Steps/PointDataOffsets/{name}"] = [0, 1, 2]
        root["Steps/Values"] = [0.0, 1.5, 3.0]
    return path


def series(path, count=30, factor=1.0):
    with TimeSeries(path) as file:
        for step in range(count):
            file.append({name: factor * math.exp(-step / 10) for name in COLUMNS} | {"step": step, "time": 0.1 * step})
    return path


def inked(path):
    """Share of the picture that is not background."""
    pixels = matplotlib.image.imread(path)[..., :3]
    return float((pixels.min(axis=-1) < 0.9).mean())


@pytest.mark.parametrize(
    ("axis", "index", "expected"),
    [
        ("z", 1, lambda f: f[1]),
        ("y", -1, lambda f: f[:, 5]),
        ("x", None, lambda f: f[:, :, 4]),
    ],
)
def test_a_plane_is_the_one_asked_for(vtkhdf, axis, index, expected):
    plane = read_plane(vtkhdf, "ux", axis, index, 1)
    np.testing.assert_array_equal(plane.values, expected(field(1)))
    assert (plane.time, plane.step, plane.origin, plane.spacing) == (1.5, 1, (0.0, 1.0, 2.0), (0.5, 0.25, 1.0))


def test_the_last_step_and_the_vorticity_are_drawn_by_default(vtkhdf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = plot_slice(vtkhdf)
    assert out.name == "snapshots-vorticity-z2-step2.png"
    assert inked(out) > 0.3


def test_offsets_of_the_file_are_followed(vtkhdf):
    with h5py.File(vtkhdf, "a") as file:
        file["VTKHDF/Steps/PointDataOffsets/ux"][...] = [2, 2, 0]
    np.testing.assert_array_equal(read_plane(vtkhdf, "ux", "z", 0, -1).values, field(0)[0])


def test_a_file_without_steps(tmp_path):
    path = tmp_path / "one.h5"
    with h5py.File(path, "w") as file:
        file["VTKHDF/PointData/u"] = np.stack([field(0), field(0), field(0)], axis=-1)
    plane = read_plane(path, None, "z", 0, -1)
    np.testing.assert_allclose(plane.values, math.sqrt(3) * field(0)[0])
    assert plane.spacing is None
    assert inked(plot_slice(path, tmp_path / "one.png")) > 0.1


def test_axes_and_limits_are_those_of_the_grid():
    values = np.array([[-1.0, 0.5, 2.0], [0.0, 0.0, 0.0]])
    figure = plot._draw_plane(Plane(values, "ux", "y", 3, 1.0, 0, (0.0, 1.0, 2.0), (0.5, 0.25, 1.0)))
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "z")
    assert axes.get_xlim() == (-0.25, 1.25)
    assert axes.get_ylim() == (1.5, 3.5)
    assert axes.get_title(loc="left") == "ux at y = 1.75, t = 1"
    low, high = axes.images[0].get_clim()
    assert low == -high, "white is zero"


def test_a_field_of_zeros_and_one_with_holes_are_drawn(tmp_path):
    for values in (np.zeros((3, 3)), np.array([[np.nan, 1.0], [2.0, np.inf]])):
        figure = plot._draw_plane(Plane(values, "q", "z", 0, 0.0, 0))
        figure.savefig(tmp_path / "a.png")
    with pytest.raises(PlotError, match="has no finite value"):
        plot._draw_plane(Plane(np.full((2, 2), np.nan), "q", "z", 0, 0.0, 0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"field": "uz"}, "there is no field 'uz'; there are ux, vorticity"),
        ({"step": 3}, "there is no step 3; there are 3, counted from 0"),
        ({"step": -4}, "there is no step -4"),
        ({"axis": "x", "index": 9}, "there is no node in x 9; there are 9"),
        ({"axis": "r"}, "axis must be x, y or z"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(vtkhdf, arguments, message):
    with pytest.raises(PlotError, match=message):
        plot_slice(vtkhdf, **arguments)


def test_files_that_are_no_snapshots(tmp_path):
    (tmp_path / "cut.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + b"\0" * 100)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["data"] = [1]
    (tmp_path / "x.bin").touch()
    for name, message in (
        ("cut.h5", "HDF5 does not open it"),
        ("other.h5", "is not a VTKHDF file"),
        ("x.bin", "slices are drawn from .h5"),
        ("none.h5", "there is no such file"),
    ):
        with pytest.raises(PlotError, match=message):
            plot_slice(tmp_path / name)


class FakeStep:
    """A step as the readers of the other engines give it; it returns boxes and records their sizes."""

    names = ("ux",)
    variables = {"ux": ("float64", SHAPE[::-1])}  # noqa: RUF012
    asked = 0

    def __init__(self, step):
        self.step, self.time = step, 0.5 * step

    def read(self, name, box):
        assert name == "ux"
        (x, y, z), (nx, ny, nz) = box
        FakeStep.asked = nx * ny * nz
        return field(self.step)[z : z + nz, y : y + ny, x : x + nx]


class FakeSeries(list):
    grid = types.SimpleNamespace(origin=(0.0, 1.0, 2.0), spacing=(0.5, 0.25, 1.0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.mark.parametrize(
    ("axis", "expected"), [("x", lambda f: f[:, :, 2]), ("y", lambda f: f[:, 2]), ("z", lambda f: f[2])]
)
def test_other_engines_are_read_through_a_series_and_by_the_plane(tmp_path, monkeypatch, axis, expected):
    monkeypatch.setattr(series_module, "open", lambda _: FakeSeries(FakeStep(step) for step in range(4)))
    (tmp_path / "run.bp").mkdir()
    plane = read_plane(tmp_path / "run.bp", None, axis, 2, -2)
    np.testing.assert_array_equal(plane.values, expected(field(2)))
    assert (plane.field, plane.time, plane.step, plane.spacing) == ("ux", 1.0, 2, (0.5, 0.25, 1.0))
    assert FakeStep.asked == plane.values.size


def test_time_series_with_a_reference(tmp_path):
    out = plot_time_series([series(tmp_path / "a.csv")], tmp_path / "out" / "a.png", SAMPLE / "time_evol.dat")
    assert inked(out) > 0.01


def test_several_runs_have_different_labels(tmp_path, monkeypatch):
    (tmp_path / "coarse").mkdir()
    (tmp_path / "fine").mkdir()
    figures = []
    monkeypatch.setattr(plot, "save", lambda figure, out: figures.append(figure) or Path(out))
    paths = [series(tmp_path / name / "time_series.csv") for name in ("coarse", "fine")]
    plot_time_series(paths, tmp_path / "a.png", reference=series(tmp_path / "long.csv", 300))
    energy, dissipation, enstrophy = figures[0].axes
    labels = energy.get_legend_handles_labels()[1]
    assert [Path(label).parent.name for label in labels[:2]] == ["coarse", "fine"]
    assert labels[2] == "reference: long.csv"
    assert energy.lines[0].get_color() != energy.lines[1].get_color()
    assert energy.lines[2].get_xdata().max() <= 2.9 * 1.02, "the reference is cut where the runs end"
    assert len(dissipation.lines) == 5
    assert enstrophy.get_ylim()[0] == 0
    assert len(set(dissipation.get_legend_handles_labels()[1])) == len(
        [text.get_text() for text in dissipation.get_legend().get_texts()]
    ), "no entry of the legend stands twice"


def test_series_without_rows_and_other_files(tmp_path):
    with pytest.raises(PlotError, match="has no rows yet"):
        plot_time_series([series(tmp_path / "a.csv", 0)], tmp_path / "a.png")
    (tmp_path / "b.csv").write_text("a,b\n")
    with pytest.raises(ValueError, match="is not a time series"):
        plot_time_series([tmp_path / "b.csv"], tmp_path / "a.png")
    (tmp_path / "time_evol.dat").write_text("0.09 1 1 1 1\n")
    with pytest.raises(ConfigError, match="dt: is needed"):
        plot_time_series([series(tmp_path / "c.csv")], tmp_path / "a.png", tmp_path / "time_evol.dat")
    with pytest.raises(PlotError, match="Format 'xyz' is not supported"):
        plot_time_series([tmp_path / "c.csv"], tmp_path / "a.xyz")


def test_one_row_is_a_dot(tmp_path):
    assert inked(plot_time_series([series(tmp_path / "a.csv", 1)], tmp_path / "a.png")) > 0.003


def test_comparison_tells_the_largest_difference(tmp_path):
    from tailrace.render.comparison import QUANTITIES, plot_comparison

    rows = np.linspace(1, 2, 5)
    for name, steps, factor in (("first", range(5), 1.0), ("same", range(5), 1.0), ("other", (0, 2, 4), 1 + 1e-9)):
        lines = ["step,time," + ",".join(QUANTITIES)]
        lines += [f"{n},{n / 10}," + ",".join([f"{rows[n] * factor:.17g}"] * 4) for n in steps]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    histories = {name: tmp_path / f"{name}.csv" for name in ("first", "same", "other")}
    found = plot_comparison(histories, tmp_path / "out.png", 1e-12)
    assert found["same"] == 0
    assert found["other"] == pytest.approx(1e-9, rel=1e-6)
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "empty.csv").write_text("step,time," + ",".join(QUANTITIES) + "\n9,0.9,1,1,1,1\n")
    with pytest.raises(ValueError, match="no step in common"):
        plot_comparison({**histories, "empty": tmp_path / "empty.csv"}, tmp_path / "out.png", 1e-12)
