"""The coordinates of a run on a stretched grid, between two different ends, in all that is made of it."""

import json

import numpy as np
import pytest
import xarray
from mpi4py import MPI

import tailrace as tr
from helpers.inputs.analyses import output

POINTS, LENGTHS, BETA = (16, 33, 12), (4.0, 2.0, 2.0), 0.5
KINDS = ("periodic", "dirichlet|free-slip", "periodic")

CASE = f"""
[case]
name = "open-channel"
flow = "flow.py:velocity"
reynolds = 100.0
[grid]
points = {list(POINTS)}
lengths = {list(LENGTHS)}
boundaries = ["periodic", ["wall", "free-slip"], "periodic"]
stretching = "bottom"
beta = {BETA}
[time]
dt = 0.01
steps = 2
[checkpoint]
every = 2
[[analysis]]
script = "profile.py"
every = 2
"""

FLOW = """
import numpy as np

def velocity(x, y, z):
    wave = 0.1 * np.sin(np.pi * x / 2 + 0.3) * np.sin(np.pi * z) * y * y
    return y * (4 - y) / 4 + 0 * wave, 0 * wave, wave * 0
"""

PROFILE = """
import tailrace as tr

def analyse(step):
    u = step["ux"]
    return {"u": u.mean("xz"), "slope": tr.ddy(u), "flow": u.mean(), "stretched": step.grid.stretching == "bottom"}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory, tailrace):
    directory = tmp_path_factory.mktemp("stretched")
    (directory / "flow.py").write_text(FLOW)
    (directory / "profile.py").write_text(PROFILE)
    blocks = [
        output("h5", "hdf5", "run.h5"),
        output("bp", "bp5", "run.bp"),
        output("raw", "raw", "raw"),
        output("sion", "sion", "run.sion"),
        output("coarse", "hdf5", "coarse.h5", "stride = [1, 2, 1]"),
        output("part", "bp5", "part.bp", "start = [0, 4, 0]\ncount = [0, 6, 0]\nstride = [1, 2, 1]"),
    ]
    (directory / "case.toml").write_text(CASE + "\n".join(blocks))
    tailrace(directory, "run", "case.toml", ranks=3)
    return directory


def places(n=POINTS[1]):
    """The places of the points by the law of Laizet and Lamballais (2009), by quadrature of dy/ds."""
    length = LENGTHS[1]
    alpha = (np.sqrt((length / 2) ** 2 + (np.pi * BETA) ** 2) - length / 2) / (BETA * length)
    s, weights = np.polynomial.legendre.leggauss(12)
    ends = np.linspace(0, 1, n)
    at = 0.5 * (ends[:-1, None] + ends[1:, None]) + 0.5 * s / (n - 1)
    slope = 1 / (alpha / np.pi + np.sin(np.pi * (at / 2 - 0.5)) ** 2 / (np.pi * BETA))
    return np.concatenate([[0], np.cumsum(slope @ weights * 0.5 / (n - 1))])


def laminar(y):
    return y * (4 - y) / 4


@pytest.mark.parametrize("name", ["run.h5", "run.bp", "raw", "run.sion", "coarse.h5"])
def test_each_series_says_its_coordinates(run, name):
    y = places()[:: 2 if name == "coarse.h5" else 1]
    with tr.open(run / name) as series:
        grid = series.grid
        assert (grid.stretching, grid.beta, grid.boundaries, grid.lengths) == ("bottom", BETA, KINDS, LENGTHS)
        assert abs(np.array(grid.coordinates[1]) - y).max() < 1e-12
        u = series[0]["ux"]
        assert abs(u.mean("xz") - laminar(y)).max() < 1e-12
        ends = laminar(y) * np.gradient(y, edge_order=2)  # dy/ds, by differences; both functions are smooth
        assert u.mean() == pytest.approx(np.trapezoid(ends) / 2, rel=2e-3)
        assert abs(np.asarray(tr.ddy(u))[:, 8:] - (1 - y[8:, None] / 2)).max() < 2e-5
        assert abs(tr.Probes([(0.3, 1.234, 0.7)])(u) - laminar(1.234)).max() < 1e-6
    with xarray.open_dataset(run / name, engine="tailrace") as data:
        profile = data["ux"].isel(time=0).mean(("x", "z"))
        assert abs(profile["y"] - y).max() < 1e-12
        assert abs(profile - laminar(profile["y"])).max() < 1e-12


def test_a_part_in_y_has_places_and_no_derivatives(run):
    with tr.open(run / "part.bp") as series:
        assert np.allclose(series.grid.coordinates[1], places()[4:15:2], atol=1e-12)
        with pytest.raises(tr.InputError, match="holds a part of the field only: 6 points in y"):
            _ = series[0].operators


def test_an_analysis_inside(run, tailrace):
    with tr.open(run / "analysis" / "profile.h5") as series:
        assert series.grid.stretching == "bottom"
        slope = np.array(series[0]["slope"])
        assert abs(series[0].read("u").ravel() - laminar(places())).max() < 1e-12
    tailrace(run, "analyse", "profile.py", "run.h5", "-o", "after", ranks=2)
    with tr.open(run / "after" / "profile.h5") as series:
        assert abs(np.asarray(series[0]["slope"]) - slope).max() < 1e-12


def test_a_run_begins_from_a_checkpoint_on_another_grid(run, monkeypatch):
    """Beside the velocity it has arrays of the wall, which are on no grid."""
    monkeypatch.chdir(run)
    with tr.open("checkpoints/step-00000002") as series:
        assert abs(np.array(series.grid.coordinates[1]) - places()).max() < 1e-12
        profile = series[0]["ux"].mean("xz")
    case = tr.load_case("case.toml").model_dump(exclude_unset=True) | {"output": [], "analysis": []}
    case["checkpoint"] = {"every": 2, "path": "next"}
    case["case"] = {"name": "next", "from": "checkpoints", "reynolds": 100.0, "project": False}
    case["grid"] |= {"points": (16, 40, 12), "stretching": "walls", "beta": 0.7}
    u = tr.Model(tr.Case(**case), MPI.COMM_SELF).velocity[0]
    y = u.coordinates()[1].ravel()
    assert abs(u.mean("xz") - np.interp(y, places(), profile)).max() < 2e-3
    assert abs(u.mean("xz") - laminar(y)).max() < 2e-4, "what is lost to viscosity in two steps"


def test_it_is_listed(run, tailrace):
    text = tailrace(run, "info", "run.bp").out
    assert "y = 0, 0.0" in text
    assert ", ..., 1.8" in text or ", ..., 1.9" in text
    (told,) = json.loads(tailrace(run, "info", "--json", "raw").out)
    assert (told["attributes"]["stretching"], told["attributes"]["beta"]) == ("bottom", BETA)
    assert np.allclose(told["grid"]["coordinates"]["y"], places(), atol=1e-12)


def test_pictures_have_the_places(run, tmp_path):
    from tailrace.render.slices import draw_plane, read_plane

    plane = read_plane(run / "run.h5", "ux", axis="z", step=0)
    assert np.allclose(plane.coordinates[1], places(), atol=1e-12)
    (mesh,) = (one for one in draw_plane(plane).axes[0].collections)
    edges = mesh.get_coordinates()[:, 0, 1]
    assert np.allclose(edges[1:-1], 0.5 * (places()[1:] + places()[:-1]), atol=1e-12)
    assert read_plane(run / "run.h5", "ux", axis="y", at=0.2).index == np.argmin(abs(places() - 0.2))


def test_conversion_keeps_what_stays_true(run, tmp_path):
    tr.convert(run / "run.h5", tmp_path / "coarse.bp", coarsen=(1, 2, 1))
    with tr.open(tmp_path / "coarse.bp") as series:
        assert series.grid.stretching == "bottom"
        assert series[0]["ux"].global_shape == (12, 17, 16)
    tr.convert(run / "run.bp", tmp_path / "part.h5", coarsen=(1, 3, 1))
    with tr.open(tmp_path / "part.h5") as series:
        assert "stretching" not in series.attributes
        assert np.allclose(series.grid.coordinates[1], places()[::3], atol=1e-12)


GRID_FILE = """
[grid]
lengths = [4.0, 2.0, 2.0]
boundaries = ["periodic", {sides}, "periodic"]
{law}
"""


@pytest.mark.parametrize(
    ("sides", "law", "said"),
    [
        ('["dirichlet", "free-slip"]', 'stretching = "bottom"\nbeta = 0.5', ""),
        ('"dirichlet|free-slip"', 'stretching = "bottom"\nbeta = 0.5', ""),
        ('"dirichlet|periodic"', "", "grid.boundaries.*must be 'periodic', 'free-slip' or 'dirichlet', or a list"),
        ('"dirichlet"', 'stretching = "bottom"', "stretching and beta belong together"),
        ('"dirichlet"', 'stretching = "up"\nbeta = 0.5', "grid.stretching: must be 'centre', 'walls' or 'bottom'"),
        ('"dirichlet"', 'stretching = "walls"\nbeta = -0.5', "grid.beta: must be greater than 0"),
        ('"periodic"', 'stretching = "walls"\nbeta = 0.5', "y is periodic; only a y with"),
    ],
)  # fmt: skip
def test_the_grid_of_a_series_that_does_not_say_it(tmp_path, sides, law, said):
    ops = tr.Operators(POINTS, LENGTHS, KINDS, stretching="bottom", beta=BETA)
    u = tr.Field.from_function(ops, lambda x, y, z: laminar(y))
    with tr.open(tmp_path / "bare.h5", "w") as series:
        series.write_step(0.0, index=0, ux=u)
    (tmp_path / "grid.toml").write_text(GRID_FILE.format(sides=sides, law=law))
    if said:
        with pytest.raises(tr.ConfigError, match=f"(?s){said}"):
            tr.open(tmp_path / "bare.h5", grid=tmp_path / "grid.toml")
        return
    for grid in (tmp_path / "grid.toml", ops.grid, tr.UniformGrid.of(ops.grid)):
        with tr.open(tmp_path / "bare.h5", grid=grid) as series:
            assert abs(tr.ddy(series[0]["ux"]) - tr.ddy(u)).max() < 1e-13
            assert series.grid == tr.UniformGrid.of(ops.grid)


def test_grids_that_cannot_be(tmp_path):
    about = {"spacing": (0.25, 2 / 32, 1 / 6), "boundaries": KINDS}
    grid = tr.StretchedGrid(POINTS, **about, stretching="bottom", beta=BETA)
    assert np.allclose(grid.coordinates[1], places(), atol=1e-12)
    with tr.open(tmp_path / "run.h5", "w", grid=grid) as series:
        series.write_step(0.0, index=0, ux=np.zeros((12, 33, 16)))
    assert tr.open(tmp_path / "run.h5").grid == grid
    for more, said in (
        ({"stretching": "bottom"}, "beta of the stretching is 0"),
        ({"stretching": "up", "beta": 1.0}, "choose centre, walls or bottom"),
        (
            {"stretching": "walls", "beta": BETA, "coordinates": ((), places(), ())},
            "are not those of stretching = 'walls'",
        ),
        ({"stretching": "bottom", "beta": BETA, "boundaries": None}, "needs the boundaries"),
    ):
        with pytest.raises(tr.InputError, match=said):
            tr.StretchedGrid(POINTS, **{**about, **more})
    with tr.open(tmp_path / "wrong.h5", "w", grid=grid) as series:
        series.write_step(0.0, index=0, ux=np.zeros((12, 33, 16)))
        series.set_attribute("beta", 0.4)
    with tr.open(tmp_path / "wrong.h5") as series:
        assert isinstance(series[0]["ux"], np.ndarray)
        with pytest.raises(tr.InputError, match="in y are not equally spaced; nor are they those of its attributes"):
            _ = series[0].operators


@pytest.mark.parametrize("stretching", ["", "bottom"])
def test_the_grid_of_a_field_a_step_and_a_series_is_one(tmp_path, stretching):
    law = {"stretching": stretching, "beta": BETA} if stretching else {}
    ops = tr.Operators(POINTS, (2.0, 4.0, 3.0), ("periodic", "dirichlet", "periodic"), **law)
    field = tr.Field.from_function(ops, lambda x, y, z: y + 0 * x * z)
    with tr.open(tmp_path / "run.h5", "w", grid=ops.grid) as out:
        out.write_step(0.0, ux=field)
    with tr.open(tmp_path / "run.h5") as series:
        assert series.grid == series[0].grid == series[0]["ux"].grid == field.grid
        for d in range(3):
            assert series.grid.coordinates[d] == pytest.approx(np.array(ops.grid.coordinates(d)), abs=1e-14)
            assert np.array_equal(series[0]["ux"].coordinates()[d].ravel(), series.grid.coordinates[d])
        assert (series.grid.stretching, bool(series.grid.uneven[1])) == (stretching, bool(stretching))
