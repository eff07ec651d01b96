"""The grid of the fields of a series: what it stores, what its user adds, and what is said where these do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailrace as tr

PERIODIC = ("periodic",) * 3
WALLS = ("periodic", "dirichlet", "periodic")
POINTS = (16, 9, 12)
PLACES = tr.UniformGrid(POINTS, spacing=(0.5, 0.25, 0.125))
BOX = {"lengths": [8.0, 2.0, 1.5], "boundaries": ",".join(WALLS)}


def write(path: Path, grid: tr.UniformGrid | None = PLACES, fields: Any = None, **attributes: Any) -> Path:
    with tr.open(path, "w", grid=grid) as out:
        for name, value in attributes.items():
            out.set_attribute(name, value)
        out.write_step(0.0, fields or {"ux": np.ones(POINTS[::-1])})
    return path


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"lengths": BOX["lengths"]}, "its boundaries are not known: it has no attribute 'boundaries'"),
        ({"boundaries": BOX["boundaries"]}, "its lengths are not known: it has no attribute 'lengths'"),
        ({**BOX, "lengths": "long"}, r"attributes lengths = 'long' and boundaries = .* do not tell three directions"),
        ({**BOX, "lengths": [8.0, 2.0]}, "do not tell three directions"),
        ({**BOX, "lengths": [8.0, 2.0, 1.5, 1.0]}, "do not tell three directions"),
        ({**BOX, "lengths": 8.0}, "do not tell three directions"),
        ({**BOX, "boundaries": "periodic,dirichlet"}, "do not tell three directions"),
        ({**BOX, "boundaries": "periodic,wall,periodic"}, "run.h5: .*wall"),
        ({**BOX, "stretching": 3, "beta": 0.5}, "stretching = 3 and beta = 0.5 are no name of a"),
        ({**BOX, "stretching": "walls", "beta": "b"}, "stretching = 'walls' and beta = 'b' are no name of"),
        ({**BOX, "lengths": [8.0, 2.0, 3.0]},
         r"holds a part of the field only: 12 points in z from 0, 0\.125 apart, of a periodic box of length 3\. "),
        ({**BOX, "lengths": [8.0, 4.0, 1.5]},
         r"holds a part of the field only: 9 points in y from 0, 0\.25 apart, of a dirichlet box of length 4\. "),
    ],
)  # fmt: skip
def test_attributes_that_tell_no_grid(tmp_path: Path, attributes: dict[str, Any], said: str) -> None:
    """Its fields are arrays, whatever they say."""
    with tr.open(write(tmp_path / "run.h5", **attributes)) as series:
        assert type(series[0]["ux"]) is np.ndarray
        for _ in range(2):
            with pytest.raises(tr.InputError, match=said):
                _ = series[0].operators


def test_a_plane_says_how_far_its_points_are_apart(tmp_path: Path) -> None:
    grid = tr.UniformGrid((16, 9, 1), (0.0, 0.0, 0.5), (0.5, 0.25, 0.125))
    path = write(tmp_path / "run.h5", grid, {"ux": np.ones((1, 9, 16))}, **BOX)
    with (
        tr.open(path) as series,
        pytest.raises(tr.InputError, match=r"1 points in z from 0\.5, 0\.125 apart, of a periodic box of length 1\.5"),
    ):
        _ = series[0].operators


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_points_that_are_not_equally_spaced(tmp_path: Path, axis: int) -> None:
    """The last one stays where it is, so that the box is whole."""
    places: list[Any] = [(), (), ()]
    places[axis] = np.array(PLACES.coordinates[axis])
    places[axis][3] += 0.01
    path = write(tmp_path / "run.h5", tr.StretchedGrid(POINTS, PLACES.origin, PLACES.spacing, places), **BOX)
    more = ", or in y the attributes stretching and beta" if axis == 1 else ""
    said = f"{path}: the points in {'xyz'[axis]} are not equally spaced; the schemes need equal spacing{more}"
    with tr.open(path) as series, pytest.raises(tr.InputError) as error:
        _ = series[0].operators
    assert str(error.value) == said


def test_schemes_that_cannot_be_made_are_tried_once(tmp_path: Path) -> None:
    with tr.open(write(tmp_path / "run.h5", **BOX, interpolation="strange")) as series:
        errors = []
        for _ in range(2):
            with pytest.raises(tr.InputError, match=r"run\.h5: .*strange") as error:
                _ = series[0].operators
            errors.append(error.value)
    assert errors[0] is errors[1]
    with tr.open(write(tmp_path / "sound.h5", **BOX)) as series:
        assert series[0].operators is series[0].operators


def test_the_fields_on_a_grid_that_is_not_known(tmp_path: Path) -> None:
    fields = {"u": np.ones((3, 4, 5)), "v": np.ones((10, 9, 8))}
    with tr.open(write(tmp_path / "run", None, fields, **BOX)) as series:
        said = r"it is not known which fields are on the grid; they have 5 x 4 x 3, 8 x 9 x 10 points in x, y, z\."
        with pytest.raises(tr.InputError, match=said):
            _ = series[0].operators
        assert series[0].names == ["u", "v"]
    with tr.open(tmp_path / "lists", "w") as out:
        out.write_step(0.0, lists={"p": np.ones(4)})
    with tr.open(tmp_path / "lists") as series, pytest.raises(tr.InputError, match="they have no fields points"):
        _ = series[0].operators
    (tmp_path / "grid.toml").write_text(
        '[grid]\npoints = [8, 9, 10]\nlengths = [8, 9, 10]\nboundaries = ["periodic", "periodic", "periodic"]\n'
    )
    with tr.open(tmp_path / "run", grid=tmp_path / "grid.toml") as series:
        assert isinstance(series[0]["v"], tr.Field) and type(series[0]["u"]) is np.ndarray
    with pytest.raises(
        tr.InputError, match=r"no field has the grid.points = \[8, 9, 10\] of the grid file; found no fields, each in x"
    ):
        tr.open(tmp_path / "lists", grid=tmp_path / "grid.toml")


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        ("uxx", r"has no 'uxx' \(variables.speed of the grid file\); did you mean 'ux'\?"),
        ("nothing", r"has no 'nothing' \(variables.speed of the grid file\); it has ux, uy"),
    ],
)
def test_names_of_a_grid_file(tmp_path: Path, theirs: str, said: str) -> None:
    ones = np.ones(POINTS[::-1])
    path = write(tmp_path / "run.h5", fields={"ux": ones, "uy": 2 * ones}, **BOX)
    given = tmp_path / "grid.toml"
    given.write_text(f'[variables]\nspeed = "{theirs}"\n')
    for precision in (None, "float64"):
        with pytest.raises(tr.InputError, match=said):
            tr.open(path, grid=given, precision=precision)  # type: ignore[arg-type]
    given.write_text('[variables]\nspeed = "ux"\n')
    with tr.open(path, grid=given) as series:
        assert series[0].names == ["uy", "speed"] and series[0]["speed"].max() == 1.0


def test_what_the_user_gives_goes_before_what_is_stored(tmp_path: Path) -> None:
    """Also places and a stretching."""
    stored = tr.StretchedGrid(POINTS, spacing=(0.5, 0.25, 0.125), boundaries=WALLS, stretching="walls", beta=0.5)
    path = write(tmp_path / "run.h5", stored)
    given = tr.UniformGrid(POINTS, spacing=(1.0, 0.5, 0.25), boundaries=PERIODIC)
    with tr.open(path) as series:
        found = series[0].known.coordinates()
        assert found is not None
        for one, places in zip(found, stored.coordinates, strict=True):
            np.testing.assert_allclose(one, places, rtol=0, atol=1e-14)
        assert (series[0].attributes["stretching"], series[0].attributes["beta"]) == ("walls", 0.5)
        assert series.grid is not None and series.grid.boundaries == WALLS
    with tr.open(path, grid=given) as series:
        found = series[0].known.coordinates()
        assert found is not None
        for one, places in zip(found, given.coordinates, strict=True):
            np.testing.assert_allclose(one, places, rtol=0, atol=1e-14)
        assert not {"stretching", "beta"} & series[0].attributes.keys()
        assert series.grid == given


def test_places_that_are_not_known(tmp_path: Path) -> None:
    with tr.open(write(tmp_path / "run", None)) as series:
        assert series[0].known.coordinates() is None and series.grid is None
    with tr.open(write(tmp_path / "part.h5", tr.UniformGrid((4, 4, 4), spacing=(0.5, 0.25, 0.125)))) as series:
        assert series[0].known.coordinates()[0].tolist() == [0.0, 0.5, 1.0, 1.5]


@pytest.mark.parametrize(
    ("types", "precision", "expected"),
    [
        (("float32", "float32"), None, "float32"),
        (("float32", "float64"), None, "float64"),
        (("float32", "int32"), None, "float64"),
        (("float64", "float64"), "float32", "float32"),
        (("float32", "float32"), "float64", "float64"),
    ],
)
def test_the_type_of_the_fields(tmp_path: Path, types: tuple[str, str], precision: Any, expected: str) -> None:
    fields = {name: np.ones(POINTS[::-1], dtype) for name, dtype in zip(("ux", "n"), types, strict=True)}
    with tr.open(write(tmp_path / "run.h5", fields=fields, **BOX), precision=precision) as series:
        assert series[0]["ux"].dtype == expected
        assert series[0]["n"].dtype == (types[1] if types[1] == "int32" else expected)


def test_the_grid_of_a_series_that_is_written_or_has_no_steps(tmp_path: Path) -> None:
    with tr.open(tmp_path / "run.h5", "w", grid=PLACES) as out:
        for count in range(2):
            assert len(out) == count and out.grid == PLACES
            out.write_step(float(count), ux=np.ones(POINTS[::-1]))
    with tr.open(tmp_path / "empty.h5", "w", grid=PLACES):
        pass
    with tr.open(tmp_path / "empty.h5") as series:
        assert len(series) == 0 and series.grid in (None, PLACES)


def test_four_times_are_told_around_one_that_is_not_there(tmp_path: Path) -> None:
    with tr.open(tmp_path / "run.h5", "w") as out:
        for time in (0.0, 1.0, 2.0, 4.0, 8.0, 16.0):
            out.write_step(time, u=np.ones((2, 3, 4)))
    with tr.open(tmp_path / "run.h5") as series:
        with pytest.raises(tr.InputError, match=r"at time 3; its times are 0 to 16, next to it 0, 1, 2, 4\. series"):
            series.at(3.0)
        found = [[series.at(time, method).time for method in ("nearest", "pad", "backfill")] for time in (2.9, 4.0)]
        assert found == [[2.0, 2.0, 4.0], [4.0, 4.0, 4.0]]


def test_other_names_need_no_grid(tmp_path: Path) -> None:
    path = write(tmp_path / "run.h5", None, {"a": np.full(POINTS[::-1], 2.0)})
    names = tmp_path / "names.toml"
    names.write_text('variables = {ux = "a"}\n')
    with tr.open(path, grid=names) as series:
        assert series[0].names == ["ux"] and (series[0]["ux"] == 2.0).all()
        with pytest.raises(tr.InputError, match="its lengths are not known"):
            _ = series[0].operators
    names.write_text('variables = {ux = "b"}\n')
    with pytest.raises(tr.InputError, match="has no 'b'"):
        tr.open(path, grid=names)
