"""hdf5 series whose writer is killed at every call that changes a file, and journals beside files that they do not
belong to."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from helpers.harness import mpi_run, recorded_calls
from helpers.programs.series import hdf5_killed
from tailrace.core import IoError
from tailrace.io import series as tr

STEPS = 4


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> list[Path]:
    """Folders as the kills left them."""
    top = tmp_path_factory.mktemp("killed")
    folder = top / "runs"
    folder.mkdir()
    more = recorded_calls.environment(folder, top / "calls")
    result = mpi_run.finish(mpi_run.start_module(hdf5_killed, folder, cwd=top, more=more), 240)
    assert result.code == 0, result.text
    return sorted(folder.iterdir(), key=lambda path: int(path.name))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def steps(path: Path) -> int:
    """How many steps there are, and all of them are right."""
    series = tr.open(path)
    assert not series.verify()
    for number, step in enumerate(series):
        assert (step.index, step.scalars) == (number, {"energy": 0.5 * number})
        np.testing.assert_array_equal(step["ux"], float(number))
    return len(series)


def is_series(path: Path) -> bool:
    try:
        tr.open(path)
    except IoError:
        return False
    return True


def append(path: Path, number: int) -> None:
    with tr.open(path, "a") as out:
        values = np.full((2, 3, 4), float(number))
        out.write_step(0.5 * number, index=number, ux=values, scalars={"energy": 0.5 * number})


def in_change(folder: Path) -> bool:
    """Whether the kill left something to be rolled back."""
    journal = folder / "run.h5.journal"
    text = journal.read_bytes() if journal.exists() else b""
    return len(text) > 512 and text[288:296] != b"\xff" * 8


def test_a_kill_at_every_call_leaves_complete_steps(killed, tmp_path):
    found = []
    for original in killed:
        folder = tmp_path / original.name
        shutil.copytree(original, folder)  # a copy of file and journal is as good as they
        path, before = folder / "run.h5", contents(folder)
        if not found and not is_series(path):
            continue  # killed before it was created
        found.append(steps(path))
        assert contents(folder) == before, "a reader changed something"
        append(path, found[-1])
        assert steps(path) == found[-1] + 1
        if found[-1] > 1:
            with h5py.File(path) as file:
                np.testing.assert_array_equal(file["VTKHDF/PointData/velocity"][1], 1.0)
        left = contents(folder)
        assert left.pop("run.h5.lock", b"") == b"", "killed between its creation and its text, and in nobody's way"
        assert left.pop("run.h5.xdmf2").count(b"<Time ") == found[-1] + 1, "other programs see the same steps"
        assert sorted(left) == ["run.h5"]
    assert sum(map(in_change, killed)) > 10, "kills in the middle of changes"
    assert found[-1] == STEPS and set(found) == {0, 1, 2, 3, 4}
    assert all(after - before in (-1, 0, 1) for before, after in itertools.pairwise(found))


ROLL_BACK = """
import sys
from tailrace.io import series as tr

for folder in sys.argv[1:]:
    with tr.open(folder + "/run.h5", "a", parameters={"sync": True}):
        pass
