"""Conversion: every engine to every other, formats of other programs, selections, and what is refused."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.kept import KEPT, Kept
from helpers.harness.workers import Workers
from helpers.programs import conversions
from helpers.programs.conversions import ATTRIBUTES, GRID, SHAPE, made_up, table, values, write_source
from tailrace.cli.main import app
from tailrace.cli.ranks import launch
from tailrace.conversion import pieces
from tailrace.conversion.draft import Draft
from tailrace.core import engine_traits
from tailrace.io import series

ENGINES = ("hdf5", "bp4", "bp5", "raw", "mpiio", "sion", "adios_hdf5")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series that no test may change."""
    path = tmp_path_factory.mktemp("source") / "source"
    write_source(path, "raw")
    return path


@pytest.fixture(scope="module", params=[2, 3])
def ranks(request: pytest.FixtureRequest) -> Workers:
    return KEPT.ranks(request.param)


# ---- all of it -------------------------------------------------------------------------------------------------------
def check_copy(source: Path, target: Path) -> None:
    assert table(target) == table(source)
    with series.open(target) as found:
        assert found.grid == GRID
        told = found.attributes
    history = told.pop("history").split("\n")
    assert history[0] == "made by hand"
    assert history[1].endswith("(raw)") and len(history) == 2
    assert Path(told.pop("converted_from")).name == "source"
    assert told == {name: value for name, value in ATTRIBUTES.items() if name != "history"}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_all_of_it_there_and_back(tmp_path: Path, stored: Path, engine: str) -> None:
    done = tr.convert(stored, tmp_path / "there", engine=engine)
    check_copy(stored, tmp_path / "there")
    assert (done.engine, done.steps, done.resumed, done.verified) == (engine, 3, 0, True)
    tr.convert(tmp_path / "there", tmp_path / "back", engine="raw", verify=False)
    assert table(tmp_path / "back") == table(stored)
    beside = {"there.xdmf2"} if engine_traits(engine).companion else set()
    assert {path.name for path in tmp_path.iterdir()} - {"there.lock", "back.lock"} == {"there", "back", *beside}
    if beside:
        assert "there:" in (tmp_path / "there.xdmf2").read_text()  # found beside it, where both are now
        assert ".partial" not in (tmp_path / "there.xdmf2").read_text()


@pytest.mark.parametrize("engine", ["hdf5", "bp5", "raw"])
def test_ranks_share_the_work(tmp_path: Path, stored: Path, ranks: Workers, engine: str) -> None:
    ranks.results(conversions.convert, source=str(stored), target=str(tmp_path / "there"), engine=engine)
    check_copy(stored, tmp_path / "there")


def test_formats_of_other_programs(tmp_path: Path, stored: Path, ranks: Workers) -> None:
    there, back = str(tmp_path / "there"), str(tmp_path / "back")
    ranks.results(conversions.convert, source=str(stored), target=there, format="numbered")
    for number in range(3):
        assert np.load(f"{there}/ux-{number}.npy").tobytes() == values(number).tobytes()
    ranks.results(conversions.convert, source=there, target=back, engine="raw")
    assert table(back) == table(stored)


def test_a_rank_that_cannot_write_stops_all(tmp_path: Path, stored: Path, ranks: Workers) -> None:
    target = tmp_path / "there"
    found = ranks.run(
        conversions.convert, source=str(stored), target=str(target), format="numbered", parameters={"fail_at": 1}
    )
    assert {(one.error, one.text) for one in found} == {("OSError", "the disk of the last rank is full")}
    assert not target.exists() and not Path(f"{target}.partial").exists()


