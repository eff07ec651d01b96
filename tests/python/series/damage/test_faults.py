"""Every engine with failures: full disks, wrong targets, damage, wrong calls, and one rank that fails alone.

TAILRACE_TEST_DAMAGES (4): how many cuts and flipped bytes each engine must survive; 50 for a release, which then
also fills the disk at every page.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers.harness import mpi_run
from helpers.harness.engines import ENGINES, KINDS, Engine
from helpers.harness.kept import KEPT
from helpers.harness.workers import CrashError
from helpers.programs.series import full_disks, io_programs

DAMAGES = int(os.environ.get("TAILRACE_TEST_DAMAGES", "4"))
PAGES = [*range(12), 16, 24, 4096] if DAMAGES >= 50 else [0, 2, 5, 9, 16, 4096]  # ADIOS2 needs room for a buffer
FULL = "No space left on device"
HOWS: dict[str, dict[str, Any]] = {
    "plain": {},
    "sync": {"sync": True},
    "background": {"buffers": 2},
    "one buffer": {"buffers": 1},
}


def ways(*hows: str) -> list[Any]:
    """Every engine in every way, and bp4 with one buffer, which is ADIOS2's own."""
    all_ways = [(engine, how) for engine in ENGINES for how in hows]
    all_ways += [(engine, "one buffer") for engine in ENGINES if engine.name == "bp4"]  # engine: its own way
    return [pytest.param(engine, how, id=f"{engine}-{how}") for engine, how in all_ways]


@pytest.fixture(scope="module")
def six():
    return KEPT.ranks(6)


@pytest.fixture(params=ENGINES, ids=str)
def engine(request) -> Engine:
    return request.param


def target(engine: Engine, folder: Path, **more: Any) -> dict[str, Any]:
    return {"path": str(engine.path(folder)), "engine": engine.name, "parameters": {**engine.parameters, **more}}


def texts_of(outcomes, error: str) -> str:
    """The text of an error that is the same on all ranks."""
    assert [one.error for one in outcomes] == [error] * len(outcomes), outcomes
    assert len({one.text for one in outcomes}) == 1, "every rank says the same"
    return outcomes[0].text


# ---- full disks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("engine", "how"), ways("plain", "sync", "background"))
def test_disk_full_in_between(small_disk, engine, some, how):
    """The disk fills in the data, in the metadata, nowhere: more free pages each time."""
    disk = small_disk("20m")  # 4096 pages and the series; all but the free pages are filled each time
    more, ended = HOWS[how], []
    for pages in PAGES:
        folder = disk / str(pages)
        folder.mkdir()
        given = target(engine, folder, **more)
        found = some.results(full_disks.fill_disk, disk=str(disk), pages=pages, **given)
        assert len({(one["error"], one["at"]) for one in found}) == 1, found
        error, at, kept = (found[0][key] for key in ("error", "at", "kept"))
        # A step is there as soon as its end_step has returned, unless it was still on its way.
        fewest = 2 if "buffers" in more or at == "step 3" else 3
        if error:
            assert FULL in error and str(folder) in error, error
            assert "buffers" not in more or "step 3 could not be" in error or "step 4 could not be" in error, error
            assert fewest <= len(kept) < 4, (pages, at, kept)
        else:
            assert kept == [1, 2, 3, 4]
        assert some.results(io_programs.check_series, path=given["path"])[0] == [*kept, 5]
        ended.append(bool(error))
        shutil.rmtree(folder)
    assert ended[0] and not ended[-1], "it must fail with no space, and not fail with enough"


def test_disk_full_loses_the_steps_behind(small_disk, engine, three):
    disk = small_disk("20m")
    given = target(engine, disk, buffers=3)
    found = three.results(full_disks.lose_steps, disk=str(disk), **given)
    assert found[0] == found[1] == found[2]
    lost, error, kept = (found[0][key] for key in ("lost", "error", "kept"))
    assert FULL in error and "step 2 could not be written in the background" in error
    assert str(disk) in error and error.count("(on rank") == 1
    assert ["lost with it" not in error, "1 later step is lost" in error, "2 later steps are lost" in error][lost], (
        error
    )
    assert kept == [1]


