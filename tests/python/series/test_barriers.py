"""With `sync`, what must survive a power cut is on the disk before what depends on it. A kill cannot show that: it
loses nothing that was written. So the calls are recorded, and their order is compared."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from helpers.harness import mpi_run, recorded_calls
from helpers.harness.recorded_calls import Call
from helpers.programs.series import synced
from tailrace import core as _core


def recorded(tmp_path: Path, ranks: int, name: str = "run.h5", *options: str) -> list[Call]:
    folder, log = tmp_path / "run", tmp_path / "calls"
    folder.mkdir(exist_ok=True)
    given = {"ranks": ranks if ranks > 1 else None, "more": recorded_calls.environment(folder, log)}
    result = mpi_run.finish(mpi_run.start_module(synced, folder / name, *options, cwd=tmp_path, **given), 120)
    assert result.code == 0, result.text
    return recorded_calls.calls(log)


def order(calls: list[Call]) -> list[str]:
    """Names and files, in their order; calls that repeat the one before are left out."""
    texts = [f"{'write' if call.name == 'truncate' else call.name} {call.path.name}" for call in calls]
    return [text for text, _ in groupby(texts)]


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_file_changes_after_its_journal_and_before_the_journal_is_emptied(tmp_path, ranks):
    calls = [call for call in recorded(tmp_path, ranks) if call.path.name in ("run.h5", "run.h5.journal", "run")]
    at = next(k for k, call in enumerate(calls) if call.path.name == "run.h5.journal")
    owner = calls[at].process
    created, calls = [call for call in calls[at:] if call.process == owner], calls[at:]
    assert order(created)[:4] == ["create run.h5.journal", "write run.h5.journal", "sync run.h5.journal", "sync run"]

    def saves(call: Call) -> bool:
        return call.name == "write" and call.path.name == "run.h5.journal" and call.more[0] != "0"

    begins = [k for k, call in enumerate(calls) if saves(call)]
    assert len(begins) == 3, "one for each step"
    for begin, end in zip(begins, [*begins[1:], len(calls)], strict=True):
        data = calls[begins[begins.index(begin) - 1] if begin != begins[0] else 0 : begin]
        for process in {call.process for call in data}:
            own = order([call for call in data if call.process == process and call.path.name == "run.h5"])
            assert own[-2:] == ["write run.h5", "sync run.h5"], "the data are on the disk before the step is made"
        assert order(calls[begin:end])[:8] == [
            "write run.h5.journal",
            "sync run.h5.journal",
            "write run.h5.journal",
            "sync run.h5.journal",
            "write run.h5",
            "sync run.h5",
            "write run.h5.journal",
            "sync run.h5.journal",
        ]
        headers = [call.more[0] for call in calls[begin:end] if call.name == "write" and "journal" in call.path.name]
        assert headers[0] != "0" and headers[1:] == ["0", "0"], "the saved bytes, then what says that they count"


def test_raw_data_are_on_the_disk_before_the_line_that_names_them(tmp_path):
    """Checkpoints are such series."""
    texts = order([call for call in recorded(tmp_path, 1, "raw") if call.path.suffix not in (".xdmf", ".lock")])
    created = ["create raw", "create series.jsonl.tmp", "write series.jsonl.tmp", "sync series.jsonl.tmp"]
    assert texts[:7] == [*created, "rename series.jsonl.tmp", "sync raw", "sync run"]
    assert [text for text in texts[7:] if text.startswith("create")] == [f"create ux-{step}.bin" for step in (1, 2, 3)]
    for step in (1, 2, 3):
        at = texts.index(f"create ux-{step}.bin")
        data = [f"create ux-{step}.bin", f"write ux-{step}.bin", f"sync ux-{step}.bin", "sync raw"]
        assert texts[at : at + 6] == [*data, "write series.jsonl", "sync series.jsonl"]


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(
    ("engine", "parameters"),
    [
        ("raw", "{}"),
        ("raw", '{"strategy": "dist"}'),
        ("mpiio", "{}"),
        ("mpiio", '{"collect_bytes": 0}'),
        ("sion", '{"files": 1}'),
        ("sion", '{"files": 3, "chunk_bytes": 100}'),
    ],
)
def test_data_of_every_rank_are_on_the_disk_before_their_line(tmp_path, engine, parameters, ranks):
    """Whoever wrote last to a file of the step has synced it after that."""
    written, unsynced, lines = set(), set(), 0
    for call in recorded(tmp_path, ranks, "series", engine, parameters):
        if call.path.name == "series.jsonl" and call.name == "write":
            lines += 1
            assert unsynced == set(), f"line {lines}"
        elif call.path.suffix == ".bin" or ".sion" in call.path.name:
            written |= {call.path} if call.name == "write" else set()
            if call.name in ("write", "sync"):
                (unsynced.add if call.name == "write" else unsynced.discard)((call.process, call.path))
    assert lines == 4, "three steps and the end"
    assert len(written) >= 3


@pytest.mark.parametrize("engine", [one for one in ("bp4", "bp5") if one in _core.engine_names()])
def test_the_record_of_sizes_goes_before_a_file_is_cut(tmp_path, engine):
    """Else a kill between them leaves a series that is refused as damaged. The attributes stay."""
    calls = recorded(tmp_path, 1, "run.bp", engine, "{}")
    cut = [str(call) for call in calls].index("rename md.idx.tmp md.idx")
    assert str(calls[cut - 1]) == "sync md.idx.tmp", "the steps to keep depend on it"
    texts = [str(call) for call in calls[:cut]]
    made = len(texts) - texts[::-1].index("rename tailrace.json.tmp tailrace.json")
    assert [text.split()[0] for text in texts[made:]] == ["sync", "create", "write", "sync"], "only the cut comes after"
    bytes_of_records = [int(text.split()[-1]) for text in texts if text.startswith("write tailrace.json.tmp 0 ")]
    assert bytes_of_records[-1] < bytes_of_records[-2], "the record without sizes"


@pytest.mark.parametrize(("engine", "name"), [("hdf5", "run.h5"), ("raw", "raw")])
def test_the_record_of_what_is_replaced_is_on_the_disk_before_anything_is_renamed(tmp_path, engine, name):
    """Else a power cut leaves a series under another name, and nothing that says whose it is."""
    earlier = len(recorded(tmp_path, 1, name, engine, "{}"))
    calls = recorded(tmp_path, 1, name, engine, "{}")[earlier:]
    texts = [str(call) for call in calls]
    record = f"{name}.replaced.json"
    told = texts.index(f"rename {record}.tmp {record}")
    assert texts[told - 1 : told + 2] == [f"sync {record}.tmp", texts[told], "sync run"]
    aside = [k for k, call in enumerate(calls) if call.name == "rename" and f"{name}.replaced" in call.more[0]]
    assert aside[0] == told < aside[1], "the record, and then what it tells of"
