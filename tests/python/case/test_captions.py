"""Texts with values of a case, what --set leaves out, and keys that an older version did not write."""

import pytest

import tailrace as tr
from helpers.inputs import cases
from tailrace.case.captions import caption
from tailrace.case.difference import differences

CASE = {
    "case": {"reynolds": 250.0, "name": "jet"},
    "time": {"dt": 0.0025},
    "output": [{"every": 10}, {"every": 20}],
}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Re {reynolds}", "Re 250"),
        ("{case.name}: dt = {time.dt:.1e}", "jet: dt = 2.5e-03"),
        ("{output[1].every} and {dt}", "20 and 0.0025"),
        ("no braces, {2}, $u^{2}$", "no braces, {2}, $u^{2}$"),
    ],
)
def test_braces_take_values(text, shown):
    assert caption(text, CASE) == shown


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{reynold}", "no such key; did you mean reynolds?"),
        ("{every}", r"output\[0\].every and output\[1\].every end so"),
        ("{name:.2f}", "Unknown format code"),
    ],
)
def test_what_has_no_value_is_told(text, reason):
    with pytest.raises(ValueError, match=reason):
        caption(text, CASE)


def document():
    """A case with one picture."""
    box = {"points": [8, 9, 10], "lengths": [1.0, 1.0, 1.0], "boundaries": ["periodic"] * 3}
    picture = {"name": "q", "every": 1, "layers": [{"surface": "q"}]}
    return {
        "case": {"flow": "taylor-green", "reynolds": 100.0},
        "grid": box,
        "time": {"dt": 0.01, "steps": 3},
        "picture": [picture],
    }


def test_a_title_of_a_picture_is_checked_with_the_case():
    given = document()
    given["picture"][0]["title"] = "Re {renolds}"
    with pytest.raises(tr.ConfigError, match=r"picture\[0\].title: \{renolds\}: the case has no such key"):
        tr.Case(**given)


def test_a_key_that_an_older_version_did_not_write_had_its_default():
    now = tr.Case(**document()).to_toml()
    older = now.replace("orbit = 0.0\n", "").replace('label = ""\n', "")
    assert older != now
    assert differences(older, now) == []
    turned = now.replace("orbit = 0.0", "orbit = 4.0")
    assert [one.key for one in differences(older, turned)] == ["picture[0].orbit"]


def test_what_set_leaves_out_is_told(tmp_path):
    cases.write_case(tmp_path)
    changed = 'time={dt = "auto", dt_max = 0.02, cfl = 0.5, steps = 3}'
    case = tr.load_case(tmp_path / "case.toml", [changed, "time.dt=0.01"])
    assert case.notes() == [
        "--set time.dt=0.01 leaves out time.cfl = 0.5",
        "--set time.dt=0.01 leaves out time.dt_max = 0.02",
    ]
    assert tr.load_case(tmp_path / "case.toml", [changed, "time.dt=auto"]).notes() == []
