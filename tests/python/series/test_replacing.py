"""A new series in the place of another: the old one is there until the new one has a step, also after a kill.

TAILRACE_TEST_KILLS (2): how often a program is killed while it replaces a series of each kind; 50 for a release.
"""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

import tailrace as tr
from helpers.harness.engines import ENGINES, KINDS
from helpers.programs.series import io_programs, replacing
from helpers.programs.series.replacing import NEW, OLD

KILLS = int(os.environ.get("TAILRACE_TEST_KILLS", "2"))


def target(engine, folder, **more):
    return {"path": str(engine.path(folder)), "engine": engine.name, "parameters": {**engine.parameters, **more}}


@pytest.mark.parametrize("how", ["steps", "none", "failed", "raised"])
@pytest.mark.parametrize("engine", KINDS, ids=str)
def test_replaced(tmp_path, engine, some, how):
    given = target(engine, tmp_path, **({"buffers": 2} if how == "steps" else {}))
    some.results(replacing.write_old, **given)
    stranger = tmp_path / "run" / "notes.txt"
    if engine.place == "run":
        stranger.write_text("mine")
    found = some.results(replacing.replace, how=how, **given)[0]
    assert found["aside"] == OLD
    assert f"{given['path']}.replaced" in found["text"]
    assert found["steps"] == {"steps": NEW, "none": [], "failed": OLD, "raised": OLD}[how]
    assert found.get("gone", True)
    assert not list(tmp_path.glob("*.replaced*"))
    assert engine.place != "run" or stranger.read_text() == "mine"


@pytest.mark.parametrize("engine", KINDS, ids=str)
def test_killed_while_replacing(tmp_path, engine, one):
    given = target(engine, tmp_path)
    one.results(replacing.write_old, **given)
    ends = one.results(replacing.replace_killed, kills=KILLS, **given)[0]
    print(f"{engine}: {ends}")


def test_what_is_in_the_way(tmp_path, one):
    given = target(ENGINES[0], tmp_path)
    one.results(replacing.write_old, **given)
    (tmp_path / "run.replaced").mkdir()
    outcome = one.run(replacing.write_old, **given)[0]
    assert outcome.error == "IoError" and "run.replaced is there already" in outcome.text
    (tmp_path / "run.replaced").rmdir()
    assert one.results(io_programs.check_series, path=given["path"])[0] == OLD


def test_an_opening_that_fails_puts_the_old_one_back(tmp_path, one):
    """The list of steps has no free name for its draft, which is found when the old one is set aside."""
    given = target(ENGINES[0], tmp_path)
    one.results(replacing.write_old, **given)
    for number in range(1, 1001):
        (tmp_path / "run" / f"series.jsonl.tmp{number if number > 1 else ''}").touch()
    outcome = one.run(io_programs.open_series, mode="w", **given)[0]
    assert outcome.error == "IoError" and "series.jsonl.tmp1000" in outcome.text, outcome
    assert one.results(io_programs.check_series, path=given["path"])[0] == OLD
    assert not list(tmp_path.glob("*.replaced*"))


def test_the_list_of_the_old_one_comes_back_last(tmp_path, one):
    """Where a file cannot come back, a reader finds no steps rather than some that are not whole."""
    given, run = target(ENGINES[0], tmp_path), tmp_path / "run"
    one.results(replacing.write_old, **given)
    with pytest.raises(tr.IoError, match="rename"), tr.open(run, "w", engine="raw") as out:
        (run / "ux-1.bin").mkdir()
        (run / "ux-1.bin" / "mine").touch()
        with pytest.raises(tr.IoError, match=r"ux-1\.bin"):
            out.write_step(0.0, ux=np.zeros((2, 3, 4)))
    assert len(tr.open(run)) == 0
    shutil.rmtree(run / "ux-1.bin")
    tr.core.finish_replacing(str(run))
    assert one.results(io_programs.check_series, path=given["path"])[0] == OLD


@pytest.mark.parametrize("engine", [one for one in KINDS if not one.is_file], ids=str)
def test_mount_point(small_disk, engine, one):
    disk = small_disk("8m")
    given = {**target(engine, disk), "path": str(disk)}
    one.results(replacing.write_old, **given)
    outcome = one.run(replacing.write_old, **given)[0]
    assert outcome.error == "IoError" and "below the mount point" in outcome.text, outcome
    assert one.results(io_programs.check_series, path=given["path"])[0] == OLD
    assert not list(disk.parent.glob("*.replaced*"))


@pytest.mark.parametrize(
    "text", ["no JSON", '{"tailrace": "replaced series", "state": "aside", "beside": [], "names": ["../run"]}']
)
def test_damaged_record(tmp_path, one, text):
    given = target(ENGINES[0], tmp_path)
    one.results(replacing.write_old, **given)
    (tmp_path / "run.replaced.json").write_text(text)
    outcome = one.run(replacing.write_old, **given)[0]
    assert outcome.error == "IoError" and "run.replaced.json is damaged" in outcome.text
    assert one.results(io_programs.check_series, path=given["path"])[0] == OLD


@pytest.mark.parametrize("engine", [one for one in KINDS if one.traits.family == "bp"], ids=str)
def test_what_cannot_be_removed_brings_no_old_steps_back(tmp_path, engine, one):
    """The new series has steps: it stays, also where the program ends without closing it."""
    given = target(engine, tmp_path)
    one.results(replacing.write_old, **given)
    one.results(replacing.replace_in_the_way, **given)
    assert one.results(io_programs.check_series, path=given["path"])[0] == NEW
