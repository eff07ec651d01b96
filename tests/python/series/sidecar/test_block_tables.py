"""Tables of blocks, `step-*.blocks`: where many ranks write, or with `blocks = table`.

test_raw.py reads one with NumPy, tests/cpp/io/test_many_ranks.cpp has many ranks.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.harness import mpi_run
from helpers.harness.kept import KEPT
from helpers.inputs import sidecar
from helpers.programs.series import raw_programs
from tailrace.core import InputError, IoError
from tailrace.io import series as tr

TABLES = [
    ("raw", {"strategy": "dist", "blocks": "table"}),
    ("raw", {"strategy": "node", "blocks": "table"}),
    ("raw", {"blocks": "table"}),
    ("mpiio", {"blocks": "table"}),
    ("sion", {"blocks": "table"}),
]


@pytest.fixture(params=TABLES, ids=lambda table: "-".join([table[0], *map(str, table[1].values())]))
def table(request, tmp_path):
    """A series of two steps, written by four ranks."""
    engine, parameters = request.param
    path = tmp_path / "run"
    KEPT.ranks(4).results(raw_programs.write_quarters, path=str(path), engine=engine, parameters=parameters)
    return path


def tables(path: Path) -> list[str]:
    return sorted(file.name for file in path.glob("*.blocks"))


def test_a_line_does_not_grow_with_the_ranks(table):
    assert tables(table) == ["step-00000000.blocks", "step-00000010.blocks"]
    told = sidecar.read(table)
    assert told["version"] == 3
    for step in told["steps"]:
        (variable,) = step["variables"]
        assert variable["table"][:2] == [0, 4] and variable["checksums"] == "table"
        assert "blocks" not in variable and "files" not in variable


def test_info_says_it(table, tmp_path):
    assert "blocks  in a table, as of many ranks" in mpi_run.tailrace("info", table, cwd=tmp_path).out
    (told,) = json.loads(mpi_run.tailrace("info", "--json", table, cwd=tmp_path).out)
    assert told["table"] is True
    with tr.open(tmp_path / "few", "w", engine=told["engine"]) as out:
        out.write_step(0.0, ux=np.ones((2, 3, 4)))
    assert "blocks" not in mpi_run.tailrace("info", "few", cwd=tmp_path).out


def test_other_ranks_read_boxes_of_it(table, three):
    three.results(raw_programs.read_boxes, path=str(table))


def test_each_damaged_byte_of_it_is_found(table):
    assert tr.open(table)[0].verify() == []
    file = table / "step-00000000.blocks"
    whole = bytearray(file.read_bytes())
    assert len(whole) == 4 * 72 + 56
    for at in range(0, len(whole), 9):
        whole[at] ^= 16
        file.write_bytes(whole)
        assert any("step-00000000.blocks" in line and "checksum" in line for line in tr.open(table)[0].verify()), at
        assert tr.open(table)[1].verify() == []
        whole[at] ^= 16


def test_the_table_of_a_dropped_step_goes_with_it(table):
    with tr.open(table, "a", rewind_to=0):
        pass
    assert tables(table) == ["step-00000000.blocks"]
    assert not list(table.glob("ux-10*")) and not list(table.glob("ux-2.*"))
    with tr.open(table, "w", engine=tr.open(table).engine) as out:
        out.write_step(0.0, ux=np.zeros((2, 3, 4)))
    assert tables(table) == [], "what replaces a series leaves nothing of it"


def test_a_step_that_is_damaged_can_be_dropped(table):
    (table / "step-00000010.blocks").unlink()
    with tr.open(table, "a", rewind_to=0) as out:
        out.write_step(5.0, index=10, ux=np.zeros((7, 10, 12)))
    assert not tr.open(table)[1].read("ux").any()


def test_lines_where_few_ranks_write(tmp_path):
    for engine in ("raw", "mpiio", "sion"):
        path = tmp_path / engine
        with tr.open(path, "w", engine=engine) as out:
            out.write_step(0.0, ux=np.ones((2, 3, 4)))
        told = sidecar.read(path)
        assert told["version"] == 2 and len(told["steps"][0]["variables"][0]["checksums"]) == 1
        with pytest.raises(InputError, match="the series lists its blocks in lines"):
            tr.open(path, "a", parameters={"blocks": "table"})
        with tr.open(path, "a", parameters={"blocks": "lines"}) as out:
            out.write_step(1.0, ux=np.ones((2, 3, 4)))
        assert tables(path) == []
    with pytest.raises(InputError, match="expected one of"):
        tr.open(tmp_path / "x", "w", engine="raw", parameters={"blocks": "tables"})


def test_an_impossible_table_is_an_error(table):
    told = sidecar.read(table)
    for impossible in ([-1, 4, ""], [0, 0, ""], [0, 1 << 62, ""]):
        told["steps"][1]["variables"][0]["table"] = impossible
        sidecar.write(table, told)
        with pytest.raises(IoError, match="its table of blocks"):
            tr.open(table)
    told["steps"][1]["variables"][0]["table"] = [0, 1 << 40, "0" * 16]  # more than the file has
    sidecar.write(table, told)
    assert any("expected 1099511627776 blocks" in line for line in tr.open(table)[1].verify())
