"""What a run looks at before it writes: files of other programs, results of other runs, and what it goes on with."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace.analysis.ownership import title_of
from tailrace.catalyst.executions import Executions
from tailrace.core import FileLock, InputError, IoError
from tailrace.files.marks import FILM, PICTURE
from tailrace.flow.checkpoint import CheckpointStore, State
from tailrace.io.series import Block
from tailrace.io.time_series import TimeSeries
from tailrace.simulation import existing_results, way_on, write_checks

COMM = MPI.COMM_SELF


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def output(engine: str, path: str, *fields: str) -> dict[str, Any]:
    return {
        "name": path.removeprefix("sst:").partition(".")[0],
        "fields": fields or ["ux"],
        "every": 1,
        "engine": engine,
        "path": path,
    }


def case(**blocks: Any) -> tr.Case:
    return tr.Case(
        case={"flow": "taylor-green", "reynolds": 100.0},
        grid={"points": (8, 8, 8), "lengths": (1.0,) * 3, "boundaries": ("periodic",) * 3},
        time={"dt": 0.01, "steps": 2},
        **blocks,
    )


def refused(**blocks: Any) -> str:
    """Why the files that are there must not be written; "" if they may."""
    try:
        write_checks.check_targets(case(**blocks), COMM)
    except InputError as error:
        return str(error)
    return ""


# ---- before a run ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wanted", "checked"), [({}, False), ({"every": 2}, True), ({"minutes": 1.0}, True)])
def test_the_place_of_checkpoints_is_looked_at_where_some_are_written(wanted: dict[str, Any], *, checked: bool) -> None:
    Path("checkpoints").write_text("mine")
    said = "checkpoint.path: checkpoints is there already, and is a file; expected a directory. Choose another"
    assert refused(checkpoint=wanted).startswith(said) == checked


def test_a_file_in_the_way_of_a_directory_is_named() -> None:
    Path("file").touch()
    said = "diagnostics.path: file/deep/table.csv cannot be made, because {} is a file; choose another path"
    assert refused(diagnostics={"path": "file/deep/table.csv"}).startswith(said.format(Path("file").absolute()))
    assert refused(diagnostics={"path": "file/table.csv"}).startswith("diagnostics.path: file/table.csv cannot be made")
    assert refused(diagnostics={"path": "new/deep/table.csv"}) == ""
    Path("table.csv").mkdir()
    assert "is there already, and is a directory; expected a file" in refused(diagnostics={"path": "table.csv"})


def test_a_pipe_in_the_place_of_an_output_is_refused() -> None:
    """Opening it would wait for ever."""
    os.mkfifo("out")
    with pytest.raises(IoError, match="it is a named pipe; expected a regular file"):
        write_checks.check_targets(case(output=[output("raw", "out")]), COMM)


def test_a_series_of_another_engine_is_not_replaced() -> None:
    grid = tr.UniformGrid((8, 8, 8))
    with tr.open("a.h5", "w", grid=grid) as series:
        series.write_step(0.0, ux=np.zeros((8, 8, 8)))
    assert refused(output=[output("hdf5", "a.h5")]) == ""
    said = refused(output=[output("null", "b"), output("adios_hdf5", "a.h5")])
    assert said.startswith("output[1].path: a.h5 ")
    assert refused(output=[output("null", "a.h5")]) == "", "it writes nothing"
    with tr.open("raw", "w", engine="raw", grid=grid) as series:
        series.write_step(0.0, ux=np.zeros((8, 8, 8)))
    said = "output[1].path: raw holds a series of the engine raw; choose the engine raw, or another path, or remove it"
    assert refused(output=[output("hdf5", "a.h5"), output("sion", "raw")]) == said


def test_a_file_in_the_directory_of_a_bp_series_stays() -> None:
    Path("a.bp").mkdir()
    assert refused(output=[output("bp5", "a.bp")]) == ""
    Path("a.bp/notes.txt").write_text("mine")
    assert "notes.txt" in refused(output=[output("bp5", "a.bp")])


def test_results_of_others_in_the_place_of_an_analysis() -> None:
    Path("analysis").mkdir()
    Path("analysis/enstrophy-final.csv").write_text("step,time\n1,mine\n")
    assert "enstrophy-final.csv" in refused(analysis=[{"script": "enstrophy", "every": 1}])


@pytest.mark.parametrize(
    ("fields", "names", "said"),
    [
        (["ux"], ["ux-3.txt", "uy-3.bin", "3.bin"], None),
        (["ux", "uy"], ["uy-0003.bin", "notes.txt"], "uy-0003.bin"),
        (["ux"], ["series.xdmf"], "series.xdmf"),
        (["ux"], [f"ux-{n}.bin" for n in (4, 2, 3, 1)], "ux-1.bin, ux-2.bin, ux-3.bin, ux-4.bin"),
        (["ux"], [f"ux-{n}.bin" for n in range(1, 7)], "ux-1.bin, ux-2.bin, ux-3.bin, ux-4.bin and 2 more"),
    ],
)
def test_files_of_others_that_have_the_names_of_steps(fields: list[str], names: list[str], said: str | None) -> None:
    Path("out").mkdir()
    for name in names:
        Path("out", name).write_text("mine")
    given = case(output=[output("hdf5", "a.h5"), output("raw", "out", *fields)])
    if said is None:
        write_checks.check_names(given)
        return
    with pytest.raises(InputError) as error:
        write_checks.check_names(given)
    assert str(error.value) == (
        f"output[1].path: out has files of another program, whose names this run needs for its steps: {said}. To fix "
        "this, write to another directory (--directory DIR, or another path), or move them away"
    )
    with pytest.raises(InputError, match="files of another program"):
        existing_results.check_free(given, COMM, overwrite=True)


# ---- before a run goes on --------------------------------------------------------------------------------------------


def table(path: str, run: str | None) -> None:
    Path(path).unlink(missing_ok=True)
    with TimeSeries(path, columns=("step", "time"), provenance={} if run is None else {"run": run}) as rows:
        rows.append({"step": 0, "time": 0.0})


def stored(path: str, run: str | None, *, steps: int = 1) -> None:
    with tr.open(path, "w", grid=tr.UniformGrid((8, 8, 8))) as series:
        if run is not None:
            series.set_attribute("run", run)
        for index in range(steps):
            series.write_step(0.1 * index, ux=np.zeros((8, 8, 8)))


def goes_on(listed: str = "[]", run: str | None = "mine") -> str:
    about = {"files": listed} | ({} if run is None else {"run": run})
    checkpoint: Any = SimpleNamespace(path="step-4", about=about)
    try:
        write_checks.check_files_there(case(output=[output("hdf5", "a.h5")]), checkpoint, COMM)
    except IoError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("run", "listed", "foreign"),
    [
        ("mine", False, False), ("mine", True, False), ("other", False, True), ("other", True, True),
        (None, False, True), (None, True, False),
    ],
)  # fmt: skip
def test_results_of_another_run_are_not_gone_on_with(run: str | None, *, listed: bool, foreign: bool) -> None:
    """What does not say its run is taken for its own where the run has left something."""
    table("time_series.csv", run)
    said = goes_on('["time_series.csv"]' if listed else "[]")
    assert (said != "") == foreign
    if foreign:
        assert said.startswith(
            "checkpoint step-4: there are results of another run than that of the checkpoint: time_series.csv "
            "(diagnostics.path). This run would cut them"
        )
    stored("a.h5", run)
    assert ("a.h5 (path of output 'a')" in goes_on('["a.h5", "time_series.csv"]' if listed else "[]")) == foreign
    assert goes_on("[]", run=None) == "", "a checkpoint that does not tell its run"


def test_what_holds_nothing_or_is_damaged_is_of_no_run() -> None:
    stored("a.h5", "other", steps=0)
    assert goes_on() == ""
    stored("a.h5", "other")
    data = Path("a.h5").read_bytes()
    Path("a.h5").write_bytes(data[: len(data) // 2])
    assert "another run" not in goes_on()


def test_missing_files_of_outputs_and_analyses_have_their_keys() -> None:
    given = case(
        output=[output("hdf5", "a.h5"), output("null", "none"), output("sst", "sst:live")],
        analysis=[{"script": "enstrophy", "every": 1, "out": "found"}],
    )
    checkpoint: Any = SimpleNamespace(path="step-4", about={"files": '["a.h5", "found/enstrophy.csv", "none", "live"]'})
    with pytest.raises(IoError) as error:
        write_checks.check_files_there(given, checkpoint, COMM)
    named = "a.h5 (path of output 'a'), found/enstrophy.csv (out of analysis 'enstrophy'). To fix"
    assert f"not there any more: {named}" in str(error.value)


# ---- results of an earlier run ---------------------------------------------------------------------------------------


def found(given: tr.Case) -> list[tuple[str, list[str]]]:
    store = CheckpointStore(given.checkpoint.path, 2, COMM)
    return [(one.named, [str(path) for path in one.files or []]) for one in existing_results.of_run(given, store)]


def write_checkpoint(*steps: int) -> CheckpointStore:
    store = CheckpointStore("checkpoints", 9, COMM)
    for step in steps:
        blocks = {f"u{name}": Block(np.zeros((2, 3, 4)), (4, 3, 2)) for name in "xyz"}
        store.write(State(step, 0.5 * step, 1, 1, "none", 1), blocks, {})
    return store


def test_what_an_earlier_run_has_left_is_found() -> None:
    given = case(output=[output("hdf5", "a.h5"), output("null", "none"), output("sst", "sst:live")])
    assert found(given) == []
    table("time_series.csv", None)
    table("live-left-out.csv", None)
    stored("a.h5", None)
    write_checkpoint(3, 12345678)
    names = [named for named, _ in found(given)]
    assert names == ["time_series.csv", "a.h5", "live-left-out.csv", "checkpoints"]
    assert found(given)[-1][1] == ["checkpoints/step-12345678", "checkpoints/step-00000003"]
    with pytest.raises(InputError, match=r"--resume, to go on from step 12345678; "):
        existing_results.check_free(given, COMM)
    existing_results.check_free(given, COMM, resume=True)
    existing_results.check_free(given, COMM, overwrite=True)
    shutil.rmtree("checkpoints")
    with pytest.raises(InputError) as error:
        existing_results.check_free(given, COMM)
    assert "--resume" not in str(error.value) and "--directory DIR, to write the new ones there" in str(error.value)


def picture(**keys: Any) -> Any:
    layers = [{"surface": "q", "values": [0.2]}]
    return case(picture=[{"name": "q", "every": 1, "size": [96, 64], "layers": layers, **keys}]).picture[0]


def test_the_pictures_of_an_earlier_run_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with the marks of Tailrace, also of steps that the run will not draw."""
    marked = {"q.mp4": FILM, "q-000002.png": PICTURE, "q-000123.png": PICTURE}
    monkeypatch.setattr(existing_results, "is_ours", lambda path, mark: marked.get(path.name) is mark)
    monkeypatch.setattr(existing_results.database, "files_of", lambda path: [path / "data.csv"])
    Path("pictures").mkdir()

    def of(**keys: Any) -> list[tuple[str, list[str]]]:
        results = existing_results.of_picture(picture(**keys))
        return [(one.named, [str(path) for path in one.files or []]) for one in results]

    assert of() == []
    for name in (*marked, "q-000009.png"):
        Path("pictures", name).write_text("a picture")
    table("pictures/q.csv", None)
    rows, film = ("pictures/q.csv", ["pictures/q.csv"]), ("pictures/q.mp4", ["pictures/q.mp4"])
    files = [f"pictures/q-{step}.png" for step in ("000002", "000123")]
    assert of() == [rows, film]
    assert of(png=True) == [rows, film, (files[0], files)]
    assert of(database={"phi": 2}) == [rows, film, ("pictures/q.cdb", ["pictures/q.cdb/data.csv"])]
    del marked["q.mp4"], marked["q-000002.png"], marked["q-000123.png"]
    assert of(png=True) == [rows]


