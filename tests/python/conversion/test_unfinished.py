"""An interrupted conversion: what it has made counts only as far as it is what the source has."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailrace as tr
from helpers.harness import recorded_calls
from helpers.inputs import sidecar
from helpers.programs.conversions import NumberedWriter, made_up, table, values, write_source
from tailrace.conversion.checking import Checking
from tailrace.conversion.draft import Draft
from tailrace.io import series

RECORD = "conversion.json"


class StopError(Exception):
    """An interruption."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write_source(tmp_path / "source", "raw")
    return tmp_path / "source"


@pytest.fixture
def draft(source: Path, tmp_path: Path) -> Path:
    """What a conversion to `out` has made of two steps of three."""

    def stop(phase: str, done: int, total: int) -> None:
        if done > 2 * total / 3 + 1:
            raise StopError

    with pytest.raises(StopError):
        tr.convert(source, tmp_path / "out", engine="raw", progress=stop)
    with series.open(tmp_path / "out.partial" / "out") as found:
        assert [step.index for step in found] == [3, 13]
    return tmp_path / "out.partial" / "out"


def go_on(source: Path, **how: Any) -> Any:
    return tr.convert(source, source.with_name("out"), engine="raw", resume=True, **how)


@pytest.mark.parametrize("verify", [True, False])
def test_complete_steps_are_kept(source: Path, draft: Path, verify: bool):
    kept = (draft / "ux-1.bin").stat().st_mtime_ns
    done = go_on(source, verify=verify)
    assert (done.steps, done.resumed, done.verified) == (3, 2, verify)
    assert table(source.with_name("out")) == table(source)
    assert (source.with_name("out") / "ux-1.bin").stat().st_mtime_ns == kept


def written(path: Path, steps: list[tuple[int, float]], attributes: dict[str, Any]) -> None:
    """Another series in the place of an unfinished one."""
    shutil.rmtree(path)
    with series.open(path, "w", engine="raw") as out:
        for name, value in attributes.items():
            out.set_attribute(name, value)
        for number, (index, time) in enumerate(steps):
            out.write_step(time, index=index, ux=values(number))


@pytest.mark.parametrize(
    "steps",
    [
        [(4, 0.0), (13, 0.1)],
        [(3, 0.0), (14, 0.1)],
        [(3, 0.05), (13, 0.1)],
        [(13, 0.1)],
        [(3, 0.0), (13, 0.1), (23, 0.2), (33, 0.3)],
    ],
    ids=["first index", "second index", "time", "without the first", "one more"],
)
@pytest.mark.parametrize("verify", [True, False])
def test_steps_that_are_not_those_of_the_source_are_made_again(source: Path, draft: Path, steps: Any, verify: bool):
    written(draft, steps, {})
    done = go_on(source, verify=verify)
    assert (done.steps, done.resumed) == (3, 0)
    assert table(source.with_name("out")) == table(source)


def change_value(draft: Path) -> None:
    with (draft / "ux-1.bin").open("r+b") as file:
        file.write(np.float64(0.25).tobytes())


def change_attribute(draft: Path) -> None:
    with series.open(draft, "a", engine="raw") as out:
        out.set_attribute("reynolds", 1601.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [(change_value, r"step 3: ux differs in 1 values"), (change_attribute, "the attribute reynolds of the result is")],
)
def test_steps_that_were_there_are_compared_too(source: Path, draft: Path, change: Callable, message: str):
    """A power failure, or another program, may have changed them."""
    change(draft)
    with pytest.raises(tr.IoError, match=message):
        go_on(source)
    assert not source.with_name("out").exists()


def change_step(draft: Path, **keys: Any) -> None:
    """Other words about the last step, with right checksums."""
    told = sidecar.read(draft)
    told["steps"][-1] |= keys
    sidecar.write(draft, told)


def change_index(draft: Path) -> None:
    change_step(draft, index=24)


def change_time(draft: Path) -> None:
    change_step(draft, time=0.25)


def change_scalar(draft: Path) -> None:
    change_step(draft, scalars={"energy": 2.1, "note": "step 3"})


def lose_scalar(draft: Path) -> None:
    change_step(draft, scalars={"note": "step 2"})


