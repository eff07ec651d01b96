"""What a benchmark stores: records and their files."""

import csv
import json
import resource

import pytest

from tailrace.bench.records.records import SCHEMA, Cell, End, Failure, Measurement, Run, parse
from tailrace.bench.records.results import ResultError, ResultFile, read_results, write_csv

RUN = Run("one", "tailrace bench io", "2026-01-01T00:00:00+00:00", "0.1", {"cores": 2}, {"mpi": "some"})
CELL = Cell(
    "io", "write", "raw,aggregators=node", "raw", parameters=(("aggregators", "node"),), ranks=2,
    decomposition=(1, 1, 2), shape=(8, 9, 10), cache="synced",
)  # fmt: skip
MEASURED = Measurement(
    CELL, 3, 0.25, 5760, 1, {"open": 0.1, "write": 0.1}, {"min": 0.1, "mean": 0.2, "max": 0.25}, {"files": 4},
    {"rank 0;write": 0.1}, True, "", "one",
)  # fmt: skip
FAILED = Failure(CELL, 4, "the disk is full", "one")


def test_records_come_back(tmp_path):
    with ResultFile(tmp_path / "r.jsonl") as file:
        for record in (RUN, MEASURED, FAILED, End("one", "later", 1)):
            file.add(record)
    found = read_results(tmp_path / "r.jsonl")
    assert found.runs == [RUN]
    assert found.measurements == [MEASURED]
    assert found.failures == [FAILED]
    assert not found.interrupted
    assert not found.notes
    assert MEASURED.rate == 5760 / 0.25


def test_a_cut_line_is_left_out_and_told(tmp_path):
    path = tmp_path / "r.jsonl"
    with ResultFile(path) as file:
        file.add(RUN)
        file.add(MEASURED)
    path.write_text(path.read_text()[:-20])
    found = read_results(path)
    assert not found.measurements
    assert [run.run for run in found.interrupted] == ["one"]
    assert "r.jsonl:2: the line is not whole" in found.notes[0]
    with ResultFile(path, append=True) as file:  # a second run after the interruption
        file.add(RUN)
        file.add(FAILED)
    assert read_results(path).failures == [FAILED]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "is empty"),
        ("nonsense\n", ":1: no record of a benchmark"),
        (json.dumps(MEASURED.to_json()), 'expected a record of the kind "run" first'),
        (json.dumps({**RUN.to_json(), "schema": SCHEMA + 1}), "update Tailrace"),
        (json.dumps(RUN.to_json()) + "\n{}\n" + json.dumps(MEASURED.to_json()) + "\n", ':2: .*expected a JSON object'),
        (json.dumps(RUN.to_json()) + '\n{"kind": "measurement"}\n\n' + json.dumps(MEASURED.to_json()), ":2: .*record"),
    ],
)  # fmt: skip
def test_no_results(tmp_path, lines, said):
    (tmp_path / "r.jsonl").write_text(lines)
    with pytest.raises(ResultError, match=said):
        read_results(tmp_path / "r.jsonl")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("seconds", "fast", "a number"), ("seconds", float("nan"), ".*"), ("seconds", -1, ".*0"), ("bytes", None, ".*"),
        ("round", True, "a whole number"), ("phases", None, "an object"), ("ranks", "4", "a whole number"),
        ("counts", {"files": "two"}, "a number"), ("shape", ["a", 2, 3], "a whole number"), ("steps", 0, ".*1"),
        ("parameters", {"level": [1]}, ".*"), ("source", None, "a text"), ("verified", "yes", "true or false"),
        ("stacks", {"a": None}, "a number"),
    ],
)  # fmt: skip
def test_values_have_their_types(key, value, expected):
    with pytest.raises(ValueError, match=rf"{key}(\.\w+)?: expected {expected}"):
        parse(json.dumps({**MEASURED.to_json(), key: value}))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("machine", None), ("machine", {"cores": "two"}), ("began", 5), ("directories", None), ("notes", "none"),
        ("directories", {"here": None}), ("software", {"mpi": 4}),
    ],
)  # fmt: skip
def test_descriptions_have_their_types(key, value):
    with pytest.raises(ValueError, match=rf"{key}(\.\w+)?: expected"):
        parse(json.dumps({**RUN.to_json(), key: value}))


def test_other_kinds_are_left_out():
    assert parse(json.dumps({"kind": "of a later version"})) is None


def test_an_existing_file_is_kept(tmp_path):
    (tmp_path / "r.jsonl").write_text("mine")
    with pytest.raises(ResultError, match="--append"):
        ResultFile(tmp_path / "r.jsonl")
    assert (tmp_path / "r.jsonl").read_text() == "mine"


@pytest.mark.parametrize("there", [(RUN,), (RUN, MEASURED)])
def test_a_record_that_the_disk_cannot_hold_is_not_written_in_part(tmp_path, there):
    """Others may follow it, when there is room again; a part of a line between them would be damage."""
    path = tmp_path / "r.jsonl"
    with ResultFile(path) as file:
        for record in there:
            file.add(record)
        before = path.read_bytes()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 40, limits[1]))  # as a full disk
        try:
            with pytest.raises(ResultError, match=r"r.jsonl: cannot be written: File too large"):
                file.add(MEASURED)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert path.read_bytes() == before
        file.add(FAILED)
    found = read_results(path)
    assert (found.failures, found.measurements, found.notes) == ([FAILED], list(there[1:]), [])


def test_table(tmp_path):
    with ResultFile(tmp_path / "r.jsonl") as file:
        for record in (RUN, MEASURED, FAILED):
            file.add(record)
    write_csv(read_results(tmp_path / "r.jsonl"), tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert [row["error"] for row in rows] == ["", "the disk is full"]
    assert (rows[0]["shape"], rows[0]["phase_open"], rows[0]["count_files"]) == ("8x9x10", "0.1", "4")