def test_the_results_of_blocks_of_an_earlier_run_are_found() -> None:
    Path("p.py").write_text("")
    layers = [{"surface": "q", "values": [0.2]}]
    given = case(
        picture=[{"name": "q", "every": 1, "size": [96, 64], "layers": layers}],
        catalyst=[{"script": "p.py", "every": 1, "fields": ["ux"]}],
        analysis=[{"script": "enstrophy", "every": 1, "out": "found"}],
    )
    assert found(given) == []
    Path("pictures").mkdir()
    table("pictures/q.csv", None)
    record = Executions(Path("catalyst/p.jsonl"), Path("catalyst/p"), None)
    assert [named for named, _ in found(given)] == ["pictures/q.csv"], "it was not executed"
    Path("catalyst/p/1.png").touch()
    record.note(1, 0.01)
    record.close()
    Path("found").mkdir()
    title = title_of("enstrophy")
    with TimeSeries("found/enstrophy.csv", title, columns=("step", "time")) as rows:
        rows.append({"step": 0, "time": 0.0})
    assert found(given) == [
        ("pictures/q.csv", ["pictures/q.csv"]),
        ("catalyst/p", ["catalyst/p.jsonl", "catalyst/p/1.png"]),
        ("found/enstrophy.csv", ["found/enstrophy.csv"]),
    ]