@pytest.mark.parametrize(("engine", "how"), ways("plain", "background"))
def test_a_step_too_large_for_the_disk(small_disk, engine, three, how):
    disk = small_disk("20m")
    given = target(engine, disk, **HOWS[how])
    found = three.results(full_disks.write_too_much, disk=str(disk), megabytes=10, **given)
    assert len({one["error"] for one in found}) == 1, found
    assert FULL in found[0]["error"] and str(disk) in found[0]["error"], found
    assert found[0]["lost"] < 1 << 20, "its room is free again"
    assert three.results(io_programs.check_series, path=given["path"])[0] == [1, 3]


# ---- targets ---------------------------------------------------------------------------------------------------------


def test_read_only_file_system(small_disk, engine, some):
    disk = small_disk("16m")
    given = target(engine, disk)
    some.results(io_programs.write_series, steps=2, **given)
    small_disk("16m,ro")
    for mode in ("w", "a"):
        text = texts_of(some.run(io_programs.open_series, mode=mode, path=given["path"], engine=engine.name), "IoError")
        assert "Read-only file system" in text and given["path"] in text
        text = texts_of(
            some.run(io_programs.open_series, mode=mode, path=str(disk / "new"), engine=engine.name), "IoError"
        )
        assert "Read-only file system" in text and str(disk) in text
    assert some.results(io_programs.check_series, path=given["path"])[0] == [1, 2]


def test_targets_that_cannot_be(tmp_path, engine, some):
    missing = tmp_path / "no" / engine.place
    text = texts_of(some.run(io_programs.open_series, mode="w", path=str(missing), engine=engine.name), "IoError")
    assert str(tmp_path / "no") in text and "does not exist" in text
    wrong = engine.path(tmp_path)
    if engine.is_file:
        wrong.mkdir()
    else:
        wrong.write_text("precious")
    for mode in ("r", "w", "a"):
        text = texts_of(some.run(io_programs.open_series, mode=mode, path=str(wrong), engine=engine.name), "IoError")
        assert str(wrong) in text and "keeps a series in a" in text
    assert wrong.is_dir() or wrong.read_text() == "precious"


def test_strangers_files_stay(tmp_path, engine, some):
    """A directory or file of somebody else: written into where that does no harm, else refused."""
    path = engine.path(tmp_path)
    if engine.is_file:
        path.write_text("precious")
        text = texts_of(some.run(io_programs.open_series, mode="a", path=str(path), engine=engine.name), "IoError")
        assert str(path) in text
        assert path.read_text() == "precious"
        return
    path.mkdir()
    strangers = {path / name: name for name in ("notes.txt", "ux.bin", "data", "step.sion")}
    for file, text in strangers.items():
        file.write_text(text)
    if not engine.spares_strangers:  # ADIOS2 empties the directory that it writes to
        for mode in ("w", "a"):
            text = texts_of(some.run(io_programs.open_series, mode=mode, path=str(path), engine=engine.name), "IoError")
            assert str(path) in text
        assert {file: file.read_text() for file in path.iterdir()} == strangers
        return
    some.run(io_programs.write_series, steps=2, **target(engine, tmp_path))
    some.run(io_programs.write_series, steps=1, **target(engine, tmp_path))
    assert {file: file.read_text() for file in strangers} == strangers
    assert some.results(io_programs.check_series, path=str(path))[0] == [1]


def test_killed_before_the_first_step(tmp_path, kind, some):
    """A directory in which there is nothing yet but the names of files takes steps."""
    if kind.is_file:
        pytest.skip("test_strangers_files_stay says what a file may be")
    path = kind.path(tmp_path)
    path.mkdir()
    for name in ("data.0", "md.0", "mmd.0"):  # as ADIOS2 makes them, before md.idx
        (path / name).touch()
    some.results(io_programs.append_steps, path=str(path), engine=kind.name, steps=2)
    assert some.results(io_programs.check_series, path=str(path))[0] == [1, 2]


