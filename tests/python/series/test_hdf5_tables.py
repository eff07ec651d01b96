"""Checksums of many blocks in hdf5: a table for each step, where many ranks write, or with `blocks = table`.

tests/cpp/io/test_many_ranks.cpp has many ranks.
"""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import xxhash

from helpers.harness.kept import KEPT
from helpers.programs.series import raw_programs
from tailrace.io import series as tr

FIRST = "Tailrace/blocks/0"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A series of two steps, written by four ranks."""
    path = tmp_path / "run.h5"
    parameters = {"blocks": "table"}
    KEPT.ranks(4).results(raw_programs.write_quarters, path=str(path), engine="hdf5", parameters=parameters)
    return path


def test_h5py_reads_it_as_the_docs_say(table: Path) -> None:
    with tr.open(table) as series, h5py.File(table) as file:
        (name,) = series[0].variables
        values = series[0].read(name)
        _, record = json.loads(file["Tailrace/steps/0"][()])
        assert record["table"]["variables"] == [name] and record["checksums"] == {}
        rows = file[FIRST][...]
        assert rows.shape == (4, 8) and len(file["Tailrace/blocks"]) == 2
        for variable, z, y, x, nz, ny, nx, found in rows:
            block = np.ascontiguousarray(values[z : z + nz, y : y + ny, x : x + nx])
            assert (variable, xxhash.xxh3_64_intdigest(block)) == (0, int(found) % 2**64)
        assert sum(np.prod(rows[:, 4:7], axis=1)) == values.size


def change(file: h5py.File) -> None:
    file[FIRST][2, 7] += 1


def shorten(file: h5py.File) -> None:
    rows = file[FIRST][:3]
    del file[FIRST]
    file[FIRST] = rows


def flatten(file: h5py.File) -> None:
    rows = file[FIRST][...].ravel()
    del file[FIRST]
    file[FIRST] = rows


def point_elsewhere(file: h5py.File) -> None:
    rows = file[FIRST][...]
    rows[:, 0] = 7
    file[FIRST][...] = rows


def drop(file: h5py.File) -> None:
    del file[FIRST]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (change, "it differs from its checksum"),
        (shorten, "it differs from its checksum"),
        (point_elsewhere, "it differs from its checksum"),
        (flatten, "it has another shape than was written"),
        (drop, "it is not there"),
    ],
)
def test_damage_of_it_is_told_and_the_values_are_read(table, damage, told):
    with tr.open(table) as series:
        whole = series[0].read("ux")
        assert series[0].verify() == []
    with h5py.File(table, "r+") as file:
        damage(file)
    with tr.open(table) as series:
        (line,) = series[0].verify()
        assert f"the table of blocks of step 0 (/{FIRST}) is damaged: {told}" in line
        np.testing.assert_array_equal(series[0].read("ux"), whole)
        assert series[1].verify() == []


def test_a_rewind_takes_the_tables_of_later_steps_away(table):
    with tr.open(table, "a", parameters={"blocks": "table"}, rewind_to=0) as series:
        series.write_step(7.0, index=7, ux=np.zeros_like(tr.open(table)[0].read("ux")))
    with tr.open(table) as series, h5py.File(table) as file:
        assert [step.index for step in series] == [0, 7]
        assert series[1].verify() == []
        assert len(file["Tailrace/blocks"]) == 2 and file["Tailrace/blocks/1"].shape == (1, 8)


def test_steps_with_a_table_and_steps_without_follow_each_other(table):
    with tr.open(table, "a") as series:
        series.write_step(70.0, index=70, ux=np.ones_like(tr.open(table)[0].read("ux")))
    with tr.open(table) as series, h5py.File(table) as file:
        assert [step.has_table for step in series] == [True, True, False]
        assert series[2].verify() == []
        assert "2" not in file["Tailrace/blocks"]
    with h5py.File(table, "r+") as file:
        data = file["VTKHDF/PointData/ux"]
        data[1, 0, 0, 0] += 1
        data[2, 0, 0, 0] += 1
    with tr.open(table) as series:
        assert all("differs from its checksum" in series[number].verify()[0] for number in (1, 2))