def test_a_run_whose_results_are_being_written_is_not_replaced() -> None:
    table("time_series.csv", None)
    lock = FileLock("time_series.csv")
    with pytest.raises(IoError, match="is writing it"):
        existing_results.check_free(case(), COMM)
    with (
        pytest.raises(IoError, match="is writing it"),
        existing_results.claimed(case(), COMM, resumed=False, overwrite=True),
    ):
        pass
    lock.release()


def test_one_run_at_a_time_may_begin_at_a_place() -> None:
    other = existing_results.claimed(case(), COMM, resumed=False, overwrite=False)
    with existing_results.claimed(case(), COMM, resumed=False, overwrite=False) as begun:
        with pytest.raises(IoError, match=r"time_series\.csv\.earlier"), other:
            pass
        begun()
        with existing_results.claimed(case(), COMM, resumed=True, overwrite=False):
            pass


def test_earlier_results_come_back_unless_the_run_has_begun() -> None:
    table("time_series.csv", None)
    text = Path("time_series.csv").read_bytes()
    for begins in (False, True):
        with existing_results.claimed(case(), COMM, resumed=False, overwrite=True) as begun:
            assert not Path("time_series.csv").exists()
            with (
                pytest.raises(IoError, match=r"replac|running|writing"),
                existing_results.claimed(case(), COMM, resumed=True, overwrite=False),
            ):
                pass
            if begins:
                begun()
        assert Path("time_series.csv").exists() != begins
        assert begins or Path("time_series.csv").read_bytes() == text
    table("time_series.csv", None)
    with existing_results.claimed(case(), COMM, resumed=True, overwrite=False):
        assert Path("time_series.csv").exists()
    with (
        pytest.raises(InputError, match="there are results of an earlier run"),
        existing_results.claimed(case(), COMM, resumed=False, overwrite=False),
    ):
        pass
    assert existing_results.settle(case()) is False


