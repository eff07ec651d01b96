"""Slices: their values and places, from every engine, and what is derived from the velocity."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.flows_on_disk import GRID, arrays, exact_vorticity, write
from tailrace.core import InputError, IoError
from tailrace.io.engines import STORING
from tailrace.render.options import Options
from tailrace.render.plot import figures, film
from tailrace.render.slices import Look, Plane, _colours, _is_uniform, draw_plane, read_plane
from tailrace.render.style import PlotError
from tailrace.steps.stored_step import StoredStep

ENGINES = list(STORING)
X, Y, Z = (h * np.arange(n) for n, h in zip(GRID.points, GRID.spacing, strict=True))


@pytest.fixture(scope="module")
def flow(tmp_path_factory):
    return write(tmp_path_factory.mktemp("flow") / "flow.h5")


@pytest.mark.parametrize("engine", ENGINES)
def test_planes_of_every_engine(tmp_path, monkeypatch, engine):
    path = write(tmp_path / "run", engine)
    asked = []
    read = StoredStep.read
    monkeypatch.setattr(StoredStep, "read", lambda self, name, box, **more: asked.append(box) or read(self, name, box))
    uy = arrays(1)["uy"]
    for axis, index, expected in (("z", 3, uy[3]), ("y", -1, uy[:, -1]), ("x", None, uy[:, :, 12])):
        plane = read_plane(path, "uy", axis=axis, index=index, step=1)
        np.testing.assert_array_equal(plane.values, expected)
        assert np.prod(asked[-1].count) == expected.size, "no more is read"
    assert (plane.field, plane.axis, plane.index, plane.time, plane.step) == ("uy", "x", 12, 0.5, 1)
    for found, exact in zip(plane.coordinates, (X, Y, Z), strict=True):
        np.testing.assert_allclose(found, exact, atol=1e-14)


def test_the_picture_of_a_plane(flow):
    ((figure, name),) = figures([flow], Options(field="uy", axis="y", at=1.0, times=[0.6]))
    axes, bar = figure.axes
    (image,) = axes.images
    np.testing.assert_array_equal(image.get_array(), arrays(1)["uy"][:, 5])
    hx, _, hz = GRID.spacing
    np.testing.assert_allclose(image.get_extent(), (-hx / 2, X[-1] + hx / 2, -hz / 2, Z[-1] + hz / 2))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "z")
    assert axes.get_title(loc="left") == f"uy at y = {Y[5]:.4g}, t = 0.5"
    low, high = image.get_clim()
    assert low == -high and image.get_cmap().name == "RdBu_r", "white is zero"
    assert name == "flow-uy-y5-step1.png"
    (_, bar) = figures([flow], Options(field="ux"))[0][0].axes
    assert bar.get_ylabel() == "m/s"


def test_a_vector_is_drawn_by_its_length(flow, tmp_path):
    velocity = arrays(2)
    exact = np.sqrt(sum(part**2 for part in velocity.values()))
    plane = read_plane(flow, "u")
    np.testing.assert_allclose(plane.values, exact[10], rtol=1e-14)
    assert draw_plane(plane).axes[0].images[0].get_clim()[0] == 0
    with tr.open(tmp_path / "v.h5", "w", grid=GRID) as out:
        out.write_step(0.0, v=np.stack(list(velocity.values())))
    np.testing.assert_allclose(read_plane(tmp_path / "v.h5", "v", axis="x", index=3).values, exact[:, :, 3], rtol=1e-14)


def test_what_follows_from_the_velocity(flow):
    exact = exact_vorticity(X, Y[:, None], Z[:, None, None], 2)
    for name, values in zip(("vorticity_x", "vorticity_y", "vorticity_z"), exact, strict=True):
        np.testing.assert_allclose(read_plane(flow, name, axis="y", index=4).values, values[:, 4], atol=2e-3)
    found = read_plane(flow, "vorticity", axis="y", index=4)
    np.testing.assert_allclose(found.values, np.sqrt(sum(part**2 for part in exact))[:, 4], atol=2e-3)
    assert found.positive


def test_the_nearest_node_is_meant_also_around_a_periodic_box(flow):
    assert read_plane(flow, "ux", axis="x", at=X[7] + 0.4 * GRID.spacing[0]).index == 7
    assert read_plane(flow, "ux", axis="x", at=2 * np.pi - 1e-3).index == 0
    assert read_plane(flow, "ux", axis="y", at=np.pi).index == 16
    with pytest.raises(PlotError, match=r"y = 3\.2 is outside: it goes from 0 to 3\.14159"):
        read_plane(flow, "ux", axis="y", at=3.2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"field": "uv"}, "there is no field 'uv'; did you mean 'u'? There are ux, uy, uz, count, u, vorticity"),
        ({"steps": [3]}, "there is no step 3; there are 3, counted from 0"),
        ({"steps": [-4]}, "there is no step -4"),
        ({"times": [9.0]}, "there is no step near time 9; its times are 0 to 1"),
        ({"steps": [1], "times": [0.5]}, "by --step or by --time"),
        ({"steps": [0, 1]}, "--step: a slice shows one step"),
        ({"axis": "x", "index": 24}, "there is no node 24 in x; there are 24"),
        ({"index": 2, "at": 1.0}, "by its index or its coordinate"),
        ({"axis": "r"}, "axis must be x, y or z"),
        ({"field": "count", "at": 1.0}, "does not say the coordinates of 'count'"),
        ({"log": True}, "--log is for pictures of the kind time-series or spectrum"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(flow, options, message):
    with pytest.raises(PlotError) as error:
        figures([flow], Options(**options))
    assert message in str(error.value)


def test_files_that_are_no_series(tmp_path):
    (tmp_path / "cut.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + b"\0" * 100)
    (tmp_path / "x.bin").write_bytes(b"\0\1\2")
    (tmp_path / "empty").mkdir()
    for name, message in (
        ("cut.h5", "cut.h5"),
        ("x.bin", "is no series and no table"),
        ("empty", "is no series and no table"),
        ("none.h5", "there is no such file"),
    ):
        with pytest.raises((PlotError, OSError), match=message):
            figures([tmp_path / name], Options())
    with pytest.raises(PlotError, match="a stream is not stored"):
        read_plane("sst:run")
    with tr.open(tmp_path / "new.h5", "w", grid=GRID):
        pass
    with pytest.raises(PlotError, match="has no steps yet"):
        figures([tmp_path / "new.h5"], Options())


def test_a_stretched_grid_and_another_shape(tmp_path):
    y = np.array([0.0, 0.1, 0.3, 0.7, 1.5])
    values = np.arange(4.0 * 5 * 3).reshape(3, 5, 4) + 1
    with tr.open(tmp_path / "s.h5", "w", grid=tr.StretchedGrid((4, 5, 3), coordinates=((), y, ()))) as out:
        out.write_step(0.0, a_name_that_is_long_as_some_are=values)
    figure = draw_plane(read_plane(tmp_path / "s.h5", axis="x", index=2))
    (mesh,) = figure.axes[0].collections
    np.testing.assert_array_equal(mesh.get_array(), values[:, :, 2])
    np.testing.assert_allclose(mesh.get_coordinates()[0, :, 0], [-0.05, 0.05, 0.2, 0.5, 1.1, 1.9])
    assert mesh.get_cmap().name == "viridis", "values of one sign, not near zero"


def test_a_plane_in_a_file_is_seen_from_its_normal(tmp_path):
    values = np.arange(6.0 * 4).reshape(4, 1, 6)
    with tr.open(tmp_path / "plane.h5", "w", grid=tr.UniformGrid((6, 1, 4), (0.0, 0.5, 0.0))) as out:
        out.write_step(0.0, f=values)
    plane = read_plane(tmp_path / "plane.h5")
    assert plane.axis == "y"
    np.testing.assert_array_equal(plane.values, values[:, 0])
    assert draw_plane(plane).axes[0].get_title(loc="left") == "f at y = 0.5, t = 0"


def test_one_row_zeros_and_holes_are_drawn(tmp_path):
    for values in (np.zeros((3, 3)), np.array([[np.nan, 1.0], [2.0, np.inf]]), np.ones((1, 40)), np.ones((40, 1))):
        draw_plane(Plane(values, "q", "z", 0, 0.0, 0)).savefig(tmp_path / "a.png", dpi=30)
    with pytest.raises(PlotError, match="has no finite value"):
        draw_plane(Plane(np.full((2, 2), np.nan), "q", "z", 0, 0.0, 0))


def test_the_newest_checkpoint_is_taken(tmp_path):
    for number in (2, 10):
        with tr.open(tmp_path / f"step-{number:08d}", "w", engine="raw", grid=GRID) as out:
            out.write_step(0.1 * number, arrays(number), index=number)
    (tmp_path / "step-00000020.partial").mkdir()
    np.testing.assert_array_equal(read_plane(tmp_path, "ux").values, arrays(10)["ux"][10])


def test_a_grid_file_makes_a_series_one_of_fields(tmp_path):
    with tr.open(tmp_path / "plain.h5", "w", grid=tr.UniformGrid(GRID.points)) as out:
        out.write_step(0.0, arrays(0))
    with pytest.raises(PlotError, match="is derived from the velocity, and"):
        read_plane(tmp_path / "plain.h5", "vorticity_x")
    (tmp_path / "grid.toml").write_text(
        '[grid]\nlengths = ["2*pi", "pi", "4*pi"]\nboundaries = ["periodic", "free-slip", "periodic"]\n'
    )
    found = read_plane(tmp_path / "plain.h5", "vorticity_x", axis="x", index=5, grid=tmp_path / "grid.toml")
    exact = exact_vorticity(X, Y[:, None], Z[:, None, None], 0)[0]
    np.testing.assert_allclose(found.values, exact[:, :, 5], atol=2e-3)


def test_a_field_that_is_zero_but_in_a_few_points_is_seen():
    values = np.zeros(10_000)
    values[7] = -1e-3
    assert _colours(values, "field", False, Look())[1:3] == (-1e-3, 0.0)


def test_an_undershoot_is_no_change_of_sign():
    dye = np.linspace(-1e-17, 1, 100)
    assert _colours(dye, "dye", False, Look())[0] == "viridis"
    assert _colours(dye - 0.3, "dye", False, Look())[0] == "RdBu_r"


def test_a_range_and_colours_of_the_user(flow):
    ((figure, _),) = figures([flow], Options(field="uy", range=(-0.25, 0.5), colours="magma"))
    axes, bar = figure.axes
    (image,) = axes.images
    assert image.get_clim() == (-0.25, 0.5) and image.get_cmap().name == "magma"
    assert bar.get_ylim() == (-0.25, 0.5)
    ((figure, _),) = figures([flow], Options(field="uy", kind="histogram", range=(0.0, 2.0)))
    assert figure.axes[0].get_ylim() == (0.0, 2.0)
    for wrong, said in [
        (Options(colours="virids"), "did you mean viridis"),
        (Options(range=(1.0, 0.0)), "two rising numbers"),
        (Options(kind="isosurface", range=(0.0, 1.0)), "--range is for pictures of the kind"),
    ]:
        with pytest.raises(PlotError, match=said):
            figures([flow], wrong)


def test_a_part_of_a_slice_and_of_curves(flow):
    """The nodes inside, at their places, in colours of their own values."""
    ((figure, _),) = figures([flow], Options(field="uy", axis="z", index=2, crop=(1.0, 3.0, 2.0, 4.5)))
    (image,) = figure.axes[0].images
    inside = [np.flatnonzero((one >= low) & (one <= high)) for one, low, high in ((X, 1.0, 3.0), (Y, 2.0, 4.5))]
    np.testing.assert_array_equal(image.get_array(), arrays(2)["uy"][2][np.ix_(inside[1], inside[0])])
    half = np.array(GRID.spacing[:2]) / 2
    ends = [X[inside[0][0]], X[inside[0][-1]], Y[inside[1][0]], Y[inside[1][-1]]]
    np.testing.assert_allclose(image.get_extent(), np.array(ends) + np.array([-1, 1, -1, 1]) * half[[0, 0, 1, 1]])
    ((figure, _),) = figures([flow], Options(field="uy", kind="histogram", crop=(-0.5, 0.5, 0.0, 2.0)))
    assert figure.axes[0].get_xlim() == (-0.5, 0.5) and figure.axes[0].get_ylim() == (0.0, 2.0)
    for wrong, said in [
        (Options(crop=(3.0, 1.0, 0.0, 1.0)), "rising in both directions"),
        (Options(crop=(90.0, 91.0, 0.0, 1.0)), "has no point; the whole is"),
        (Options(kind="isosurface", crop=(0.0, 1.0, 0.0, 1.0)), "--crop is for pictures of the kind"),
        (Options(kind="histogram", crop=(0.0, 1.0, 0.0, 1.0), range=(0.0, 1.0)), "leave one of them out"),
    ]:
        with pytest.raises(PlotError, match=said):
            figures([flow], wrong)


def test_a_film_of_a_slice(tmp_path):
    """Each stored step once, in its order and in the same colours."""
    av = pytest.importorskip("av")
    grid = tr.UniformGrid((16, 12, 4), spacing=(0.1, 0.1, 0.1))
    with tr.open(tmp_path / "a.h5", "w", grid=grid) as out:
        for step in range(4):
            out.write_step(0.5 * step, f=np.full((4, 12, 16), float(step)))
    for name, chosen, shades in (("a.mp4", {}, 4), ("b.webm", {"steps": [3, 1]}, 2)):
        assert film(tmp_path / "a.h5", tmp_path / name, field="f", range=(0.0, 3.0), **chosen) == shades
        with av.open(str(tmp_path / name)) as opened:
            frames = [frame.to_ndarray(format="rgb24").astype(float) for frame in opened.decode(video=0)]
        middle = [float(frame[frame.shape[0] // 2, frame.shape[1] // 3].sum()) for frame in frames]
        rising = all(a < b for a, b in pairwise(middle))  # viridis becomes brighter
        assert len(frames) == shades and rising == (name == "a.mp4"), middle
    assert film(tmp_path / "a.h5", tmp_path / "a.mp4", field="f") == 4  # it replaces its own film
    (tmp_path / "theirs.mp4").write_bytes(b"mine")
    for out, options, words in (
        ("a.gif", {}, "a film is a .mp4 or .webm file"),
        ("c.mp4", {"log": True}, "--log is for pictures of the kind"),
        ("c.mp4", {"field": "g"}, "g"),
        ("theirs.mp4", {}, "theirs.mp4"),
    ):
        with pytest.raises((PlotError, InputError, IoError), match=re.escape(words)):
            film(tmp_path / "a.h5", tmp_path / out, **({"field": "f"} | options))
    assert (tmp_path / "theirs.mp4").read_bytes() == b"mine" and not (tmp_path / "c.mp4").exists()


def test_a_film_of_a_flow_that_has_blown_up(tmp_path):
    """The frame of a step without a finite value is empty; the film is made."""
    pytest.importorskip("av")
    with tr.open(tmp_path / "a.h5", "w", grid=tr.UniformGrid((16, 12, 4), spacing=(0.1, 0.1, 0.1))) as out:
        for step, value in enumerate((0.0, np.nan, 1.0)):
            out.write_step(0.5 * step, f=np.arange(768.0).reshape(4, 12, 16) + value)
    assert film(tmp_path / "a.h5", tmp_path / "a.mp4", field="f") == 3


def test_a_small_stretched_plane_is_no_uniform_one():
    edges = 1e-9 * np.linspace(0.0, 1.0, 9) ** 2
    assert not _is_uniform(edges) and _is_uniform(1e-9 * np.linspace(0.0, 1.0, 9))