@pytest.mark.parametrize("name", ["raw", "mpiio", "adios_hdf5"])
def test_new_series_where_a_first_line_is_damaged(tmp_path, one, name):
    """The engine of the series is unknown, so that its steps are not read."""
    path = tmp_path / "run"
    one.results(io_programs.write_series, steps=2, path=str(path), engine="sion", parameters={})
    lines = (path / "series.jsonl").read_text()
    (path / "series.jsonl").write_text(lines.replace("sion", "noise", 1))
    one.results(io_programs.write_series, steps=1, path=str(path), engine=name, parameters={})
    assert one.results(io_programs.check_series, path=str(path))[0] == [1]


@pytest.mark.parametrize("other", KINDS, ids=str)
def test_another_engines_series(tmp_path, kind, other, some):
    if kind.name == other.name:
        pytest.skip("the same engine")
    some.results(io_programs.write_series, steps=2, **target(kind, tmp_path))
    path = str(kind.path(tmp_path))
    replaced = kind.traits.family == other.traits.family  # with the same names of files
    for mode in ("r", "a") if replaced else ("r", "a", "w"):
        text = texts_of(some.run(io_programs.open_series, mode=mode, path=path, engine=other.name), "IoError")
        assert path in text
    assert some.results(io_programs.check_series, path=path)[0] == [1, 2]
    if replaced:
        some.results(io_programs.write_series, steps=1, path=path, engine=other.name, parameters=dict(other.parameters))
        assert some.results(io_programs.check_series, path=path)[0] == [1]


# ---- calls -----------------------------------------------------------------------------------------------------------

WRONG = {
    "time nan": "nan",
    "time inf": "inf",
    "no step": "call begin_step first",
    "shape of one": "points together",
    "start of one": "outside",
    "type of one": "other",
    "dimensions of one": "(nz, ny, nx)",
    "nothing of one": "object",
    "bytes": "S4",
    "text of one": "<U1",
    "name of one": "same variables in the same order",
    "another shape": "6 x 5 x 4",
    "fractions": "cannot hold",
    "twice": "already written",
    "columns of one": "same variables in the same order",
    "path": "../ux",
    "scalar of one": "a number or a text",
    "attribute of one": "a text, a number, a list of numbers or a list of texts",
    "same index": "cannot follow",
    "index of one": "this rank",
    "no index of one": "int()",
    "unknown": "did you mean 'ux'",
    "outside": "outside",
    "box of one": "outside",
    "type to read of one": "no such type",
    "as integers": "cannot be read as",
}


@pytest.mark.parametrize(("engine", "how"), ways("plain", "background"))
def test_wrong_calls(tmp_path, engine, three, how):
    given = target(engine, tmp_path, **HOWS[how])
    found = three.results(io_programs.wrong_calls, **given)
    assert found[0] == found[1] == found[2], "every rank gets the same errors"
    assert list(found[0]) == list(WRONG)
    for what, words in WRONG.items():
        assert words in found[0][what], (what, found[0][what])
    assert three.results(io_programs.check_series, path=given["path"])[0] == [1, 2, 3]


@pytest.mark.parametrize(("engine", "how"), ways("plain", "background"))
def test_fewer_points_than_ranks(tmp_path, engine, six, how):
    six.results(io_programs.write_little, **target(engine, tmp_path, **HOWS[how]))


@pytest.mark.parametrize(("engine", "how"), ways("plain", "background"))
@pytest.mark.parametrize("which", [0, 2])
def test_one_rank_cannot_write(tmp_path, engine, three, which, how):
    if which and not engine.every_rank_writes:
        pytest.skip("this rank writes nothing")
    given = target(engine, tmp_path, **HOWS[how])
    found = three.results(io_programs.one_rank_cannot_write, limit=60, which=which, **given)
    assert len({one["error"] for one in found}) == 1, found
    assert "File too large" in found[0]["error"] and f"(on rank {which})" in found[0]["error"], found
    assert three.results(io_programs.check_series, path=given["path"])[0] == [1, 4]


# ---- damage ----------------------------------------------------------------------------------------------------------

