"""The plan of a conversion: what is taken from a source that has no grid, or names that a series does not take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any

import numpy as np
import pytest

import tailrace as tr
from tailrace.conversion.plan import make_plan
from tailrace.conversion.request import COMPRESSING, ConversionRequest
from tailrace.conversion.selection import Cut, Selection
from tailrace.io.placement import Box, Stored


@dataclass
class OneStep:
    """A step with its metadata only: a plan reads nothing else."""

    variables: dict[str, Stored]
    index: int = 0
    time: float = 0.0
    scalars: dict[str, Any] = field(default_factory=dict)
    derived: dict[str, Stored] = field(default_factory=dict)
    vectors: dict[str, tuple[str, str, str]] = field(default_factory=dict)

    def components(self, name: str) -> int:
        """As of a step of a series."""
        return sum(one.startswith(f"{name}_") for one in self.variables)


class Source(list[Any]):
    """A series of such steps."""

    path = "in"

    def __init__(self, *steps: OneStep, grid: Any = None, attributes: Mapping[str, Any] = {}) -> None:
        super().__init__(steps)
        self.grid, self.attributes = grid, dict(attributes)


def array(*shape: int, dtype: str = "float64", is_list: bool = False) -> Stored:
    x, y, z = shape
    return Stored(dtype, (x, y, z), is_list)


def test_the_points_of_a_source_without_a_grid_are_those_of_its_largest_array():
    arrays = {"u": array(8, 6, 4), "plane": array(8, 6, 1), "table": array(500, 9, 1, is_list=True)}
    source = Source(OneStep(arrays), OneStep(arrays, index=1))
    plan = make_plan(source, Selection(coarsen=(2, 3, 1)), "hdf5")
    shapes = [{name: one.target.shape for name, one in step.variables.items()} for step in plan.steps]
    assert shapes == [{"u": (4, 2, 4), "plane": (8, 6, 1), "table": (500, 9, 1)}] * 2
    assert plan.notes == [
        "plane is kept whole: it is not on the points of the grid",
        "table is kept whole: it is a list",
    ]
    assert plan.size == 2 * 8 * (4 * 2 * 4 + 48 + 4500) and plan.grid is None


def test_the_points_are_those_of_the_grid_where_there_is_one():
    step = OneStep({"u": array(8, 6, 4), "fine": array(16, 12, 8)})
    plan = make_plan(Source(step, grid=tr.UniformGrid((8, 6, 4))), Selection(coarsen=(2, 2, 2)), "hdf5")
    assert [one.target.shape for one in plan.steps[0].variables.values()] == [(4, 3, 2), (16, 12, 8)]
    assert plan.grid is not None and plan.grid.points == (4, 3, 2)


def test_only_a_series_needs_plain_names_and_rising_indices():
    steps = [OneStep({"u'": array(4, 3, 2)}, index=index, scalars={"a b": 1.0}) for index in (2, 2)]
    plan = make_plan(Source(*steps), Selection(), None)
    assert [(list(step.variables), step.scalars) for step in plan.steps] == [(["u'"], {"a b": 1.0})] * 2
    with pytest.raises(tr.InputError, match=r'"u\'" cannot name a variable of a series: .*choose others by variables'):
        make_plan(Source(*steps), Selection(), "hdf5")
    for step in steps:
        step.variables = {"u": array(4, 3, 2)}
    with pytest.raises(tr.InputError, match="in: the indices of its steps do not rise: 2 comes after 2"):
        make_plan(Source(*steps), Selection(), "hdf5")
    steps[1].index = 3
    plan = make_plan(Source(*steps), Selection(), "hdf5")
    assert plan.steps[0].scalars == {"a.b": 1.0} and plan.attributes == {"renamed": "a.b a b"}


def test_first_names_are_not_told_where_they_are_the_names():
    source = Source(OneStep({"u": array(4, 3, 2)}, scalars={"a.b": 1.0}), attributes={"renamed": "a.b a b", "n": 3})
    plan = make_plan(source, Selection(), None)
    assert plan.attributes == {"n": 3} and plan.steps[0].scalars == {"a b": 1.0}
    assert make_plan(source, Selection(), "hdf5").attributes == {"renamed": "a.b a b", "n": 3}


def test_a_name_may_be_in_some_of_the_steps():
    one, other = OneStep({"u": array(4, 3, 2)}), OneStep({"v": array(4, 3, 2)}, index=1)
    plan = make_plan(Source(one, other), Selection(variables=("v",)), "hdf5")
    assert [list(step.variables) for step in plan.steps] == [[], ["v"]]
    with pytest.raises(tr.InputError, match="the chosen steps have no 'w'; it has u, v"):
        make_plan(Source(one, other), Selection(variables=("v", "w")), "hdf5")


def test_a_vector_may_be_named_and_what_is_computed():
    variables = {"ux": array(4, 3, 2), "uz": array(4, 3, 2), "f_1": array(4, 3, 2), "f_2": array(4, 3, 2)}
    step = OneStep(variables, derived={"q": array(4, 3, 2)}, vectors={"u": ("ux", "uy", "uz")})
    for chosen, found in ((("u",), ["ux", "uz"]), (("q", "f"), ["q", "f_1", "f_2"]), (None, list(variables))):
        plan = make_plan(Source(step), Selection(variables=chosen), "hdf5")
        assert list(plan.steps[0].variables) == found


# ---- what is chosen --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("stored", "precision", "dtype"),
    [
        ("float64", "float32", "float32"),
        ("float32", "float64", "float64"),
        ("int32", "float32", "int32"),
        ("complex128", "float32", "complex128"),
        ("float64", None, "float64"),
    ],
)
def test_precision_is_of_real_numbers(stored: str, precision: Any, dtype: str):
    assert Selection(precision=precision).dtype(stored) == dtype


def test_every_step_may_be_asked_for():
    assert Selection(steps=slice(None, None, 1)).positions(3) == range(3)
    assert Selection(steps=slice(1, None, 2)).positions(6) == range(1, 6, 2)
    for step in (0, -1):
        with pytest.raises(tr.InputError, match=rf"every n-th step with n from 1 on \(found {step}\)"):
            Selection(steps=slice(None, None, step)).positions(3)


def test_the_source_of_kept_points_ends_at_the_last_of_them():
    cut = Cut((1, 0, 2), (3, 4, 2), (2, 1, 3))
    assert cut.source_box(Box((1, 1, 0), (2, 3, 2))) == Box((3, 1, 2), (3, 3, 4))
    assert cut.source_box(Box((0, 0, 0), (1, 0, 1))) == Box((1, 0, 2), (1, 0, 1)), "of no points, none"


@pytest.mark.parametrize("stride", [1, 2])
def test_a_part_of_uneven_coordinates_has_one_for_each_point(stride: int):
    y = [0.0, 1.0, 3.0, 7.0, 8.0, 9.5]
    grid = tr.StretchedGrid((7, 6, 5), (0.5, 0, -1), (0.1, 0.2, 0.25), ([], y, []))
    part = Selection(box=(slice(None), slice(1, 5), slice(None)), coarsen=(1, stride, 1)).grid(grid)
    assert isinstance(part, tr.StretchedGrid) and list(part.coordinates[1]) == y[1:5:stride]


def test_a_box_keeps_its_points_and_a_part_of_nothing_is_refused():
    whole = Selection(box=(slice(0, 4), slice(None, 3), slice(1, None)))
    assert whole.cut((4, 3, 2)) == Cut((0, 0, 1), (4, 3, 1), (1, 1, 1))
    for box in ((slice(2, 2), slice(None), slice(None)), (slice(-1, 2), slice(None), slice(None))):
        with pytest.raises(tr.InputError, match="expected 0 <= begin < end <= 4 in x"):
            Selection(box=box).cut((4, 3, 2))


# ---- the request -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("how", "writer", "engine"),
    [
        ({"target": "out.h5"}, None, "hdf5"),
        ({"target": "out"}, None, "raw"),
        ({"target": "out.pvd"}, "pvd", None),
        ({"target": "out.pvd", "engine": "bp5"}, None, "bp5"),
        ({"target": "out.pvd", "format": "vtkhdf"}, None, "hdf5"),
        ({"target": "out.h5", "format": "xdmf"}, None, "raw"),
        ({"target": "out.h5", "engine": "raw"}, None, "raw"),
        ({"target": "out.h5", "format": "pencil-hdf5"}, "pencil-hdf5", None),
    ],
)
def test_who_writes_the_target(how: dict[str, Any], writer: str | None, engine: str | None):
    request = ConversionRequest("in", **how)
    assert (request.writer, request.target_engine) == (writer, engine)
    request.check()


def test_the_environment_may_name_the_engine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TAILRACE_ENGINE", "bp4")
    assert ConversionRequest("in", "out.h5").target_engine == "bp4"
    assert ConversionRequest("in", "out.h5", engine="raw").target_engine == "raw"
    monkeypatch.setenv("TAILRACE_ENGINE", "")
    assert ConversionRequest("in", "out.bp").target_engine == "bp5"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"engine": "raw", "compression": "gzip"}, "compression: raw does not compress; .*hdf5"),
        ({"format": "pencil-hdf5", "compression": "gzip"}, "compression: pencil-hdf5 does not compress"),
        ({"format": "netcdf"}, "no such format"),
        ({"engine": "netcdf"}, "engine = 'netcdf': no such engine"),
        ({"engine": "hdf5", "format": "vtkhdf"}, "give one of them"),
        ({"source": "sst:in"}, "sst:in: is a stream, and the source of a conversion must be on disk"),
        ({"target": "sst:out"}, "sst:out: is a stream, and the target of a conversion must be on disk"),
        ({"target": ".."}, "is no name for the target"),
        ({"target": ""}, "is no name for the target"),
        ({"delete_originals": True, "verify": False}, "needs the comparison"),
        ({"delete_originals": True, "selection": Selection(steps=slice(1, None))}, "with --steps the result"),
    ],
)
def test_a_wrong_request_is_told_before_anything_is_opened(how: dict[str, Any], message: str):
    with pytest.raises(tr.InputError, match=message):
        ConversionRequest(**{"source": "in", "target": "out", **how}).check()


def test_a_right_request_passes():
    ConversionRequest("in", "out", delete_originals=True).check()
    ConversionRequest("in", "out", verify=False, source_format="pencil").check()
    request = ConversionRequest("in", "out.h5", compression="gzip", parameters={"level": 1})
    request.check()
    assert set(request.engine_parameters().values()) == {"gzip", 1} and "hdf5" in COMPRESSING
    assert "raw" not in COMPRESSING


def test_what_was_chosen_stays():
    """The record of a conversion names what was chosen, so nothing may change it."""
    for one, name in ((Selection(), "steps"), (Cut((0, 0, 0), (1, 1, 1), (1, 1, 1)), "start")):
        with pytest.raises(FrozenInstanceError):
            setattr(one, name, None)
    with pytest.raises(FrozenInstanceError):
        ConversionRequest("in", "out").source = "other"  # type: ignore[misc]
    assert Selection().coarsen == (1, 1, 1) and not Selection().wishes and not Selection().cuts


@pytest.mark.parametrize(
    ("how", "wish"),
    [
        ({"steps": slice(1, None)}, "steps"),
        ({"variables": ("u",)}, "variables"),
        ({"box": (slice(1, 2),) * 3}, "box"),
        ({"coarsen": (2, 1, 1)}, "coarsen"),
        ({"coarsen": (1, 2, 1)}, "coarsen"),
        ({"coarsen": (1, 1, 2)}, "coarsen"),
        ({"precision": "float32"}, "precision"),
    ],
)
def test_what_keeps_less_than_all_is_a_wish(how: dict[str, Any], wish: str):
    one = Selection(**how)
    assert one.wishes == [wish] and one.cuts == (wish in ("box", "coarsen"))
    np.testing.assert_equal(Selection().described() != one.described(), True)