def test_bytes_stay_bytes(tmp_path: Path) -> None:
    data = np.arange(60, dtype="uint8").reshape(3, 4, 5)
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in/ux-0.npy", data)
    said = {"index": 4, "time": 1.5, "scalars": {"high": np.inf}, "variables": {"ux": ["uint8", [5, 4, 3], False]}}
    (tmp_path / "in/step-0.json").write_text(json.dumps(said))
    with made_up():
        done = tr.convert(tmp_path / "in", tmp_path / "out.h5", variables=["u"])
        tr.convert(tmp_path / "in", tmp_path / "same", format="numbered")
    assert not any("uint8" in note for note in done.notes)
    with series.open(tmp_path / "out.h5") as found:
        assert found[0]["ux"].dtype == np.uint8
        np.testing.assert_array_equal(found[0]["ux"], data)
        np.testing.assert_array_equal(found[0]["double"], 2 * data)  # a component of the vector, and computed
        assert found[0].scalars == {"high": np.inf} and found.attributes["made_by"] == "convert"
    assert np.load(tmp_path / "same/ux-0.npy").dtype == np.uint8


def test_a_source_whose_types_change_is_not_deleted(tmp_path: Path) -> None:
    with tr.open(tmp_path / "masks.h5", "w") as out:
        out.write_step(0.0, mask=np.arange(60).reshape(3, 4, 5) % 2 == 0)
    with pytest.raises(tr.InputError, match="would not have all that the source has: mask: stored as uint8"):
        tr.convert(tmp_path / "masks.h5", tmp_path / "out.bp", delete_originals=True)
    tr.convert(tmp_path / "masks.h5", tmp_path / "out.sion", delete_originals=True)
    assert not (tmp_path / "masks.h5").exists() and tr.open(tmp_path / "out.sion")[0]["mask"].dtype == bool


