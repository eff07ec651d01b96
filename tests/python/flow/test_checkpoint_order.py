"""A checkpoint is on the disk before it gets its name, and has its name on the disk before an earlier one goes. A kill
cannot show that: it loses nothing that was written. So the calls are recorded, and their order is compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.harness import mpi_run, recorded_calls
from helpers.inputs import cases
from helpers.programs import checkpoint_programs


def recorded(tmp_path: Path, ranks: int) -> list[recorded_calls.Call]:
    folder, log = tmp_path / "checkpoints", tmp_path / "calls"
    given = {"ranks": ranks if ranks > 1 else None, "more": recorded_calls.environment(folder, log)}
    result = mpi_run.finish(mpi_run.start_module(checkpoint_programs, folder, cwd=tmp_path, **given), 120)
    assert result.code == 0, result.text
    return recorded_calls.calls(log)


def test_an_old_checkpoint_loses_its_name_before_its_files(tmp_path):
    """Else a kill in between leaves a part of one that looks complete."""
    gone = [call.path for call in recorded(tmp_path, 1) if call.name == "unlink" and call.path.name == "ux-1.bin"]
    assert [path.parent.name for path in gone] == ["step-00000001.partial", "step-00000002.replaced"]


def test_the_time_series_is_on_the_disk_before_a_checkpoint_gets_its_name(tmp_path):
    """Else after a power cut the resumed run lacks the rows between the two."""
    case, log = cases.write_case(tmp_path / "run", steps=5, every=2, outputs=()), tmp_path / "calls"
    more = recorded_calls.environment(case.parent, log)
    result = mpi_run.finish(mpi_run.start(mpi_run.tailrace_command("run", case), case.parent, more), 120)
    assert result.code == 0, result.text
    written, named = [], []
    for call in recorded_calls.calls(log):
        if call.path.name == "time_series.csv" and call.name in ("write", "sync"):
            written.append(call.name)
        elif call.name == "rename" and call.path.name in ("step-00000002.partial", "step-00000004.partial"):
            named.append(call.path.name)
            assert written[-1] == "sync", f"{call.path.name}: its rows are not on the disk"
    assert named == ["step-00000002.partial", "step-00000004.partial"]
    assert written.count("write") >= 6


@pytest.mark.parametrize("ranks", [1, 3])
def test_order_of_calls(tmp_path, ranks):
    folder, calls = tmp_path / "checkpoints", recorded(tmp_path, ranks)
    named = [
        k
        for k, call in enumerate(calls)
        if call.name == "rename" and call.path.name.endswith(".partial") and call.path.parent == folder
    ]
    assert [Path(calls[k].more[0]).name for k in named] == ["step-00000001", "step-00000002", "step-00000002"]
    begin = 0
    for at in named:
        partial, before = calls[at].path, calls[begin:at]
        files = {(call.process, call.path) for call in before if call.name == "write" and partial in call.path.parents}
        assert {"SHA256SUMS", "series.jsonl"} < {path.name for _, path in files}
        assert len({process for process, _ in files}) == ranks
        for process, path in files:
            own = [call.name for call in before if call.process == process and call.path == path]
            assert "sync" in own[len(own) - own[::-1].index("write") :], f"{path.name} is not on the disk"
        on_partial = [k for k, call in enumerate(before) if call.path == partial and call.name == "sync"]
        creates = [k for k, call in enumerate(before) if call.path.parent == partial and call.name == "create"]
        assert on_partial and on_partial[-1] > creates[-1], "the names of the files are not on the disk"
        after = [call for call in calls[at + 1 :] if call.name in ("sync", "unlink", "rename")]
        assert after[0].name == "sync" and after[0].path == folder, "its name is not on the disk"
        begin = at
