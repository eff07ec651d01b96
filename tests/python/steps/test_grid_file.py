"""What a user knows of a grid, in each of its forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import tailrace as tr
from tailrace.steps.grid_file import GridFile, GridPart, given_grid, read_grid_file

WALLS = ("periodic", "dirichlet|free-slip", "periodic")


def part(y: Any, **more: Any) -> GridPart:
    return GridPart.model_validate({"lengths": [1.0, 2.0, 3.0], "boundaries": ["periodic", y, "periodic"], **more})


@pytest.mark.parametrize(
    ("given", "one"),
    [
        ("periodic", "periodic"),
        ("free-slip", "free-slip"),
        (["dirichlet"], "dirichlet"),
        (["dirichlet", "free-slip"], "dirichlet|free-slip"),
        (("free-slip", "dirichlet"), "free-slip|dirichlet"),
        ("dirichlet|free-slip", "dirichlet|free-slip"),
        (["dirichlet", "dirichlet"], "dirichlet"),
        ("periodic|periodic", "periodic"),
    ],
)
def test_boundaries_of_one_direction(given: Any, one: str) -> None:
    assert part(given).boundaries == ("periodic", one, "periodic")


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("wall", ""), ("", ""), ([], ""), (3, ""), (None, ""), ({"dirichlet"}, ""), ("dirichlet|", ""),
        (["dirichlet", "free-slip", "dirichlet"], ""), (["dirichlet"] * 3, ""),
        (["periodic", "dirichlet"], ""), ("free-slip|periodic", ""),
        ("dirichle", "dirichlet"), (["dirichlet", "free-slp"], "free-slip"), (["periodc", "dirichlet"], "periodic"),
    ],
)  # fmt: skip
def test_wrong_boundaries_name_the_nearest(given: Any, hint: str) -> None:
    with pytest.raises(ValidationError) as error:
        part(given)
    (said,) = (one["msg"] for one in error.value.errors())
    assert "must be 'periodic', 'free-slip' or 'dirichlet', or a list of two of them" in said
    assert said.endswith(f"; did you mean '{hint}'?" if hint else "as ['dirichlet', 'free-slip']")


def test_stretching_and_beta_belong_together() -> None:
    assert part("dirichlet", stretching="walls", beta=0.5).beta == 0.5
    assert part("dirichlet").stretching is part("periodic").beta is None
    for more in ({"stretching": "walls"}, {"beta": 0.5}):
        with pytest.raises(ValidationError, match="belong together; one of them is missing"):
            part("dirichlet", **more)
    with pytest.raises(ValidationError, match="y is periodic; only a y with free-slip or dirichlet"):
        part("periodic", stretching="walls", beta=0.5)


def test_its_values_are_attributes() -> None:
    assert GridFile().attributes() == {}
    box = {"lengths": [1.0, 2.0, 3.0], "boundaries": "periodic,dirichlet,periodic"}
    assert GridFile(grid=part("dirichlet")).attributes() == box
    stretched = part("dirichlet", stretching="walls", beta=0.5)
    assert GridFile(grid=stretched).attributes() == box | {"stretching": "walls", "beta": 0.5}
    more = GridFile.model_validate({"reynolds": 100.0, "time": {"dt": 0.25}})
    assert more.attributes() == {"reynolds": 100.0, "dt": 0.25}


def test_a_time_that_only_counts_is_replaced() -> None:
    timed = GridFile.model_validate({"time": {"dt": 0.25, "start": 3.0}})
    assert [timed.time_of(index) for index in (0, 8)] == [3.0, 5.0]


def test_every_form_of_a_grid(tmp_path: Path) -> None:
    assert given_grid(None) == GridFile()
    mine = GridFile(grid=part("dirichlet"))
    assert given_grid(mine) is mine
    uniform = tr.UniformGrid((8, 9, 10), spacing=(0.125, 0.25, 0.3), boundaries=("periodic", "dirichlet", "periodic"))
    expected = part("dirichlet", points=[8, 9, 10])
    for grid in (uniform, uniform.checked()):
        assert given_grid(grid) == GridFile(grid=expected)
    stretched = tr.StretchedGrid(
        (8, 9, 10), spacing=(0.125, 0.25, 0.3), boundaries=WALLS, stretching="bottom", beta=0.5
    )
    found = given_grid(stretched).grid
    assert found is not None and (found.stretching, found.beta, found.boundaries) == ("bottom", 0.5, WALLS)
    assert found.points == (8, 9, 10) and found.lengths == pytest.approx((1.0, 2.0, 3.0))
    path = tmp_path / "grid.toml"
    path.write_text('[grid]\nlengths = [1, 2, 3]\nboundaries = ["periodic", "dirichlet", "periodic"]\n')
    assert given_grid(path) == given_grid(str(path)) == read_grid_file(path) == mine
    path.write_text("reynolds = -1.0\n[grid]\nlengths = [1, 2, 3]\n")
    with pytest.raises(tr.ConfigError, match=r"(?s)grid\.toml.*reynolds.*"):
        given_grid(path)
    with pytest.raises(tr.InputError, match="a UniformGrid to read with needs its boundaries"):
        given_grid(tr.UniformGrid((8, 9, 10)))