"""


def test_a_file_that_is_rolled_back_is_on_the_disk_before_its_journal_goes(killed, tmp_path):
    """Else a power cut leaves a file in the middle of a change, and nothing that tells how to undo it."""
    folders = [shutil.copytree(folder, tmp_path / "runs" / folder.name) for folder in killed if in_change(folder)]
    program, log = tmp_path / "program.py", tmp_path / "calls"
    program.write_text(ROLL_BACK)
    more = recorded_calls.environment(tmp_path / "runs", log)
    result = mpi_run.finish(mpi_run.start([sys.executable, program, *folders], tmp_path, more), 120)
    assert result.code == 0, result.text
    for folder in folders:
        calls = [call for call in recorded_calls.calls(log) if call.path.parent == folder]
        names = [call.name for call in calls]
        gone = next(k for k, call in enumerate(calls) if str(call) == "unlink run.h5.journal")
        last = max(k for k in range(gone) if calls[k].path.name == "run.h5")
        assert "write" in names[:gone], "it was rolled back"
        assert calls[last].name == "sync"


def test_the_journal_of_a_killed_writer_goes_when_the_series_it_was_to_replace_comes_back(killed, tmp_path):
    """It fits the new file only, and beside the earlier one it would keep every writer away."""
    found = 0
    for original in filter(in_change, killed):
        if steps(original / "run.h5"):
            continue
        found += 1
        folder = shutil.copytree(original, tmp_path / original.name)
        path = folder / "run.h5"
        shutil.copy(killed[-1] / "run.h5", f"{path}.replaced")
        record = {"tailrace": "replaced series", "state": "aside", "beside": ["journal"], "names": []}
        (folder / "run.h5.replaced.json").write_text(json.dumps(record))
        append(path, STEPS)
        assert steps(path) == STEPS + 1
        assert "run.h5.replaced.json" not in contents(folder) and "run.h5.journal" not in contents(folder)
    assert found > 1, "kills in the middle of the first step"


def test_a_new_series_takes_the_place_of_one_whose_writer_was_killed(killed, tmp_path):
    """The journal that is left tells of the former file: it holds nobody up, and nothing of it comes back."""
    left = [folder for folder in killed if (folder / "run.h5").exists() and (folder / "run.h5.journal").exists()]
    assert any(map(in_change, left)) and not all(map(in_change, left))
    for original in left[:: len(left) // 9]:
        folder = shutil.copytree(original, tmp_path / original.name)
        with tr.open(folder / "run.h5", "w") as out:
            out.write_step(0.0, index=0, ux=np.zeros((2, 3, 4)), scalars={"energy": 0.0})
        assert steps(folder / "run.h5") == 1
        assert not (folder / "run.h5.journal").exists()


def test_a_journal_beside_another_file_is_refused(killed, tmp_path):
    """A restored copy of an earlier or later state, or the same series of another run."""
    left = next(folder for folder in reversed(killed) if in_change(folder))
    append(shutil.copytree(left, tmp_path / "later") / "run.h5", 9)
    with tr.open(tmp_path / "other.h5", "w", grid=tr.UniformGrid((4, 3, 2))) as out:
        for step in range(STEPS):
            values = np.full((2, 3, 4), float(step))
            out.write_step(0.5 * step, index=step, ux=values, scalars={"energy": 0.5 * step})
    whole = [folder for folder in killed if (folder / "run.h5").exists() and not in_change(folder)]
    first = next(folder for folder in whole if (folder / "run.h5").stat().st_size > 4000)
    for number, restored in enumerate([tmp_path / "later/run.h5", tmp_path / "other.h5", first / "run.h5"]):
        folder = tmp_path / str(number)
        folder.mkdir()
        shutil.copy(left / "run.h5.journal", folder)
        shutil.copy(restored, folder / "run.h5")
        before = contents(folder)
        for mode in ("r", "a"):
            with pytest.raises(IoError, match="belongs to another file"):
                tr.open(folder / "run.h5", mode)
        assert contents(folder) == before
        (folder / "run.h5.journal").unlink()
        tr.open(folder / "run.h5")


def test_a_journal_beside_a_link_is_not_used(killed, tmp_path):
    left = next(folder for folder in reversed(killed) if in_change(folder))
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    shutil.copy(left / "run.h5", tmp_path / "there")
    shutil.copy(left / "run.h5.journal", tmp_path / "here")
    (tmp_path / "here/run.h5").symlink_to(tmp_path / "there/run.h5")
    before = contents(tmp_path / "there")
    with contextlib.suppress(IoError):  # the file is as the kill left it
        tr.open(tmp_path / "here/run.h5")
    assert contents(tmp_path / "there") == before
    assert (tmp_path / "here/run.h5.journal").exists()
    shutil.move(tmp_path / "here/run.h5.journal", tmp_path / "there")
    assert steps(tmp_path / "here/run.h5") == STEPS - 1
    append(tmp_path / "here/run.h5", STEPS - 1)
    assert steps(tmp_path / "there/run.h5") == STEPS


def test_reads_on_a_read_only_file_system(killed, small_disk):
    disk = small_disk("16m")
    left = next(folder for folder in reversed(killed) if in_change(folder))
    shutil.copytree(left, disk / "run")
    small_disk("16m,ro")
    assert steps(disk / "run/run.h5") == STEPS - 1
    with pytest.raises(IoError, match="Read-only"):
        tr.open(disk / "run/run.h5", "a")
