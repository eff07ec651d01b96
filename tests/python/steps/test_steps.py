"""Steps of series: fields where the grid is known, arrays elsewhere; by position, index and time; parts of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tailrace as tr
from helpers.harness.kept import KEPT
from helpers.inputs.flows_on_disk import GRID, arrays, exact_vorticity, write
from helpers.programs import step_programs


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    return tr.open(write(tmp_path_factory.mktemp("steps") / "run.h5"))


def test_fields_meet_the_operators(kind, tmp_path):
    path = write(kind.path(tmp_path), kind.name, **kind.parameters)
    for step in tr.open(path):
        u = step.vector("u")
        exact = exact_vorticity(*u.x.coordinates(), step.index // 10)
        for found, expected in zip(tr.curl(u), exact, strict=True):
            assert abs(np.asarray(found) - expected).max() < 2e-3
        ux = arrays(step.index // 10)["ux"]
        assert isinstance(step["ux"], tr.Field) and step["ux"].dtype == np.float64
        np.testing.assert_array_equal(step["ux"], ux)
        np.testing.assert_array_equal(np.sqrt(abs(step["ux"])), np.sqrt(abs(ux)))
        np.testing.assert_array_equal(np.float64(step["ux"]), ux)
        assert np.float64(step["ux"].max()) == ux.max()


def test_what_is_not_on_the_grid_is_an_array(series):
    step = series[1]
    assert type(step["count"]) is np.ndarray and step["count"].shape == (4, 3, 2) and (step["count"] == 1).all()
    assert step["p"].shape == (3, 2)
    with pytest.raises(tr.InputError, match="an array of shape \\(4, 3, 2\\) is no field on the grid"):
        step._on_grid("count")
    assert step.scalars == {"energy": 0.1, "said": "step 1"} and step.viscosity == 0.01


@pytest.mark.parametrize(
    "key",
    [
        (8, slice(None), slice(None, None, 2)),
        8,
        -1,
        (slice(2, 12, 3), 4),
        (..., 5),
        (slice(None, None, -1), slice(10, 2, -3), slice(3, 3)),
        (slice(None), [1, 4, 2]),
        (np.arange(20) % 3 == 0,),
        (None, 4, 4),
        (slice(-5, None), slice(0, 1), np.int64(7)),
        (),
        True,
    ],
    ids=str,
)
def test_slices_are_those_of_numpy(series, key):
    np.testing.assert_array_equal(series[2]["ux"][key], arrays(2)["ux"][key])


def test_the_table_of_steps_is_read_once(tmp_path, monkeypatch):
    """Each access by position or index read it again: the time of a loop grew with the square of the steps."""
    with tr.open(write(tmp_path / "run", "raw")) as stored:
        assert stored.step(10).index == 10
        monkeypatch.setattr(stored, "_table", [(7, 0.25), (9, 0.5), (8, 0.75)])
        assert [stored[at].index for at in range(len(stored))] == [7, 9, 8]
        assert [stored.step(index).time for index in (7, 8, 9)] == [0.25, 0.75, 0.5]
        with pytest.raises(tr.InputError, match="has no step of index 6; the nearest is 7"):
            stored.step(6)


@pytest.mark.parametrize("key", [20, (0, 17), (0, 0, -25), (0, 0, 0, 0), (0.5,), "x"], ids=str)
def test_wrong_indices_are_those_of_numpy(series, key):
    with pytest.raises(IndexError):
        arrays(0)["ux"][key]
    with pytest.raises(IndexError):
        series[0]["ux"][key]


def test_a_slice_reads_no_more(tmp_path):
    with tr.open(write(tmp_path / "run", "raw", checksums=False)) as stored:
        plane = stored[1]["uy"][9]  # and what is known of the step
        before = stored.counters["bytes_read"]
        plane = stored[1]["uy"][8, :, ::2]
        assert plane.shape == (17, 12)
        assert stored.counters["bytes_read"] - before == 23 * 17 * 8  # the box around it
        assert "not read yet" in repr(stored[1]["uy"])
        field = stored[1]["uy"]
        assert (field.shape, field.ndim, field.size, len(field)) == ((20, 17, 24), 3, 20 * 17 * 24, 20)
        assert stored.counters["bytes_read"] - before == 23 * 17 * 8  # the box around it
        assert field.mean() == field.copy().mean() and "mean" in repr(field)
        with pytest.raises(ValueError, match="read-only"):
            field[0] = 1


CHANGES = [
    lambda step: step["ux"],
    lambda step: step["ux"].data,
    lambda step: np.asarray(step["ux"]),
    lambda step: step.vector("u").y,
    lambda step: step["uz"][8],
    lambda step: step["uz"][8, :, ::2],
    lambda step: step["uz"][step["uz"].shape[0] - 1 :],
]


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("chosen", CHANGES)
def test_what_is_read_of_a_field_cannot_be_changed(series, chosen, read):
    """All scripts share it. What is put into a part would be lost, where the part is read for itself."""
    step = series[1]
    if read:
        assert step["uz"].mean() == step["uz"].copy().mean()
    with pytest.raises(ValueError, match="read-only"):
        chosen(step)[...] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        values = chosen(step)
        values *= 2.0
    for name in ("ux", "uy", "uz"):
        np.testing.assert_array_equal(step[name], arrays(1)[name])


def test_what_is_read_can_be_copied_and_changed(series):
    """An array that is no field is new memory at each access, as what `read` returns."""
    step = series[1]
    for find in (lambda: step["ux"].copy(), lambda: step.read("ux"), lambda: step["count"]):
        values = find()
        values[...] = 9
        assert (np.asarray(values) == 9).all() and not (np.asarray(find()) == 9).any()


def test_ranks_cannot_change_what_they_have_read(tmp_path):
    path = write(tmp_path / "run.h5")
    for outcome in KEPT.ranks(3).run(step_programs.put_zeros, path=str(path)):
        assert outcome.error == "ValueError" and "read-only" in outcome.text


def test_by_position_index_and_time(series):
    assert [step.index for step in series] == [step.index for step in series.steps] == [0, 10, 20]
    assert series[-1].index == 20 and [step.index for step in series[1:]] == [10, 20] and series[2:2] == []
    assert series.step(10).time == 0.5
    assert series.at(0.5 + 1e-14).index == 10
    assert [series.at(0.7, "nearest").index, series.at(0.7, "pad").index, series.at(0.7, "backfill").index] == [
        10,
        10,
        20,
    ]
    assert [series.at(1.0, method).index for method in ("nearest", "pad", "backfill")] == [20, 20, 20]
    assert series.at(99, "nearest").index == 20 and series.at(99, "pad").index == 20
    assert series.at(1.0 - 1e-12, "pad").index == series.at(1.0 + 1e-12, "backfill").index == 20, "the same time"


def test_what_is_not_there_is_named(series):
    for work, said in [
        (lambda: series[3], r"no step at position 3; it has positions 0 to 2"),
        (lambda: series.step(14), "no step of index 14; the nearest is 10"),
        (lambda: series.at(0.7), "no step at time 0.7; its times are 0 to 1, next to it 0, 0.5, 1"),
        (lambda: series.at(1.1, "backfill"), "no step from time 1.1 on"),
        (lambda: series.at(-1, "pad"), "no step up to time -1"),
        (lambda: series.at(0.5, "ffill"), "expected 'nearest', 'pad', 'backfill' or None"),
        (lambda: series[0]["uX"], "no field 'uX'; did you mean 'ux'.*it has ux, uy, uz"),
        (lambda: series[0].vector("v"), "vector 'v': step 0 has no field 'vx'"),
        (lambda: series[0].read("u"), "no variable 'u'"),
        (lambda: tr.grad(series[0].vector("u"))["xw"], "no component 'w'; there are 'x', 'y' and 'z'"),
        (lambda: tr.grad(series[0].vector("u"))["x"], "two indices"),
        (lambda: series[0].vector("u")["xy"], "no component 'xy'"),
    ]:  # fmt: skip
        with pytest.raises((tr.InputError, IndexError), match=f"(?i){said}"):
            work()


def test_components_by_name_and_index(series):
    u = series[0].vector("u")
    assert u.x is u["x"] is u[0] and u.z is u["z"] is u[2]
    gradient = tr.grad(u)
    assert gradient["xy"] is gradient[0, 1] and gradient["zz"] is gradient[2, 2]


def test_a_step_keeps_its_fields_and_a_series_does_not_keep_steps(series):
    step = series[0]
    assert step["ux"] is step["ux"] and series[0]["ux"] is not step["ux"]
    assert series.steps[0] is not series.steps[0]


def test_a_field_of_a_closed_series(tmp_path):
    with tr.open(write(tmp_path / "run.bp")) as stored:
        read, unread = stored[0]["ux"], stored[0]["uy"]
        mean = read.mean()
    assert read.mean() == mean
    with pytest.raises(tr.InputError, match=r"run\.bp: the series is closed"):
        unread.mean()


# ---- grids ---------------------------------------------------------------------------------------------------------
def test_a_series_that_does_not_say_its_grid(tmp_path):
    plain = tr.UniformGrid(GRID.points, spacing=GRID.spacing)
    path = write(tmp_path / "run.h5", grid=plain)
    with tr.open(path) as stored:
        assert type(stored[0]["ux"]) is np.ndarray and stored.grid == plain
        with pytest.raises(tr.InputError, match=r"its lengths are not known.*tr\.open\(path, grid=FILE\)"):
            stored[0].vector("u")
    told = tmp_path / "grid.toml"
    told.write_text(
        '[grid]\nlengths = ["2*pi", "pi", "4*pi"]\nboundaries = ["periodic", "free-slip", "periodic"]\n'
        '[variables]\nspeed = "ux"\n'
    )
    for grid in (told, str(told), GRID):
        with tr.open(path, grid=grid) as stored:
            assert stored.grid == GRID
            np.testing.assert_allclose(tr.ddy(stored[0]["uy"]).mean(), 0, atol=1e-12)
    with tr.open(path, grid=told) as stored:
        np.testing.assert_array_equal(stored[1]["speed"], arrays(1)["ux"])


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        (tr.UniformGrid((24, 17, 20)), "needs its boundaries"),
        (tr.UniformGrid((24, 17, 21), boundaries=("periodic",) * 3), "no field has the grid.points"),
        (tr.StretchedGrid((24, 17, 20), coordinates=((), range(17), ())), "needs its boundaries"),
        (
            tr.StretchedGrid(
                (24, 17, 20), boundaries=("periodic", "dirichlet", "periodic"), coordinates=((), range(17), ())
            ),
            "need their law",
        ),
        ("missing.toml", "missing.toml"),
    ],
    ids=["boundaries", "points", "stretched", "no law", "file"],
)
def test_wrong_grids(series, grid, said):
    with pytest.raises((tr.InputError, tr.ConfigError), match=said):
        tr.open(series.path, grid=grid)


def test_a_part_that_is_as_long_as_the_box_is_a_part_all_the_same(tmp_path):
    """Its points begin elsewhere: derivatives at walls would be those of other places."""
    grid = tr.UniformGrid(GRID.points, origin=(0.0, 0.1, 0.0), spacing=GRID.spacing)
    with tr.open(tmp_path / "run.h5", "w", grid=grid) as out:
        out.set_attribute("lengths", list(GRID.lengths))
        out.set_attribute("boundaries", ",".join(GRID.boundaries))
        out.write_step(0.0, arrays(0))
    with (
        tr.open(tmp_path / "run.h5") as stored,
        pytest.raises(tr.InputError, match=r"holds a part of the field only: 17 points in y from 0\.1"),
    ):
        stored[0].vector("u")


def test_the_times_of_a_series_go_before_those_of_a_grid_file(tmp_path):
    """Those that are all the numbers of their steps are none."""
    (tmp_path / "grid.toml").write_text("[time]\ndt = 0.25\nstart = 3.0\n")
    for name, last, expected in (("run", 0.5, [0.0, 0.5, 20.0]), ("none", 10.0, [3.0, 5.5, 8.0])):
        with tr.open(tmp_path / f"{name}.h5", "w", grid=GRID) as out:
            for time, index in ((0.0, 0), (last, 10), (20.0, 20)):
                out.write_step(time, arrays(0), index=index)
        with tr.open(tmp_path / f"{name}.h5", grid=tmp_path / "grid.toml") as stored:
            assert [step.time for step in stored] == expected


def test_wrong_boundaries_are_not_written(tmp_path):
    grid = tr.UniformGrid((8, 8, 8), boundaries=("periodic", "wall", "periodic"))
    with pytest.raises(tr.InputError, match="wall"):
        tr.open(tmp_path / "run.h5", "w", grid=grid)
    with pytest.raises(tr.InputError, match="UniformGrid or a StretchedGrid"):
        tr.open(tmp_path / "run.h5", "w", grid="grid.toml")
    assert not list(tmp_path.iterdir())


def test_single_precision(tmp_path):
    with tr.open(tmp_path / "run.h5", "w", grid=GRID, precision="float32") as out:
        out.write_step(0.0, arrays(0))
    assert tr.open(tmp_path / "run.h5")[0]["ux"].dtype == np.float32
    with tr.open(tmp_path / "run.h5", precision="float64") as stored:
        assert stored[0]["ux"].dtype == stored[0]["ux"].copy().dtype == np.float64
        assert stored[0].read("ux").dtype == np.float32


def test_a_grid_that_goes_on(tmp_path):
    path = write(tmp_path / "run.h5", count=1)
    with tr.open(path, "a", grid=GRID) as out:
        out.write_step(0.5, arrays(1), index=10)
    assert tr.open(path).grid == GRID and len(tr.open(path)) == 2


# ---- ranks -----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module", params=[1, 2, 3, 4, 6])
def ranks(request):
    return KEPT.ranks(request.param)


@pytest.mark.parametrize(("engine", "place"), [("hdf5", "run.h5"), ("bp5", "run.bp"), ("raw", "run")])
def test_on_any_number_of_ranks(ranks, tmp_path, engine, place):
    path = tmp_path / place
    ranks.results(step_programs.write_fields, path=str(path), engine=engine, parameters={})
    with tr.open(path) as alone:
        expected = []
        for step in alone:
            np.testing.assert_array_equal(step["uz"], arrays(step.index // 10)["uz"])
            u = step.vector("u")
            expected += [tr.mean(u @ u), tr.mean_square(tr.curl(u)), float(u.x.max())]
    for found in ranks.results(step_programs.read_fields, path=str(path)):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_fields_of_other_ranks_are_refused(ranks, tmp_path):
    for outcome in ranks.run(step_programs.write_from_other_ranks, path=str(tmp_path / "own.h5")):
        assert ranks.size == 1 or f"shared by 1 ranks, the series is written by {ranks.size}" in outcome.text


def test_fields_can_be_sent(series):
    values = pickle.loads(pickle.dumps(np.asarray(series[0]["ux"])))
    np.testing.assert_array_equal(values, arrays(0)["ux"])


def test_one_single_precision_field_leaves_the_others_in_double(tmp_path):
    values = np.arange(np.prod(GRID.points), dtype=float).reshape(GRID.points[::-1]) + 1e-12
    with tr.open(tmp_path / "run.h5", "w", grid=GRID) as out:
        out.write_step(0.1, index=1, ux=values, uy=values.astype(np.float32))
    with tr.open(tmp_path / "run.h5") as stored:
        assert stored[0]["ux"].dtype == np.float64
        np.testing.assert_array_equal(stored[0]["ux"], values)


@pytest.mark.parametrize(
    "use",
    [
        tr.ddx, tr.grad, tr.laplacian, tr.mean_square, tr.integral, tr.histogram, tr.spectrum, tr.filter,
        lambda f: tr.spectrum_1d(f, "x"), lambda f: tr.correlation(f, "x"), lambda f: tr.interpolate(f, "x", "centre"),
        lambda f: tr.plane(f, "y", 0), lambda f: tr.line(f, "x", (0, 0)), lambda f: tr.curl([f, f, f]),
        tr.Probes([(0.5, 0.5, 0.5)]),
    ],
)  # fmt: skip
def test_what_needs_a_grid_says_how_to_give_one(tmp_path, use):
    with tr.open(tmp_path / "g.h5", "w") as out:
        out.write_step(0.0, u=np.ones((4, 6, 8)))
    with (
        tr.open(tmp_path / "g.h5") as series,
        pytest.raises(tr.InputError, match=r"ndarray.*tr\.open\(path, grid=FILE"),
    ):
        use(series[0]["u"])