def test_names_that_a_series_does_not_take_come_back(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in/ux-0.npy", np.ones((3, 4, 5)))
    scalars = {"persist/seeds": "1,2", "persist/a b": 2.5, "plain": 3}
    said = {"index": 4, "time": 1.5, "scalars": scalars, "variables": {"ux": ["float64", [5, 4, 3], False]}}
    (tmp_path / "in/step-0.json").write_text(json.dumps(said))
    with made_up():
        tr.convert(tmp_path / "in", tmp_path / "there.h5")
        tr.convert(tmp_path / "there.h5", tmp_path / "again.bp")
        tr.convert(tmp_path / "again.bp", tmp_path / "back", format="numbered")
    with series.open(tmp_path / "again.bp") as found:
        assert found[0].scalars == {"persist.seeds": "1,2", "persist.a.b": 2.5, "plain": 3}
    assert json.loads((tmp_path / "back/step-0.json").read_text())["scalars"] == scalars


def test_a_name_that_another_value_has_is_not_taken_from_it(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in/ux-0.npy", np.ones((3, 4, 5)))
    scalars = {"a b": 1.0, "a.b": 2.0, "a/b": 3.0}
    said = {"index": 4, "time": 1.5, "scalars": scalars, "variables": {"ux": ["float64", [5, 4, 3], False]}}
    (tmp_path / "in/step-0.json").write_text(json.dumps(said))
    with made_up():
        done = tr.convert(tmp_path / "in", tmp_path / "out.h5")
    assert [note.split(" of a step")[0] for note in done.notes] == ["the value 'a b'", "the value 'a/b'"]
    with series.open(tmp_path / "out.h5") as found:
        assert found[0].scalars == {"a.b": 2.0}


def test_steps_of_one_index_make_no_series(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        np.save(tmp_path / f"in/ux-{number}.npy", np.ones((3, 4, 5)))
        variables = {"ux": ["float64", [5, 4, 3], False]}
        said = {"index": number // 2, "time": 0.1 * number, "scalars": {}, "variables": variables}
        (tmp_path / f"in/step-{number}.json").write_text(json.dumps(said))
    with made_up():
        with pytest.raises(tr.InputError, match=r"do not rise: 0 comes after 0, .*choose other steps"):
            tr.convert(tmp_path / "in", tmp_path / "out.h5")
        assert tr.convert(tmp_path / "in", tmp_path / "out.h5", steps=slice(1, None)).steps == 2


def test_what_an_engine_cannot_store_is_told(tmp_path: Path) -> None:
    with series.open(tmp_path / "in", "x", engine="raw") as out:
        out.set_attribute("empty", "")
        out.write_step(0.0, ux=np.zeros(SHAPE), scalars={"text": ""})
        out.write_step(1.0, ux=np.zeros(SHAPE), scalars={"text": "x" * 65_536, "wide": math.inf})
    done = tr.convert(tmp_path / "in", tmp_path / "out", engine="adios_hdf5")  # ADIOS2 would end the program on ""
    assert done.notes == []
    with series.open(tmp_path / "out") as found:
        assert found.attributes["empty"] == "" and found.steps[0].scalars == {"text": ""}
        assert found.steps[1].scalars == {"text": "x" * 65_536, "wide": math.inf}
    done = tr.convert(tmp_path / "in", tmp_path / "out.bp4")
    assert done.notes == ["the value text of a step is left out: it is a text of more than 65535 bytes"]


# ---- parts of it -----------------------------------------------------------------------------------------------------
def test_selection(tmp_path: Path, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 200)  # more pieces than one
    done = tr.convert(
        stored, tmp_path / "out.h5", steps=slice(0, 3, 2), variables=["ux", "f", "rows"],
        box=(slice(1, 6), slice(None), slice(2, None)), coarsen=(2, 1, 2),
    )  # fmt: skip
    with series.open(tmp_path / "out.h5") as found:
        assert [step.index for step in found] == [3, 23]
        for step, number in zip(found, (0, 2), strict=True):
            assert step.names == ["ux", "f_1", "f_2", "rows"]
            assert step["ux"].tobytes() == values(number)[2::2, :, 1:6:2].tobytes()
            assert step["f_2"].tobytes() == values(number + 71)[2::2, :, 1:6:2].tobytes()
            assert step["rows"].tobytes() == values(number + 90)[0].tobytes()
        assert found.grid == tr.StretchedGrid((3, 6, 2), (0.6, 0, -0.5), (0.2, 0.2, 0.5), ([], GRID.coordinates[1], []))
        assert not {"lengths", "boundaries", "every"} & set(found.attributes)
        assert found.attributes["ux/units"] == "m/s"
    assert done.notes == ["rows is kept whole: it is a list"]


def test_coarse_grids_keep_their_boundaries_where_both_ends_stay(tmp_path: Path) -> None:
    grid = tr.UniformGrid((24, 16, 17), spacing=(0.25, 0.5, 0.125), boundaries=("periodic", "periodic", "free-slip"))
    field = np.random.default_rng(1).random((17, 16, 24))
    with tr.open(tmp_path / "in.h5", "w", grid=grid) as out:
        out.write_step(0.0, ux=field)
    tr.convert(tmp_path / "in.h5", tmp_path / "even.h5", coarsen=(3, 2, 2))
    tr.convert(tmp_path / "in.h5", tmp_path / "odd.h5", coarsen=(5, 1, 1))
    with tr.open(tmp_path / "even.h5") as found:
        assert found.grid is not None and found.attributes["lengths"] == [6.0, 8.0, 2.0]
        assert found.grid.boundaries == grid.boundaries and found.grid.spacing == (0.75, 1.0, 0.25)
    with tr.open(tmp_path / "odd.h5") as found:
        assert "boundaries" not in found.attributes
        np.testing.assert_array_equal(found[0]["ux"], field[:, :, ::5])


def test_precision(tmp_path: Path, stored: Path) -> None:
    with pytest.raises(tr.InputError, match="ux, step 3: has numbers that are too large for float32"):
        tr.convert(stored, tmp_path / "out", precision="float32")
    assert not (tmp_path / "out.partial").exists()
    tr.convert(stored, tmp_path / "out", precision="float64", variables=["single", "count"])
    tr.convert(stored, tmp_path / "one", variables="single")
    assert set(tr.open(tmp_path / "one")[0].variables) == {"single"}, "a name is no list of letters"
    with series.open(tmp_path / "out") as found:
        assert found[1]["single"].tobytes() == values(51, dtype="float32").astype("float64").tobytes()
        assert found[1]["count"].dtype == np.int64
    small = np.linspace(0, 1, 60).reshape(3, 4, 5)
    with series.open(tmp_path / "double", "x", engine="raw") as out:
        out.write_step(0.0, ux=small)
    tr.convert(tmp_path / "double", tmp_path / "single.h5", precision="float32", compression="gzip")
    with series.open(tmp_path / "single.h5") as found:
        assert found[0]["ux"].tobytes() == small.astype("float32").tobytes()


# ---- what is refused -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"variables": ["uz", "ux"]}, "have no 'uz'; did you mean ux?"),
        ({"variables": []}, "at least one name"),
        ({"box": (slice(0, 8), slice(None), slice(None))}, r"expected 0 <= begin < end <= 7 in x \(found 0:8\)"),
        ({"box": tr.Box((0, 0, 4), (7, 6, 2))}, r"in z \(found 4:6\)"),
        ({"coarsen": (0, 1, 1)}, "three numbers from 1 on"),
        ({"steps": slice(3, None)}, "has 3 steps, none of which is chosen"),
        ({"steps": slice(None, None, -1)}, "every n-th step"),
        ({"precision": "float16"}, "expected float32 or float64"),
        ({"engine": "netcdf"}, "no such engine"),
        ({"engine": "null"}, "keeps nothing on disk"),
        ({"format": "netcdf"}, "no such format"),
        ({"format": "vtkhdf", "engine": "hdf5"}, "give one of them"),
        ({"compression": "gzip", "engine": "raw"}, "raw does not compress"),
        ({"parameters": {"levels": 3}, "engine": "hdf5"}, "levels"),
        ({"delete_originals": True, "verify": False}, "needs the comparison"),
        ({"delete_originals": True, "coarsen": (2, 2, 2)}, "with --coarsen the result has less"),
        ({"target": "sst:run"}, "is a stream"),
        ({"target": "."}, "no name"),
        ({"source": "nothing"}, "nothing"),
        ({"source_format": "fortran"}, "no such family"),
    ],
)
def test_wrong_requests_make_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: Path, how: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((tr.InputError, tr.IoError), match=message):
        tr.convert(**{"source": stored, "target": "out", **how})
    assert {path.name for path in tmp_path.iterdir()} <= {"out.lock"}


def test_nothing_is_replaced(tmp_path: Path, stored: Path) -> None:
    for target in (stored, stored / "inside.h5"):
        with pytest.raises(tr.InputError, match="lies in the source"):
            tr.convert(stored, target)
    (tmp_path / "file.h5").write_text("mine")
    (tmp_path / "out.h5.xdmf2").write_text("mine")
    (tmp_path / "strange.h5.partial").mkdir()
    (tmp_path / "strange.h5.partial/mine").write_text("mine")
    for name in ("file.h5", "out.h5"):
        with pytest.raises(tr.InputError, match="is there already"):
            tr.convert(stored, tmp_path / name)
    for resume in (False, True):
        with pytest.raises(tr.InputError, match="no unfinished conversion"):
            tr.convert(stored, tmp_path / "strange.h5", resume=resume)
    with pytest.raises(tr.InputError, match="is not what this conversion would make"):
        tr.convert(stored, tmp_path / "file.h5", resume=True)
    assert {path.read_text() for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"} == {"mine"}


# ---- the comparison --------------------------------------------------------------------------------------------------
def test_a_result_that_differs_gets_no_name(tmp_path: Path, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source"
    shutil.copytree(stored, source)

    def damage(draft: Draft) -> None:
        with (draft.path / "ux-2.bin").open("r+b") as file:
            file.seek(8 * (2 * 42 + 3 * 7 + 4))
            file.write(np.float64(0.25).tobytes())

    with monkeypatch.context() as change:
        change.setattr(Draft, "sync", damage)
        with pytest.raises(
            tr.IoError, match=r"step 13: ux differs in 1 values, the first at \(x, y, z\) = \(4, 3, 2\).*0\.25"
        ):
            tr.convert(source, tmp_path / "out", delete_originals=True)
    assert not (tmp_path / "out").exists()
    assert table(source) == table(stored)  # no original was removed
    with pytest.raises(tr.IoError, match="differs in 1 values"):
        tr.convert(source, tmp_path / "out", delete_originals=True, resume=True)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("how", ["changed", "gone", "new"])
def test_a_source_that_changes_meanwhile_gives_no_result(tmp_path: Path, stored: Path, verify: bool, how: str) -> None:
    """Its last values were read then: what is converted may be of two states."""
    source = tmp_path / "source"
    shutil.copytree(stored, source)

    def change(phase: str, done: int, total: int) -> None:
        if done < total or (verify and phase == "writing"):
            return
        if how == "changed":
            with (source / "ux-1.bin").open("r+b") as file:
                file.write(np.float64(0.25).tobytes())
        elif how == "gone":
            (source / "ux-1.bin").unlink(missing_ok=True)
        else:
            with series.open(source, "a") as out:
                out.write_step(9.0, index=99, ux=values(9))

    with pytest.raises(tr.InputError, match=r"\.(bin|jsonl) .* since the conversion began"):
        tr.convert(source, tmp_path / "out.h5", verify=verify, delete_originals=verify, progress=change)
    assert not (tmp_path / "out.h5").exists()
    assert (source / "ux-2.bin").exists(), "no original was removed"


# ---- interruptions ---------------------------------------------------------------------------------------------------
def killed(moment: int, **arguments: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "helpers.programs.conversion_killed", str(moment), json.dumps(arguments)]
    return subprocess.run(
        command, cwd=Path(__file__).parents[1], env=mpi_run.environment(), capture_output=True, text=True,
        timeout=240, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(("engine", "moments"), [("hdf5", (12, 20)), ("sion", (14,))])
def test_kills(tmp_path: Path, stored: Path, engine: str, moments: tuple[int, ...]) -> None:
    """A kill at any moment leaves nothing under the name of the target, or all; and the rest is gone on with."""
    target = tmp_path / "out"
    shutil.copytree(stored, tmp_path / "source")
    how = {"source": str(tmp_path / "source"), "target": str(target), "engine": engine, "delete_originals": True}
    for moment in (*moments, random.Random(engine).randrange(1, 15), 0):
        done = killed(moment, **how, resume=Path(f"{target}.partial").exists())
        assert done.returncode in (0, -9), done.stderr
        if target.exists():
            assert table(target) == table(stored)
        else:
            assert table(tmp_path / "source") == table(stored)
        if done.returncode == 0:
            break
    assert table(target) == table(stored)
    assert not any((tmp_path / "source").iterdir())
    assert not Path(f"{target}.partial").exists()


def test_going_on(tmp_path: Path, stored: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "out.h5"
    shutil.copytree(stored, source)
    assert killed(16, source=str(source), target=str(target)).returncode == -9
    with pytest.raises(tr.InputError, match="is an unfinished conversion"):
        tr.convert(source, target)
    with pytest.raises(tr.InputError, match="begun with another coarsen"):
        tr.convert(source, target, coarsen=(2, 2, 2), resume=True)
    before = (source / "ux-1.bin").stat()
    os.utime(source / "ux-1.bin")
    with pytest.raises(tr.InputError, match=r"ux-1.bin has changed since the conversion began"):
        tr.convert(source, target, resume=True)
    os.utime(source / "ux-1.bin", ns=(before.st_atime_ns, before.st_mtime_ns))
    done = tr.convert(source, target, resume=True)
    assert 0 < done.resumed < 3 and done.verified
    check_copy(stored, target)
    assert tr.convert(source, target, resume=True).resumed == 3  # it is there: it is compared


# ---- the originals ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("engine", ["hdf5", "bp5", "raw"])
def test_originals_are_removed_on_request(tmp_path: Path, stored: Path, engine: str) -> None:
    tr.convert(stored, tmp_path / "source", engine=engine)
    own = tmp_path / ("source" if engine_traits(engine).file_names else ".") / "mine.txt"
    own.write_text("mine")
    done = tr.convert(tmp_path / "source", tmp_path / "out.sion", delete_originals=True)
    assert done.removed > 0
    assert table(tmp_path / "out.sion") == table(stored)
    there = {path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"}
    assert {path for path in there if tmp_path / "out.sion" not in path.parents} == {own}


def test_originals_stay_where_links_lead_to_them(tmp_path: Path, stored: Path) -> None:
    (tmp_path / "link").symlink_to(stored)
    with pytest.raises(tr.InputError, match="is a symbolic link"):
        tr.convert(tmp_path / "link", tmp_path / "out.h5", delete_originals=True)
    tr.convert(tmp_path / "link", tmp_path / "out.h5")
    assert table(tmp_path / "out.h5") == table(stored)


# ---- the command -----------------------------------------------------------------------------------------------------
def test_command(tmp_path: Path, stored: Path, tailrace: Kept) -> None:
    said = tailrace(
        tmp_path, "convert", stored, "out.h5", "--steps", "1:", "--variables", "ux, f", "--box", "1:6,:,2:",
        "--coarsen", "2,1,1", "--parameter", "level=1", "--compression", "gzip",
    )  # fmt: skip
    assert said.out == "out.h5: hdf5, 2 steps, 2.5 KiB of values, verified\n", said.text
    with series.open(tmp_path / "out.h5") as found:
        assert found[0]["ux"].tobytes() == values(1)[2:, :, 1:6:2].tobytes()
        assert found.attributes["converted_from"] == str(stored)


def test_options_reach_the_ranks(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[int, list[str]]] = []

    def start(ranks: int, arguments: list[str], **_: Any) -> int:
        started.append((ranks, arguments))
        return 0

    monkeypatch.setattr(launch, "start", start)
    words = [
        "convert", str(stored), "out.h5", "--steps=1:", "--coarsen=2,1,1", "--engine=hdf5", "--variables=ux",
        "--box=:,0:3,:", "--precision=float64", "--compression=gzip", "--parameter=level=1", "--parameter=shuffle=off",
        "--source-parameter=a=b", "--resume", "--no-verify",
    ]  # fmt: skip
    app([*words, "-n", "3"], standalone_mode=False)
    (ranks, passed), *_ = started
    assert (ranks, [one for one in passed if one != "--progress-lines"]) == (3, words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--steps", "1"], "--steps 1: expected A:B or A:B:N"),
        (["--steps", "a:b"], "--steps a:b: expected"),
        (["--box", "1:2,3:4"], "--box 1:2,3:4: expected X0:X1,Y0:Y1,Z0:Z1"),
        (["--box", "1:2:3,:,:"], "expected A:B"),
        (["--coarsen", "2,2"], "--coarsen 2,2: expected three whole numbers"),
        (["--parameter", "level"], "--parameter level: must be NAME=VALUE"),
        (["--precision", "half"], "expected float32 or float64"),
        (["--delete-originals", "--no-verify"], "needs the comparison"),
    ],
)
def test_wrong_options(tmp_path: Path, stored: Path, tailrace: Kept, words: list[str], message: str) -> None:
    assert message in tailrace(tmp_path, "convert", stored, "out.h5", *words, code=2).err
    assert not any(tmp_path.iterdir())
