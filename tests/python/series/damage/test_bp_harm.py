"""BP series that somebody made to harm: links, names that lead elsewhere, descriptions that cannot be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import tailrace as tr
from helpers.harness.engines import KINDS, Engine
from helpers.inputs import sidecar

OPEN = """
import sys, tailrace as tr
try:
    tr.open(sys.argv[1], guard=True)
except tr.IoError as error:
    print(error)
"""
UX = np.arange(7 * 5 * 6.0).reshape(7, 5, 6)


@pytest.fixture(params=[engine for engine in KINDS if engine.traits.family == "bp"], ids=str)
def series(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Engine, Path]:
    """A series of three steps."""
    engine = request.param
    path = engine.path(tmp_path)
    with tr.open(path, "w", engine=engine.name) as out:
        for step in range(3):
            out.write_step(0.5 * step, index=step, ux=UX + step)
    return engine, path


@pytest.mark.parametrize("mode", ["w", "a"])
@pytest.mark.parametrize("name", ["data.0", "md.0", "md.idx"])
def test_nothing_is_written_or_cut_through_a_link(series, tmp_path, mode, name):
    engine, path = series
    victim = tmp_path / "victim"
    (path / name).rename(victim)
    (path / name).symlink_to(victim)
    before = victim.read_bytes()
    with (
        pytest.raises(tr.IoError, match=f"{name} is a symbolic link"),
        tr.open(path, mode, engine=engine.name, rewind_to=0 if mode == "a" else None) as out,
    ):
        out.write_step(9.0, index=9, ux=UX)
    assert victim.read_bytes() == before


def test_values_of_an_operator_without_loss_keep_their_checksums(tmp_path):
    path = tmp_path / "run.bp"
    with tr.open(path, "w", engine="bp5", parameters={"operator": "null"}) as out:
        out.write_step(0.0, ux=UX)
    with tr.open(path) as stored:
        assert stored.verify() == []
        np.testing.assert_array_equal(stored[0]["ux"], UX)
    data = (path / "data.0").read_bytes()
    at = data.index(np.float64(113.0).tobytes())
    (path / "data.0").write_bytes(data[:at] + np.float64(114.0).tobytes() + data[at + 8 :])
    with tr.open(path) as stored:
        assert "ux" in str(stored.verify()[0])


READ_AND_APPEND = """
import sys, tailrace as tr
from numpy import full
with tr.open(sys.argv[1]) as stored:
    print([float(step["ux"].mean()) for step in stored], stored.verify())
with tr.open(sys.argv[1], "a") as out:
    out.write_step(9.0, index=9, ux=full((7, 5, 6), 9.0), other=full((7, 5, 6), 4.0))
with tr.open(sys.argv[1]) as stored:
    print(stored[-1]["ux"].mean(), stored[-1]["other"].mean(), stored.verify())
"""


@pytest.mark.parametrize("part", [5, 16, 20, 300])
def test_a_description_that_is_being_written(tmp_path, part):
    """ADIOS2 writes the parts of mmd.0 one by one; a reader may come between them, and a kill."""
    path = tmp_path / "out.bp"
    with tr.open(path, "w", engine="bp5") as out:
        for step in range(3):
            out.write_step(0.5 * step, index=step, ux=np.full((7, 5, 6), float(step)))
    with (path / "mmd.0").open("r+b") as file:
        begin = file.read(part)
        file.seek(0, 2)
        file.write(begin)
    command = [sys.executable, "-c", READ_AND_APPEND, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[0.0, 1.0, 2.0] []", "9.0 4.0 []"]


def _vouch(path: Path, change) -> None:
    """Change the record of a series, and its checksum with it."""
    file = path / "tailrace.json"
    found = json.loads(file.read_text())
    change(found["record"])
    text = json.dumps(found["record"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    found["checksum"] = sidecar.checksum(text)
    file.write_text(json.dumps(found))


@pytest.mark.parametrize("part", ["sizes", "checksums"])
def test_a_record_names_only_files_of_the_series(series, tmp_path, part):
    _, path = series
    (tmp_path / "secret").write_text("something")

    def change(record):
        record[part]["../secret"] = 99_999 if part == "sizes" else "0" * 16
        record["sizes"].setdefault("../secret", 5)

    _vouch(path, change)
    with pytest.raises(tr.IoError, match=r"names '\.\./secret', which is no file of a BP series"):
        tr.open(path)


def test_a_record_nested_deeply(series):
    _, path = series
    depth = 400_000
    (path / "tailrace.json").write_text('{"record": ' + "[" * depth + "]" * depth + "}")
    command = [sys.executable, "-c", OPEN, path]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert result.returncode == 0, result.stderr
    assert "tailrace.json" in result.stdout


@pytest.mark.parametrize(
    ("group", "name", "value", "told"),
    [
        ("VTKHDF", "WholeExtent", [0, -10, 0, -10, 0, 1 << 62], "from 0 to -10 in x"),
        ("VTKHDF", "WholeExtent", [8589934592, -(1 << 63), 0, 3, 0, 3], "from 8589934592 to -9223372036854775808 in x"),
        ("VTKHDF", "WholeExtent", [0, 3, 0, 3], "attribute WholeExtent has 4 numbers; expected 6"),
        ("VTKHDF", "Origin", [0.0], "attribute Origin has 1 numbers; expected 3"),
        ("VTKHDF/Steps", "NSteps", h5py.Empty("i8"), "attribute NSteps has 0 numbers; expected 1"),
    ],
)
def test_a_grid_that_cannot_be(tmp_path: Path, group: str, name: str, value: object, told: str):
    path = tmp_path / "run.h5"
    with tr.open(path, "w", engine="hdf5") as out:
        out.write_step(0.0, index=0, ux=UX)
    with h5py.File(path, "r+") as file:
        file[group].attrs[name] = value
    with pytest.raises(tr.IoError, match=f"it is damaged .*{told}"):
        tr.open(path)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("shape", [-(1 << 63), 2], "no array has the shape"),
        ("shape", [1e308, 2], "expected a whole number"),
        ("shape", [1 << 63, 2], "expected a whole number"),
        ("type", "complex", "unknown number type 'complex'"),
    ],
)
def test_a_list_that_cannot_be(tmp_path: Path, key: str, value: object, told: str):
    """The record of a step has its own checksum, which a program that damages it may set."""
    path = tmp_path / "run.h5"
    with tr.open(path, "w", engine="hdf5") as out:
        out.begin_step(0, 0.0)
        out.write_list("rows", np.zeros((7, 2)))
        out.end_step()
    with h5py.File(path, "r+") as file:
        record = json.loads(file["Tailrace/steps/0"].asstr()[()])[1]
        record["lists"][0][key] = value
        del file["Tailrace/steps/0"]
        text = json.dumps(record, separators=(",", ":"))
        line = f'["{sidecar.checksum(text)}",{text}]'
        file.create_dataset("Tailrace/steps/0", data=line, dtype=h5py.string_dtype("ascii", len(line)))
    with tr.open(path) as stored, pytest.raises(tr.IoError, match=f"step 0 .* is damaged.*{told}"):
        stored.steps[0].names  # noqa: B018 # reads the record