def test_what_a_killed_run_has_set_aside_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    """Also what is beside an output, and the pictures of an analysis."""
    given = case(output=[output("hdf5", "a.h5")], analysis=[{"script": "enstrophy", "every": 1, "out": "found"}])
    Path("found").mkdir()
    files = [Path(name) for name in ("time_series.csv", "a.h5", "a.h5.xdmf2", "found/enstrophy-picture-000002.png")]
    for path in files:
        path.write_text(path.name)
    killed = existing_results._record(given)
    killed.set_aside(files)
    killed._release()
    assert not any(path.exists() for path in files)
    existing_results.check_free(given, COMM, overwrite=True)
    assert [path.read_text() for path in files] == [path.name for path in files]
    said = "note: a run was killed while it replaced earlier results; these are back in their places\n"
    assert capsys.readouterr().out == said
    existing_results.check_free(given, COMM, overwrite=True)
    assert capsys.readouterr().out == ""
    killed = existing_results._record(given)
    killed.set_aside(files)
    killed._release()
    with existing_results.claimed(given, COMM, resumed=True, overwrite=False):
        assert capsys.readouterr().out == said
    assert existing_results.settle(given) is False


# ---- the way on ------------------------------------------------------------------------------------------------------


def test_the_newest_checkpoint_is_one_that_says_it_is_whole() -> None:
    place = Path("checkpoints")
    assert way_on.newest(place) is None and way_on.stamps(place) == frozenset()
    write_checkpoint(1, 2)
    of_others = way_on.stamps(place)
    assert {name for name, _, _ in of_others} == {"step-00000001", "step-00000002"}
    assert way_on.newest(place) == place / "step-00000002"
    assert way_on.newest(place, of_others) is None
    shutil.copytree(place / "step-00000002", place / "step-00000003")
    assert way_on.newest(place, of_others) == place / "step-00000003"
    with (place / "step-00000003/series.jsonl").open("a") as file:
        file.write("\n")
    assert way_on.newest(place, of_others) is None
    assert way_on.newest(place) == place / "step-00000002"


def test_the_words_of_the_way_on() -> None:
    assert way_on.way_on(None) == "there is no checkpoint to go on from: start again, with --overwrite"
    assert way_on.way_on(Path("step-3")) == "go on with --resume, from step-3"
    assert way_on.way_on(Path("step-3"), first="fix it") == "fix it, then go on with --resume, from step-3"
    assert way_on.way_on(Path("step-3"), changed="time.dt") == (
        "if the flow in step-3 is still sound, go on from it with --resume --change --set time.dt=...; else start "
        "again with --overwrite"
    )
