"""The record of a series that is being replaced: what the next writer makes of it, and what it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tailrace import core as _core
from tailrace.core import IoError
from tailrace.io import series as tr


def write(path: Path, value: float, mode: str = "w") -> None:
    with tr.open(path, mode) as out:
        out.write_step(value, u=np.full((2, 3, 4), value))


def times(path: Path) -> list[float]:
    with tr.open(path) as stored:
        assert stored.verify() == []
        return list(stored.times)


@pytest.fixture
def path(tmp_path):
    """A series in one file."""
    write(tmp_path / "run.h5", 1.0)
    return tmp_path / "run.h5"


def record(path: Path, **changes: object) -> Path:
    """The record of its replacement."""
    found = Path(f"{path}.replaced.json")
    told = {"tailrace": "replaced series", "state": "aside", "beside": [], "names": [], **changes}
    found.write_text(json.dumps({key: value for key, value in told.items() if value is not None}))
    return found


def left(path: Path) -> list[str]:
    return sorted(one.name for one in path.parent.iterdir() if one.suffix not in (".lock", ".xdmf2"))


@pytest.mark.parametrize("how", ["finish", "append"])
@pytest.mark.parametrize("state", ["aside", "remove"])
def test_what_a_kill_left_is_finished(path, state, how):
    old = path.rename(f"{path}.replaced")
    write(path.with_name("new.h5"), 2.0)
    if state == "remove":
        path.with_name("new.h5").rename(path)
    else:
        path.with_name("new.h5").unlink()
    record(path, state=state)
    if how == "finish":
        _core.finish_replacing(str(path))
    else:
        write(path, 3.0, "a")
    assert not old.exists()
    assert left(path) == ["run.h5"]
    assert times(path) == [1.0 if state == "aside" else 2.0, *([3.0] if how == "append" else [])]


@pytest.mark.parametrize("text", ["", "\0" * 50])
def test_a_record_of_a_power_failure_is_removed(path, text):
    Path(f"{path}.replaced.json").write_text(text)
    write(path, 2.0, "a")
    assert times(path) == [1.0, 2.0]
    assert left(path) == ["run.h5"]


@pytest.mark.parametrize(
    "changes",
    [{"tailrace": "other"}, {"state": "gone"}, {"state": None}, {"beside": ["h5"]}, {"beside": 3}, {"names": [".."]},
     {"names": ["a/b"]}, {"names": [""]}, {"names": ["."]}, {"names": None}],
)  # fmt: skip
def test_a_record_that_is_none_is_named_and_nothing_is_touched(path, changes):
    path.rename(f"{path}.replaced")
    found = record(path, **changes)
    before = {one: one.read_bytes() for one in path.parent.iterdir()}
    for mode in ("w", "a"):
        with pytest.raises(IoError, match=rf"cannot write {path}: {found} is damaged, or no record of Tailrace"):
            tr.open(path, mode)
    assert {one: one.read_bytes() for one in before} == before


@pytest.mark.parametrize("name", ["run.h5.replaced", "run.h5.replaced.json.tmp"])
def test_what_has_the_name_that_is_needed(path, name):
    other = path.with_name(name)
    other.write_text("mine")
    if name.endswith(".tmp"):
        write(path, 2.0)
        assert times(path) == [2.0]
    else:
        with pytest.raises(IoError, match=rf"{other}, to which the series there would be renamed .* is there already"):
            write(path, 2.0)
        assert times(path) == [1.0]
    assert other.read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "stays"), [("", False), ('{"tailrace": "replaced series", "sta', False), ("mine", True)]
)
def test_the_draft_of_a_record_that_a_kill_left(path, text, stays):
    draft = Path(f"{path}.replaced.json.tmp")
    draft.write_text(text)
    write(path, 2.0)
    assert draft.exists() == stays
    assert times(path) == [2.0]


def test_a_series_of_several_files_is_set_aside_whole(tmp_path):
    path = tmp_path / "run"
    write(path, 1.0)
    (path / "notes.txt").write_text("mine")
    before = {one.name: one.read_bytes() for one in path.iterdir()}
    out = tr.open(path, "w")
    aside = tmp_path / "run.replaced"
    told = json.loads(Path(f"{aside}.json").read_text())
    assert told["names"][0] == "series.jsonl", "first: it lists the others"
    assert sorted(told["names"]) == sorted(one.name for one in aside.iterdir())
    assert {"notes.txt", *told["names"]} == set(before)
    assert "until this one has its first step" in " ".join(tr.open(path).notes)
    del out
    assert {one.name: one.read_bytes() for one in path.iterdir()} == before
    write(path, 2.0)
    assert times(path) == [2.0]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run"]
    (tmp_path / "run.replaced").mkdir()
    with pytest.raises(IoError, match=r"run\.replaced.* is there already"):
        write(path, 3.0)
    assert times(path) == [2.0]
