"""What a checkpoint tells of its case, and which cases may go on from it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.inputs import cases
from tailrace.flow.stored_state import about_of, blocks_of, check_fits, description_of, stretching_of


@pytest.fixture
def case(tmp_path):
    return tr.load_case(cases.write_case(tmp_path, "mixed"))


def changed(case, **about):
    """A checkpoint of the case that tells other values."""
    told = {key: value for key, value in {**description_of(case, ""), **about}.items() if value is not None}
    return SimpleNamespace(path="checkpoints/step-00000002", about=told, shape=lambda: tuple(case.grid.points))


def test_what_is_told_of_a_case(case):
    assert description_of(case, "a force") == {
        "lengths": [2.0, 3.0, 1.5],
        "boundaries": "periodic,free-slip,periodic",
        "scheme": "rk3",
        "precision": "double",
        "reynolds": 100.0,
        "scalars": "",
        "forcing": "a force",
    }
    assert stretching_of(case) == {}


def test_the_same_case_and_another_reynolds_number_fit(case):
    check_fits(case, changed(case))
    check_fits(case, changed(case, reynolds=7.0))
    check_fits(case, changed(case, scalars=None, forcing=None))  # of an earlier version


@pytest.mark.parametrize(
    ("about", "key", "theirs", "ours"),
    [
        ({"lengths": [2.0, 3.0, 1.6]}, "grid.lengths", "(2.0, 3.0, 1.6)", "(2.0, 3.0, 1.5)"),
        ({"boundaries": "periodic,free-slip,dirichlet"}, "grid.boundaries", "periodic,free-slip,dirichlet",
         "periodic,free-slip,periodic"),
        ({"stretching": "walls", "beta": 0.5}, "grid.stretching", "walls", "none"),
        ({"beta": 0.5}, "grid.beta", "0.5", "None"),
        ({"scalars": "dye"}, "scalar", "dye", ""),
        ({"scheme": "ab2"}, "time.scheme", "ab2", "rk3"),
        ({"precision": "single"}, "numerics.precision", "single", "double"),
        ({"implicit_y": True}, "numerics.implicit_y", "True", "False"),
    ],
)  # fmt: skip
def test_what_differs_is_named_with_both_values(case, about, key, theirs, ours):
    with pytest.raises(tr.InputError) as error:
        check_fits(case, changed(case, **about))
    assert str(error.value) == (
        f"checkpoint checkpoints/step-00000002 was written with {key} = {theirs}, the case says {ours}; resume with "
        "the case it was written by, or start again without --resume"
    )


def test_the_points_are_those_of_the_arrays(case):
    checkpoint = changed(case)
    checkpoint.shape = lambda: (16, 11, 14)
    with pytest.raises(tr.InputError, match=r"with grid\.points = \(16, 11, 14\), the case says \(16, 11, 13\)"):
        check_fits(case, checkpoint)


def test_a_stretched_grid_with_implicit_diffusion_is_told(tmp_path):
    text = cases.write_case(tmp_path, points=(16, 11, 13)).read_text()
    text = text.replace('"periodic", "free-slip", "periodic"]', '"periodic", "wall", "periodic"]')
    (tmp_path / "case.toml").write_text(text)
    more = ["grid.stretching='walls'", "grid.beta=0.5", "numerics.implicit_y=true"]
    case = tr.load_case(tmp_path / "case.toml", more)
    told = description_of(case, "")
    assert (told["stretching"], told["beta"], told["implicit_y"]) == ("walls", 0.5, True)
    check_fits(case, changed(case))
    for key in ("stretching", "beta", "implicit_y"):
        with pytest.raises(tr.InputError, match=rf"\.{key} = "):
            check_fits(case, changed(case, **{key: None}))


@pytest.mark.parametrize(("scheme", "ages"), [("rk3", 0), ("ab2", 1), ("ab3", 2)])
def test_the_parts_of_a_state(tmp_path, scheme, ages):
    case = tr.load_case(cases.write_case(tmp_path, scheme=scheme))
    blocks = tr.Simulation(case, MPI.COMM_SELF).blocks()
    names = [f"{before}u{axis}" for before in ("", *(f"rhs{age}_" for age in range(1, ages + 1))) for axis in "xyz"]
    assert sorted(blocks) == sorted(names)
    for block in blocks.values():
        assert (block.shape, block.start, np.shape(block.data)) == ((16, 11, 13), (0, 0, 0), (13, 11, 16))


def test_walls_and_scalars_are_parts_too(tmp_path):
    text = cases.write_case(tmp_path, points=(16, 11, 13), scheme="ab2").read_text()
    text = text.replace('"periodic", "free-slip", "periodic"]', '"periodic", "wall", "periodic"]')
    (tmp_path / "case.toml").write_text(text + '[[scalar]]\nname = "dye"\nschmidt = 1.0\n')
    blocks = tr.Simulation(tr.load_case(tmp_path / "case.toml"), MPI.COMM_SELF).blocks()
    walls = {name: block for name, block in blocks.items() if name.startswith("wall_")}
    assert sorted(walls) == [f"wall_y_{end}_{name}" for end in ("lower", "upper") for name in ("ux", "uz")]
    for block in walls.values():
        assert (block.shape, block.start, np.shape(block.data)) == ((16, 1, 13), (0, 0, 0), (13, 1, 16))
    for name in ("dye", "rhs1_dye", "ux", "rhs1_ux"):
        assert (blocks[name].shape, np.shape(blocks[name].data)) == ((16, 11, 13), (13, 11, 16))


def test_the_part_of_a_rank_has_its_place(tmp_path):
    """Of a face, a rank that has none of its nodes has nothing, which begins nowhere."""
    text = cases.write_case(tmp_path, points=(16, 11, 13)).read_text()
    text = text.replace('"periodic", "free-slip", "periodic"]', '"periodic", "wall", "periodic"]')
    (tmp_path / "case.toml").write_text(text)
    here = np.zeros((2, 1, 4))
    flow = SimpleNamespace(
        box=((3, 5, 7), (4, 6, 2)), history_ages=0, velocity=lambda i: np.full((2, 6, 4), i),
        face=lambda d, upper, i, _: here if upper else np.zeros((0, 0, 0)),
    )  # fmt: skip
    blocks = blocks_of(flow, tr.load_case(tmp_path / "case.toml"))
    faces = [f"wall_y_{end}_{name}" for end in ("lower", "upper") for name in ("ux", "uz")]
    assert sorted(blocks) == ["ux", "uy", "uz", *faces]
    assert (blocks["uy"].shape, blocks["uy"].start) == ((16, 11, 13), (3, 5, 7)) and (blocks["uy"].data == 1).all()
    for name in ("ux", "uz"):
        upper, lower = (blocks[f"wall_y_{end}_{name}"] for end in ("upper", "lower"))
        assert (upper.shape, upper.start) == (lower.shape, (3, 0, 7)) == ((16, 1, 13), (3, 0, 7))
        assert lower.start == (0, 0, 0)


@pytest.mark.parametrize(("dt", "told"), [("0.01", {"dt": 0.01}), ("'auto'", {})])
def test_what_an_output_tells_of_its_run(tmp_path, dt, told):
    text = cases.write_case(tmp_path).read_text() + '[[scalar]]\nname = "dye"\nschmidt = 0.5\n'
    (tmp_path / "case.toml").write_text(text)
    assert about_of(tr.load_case(tmp_path / "case.toml", [f"time.dt={dt}"])) == {
        "name": "test",
        "reynolds": 100.0,
        **told,
        "lengths": [2.0, 3.0, 1.5],
        "boundaries": "periodic,free-slip,periodic",
        "dye/parity": [1, 1, 1],
        "dye/schmidt": 0.5,
        "interpolation": "aggressive",
    }