@pytest.mark.parametrize(
    "change", [change_value, change_attribute, change_index, change_time, change_scalar, lose_scalar]
)
def test_a_finished_result_is_compared_before_it_counts(source: Path, change: Callable):
    """With --resume, what has the name of the target may be the result of a conversion that was killed at its end."""
    tr.convert(source, source.with_name("out"), engine="raw")
    assert go_on(source).resumed == 3
    change(source.with_name("out"))
    before = {path: path.read_bytes() for path in source.with_name("out").iterdir()}
    with pytest.raises(tr.InputError, match="is not what this conversion would make"):
        go_on(source)
    with pytest.raises(tr.InputError, match="no unfinished conversion to it"):
        go_on(source, verify=False)
    assert {path: path.read_bytes() for path in source.with_name("out").iterdir()} == before


def test_what_is_placed_was_compared_and_is_on_the_disk(source: Path, monkeypatch: pytest.MonkeyPatch):
    """Else a power cut leaves the name of the target with less than all of it."""
    target = source.with_name("out")
    calls = recorded_calls.in_python(monkeypatch, "fsync", "rename")
    compare = Checking.run

    def compared(checking: Checking) -> None:
        calls.append(("compared", target))
        compare(checking)

    monkeypatch.setattr(Checking, "run", compared)
    tr.convert(source, target, engine="raw")
    partial = target.with_name("out.partial")
    placed = calls.index(("rename", partial / "out"))
    before, after = calls[:placed], calls[placed + 1 :]
    synced = {path for name, path in before if name == "fsync"}
    assert {partial / "out" / path.name for path in target.iterdir()} | {partial, partial / "out"} <= synced
    assert before.index(("fsync", partial / "out" / "ux-1.bin")) < before.index(("compared", target))
    assert after[0] == ("fsync", target.parent), "its name, before the record says that it is placed"


def test_the_target_is_placed_last(source: Path, monkeypatch: pytest.MonkeyPatch):
    """Who finds it finds what lies beside it, too."""
    calls = recorded_calls.in_python(monkeypatch, "rename")
    tr.convert(source, source.with_name("a.h5"))
    assert [path.name for _, path in calls if path.parent.name == "a.h5.partial" and "json" not in path.name] == [
        "a.h5.xdmf2",
        "a.h5",
    ]


@pytest.mark.parametrize("how", [{"engine": "raw"}, {"format": "numbered"}])
def test_an_interruption_closes_nothing(source: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, str]):
    """It may be of one rank alone, and to close is collective. At its end, a conversion closes what it has made."""

    def stop(phase: str, done: int, total: int) -> None:
        raise StopError

    closed = []
    for one in (series.ArraySeries, NumberedWriter):
        call = one.close
        monkeypatch.setattr(one, "close", lambda self, call=call: (closed.append(Path(self.path).name), call(self)))
    with made_up():
        with pytest.raises(StopError):
            tr.convert(source, source.with_name("out"), **how, progress=stop)
        assert closed == []
        tr.convert(source, source.with_name("other"), **how, verify=False)
    assert "other" in closed


def test_a_step_that_cannot_be_written_is_abandoned(source: Path, monkeypatch: pytest.MonkeyPatch):
    """Else its files stay open in a program that goes on."""
    abandoned = []
    monkeypatch.setattr(NumberedWriter, "abandon_step", lambda self: abandoned.append(self._number))
    with made_up(), pytest.raises(OSError, match="is full"):
        tr.convert(source, source.with_name("out"), format="numbered", parameters={"fail_at": 1})
    assert abandoned == [1]


def test_a_draft_without_a_record_holds_nothing(source: Path, draft: Path):
    (draft.parent / RECORD).unlink()
    with pytest.raises(tr.InputError, match=f"it has no {RECORD}"):
        go_on(source)
    assert draft.exists()


def test_a_conversion_killed_while_it_wrote_its_first_record_goes_on(source: Path):
    """The draft of the record is all that is there."""
    place = source.with_name("out.partial")
    place.mkdir()
    (place / f"{RECORD}.tmp").write_text('{"tailrace": "conv')
    go_on(source)
    assert not place.exists()
    assert len(tr.open(source.with_name("out"))) == len(tr.open(source))


def test_the_record_says_how_far_it_is(source: Path, draft: Path):
    assert json.loads((draft.parent / RECORD).read_text())["state"] == "writing"
    one = Draft(source.with_name("out"), {"steps": [None, None, None]}, resume=True)
    assert one.record["state"] == "writing"
    one.close()
    go_on(source)
    assert not draft.parent.exists()
