"""A case made in Python: the tables of a case file as dictionaries."""

import pickle
import tomllib
from pathlib import Path

import numpy as np
import pytest

import tailrace as tr
from tailrace.case.case import case_from_document
from tailrace.case.difference import remembered
from tailrace.case.scripts import load_function
from tailrace.cli.ranks.beside import with_stream

GOOD = {
    "case": {"reynolds": 100.0},
    "grid": {
        "points": np.array([24, 16, 12]),
        "lengths": ("2*pi", np.float64(3.0), np.pi),
        "boundaries": ("periodic", "periodic", "free-slip"),
    },
    "time": {"dt": np.float32(0.5), "steps": np.int64(5)},
}


def test_it_is_the_case_of_the_file(tmp_path):
    case = tr.Case(**GOOD, checkpoint={"path": Path("here")})
    assert (case.grid.points, case.time.dt, case.checkpoint.path) == ((24, 16, 12), 0.5, "here")
    (tmp_path / "case.toml").write_text(case.to_toml())
    assert tr.load_case(tmp_path / "case.toml").model_dump() == case.model_dump()
    assert pickle.loads(pickle.dumps(case)) == case


def test_the_stream_of_an_analysis_is_not_a_part_of_the_case_that_results_tell(tmp_path):
    """Its path is gone with the run: the case that results give back must run without it."""
    made = tr.Case(**GOOD, output=[{"name": "mine", "fields": ["ux"], "every": 1, "engine": "raw"}])
    (tmp_path / "case.toml").write_text(made.to_toml())
    for case in (made, tr.load_case(tmp_path / "case.toml")):
        added = case
        for number in range(2):
            added = with_stream(added, f"sst:{number}", ["ux", "uy"], every=2)
        assert [output.name for output in added.output] == ["mine", "beside", "beside1"]
        assert added.text == case.text
        assert [output["name"] for output in tomllib.loads(added.text)["output"]] == ["mine"]
        assert case.output == made.output, "the case itself is as before"


@pytest.mark.parametrize(
    "changes, found",
    [
        ({"case": 3}, ["case: must be a table (found 3)"]),
        ({"cas": {}}, ["cas: unknown key; did you mean case?"]),
        (
            {"time": {"dt": "a", "steps": True, "scheme": 7}},
            [
                "time.scheme: must be 'euler', 'ab2', 'ab3' or 'rk3' (found 7)",
                'time.dt: must be a number, or "auto" to choose it by the velocity (found "a")',
                "time.steps: must be a whole number (found true)",
            ],
        ),
        ({"case": {1: 2, "reynolds": 1.0}}, ["case[1]: must be text, as all keys (found 1)"]),
        (
            {"output": [{"name": "a", "fields": "ux", "engine": "hdf5", "every": 1.5}]},
            ["output[0] ('a').every: must be a whole number (found 1.5)", "output[0] ('a').fields: must be a list"],
        ),
        (
            {"grid": {"points": np.zeros((3, 3)), "lengths": {1, 2, 3}, "boundaries": ["x", None, "periodic"]}},
            ["grid.points[2]: must be a whole number", "grid.lengths: must be a list", "grid.boundaries[1]: must be"],
        ),
        ({"time": {"dt": 10**400, "steps": 2**60}}, ["time.dt: must be a number (found 1000", "time.steps: must be"]),
    ],
)
def test_all_that_is_wrong_is_one_error_in_our_words(changes, found):
    with pytest.raises(tr.ConfigError) as caught:
        tr.Case(**{**GOOD, **changes})
    text = str(caught.value)
    assert text.startswith("the case: ")
    for problem in found:
        assert problem in text
    assert not any(word in text for word in ("pydantic", "Input should", "validation error"))


def test_nothing_is_given():
    with pytest.raises(tr.ConfigError) as caught:
        tr.Case()
    assert [problem.key for problem in caught.value.problems] == ["case", "grid", "time"]


def test_a_case_after_a_file_that_was_wrong_is_of_python_again():
    with pytest.raises(tr.ConfigError, match="some file: "):
        case_from_document({}, source="some file", directory=Path())
    with pytest.raises(tr.ConfigError, match="the case: "):
        tr.Case()


def test_a_case_with_pictures_comes_back(tmp_path):
    """Texts that are not given are left out: an empty one would be refused."""
    case = tr.Case(
        **GOOD,
        picture=[{"name": "q", "layers": [{"surface": "q", "colour": "ux"}], "every": 1}],
    )
    (tmp_path / "case.toml").write_text(case.to_toml())
    assert tr.load_case(tmp_path / "case.toml").model_dump() == case.model_dump()


def test_files_of_functions_are_loaded_as_python_runs_them(tmp_path):
    """Dataclasses find their module, and files their neighbours."""
    (tmp_path / "neighbour.py").write_text("U = 2.0\n")
    (tmp_path / "mine.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom neighbour import U\n"
        "@dataclass\nclass Set:\n    u: float = U\n"
        "def flow(x, y, z):\n    return Set().u + 0 * x, 0 * x, 0 * x\n"
    )
    assert load_function("mine.py:flow", tmp_path, "case.flow")(1.0, 1.0, 1.0) == (2.0, 0.0, 0.0)


def test_a_remembered_table_of_times_keeps_no_end():
    assert list(remembered(["time={dt=0.01,steps=1}", "case.reynolds=3"], [])) == ["time.dt=0.01", "case.reynolds=3"]
    assert list(remembered(["time={dt=0.01,end=2}"], ["time.dt=0.02"])) == []


@pytest.mark.parametrize("name", ["pp", "vort", "critq", "pressure"])
def test_a_scalar_has_no_name_of_a_field(name):
    with pytest.raises(tr.ConfigError, match=f"'{name}' is taken"):
        tr.Case(**GOOD, scalar=[{"name": name}])
