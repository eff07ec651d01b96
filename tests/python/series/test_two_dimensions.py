"""Flows of two dimensions, stored with one point along the third: analysed, drawn, also from files of others."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

import tailrace as tr
from helpers.harness.engines import KINDS
from helpers.harness.kept import KEPT
from helpers.programs import field_programs
from tailrace.case.case import ConfigError, load_case
from tailrace.render.slices import read_plane
from tailrace.render.style import PlotError

POINTS = {"a": 32, "b": 24}  # along the first and the second direction of the plane
STEP = {axis: 2 * np.pi / count for axis, count in POINTS.items()}
A, B = np.meshgrid(*(STEP[axis] * np.arange(count) for axis, count in POINTS.items()))  # (b, a)
ALONG_A, ALONG_B = -np.sin(B), np.sin(2 * A) + 0 * B
CURL = 2 * np.cos(2 * A) + np.cos(B)  # d ALONG_B / da - d ALONG_A / db
PLANES = {"z": "xy", "y": "xz", "x": "yz"}


def grid_across(flat: str, boundaries=("periodic",) * 3) -> tr.UniformGrid:
    """The grid with one point along a direction."""
    first, second = PLANES[flat]
    counts = {first: POINTS["a"], second: POINTS["b"], flat: 1}
    steps = {first: STEP["a"], second: STEP["b"], flat: 0.3}
    points, spacing = (tuple(table[axis] for axis in "xyz") for table in (counts, steps))
    return tr.UniformGrid(points, spacing=spacing, boundaries=boundaries)


def write(path, flat="z", **more):
    """A velocity with two components; the third, along the direction of one point, is not written."""
    grid = grid_across(flat)
    first, second = PLANES[flat]
    whole = grid.points[::-1]
    with tr.open(path, "w", grid=grid, **more) as series:
        series.write_step(
            0.5, **{f"u{first}": ALONG_A.reshape(whole), f"u{second}": ALONG_B.reshape(whole)}, scalars={"n": 1}
        )
    return path


@pytest.mark.parametrize("engine", KINDS, ids=str)
def test_every_engine_keeps_a_plane_and_its_grid(tmp_path, engine):
    path = write(engine.path(tmp_path), engine=engine.name, parameters=engine.parameters)
    with tr.open(path) as series:
        assert series[0].grid.points == (32, 24, 1) and series[0].flat == "z"
        assert np.array_equal(series[0]["uy"].data[0], ALONG_B)
        np.testing.assert_allclose(tr.scalar_curl(series[0].vector("u")).data[0], CURL, atol=1e-5)


@pytest.mark.parametrize("flat", "xyz")
def test_derivatives_and_spectra_are_those_of_the_plane(tmp_path, flat):
    first, second = PLANES[flat]
    sign = -1 if flat == "y" else 1  # x, z, -y is right-handed
    with tr.open(write(tmp_path / "run", flat)) as series:
        step = series[0]
        velocity = step.vector("u")
        plane = lambda field: np.asarray(field).reshape(A.shape)  # noqa: E731 # one line
        assert not np.any(velocity[flat].data)
        np.testing.assert_allclose(plane(tr.scalar_curl(velocity)), sign * CURL, atol=1e-5)
        np.testing.assert_allclose(plane(tr.curl(velocity)[flat]), sign * CURL, atol=1e-5)
        np.testing.assert_allclose(plane(tr.laplacian(velocity[second])), -4 * ALONG_B, atol=1e-5)
        for order in (1, 2):
            assert not np.any(np.asarray(tr.derivative(velocity[first], flat, order)))
        assert abs(np.asarray(tr.div(velocity))).max() < 1e-14
        q = -(2 * np.cos(2 * A)) * (-np.cos(B))  # -(d a/db)(d b/da)
        np.testing.assert_allclose(plane(tr.q_criterion(velocity)), q, atol=1e-5)
        np.testing.assert_allclose(tr.spectrum(velocity).energy[:4], [0, 0.25, 0.25, 0], atol=1e-14)
        np.testing.assert_allclose(tr.spectrum_1d(velocity[second], first).energy[:4], [0, 0, 0.25, 0], atol=1e-14)
        assert velocity[first].mean(flat).shape == A.shape
        assert tr.interpolate(velocity[first], flat, "centre").max() == pytest.approx(ALONG_A.max(), rel=1e-14)


def test_the_shells_of_a_thick_plane_are_those_of_a_thin_one():
    of_plane = lambda x, y, z: np.sin(3 * x) + np.cos(2 * y)  # noqa: E731 # one line
    found = []
    for thickness in (0.1, 1000.0):
        ops = tr.Operators((24, 20, 1), (2 * np.pi, 2 * np.pi, thickness), ("periodic",) * 3)
        found.append(tr.spectrum(tr.Field.from_function(ops, of_plane)))
    assert np.array_equal(found[0].k, found[1].k) and found[0].step == 1.0
    np.testing.assert_allclose(found[1].energy[:4], [0, 0, 0.25, 0.25], atol=1e-14)


def test_slabs_are_of_y_where_z_has_one_point():
    shapes = KEPT.ranks(3).results(field_programs.shape, nodes=(16, 12, 1))
    assert shapes == [[1, 4, 16]] * 3


def test_a_component_may_be_missing_only_where_nothing_changes(tmp_path):
    grid = tr.UniformGrid((16, 12, 10), boundaries=("periodic",) * 3)
    one = np.ones((10, 12, 16))
    with tr.open(tmp_path / "run.h5", "w", grid=grid) as series:
        series.write_step(0.0, ux=one, uy=one)
    with tr.open(tmp_path / "run.h5") as series:
        with pytest.raises(tr.InputError, match=r"vector 'u': .*uz"):
            series[0].vector("u")
        u, v = series[0]["ux"], series[0]["uy"]
        with pytest.raises(tr.InputError, match=r"component in z: .*the grid has none"):
            tr.Vector.in_plane(u, v)
        with pytest.raises(tr.InputError, match=r"a scalar curl is of a plane; the grid has 16 x 12 x 10 points"):
            tr.scalar_curl(tr.Vector(u, v, u))
    with pytest.raises(tr.InputError, match="a vector needs its components; none is given"):
        tr.Vector.in_plane()
    with (
        tr.open(write(tmp_path / "two", "y")) as series,
        pytest.raises(tr.InputError, match=r"component in z: .*here y"),
    ):
        tr.Vector.in_plane(x=series[0]["ux"])


def test_a_plane_of_a_flow_is_no_flow_of_two_dimensions(tmp_path):
    """Its third component was not written, and is not zero."""
    with tr.open(tmp_path / "run.h5", "w", grid=tr.UniformGrid((32, 24, 1), spacing=(0.2, 0.3, 0.1))) as series:
        attributes = {"lengths": [6.4, 7.2, 3.2], "boundaries": "periodic,periodic,periodic"}
        for name, value in attributes.items():
            series.set_attribute(name, value)
        series.write_step(0.0, ux=ALONG_A[None], uy=ALONG_B[None])
    with tr.open(tmp_path / "run.h5") as series:
        assert series[0].flat == "" and "part of the field only" in series[0].known.problem
        with pytest.raises(tr.InputError, match="vector 'u'"):
            series[0].vector("u")
    with pytest.raises(PlotError, match="there is no field 'u'"):
        read_plane(tmp_path / "run.h5", "u")


@pytest.mark.parametrize("flat", "xyz")
def test_slices_are_of_the_plane_and_know_what_is_derived(tmp_path, flat):
    path = write(tmp_path / "run", flat)
    sign = -1 if flat == "y" else 1
    for name, expected in (
        (f"vorticity_{flat}", sign * CURL),
        ("vorticity", abs(CURL)),
        ("u", np.hypot(ALONG_A, ALONG_B)),
    ):
        plane = read_plane(path, name)
        assert plane.axis == flat
        np.testing.assert_allclose(np.asarray(plane.values), expected, atol=1e-5)
    with pytest.raises(PlotError, match=r"there is no field 'w'; there are u[xy]"):
        read_plane(path, "w")


def test_the_plane_of_another_program_with_what_its_user_adds(tmp_path):
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        file["u"], file["v"], file["X"], file["Y"] = ALONG_A, ALONG_B, A[0], B[:, 0]
        file["X"].make_scale("x")
        file["Y"].make_scale("y")
        for name in "uv":
            file[name].dims[0].attach_scale(file["Y"])
            file[name].dims[1].attach_scale(file["X"])
    (tmp_path / "grid.toml").write_text(
        '[grid]\nlengths = ["2*pi", "2*pi", 1]\nboundaries = ["periodic", "periodic", "periodic"]\n'
        '[variables]\nux = "u"\nuy = "v"\n'
    )
    with tr.open(tmp_path / "theirs.h5", grid=tmp_path / "grid.toml") as series:
        np.testing.assert_allclose(tr.scalar_curl(series[0].vector("u")).data[0], CURL, atol=1e-5)
        data = series.to_xarray()
        assert dict(data["ux"].sizes) == {"time": 1, "z": 1, "y": 24, "x": 32}


def test_the_solver_says_that_it_is_of_three_dimensions(tmp_path):
    text = '[case]\nflow = "taylor-green"\n[grid]\npoints = [16, 16, {}]\n[time]\ndt = 0.01\nsteps = 1\n'
    (tmp_path / "case.toml").write_text(text.format(1))
    with pytest.raises(ConfigError, match=r"grid\.points.* must be at least 8"):
        load_case(tmp_path / "case.toml")
    with pytest.raises(tr.InputError, match=r"grid has 3 nodes in z; .* at least 8, or 1 where nothing changes along"):
        tr.Operators((16, 16, 3), (1.0, 1.0, 1.0), ("periodic",) * 3)
    with pytest.raises(tr.InputError, match="grid has 1 nodes in z"):
        tr.Operators((16, 16, 1), (1.0, 1.0, 1.0), ("periodic", "periodic", "free-slip"))