STEPS = 4


@pytest.fixture(scope="module")
def sound(tmp_path_factory, three):
    """A series of every engine, written by three ranks, to damage copies of."""
    folders = {}
    for engine in ENGINES:
        folders[engine.label] = tmp_path_factory.mktemp(engine.label)
        three.results(io_programs.write_series, steps=STEPS, **target(engine, folders[engine.label]))
    return folders


def files_of(path: Path) -> list[Path]:
    """The files of a series that have bytes to damage."""
    files = [path] if path.is_file() else path.rglob("*")
    return sorted(file for file in files if file.is_file() and file.stat().st_size)


def cut(file: Path, chance: random.Random) -> str:
    size = chance.randrange(file.stat().st_size)
    os.truncate(file, size)
    return f"{file.name} cut to {size} bytes"


def flip(file: Path, chance: random.Random) -> str:
    data = bytearray(file.read_bytes())
    at, bits = chance.randrange(len(data)), chance.randrange(1, 256)
    data[at] ^= bits
    file.write_bytes(data)
    return f"{file.name} byte {at} ^ {bits}"


@pytest.mark.parametrize("damage", [cut, flip], ids=["cut", "flipped"])
def test_damage(sound, tmp_path, engine, one, damage):
    """For every damage: `verify` and a reader report it or find no damage; no crash, no hang, no wrong numbers."""
    chance = random.Random(f"{engine.label} {damage.__name__}")
    counts = {"found": 0, "harmless": 0}
    crashed, silent = [], []
    names = [file.relative_to(sound[engine.label]) for file in files_of(engine.path(sound[engine.label]))]
    chance.shuffle(names)
    for number in range(DAMAGES):
        folder = tmp_path / str(number)
        shutil.copytree(sound[engine.label], folder)
        path = engine.path(folder)
        file = folder / names[number % len(names)]  # every file is damaged as often, large or small
        what = damage(file, chance)
        try:
            seen = one.run(io_programs.look_at, path=str(path), limit=15)[0]
        except CrashError as crash:
            crashed.append(f"{what}: {str(crash).splitlines()[0]}")
            continue
        assert not seen.error, f"{what}: {seen.trace}"
        found = seen.result
        assert found["code"] in (0, 1, 2) and found["printed"].strip(), (what, found)
        assert "Traceback" not in found["printed"], (what, found)
        missing = found["right"] != list(range(1, STEPS + 1)) and "not checked" not in found["printed"]
        if found["code"] == 0 and (found["wrong"] or found["refused"] or missing):
            silent.append(f"{what}: {found}")
        if engine.steps_apart and (step := step_of(engine, file)):
            others = [index for index in range(1, STEPS + 1) if index != step]
            assert set(others) <= set(found["right"]), (what, found)
        counts["found" if found["code"] else "harmless"] += 1
        shutil.rmtree(folder)
    print(f"{engine}: {damage.__name__} {DAMAGES} times: {counts}, {len(crashed)} crashed, {len(silent)} silent")
    print(*silent, *crashed, sep="\n")
    assert not crashed, "a reader was ended by a signal, or did not end"
    assert not silent, "verify finds all well, and a reader does not"


def step_of(engine: Engine, file: Path) -> int | None:
    """The step whose data a file of this series holds, and no other's."""
    if engine.traits.file_names and file.suffix == ".bin":
        return int(file.name.rpartition("-")[2].partition(".")[0])  # ux-1.bin, ux-1.0003.bin
    if file.name.startswith("step-") and file.suffix == ".sion":
        return int(file.name[5:13])
    return None


def test_cli_says_what_look_at_says(sound, tmp_path):
    """The real program, once: `look_at` calls the same command without a new process."""
    shutil.copytree(sound["raw"], tmp_path / "copy")
    os.truncate(tmp_path / "copy/run/ux-2.bin", 1000)
    result = mpi_run.tailrace("verify", tmp_path / "copy/run", cwd=tmp_path, limit=30)
    assert result.code == 1
    assert "ux" in result.out and "step 2" in result.out and "Traceback" not in result.text
