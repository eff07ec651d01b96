"""Databases of pictures in Cinema's layout D: every due step with all its pictures, after restarts too."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from matplotlib.image import imread

import tailrace as tr
from helpers.harness import mpi_run
from helpers.inputs import cases
from tailrace.consumers.picture import scene_of, variants_of
from tailrace.core import InputError
from tailrace.pictures.database import Database, files_of

pytest.importorskip("vtkmodules")
BLOCK = """
[[picture]]
name = "q"
every = 2
size = [128, 96]
film = false
png = true
layers = [{ surface = "q", values = [0.2], colour = "uz" }, { slice = "ux", at = { z = 1.0 } }]
database = { phi = 3, values = [0.2, 0.4], places = [1.0] }
"""


def rows(path):
    """The rows of the table and of the script, which are the same."""
    with (path / "data.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    head, *lines = (path / "data.js").read_text().splitlines()
    columns = json.loads(head.partition("= ")[2].partition(", rows")[0])
    pushed = [dict(zip(columns, json.loads(line[len("rows.push(") : -1]), strict=True)) for line in lines]
    assert [one["FILE"] for one in table] == [one["FILE"] for one in pushed]
    for one, other in zip(table, pushed, strict=True):
        assert all(float(one[key]) == other[key] for key in columns if key != "FILE")
    return pushed


def test_a_run_fills_it_and_a_resumed_one_goes_on(tmp_path):
    case = cases.write_case(tmp_path, "mixed", steps=4, every=4, extra=BLOCK)
    result = cases.run(case, ranks=2)
    assert result.code == 0 and "pictures/q.cdb: 18 pictures, shown by its index.html" in result.out, result.text
    found = rows(tmp_path / "pictures/q.cdb")
    assert list(found[0]) == ["step", "time", "phi", "value", "place", "FILE"]
    assert [one["step"] for one in found] == [0] * 6 + [2] * 6 + [4] * 6
    assert {(one["phi"], one["value"]) for one in found} == {(a, b) for a in (0, 120, 240) for b in (0.2, 0.4)}
    pictures = [imread(tmp_path / "pictures/q.cdb" / one["FILE"]) for one in found[:6]]
    usual = imread(tmp_path / "pictures/q-000000.png")
    assert np.array_equal(pictures[0], usual)  # phi 0, value 0.2: what the block shows
    assert all((one != usual).any(axis=2).mean() > 0.01 for one in pictures[1:])
    page = (tmp_path / "pictures/q.cdb/index.html").read_text()
    assert 'src="data.js"' in page and "http" not in page  # it needs no network

    result = cases.run(case, "--resume", "--set=time.steps=6", ranks=3)
    assert result.code == 0, result.text
    assert [one["step"] for one in rows(tmp_path / "pictures/q.cdb")] == [0] * 6 + [2] * 6 + [4] * 6 + [6] * 6
    refused = mpi_run.tailrace("run", "case.toml", cwd=tmp_path)
    assert refused.code != 0 and "pictures/q" in refused.err, refused.text
    assert cases.run(case, ranks=1).code == 0  # it replaces the results
    assert len(rows(tmp_path / "pictures/q.cdb")) == 18 and not (tmp_path / "pictures/q.cdb/000006/phi0.png").exists()
    assert len(files_of(tmp_path / "pictures/q.cdb")) == 21


def test_what_a_killed_run_has_begun_is_taken_back(tmp_path):
    image = np.zeros((8, 8, 3), np.uint8)
    first = Database(tmp_path / "a.cdb", ["phi"], None)
    for step in (0, 5, 10):
        first.add(step, 0.1 * step, [({"phi": phi}, image) for phi in (0.0, 90.0)])
    first.close()
    with (tmp_path / "a.cdb/data.csv").open("a") as file:
        file.write("15,1.5,0,0000")  # killed
    second = Database(tmp_path / "a.cdb", ["phi"], 5)
    second.add(10, 1.0, [({"phi": 0.0}, image), ({"phi": 90.0}, image)])
    second.close()
    assert [(one["step"], one["phi"]) for one in rows(tmp_path / "a.cdb")] == [
        (s, p) for s in (0, 5, 10) for p in (0, 90)
    ]
    with pytest.raises(InputError, match="has other columns"):
        Database(tmp_path / "a.cdb", ["phi", "value"], 10)


def test_a_table_of_others_stays(tmp_path):
    (tmp_path / "a.cdb").mkdir()
    (tmp_path / "a.cdb/data.csv").write_text("phi,FILE\n0,mine.png\n")
    with pytest.raises(InputError, match="is no database of pictures of Tailrace"):
        Database(tmp_path / "a.cdb", ["phi"], None)
    assert (tmp_path / "a.cdb/data.csv").read_text() == "phi,FILE\n0,mine.png\n"
    assert files_of(tmp_path / "a.cdb") == []


def test_only_what_is_varied_has_a_column():
    """A surface that keeps its value is not given another one, and a slice stays where it is."""
    case = tr.Case(
        case={"flow": "taylor-green", "reynolds": 100.0},
        grid={"points": (8, 9, 10), "lengths": (1.0, 1.0, 1.0), "boundaries": ("periodic",) * 3},
        time={"dt": 0.01, "steps": 3},
        picture=[
            {
                "name": "q",
                "every": 1,
                "layers": [{"surface": "q", "values": [0.2]}, {"slice": "ux", "at": {"z": 0.5}}],
                "database": {"phi": 2},
            }
        ],
    )
    section = case.picture[0]
    scene = scene_of(section, {}, "")
    found = list(variants_of(scene, section))
    assert [columns for columns, _ in found] == [{"phi": 0.0}, {"phi": 180.0}]
    assert all(one.layers == scene.layers for _, one in found)
