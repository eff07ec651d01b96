"""What `tailrace new` writes runs: two steps on a small grid on one rank, and one more on two ranks."""

import pytest

import tailrace as tr
from tailrace.case import templates

SMALLER = {
    "channel": [12, 17, 10],
    "cylinder": [41, 25, 8],
    "hit": [14, 14, 14],
    "lock-exchange": [33, 13, 8],
    "mixing": [16, 21, 10],
    "own-flow": [12, 13, 8],
    "scalar": [10, 15, 12],
    "tgv": [12, 10, 14],
    "turbulence": [18, 18, 18],
}


@pytest.mark.parametrize("name", list(SMALLER))
def test_it_runs(tmp_path, tailrace, name):
    (tmp_path / "case.toml").write_text(templates.case_of(name))
    for file, text in templates.files_of(name).items():
        (tmp_path / file).write_text(text)
    case = tr.load_case(tmp_path / "case.toml")
    small = [f"grid.points={SMALLER[name]}"]
    more = [word for value in small for word in ("--set", value)]
    limit = 'time={dt="auto", dt_max=0.01, steps=2}'
    tailrace(tmp_path, "run", "case.toml", *more, "--set", limit)
    tailrace(tmp_path, "run", "case.toml", *more, "--set", limit.replace("2}", "3}"), "--resume", ranks=2)
    with tr.open(tmp_path / "snapshots.h5") as series:
        first = series[0]
        assert first.names == case.output[0].fields
        assert first.index == 0
        assert series.verify() == []
    lines = (tmp_path / "time_series.csv").read_text().splitlines()
    assert lines[-1].startswith("3,")
    assert "nan" not in lines[-1]


def test_there_is_none_that_is_not_run():
    assert sorted(SMALLER) == templates.names()


def test_comments_name_the_file_that_was_written(tmp_path, tailrace):
    tailrace(tmp_path, "new", "channel", "--path", "mine.toml")
    assert "tailrace run mine.toml" in (tmp_path / "mine.toml").read_text()
    assert "channel.toml" not in (tmp_path / "mine.toml").read_text() + (tmp_path / "channel_flow.py").read_text()


def test_what_it_says_can_be_pasted(tmp_path, tailrace):
    said = tailrace(tmp_path, "new", "tgv", "--path", "my case.toml").out
    assert "tailrace run 'my case.toml' -n 2" in said
    assert "tailrace run 'my case.toml'" in (tmp_path / "my case.toml").read_text()


def test_a_directory_is_no_case(tmp_path, tailrace):
    (tmp_path / "my runs").mkdir()
    said = tailrace(tmp_path, "new", "tgv", "--path", "my runs", code=2).text
    assert "my runs is a directory; --path must name the case file: for example --path 'my runs/tgv.toml'" in said
