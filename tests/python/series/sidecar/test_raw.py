"""Raw and mpiio series, looked at with numpy.fromfile and the sidecar alone, whatever wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from helpers.harness.kept import KEPT
from helpers.inputs import sidecar
from helpers.programs.series import raw_programs
from helpers.programs.series.io_programs import small_files
from tailrace.core import InputError, IoError
from tailrace.io import series as tr

SHAPE = (7, 10, 12)  # z, y, x
UX = np.arange(np.prod(SHAPE), dtype=np.float64).reshape(SHAPE)


def read_directory(path: Path) -> list[dict[str, np.ndarray]]:
    """All steps of a series, by the description in docs/io/raw.md."""
    objects = [json.loads(line)[1] for line in (path / "series.jsonl").read_text().splitlines()]
    steps = []
    for step in (found for found in objects if "index" in found):
        arrays = {}
        for variable in step["variables"]:
            kind, shape = variable["type"], variable["shape"]
            if "file" in variable:
                arrays[variable["name"]] = np.fromfile(path / variable["file"], kind).reshape(shape)
                continue
            array = np.full(shape, np.nan, kind)
            if "table" in variable:
                begin, rows, _ = variable["table"]
                blocks = np.fromfile(path / step["table"], "<i8", 9 * rows, offset=begin).reshape(rows, 9)[:, :8]
                names = {n: f"{variable['name']}-{step['number']}.{n:04d}.bin" for n in blocks[:, 0]}
            else:
                blocks, names = variable["blocks"], variable["files"]
            for number, offset, z, y, x, nz, ny, nx in blocks:
                values = np.fromfile(path / names[number], kind, nz * ny * nx, offset=offset)
                array[z : z + nz, y : y + ny, x : x + nx] = values.reshape(nz, ny, nx)
            arrays[variable["name"]] = array
        steps.append(arrays)
    return steps


@pytest.mark.parametrize(
    ("engine", "parameters", "files"),
    [
        ("raw", {}, ["ux-1.bin"]),
        ("raw", {"strategy": "collect"}, ["ux-1.bin"]),
        ("raw", {"strategy": "collect_xy"}, ["ux-1.bin"]),
        ("raw", {"strategy": "dist"}, [f"ux-1.{n:04d}.bin" for n in range(4)]),
        ("raw", {"strategy": "node"}, ["ux-1.0000.bin"]),
        ("raw", {"strategy": "dist", "blocks": "table"}, [f"ux-1.{n:04d}.bin" for n in range(4)]),
        ("raw", {"strategy": "node", "blocks": "table"}, ["ux-1.0000.bin"]),
        ("raw", {"aggregators": "plane", "layout": "files"}, ["ux-1.0000.bin", "ux-1.0002.bin"]),
        ("raw", {"aggregators": 3, "layout": "files"}, ["ux-1.0000.bin", "ux-1.0002.bin", "ux-1.0003.bin"]),
        ("mpiio", {"transfer": "independent"}, ["ux-10.bin"]),
        ("mpiio", {"transfer": "independent", "collect_bytes": 0}, ["ux-10.bin"]),
        ("mpiio", {"transfer": "collective", "collect_bytes": 0}, ["ux-10.bin"]),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_every_layout_is_what_the_sidecar_says(tmp_path, three, engine, parameters, files):
    given = {"path": str(tmp_path / "run"), "engine": engine, "parameters": parameters}
    KEPT.ranks(4).results(raw_programs.write_quarters, **given)
    found = read_directory(tmp_path / "run")
    assert len(found) == 2
    for step, arrays in enumerate(found):
        np.testing.assert_array_equal(arrays["ux"], UX + step)
    number = files[0][3:-4].split(".")[0]
    assert sorted(path.name for path in (tmp_path / "run").glob(f"ux-{number}[.]*")) == files
    in_one = "file" in json.loads((tmp_path / "run" / "series.jsonl").read_text().splitlines()[1])[1]["variables"][0]
    assert (tmp_path / "run" / "series.xdmf").exists() == in_one
    three.results(raw_programs.read_boxes, path=str(tmp_path / "run"))
    np.testing.assert_array_equal(tr.open(tmp_path / "run")[1]["ux"], UX + 1)
    assert tr.open(tmp_path / "run").engine == engine


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strategy": "dist", "layout": "shared"}, "contradict"),
        ({"strategy": "collect", "aggregators": "all"}, "contradict"),
        ({"strategy": "distt"}, "expected one of"),
        ({"aggregators": "some"}, "expected all, node, plane, one"),
        ({"aggregators": 0}, "expected all, node, plane, one"),
        ({"layout": "file"}, "expected one of"),
        ({"transfer": "collective"}, "no parameter 'transfer'"),
    ],
)
def test_impossible_parameters(tmp_path, parameters, message):
    with pytest.raises(InputError, match=message):
        tr.open(tmp_path / "run", "w", parameters=parameters)


def test_a_strategy_may_repeat_its_knobs(tmp_path):
    with tr.open(tmp_path / "run", "w", parameters={"strategy": "dist", "layout": "files"}) as out:
        out.write_step(0.0, index=1, ux=UX)
    np.testing.assert_array_equal(read_directory(tmp_path / "run")[0]["ux"], UX)


def test_files_of_earlier_steps_are_never_written_again(tmp_path):
    """Files are numbered by ioutput, so that another one than before may lead back to numbers that are taken."""
    with tr.open(tmp_path / "run", "w", engine="raw", parameters={"ioutput": 1}) as out:
        for step in (1, 2, 3):
            out.write_step(step, index=step, ux=UX + step)
    with tr.open(tmp_path / "run", "a", parameters={"ioutput": 2}) as out:
        with pytest.raises(InputError, match=r"step 6 .* files of the number 3, and those up to 3 are of earlier"):
            out.write_step(6.0, index=6, ux=UX)
        out.write_step(8.0, index=8, ux=UX + 8)
    for step in tr.open(tmp_path / "run"):
        np.testing.assert_array_equal(step["ux"], UX + step.index)


@pytest.mark.parametrize("strategy", ["collect_xy", "collect", "dist"])
def test_the_parts_of_some_ranks_may_change_between_steps(tmp_path, three, strategy):
    """Ranks whose part stays take part in what the others have to agree on."""
    three.results(raw_programs.move_parts, path=str(tmp_path / "run"), strategy=strategy)
    for step in tr.open(tmp_path / "run"):
        np.testing.assert_array_equal(step["ux"], UX + step.index)


def times_in_xdmf(path: Path) -> list[float]:
    return [float(time.attrib["Value"]) for time in ElementTree.fromstring(path.read_text()).iter("Time")]


@pytest.mark.parametrize("engine", ["raw", "mpiio"])
def test_series_xdmf_is_whole_after_every_step(tmp_path, engine):
    place = tmp_path / "run"
    with tr.open(place, "w", engine=engine) as out:
        for step in range(5):
            out.write_step(0.5 * step, index=step, ux=UX, mask=UX.astype(np.int32))
            assert times_in_xdmf(place / "series.xdmf") == [0.5 * n for n in range(step + 1)]
    with tr.open(place, "a", engine=engine, rewind_to=1) as out:
        assert times_in_xdmf(place / "series.xdmf") == [0.0, 0.5]
        out.write_step(7.0, index=9, ux=UX, mask=UX.astype(np.int32))
    assert times_in_xdmf(place / "series.xdmf") == [0.0, 0.5, 7.0]
    kinds = [
        item.attrib["DataType"]
        for item in ElementTree.fromstring((place / "series.xdmf").read_text()).iter("DataItem")
        if "DataType" in item.attrib
    ]
    assert kinds == ["Float", "Int"] * 3


def test_an_append_that_was_not_closed_is_told(tmp_path):
    """Though the series was closed before."""
    for step, mode in enumerate("waa"):
        out = tr.open(tmp_path / "run", mode)
        out.write_step(float(step), index=step, ux=UX)
        (said,) = tr.open(tmp_path / "run").notes
        assert "the series was not closed" in said
        out.close()
        assert tr.open(tmp_path / "run").notes == []


@pytest.mark.parametrize("engine", ["raw", "mpiio"])
def test_a_step_that_cannot_be_listed_is_not_drawn(tmp_path, engine):
    """The list of steps is as large as a file may be; the drawing is smaller, and made before."""
    place = tmp_path / "run"
    with tr.open(place, "w", engine=engine) as out:
        out.set_attribute("long", "x" * 100_000)
        out.write_step(0.0, index=0, ux=UX)
        with small_files((place / "series.jsonl").stat().st_size), pytest.raises(IoError, match=r"series\.jsonl"):
            out.write_step(0.5, index=1, ux=UX)
        assert times_in_xdmf(place / "series.xdmf") == [0.0]
        out.write_step(1.0, index=2, ux=UX)
    assert times_in_xdmf(place / "series.xdmf") == [0.0, 1.0]


def test_lists_do_not_tell_the_points_of_the_drawing(tmp_path):
    """Neither in a step before that of the first field, nor before it in its step."""
    with tr.open(tmp_path / "run", "w") as out:
        out.write_step(0.0, index=1, lists={"p": np.ones((4, 2))})
        out.begin_step(2, 1.0)
        out.write_list("p", np.ones((4, 2)))
        out.write("ux", UX)
        out.end_step()
    drawn = ElementTree.fromstring((tmp_path / "run/snapshot-2.xdmf").read_text())
    assert [one.attrib["Name"] for one in drawn.iter("Attribute")] == ["ux"]
    assert next(drawn.iter("Topology")).attrib["Dimensions"] == "7 10 12"
    assert times_in_xdmf(tmp_path / "run/series.xdmf") == [1.0]


def test_hints_are_reported(tmp_path):
    with tr.open(tmp_path / "run", "w", engine="mpiio", parameters={"hints.no_such_hint": "7"}) as out:
        notes = "\n".join(out.notes)
        out.write_step(0.0, index=1, ux=UX)
    assert "transfer = " in notes
    assert "no_such_hint = 7" in notes
    assert "hints in effect" in notes or "no hints in effect" in notes
    np.testing.assert_array_equal(read_directory(tmp_path / "run")[0]["ux"], UX)


@pytest.mark.parametrize("mode", ["r", "a"])
@pytest.mark.parametrize("strategy", ["shared", "dist"])
def test_rank_0_alone_reads_the_list_to_open(tmp_path, strategy, mode):
    """A rank that could not, and failed alone, would leave the others waiting for it."""
    with tr.open(tmp_path / "run", "w", parameters={"strategy": strategy}) as out:
        out.write_step(0.0, index=1, ux=np.full((2, 3, 4), 1.0))
    given = {"path": str(tmp_path / "run"), "mode": mode, "strategy": strategy}
    KEPT.ranks(2).results(raw_programs.open_without_files, **given)
    assert len(tr.open(tmp_path / "run")) == (2 if mode == "a" else 1)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("byte_order", "big", "its files have the byte order of another machine"),
        ("version", 99, "its version is 99; this program reads version"),
    ],
)
@pytest.mark.parametrize("mode", ["r", "a"])
def test_a_header_of_another_kind_is_refused(tmp_path, mode, key, value, message):
    """Its first line is whole; what it says does not fit."""
    with tr.open(tmp_path / "run", "w", engine="raw") as out:
        out.write_step(0.0, index=0, ux=UX)
    told = sidecar.read(tmp_path / "run")
    assert key in told
    sidecar.write(tmp_path / "run", told | {key: value})
    with pytest.raises(IoError, match=message):
        tr.open(tmp_path / "run", mode, engine="raw")
    sidecar.write(tmp_path / "run", told)
    np.testing.assert_array_equal(tr.open(tmp_path / "run")[0].read("ux"), UX)
