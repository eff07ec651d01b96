"""A run replaces what Tailrace wrote, known by its mark, and refuses everything else before it touches anything."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from helpers.inputs import cases

SIGNATURE = b"\x89HDF\r\n\x1a\n"
BLOCK = '[[output]]\nname = "b"\nfields = ["ux"]\nevery = 2\nengine = "{}"\npath = "{}"\n'
PRECIOUS = b"precious, and of another program\n"
TRACED = "[output.parameters]\ntrace = 't.json'\nfolded = 'f.txt'\n"


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Path:
    """The directory of a run that has ended."""
    case = cases.write_case(tmp_path_factory.mktemp("done") / "run", steps=6, every=2, outputs=("hdf5",))
    case.write_text(case.read_text() + TRACED)
    assert cases.run(case).code == 0
    return case.parent


def contents(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def refused(case: Path, *arguments: str) -> str:
    """The message of a run that is refused and changes nothing."""
    before = contents(case.parent)
    said = cases.message(cases.run(case, *arguments))
    assert contents(case.parent) == before
    return said


@pytest.fixture
def case(done: Path, tmp_path: Path) -> Path:
    """The case of a run that has ended, to be run again."""
    return Path(shutil.copytree(done, tmp_path / "run")) / "case.toml"


FOREIGN = {
    "out.h5": [
        PRECIOUS,
        bytes(64) + PRECIOUS,
        bytes(70_000) + PRECIOUS,
        SIGNATURE + PRECIOUS,
        b"my notes about \x08Tailrace\n",
        b"# Tailrace time series\nstep,time\n",
    ],
    "time_series.csv": [bytes(64) + PRECIOUS, b"# Tailrace time series of mine\n", SIGNATURE + b"\x08Tailrace"],
    "t.json": [PRECIOUS, b'{"traceEvents": []}'],
    "t.json.tmp": [PRECIOUS],
    "f.txt": [PRECIOUS],
    "out.h5.journal": [PRECIOUS, bytes(8) + PRECIOUS],
    "out.h5.lock": [PRECIOUS],
    "checkpoints.lock": [PRECIOUS],
    "time_series.csv.new": [PRECIOUS],
}


@pytest.mark.parametrize("name", FOREIGN)
def test_files_without_our_mark_are_refused(case: Path, name: str):
    for content in FOREIGN[name]:
        (case.parent / name).write_bytes(content)
        said = refused(case)
        assert f"{name} is there already, and is no " in said


def test_what_a_kill_leaves_is_replaced(case: Path):
    """Nothing, zeros, and the first part of a mark hold nothing that anybody could miss."""
    (case.parent / "out.h5").write_bytes(bytes(70_000))
    (case.parent / "out.h5.journal").write_bytes(b"")
    (case.parent / "time_series.csv").write_bytes(b"# Tailrace ti" + bytes(100_000))
    (case.parent / "time_series.csv.new").write_bytes(b"# Tail")
    (case.parent / "t.json").write_bytes(b"")
    result = cases.run(case)
    assert result.code == 0, result.text


def test_a_run_replaces_all_of_an_earlier_one(case: Path):
    """Every mark is that of the files that are really written; larger alignments move no mark out of reach."""
    text = case.read_text().replace("[output.parameters]", "[output.parameters]\nalignment = 1048576")
    case.write_text(text + BLOCK.format("bp5", "two.bp") + BLOCK.format("bp4", "two.bp4").replace('"b"', '"c"'))
    for arguments in ((), (), ("--resume",)):
        result = cases.run(case, *arguments, ranks=2)
        assert result.code == 0, result.text


@pytest.mark.parametrize("name", ["x.sst", "x.sst.writer", "x.sst.writer.tmp", "b-left-out.csv"])
def test_files_of_a_stream(case: Path, name: str):
    case.write_text(case.read_text() + BLOCK.format("sst", "sst:x"))
    (case.parent / name).write_bytes(PRECIOUS)
    assert f"output[1].path: {name} is there already, and is no " in refused(case)


@pytest.mark.parametrize("engine", ["bp4", "bp5"])
def test_a_directory_that_holds_something_else(case: Path, engine: str):
    case.write_text(case.read_text() + BLOCK.format(engine, "mine"))
    (case.parent / "mine").mkdir()
    (case.parent / "mine" / "notes.txt").write_bytes(PRECIOUS)
    assert "output[1].path: cannot write mine: it holds mine/notes.txt, which is of no BP series" in refused(case)


def test_a_series_of_another_engine(case: Path):
    case.write_text(case.read_text() + BLOCK.format("raw", "two"))
    assert cases.run(case).code == 0
    said = refused(case, "--set=output[1].engine='sion'")
    assert "output[1].path: two holds a series of the engine raw" in said


@pytest.mark.parametrize("engine", ["bp5", "raw", "sion", "mpiio", "adios_hdf5"])
def test_a_file_where_a_directory_is_needed(case: Path, engine: str):
    case.write_text(case.read_text() + BLOCK.format(engine, "two"))
    (case.parent / "two").write_bytes(PRECIOUS)
    assert "output[1].path: two is there already, and is a file" in refused(case)
    (case.parent / "two").unlink()
    case.write_text(case.read_text().replace('"two"', '"blocked/two"'))
    (case.parent / "blocked").write_bytes(PRECIOUS)
    assert "blocked is a file" in refused(case)


def test_a_file_in_the_place_of_the_checkpoints(case: Path):
    (case.parent / "file").write_bytes(PRECIOUS)
    for rhythm in ((), ("--set=checkpoint.every=0", "--set=checkpoint.minutes=60")):
        said = refused(case, "--set=checkpoint.path='file'", *rhythm)
        assert "checkpoint.path: file is there already, and is a file" in said
    result = cases.run(case, "--set=checkpoint.path='file'", "--set=checkpoint.every=0")
    assert result.code == 0, result.text


LAYOUTS = {
    "raw": ("raw", "ux-7.bin"),
    "raw of each rank": ("raw", "ux-7.0001.bin"),
    "raw, pressure": ("raw", "pp-0.bin"),
    "raw, description": ("raw", "snapshot-3.xdmf"),
    "mpiio": ("mpiio", "ux-7.bin"),
    "sion": ("sion", "step-00000004.sion"),
    "adios_hdf5": ("adios_hdf5", "step-00000004.h5"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ranks", [None, 2])
def test_names_of_steps_to_come_are_refused_before_anything_is_touched(tmp_path: Path, layout: str, ranks: int | None):
    engine, name = LAYOUTS[layout]
    case = cases.write_case(tmp_path, steps=6, every=2)
    case.write_text(case.read_text() + BLOCK.format(engine, "there").replace('["ux"]', '["ux", "pressure"]'))
    (tmp_path / "there").mkdir()
    for other in (name, "notes.txt", "uxx-1.bin"):
        (tmp_path / "there" / other).write_bytes(PRECIOUS)
    before = contents(tmp_path)
    said = cases.message(cases.run(case, ranks=ranks))
    assert contents(tmp_path) == before
    assert (
        f"output[0].path: there has files of another program, whose names this run needs for its steps: {name}. "
        in said
    )
    (tmp_path / "there" / name).unlink()
    for options in ((), ("--overwrite",)):
        assert cases.run(case, *options, ranks=ranks).code == 0
        assert {(tmp_path / "there" / other).read_bytes() for other in ("notes.txt", "uxx-1.bin")} == {PRECIOUS}
    assert cases.run(case, "--resume", "--set=time.steps=8", ranks=ranks).code == 0
