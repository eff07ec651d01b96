"""The contents of a series as Python has them: of files, patterns, tables and checkpoints; and what is damage."""

from __future__ import annotations

import importlib
import math
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from mpi4py import MPI

from tailrace.core import InputError, IoError
from tailrace.flow.checkpoint import CheckpointStore, State
from tailrace.inspection import contents as inspection
from tailrace.inspection.contents import NotASeriesError, Soundness, ValueRange, Variable, contents, verify
from tailrace.io import guard, series
from tailrace.io.time_series import TimeSeries

NX, NY, NZ = 4, 3, 2


def write(path: Path, steps: int = 2, **how: Any) -> Path:
    with series.open(path, "w", **how) as out:
        out.set_attribute("case", f"of {path.name}")
        for index in range(steps):
            fields = {"u": np.arange(24.0).reshape(NZ, NY, NX) + index}
            out.write_step(
                0.5 * index, fields, index=index, scalars={"energy": 1.5}, lists={"ids": np.arange(6).reshape(3, 2)}
            )
    return path


def foreign(path: Path, *values: float) -> Path:
    """A file of HDF5 of another program."""
    with h5py.File(path, "w") as file:
        file["u"] = np.full((NZ, NY, NX), values[0])
    return path


def checkpoints(path: Path) -> Path:
    store = CheckpointStore(path, 2, MPI.COMM_SELF)
    for step in (4, 8):
        fields = {name: series.Block(np.ones((NZ, NY, NX)), (NX, NY, NZ)) for name in ("ux", "uy", "uz")}
        store.write(State(step, 0.1 * step, 1, 1, "auto", 1), fields, {"case": f"of {step}"})
    return path


def call_here(path: Path, engine: str, function: str, *arguments: Any) -> Any:
    """As `guard.call`, in this process, which takes a hundredth of the time."""
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)(*arguments)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other process is started."""
    monkeypatch.setattr(guard, "call", call_here)


# ---- what is there ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("engine", ["raw", "hdf5", "bp5"])
def test_the_last_step_is_looked_at(tmp_path: Path, engine: str):
    path = write(tmp_path / "run", engine=engine)
    found = contents(path)
    assert (found.engine, found.looked_at, found.steps) == (engine, 1, [(0, 0.0), (1, 0.5)])
    assert found.variables == [
        Variable("ids", "int64", (3, 2), is_list=True),
        Variable("u", "float64", (NZ, NY, NX), is_list=False),
    ]
    assert found.scalars == {"energy": 1.5} and found.attributes["case"] == "of run"
    assert (found.notes, found.auxiliary, found.derived) == ([], [], [])
    assert found.bytes == inspection.size_on_disk(path) > 24 * 8


def test_a_step_is_chosen_from_either_end(tmp_path: Path):
    path = write(tmp_path / "run", 3)
    for step, position in ((0, 0), (2, 2), (-1, 2), (-3, 0)):
        found = contents(path, step, minmax=True)
        assert found.looked_at == position
        assert [one.range for one in found.variables] == [ValueRange(0, 5), ValueRange(position, 23 + position)]
    for step in (3, -4):
        with pytest.raises(InputError, match=f"there is no step number {step}: it has 3, counted from 0; -1 is the"):
            contents(path, step)


@pytest.mark.parametrize("engine", ["raw", "hdf5"])
def test_a_series_without_a_step(tmp_path: Path, engine: str):
    found = contents(write(tmp_path / "run", 0, engine=engine))
    assert (found.steps, found.looked_at, found.variables, found.scalars) == ([], None, [], {})
    assert not found.has_table and not found.derived


def test_only_some_steps_have_their_blocks_in_a_table(tmp_path: Path):
    assert not contents(write(tmp_path / "run.h5")).has_table


@pytest.mark.usefixtures("here")
def test_a_pattern_is_one_series(tmp_path: Path):
    for number in range(2):
        with series.open(tmp_path / f"part_{number}.h5", "w") as out:
            out.write_step(0.5 * number, {"u": np.full((NZ, NY, NX), 1.0 + number)}, index=number)
    pattern = tmp_path / "part_*.h5"
    found = contents(pattern, minmax=True)
    assert found.steps == [(0, 0.0), (1, 0.5)] and found.variables[0].range == ValueRange(2, 2)
    assert found.bytes == sum((tmp_path / f"part_{number}.h5").stat().st_size for number in range(2))
    sound = verify(pattern)
    assert (sound.steps, sound.damage, sound.unchecked, sound.variables) == (2, [], [], 2)
    with pytest.raises((NotASeriesError, InputError), match="no file has a name of this pattern"):
        contents(tmp_path / "port_*.h5")


@pytest.mark.usefixtures("here")
def test_files_of_another_program(tmp_path: Path):
    found = contents(foreign(tmp_path / "plain.h5", 3.0), minmax=True)
    assert found.engine not in ("hdf5", "") and found.steps == [(0, 0.0)]
    assert [(one.name, one.range) for one in found.variables] == [("u", ValueRange(3, 3))]
    assert found.notes, "what was assumed"


def test_a_stream_has_no_contents():
    for ask in (contents, verify):
        with pytest.raises(NotASeriesError, match="sst:run: a stream is not stored"):
            ask(Path("sst:run"))


@pytest.mark.usefixtures("here")
def test_what_is_no_series(tmp_path: Path):
    for name, text in (("empty.csv", ""), ("text.csv", "a,b\n1,2\n"), ("one", "x")):
        (tmp_path / name).write_text(text)
        with pytest.raises(NotASeriesError, match=f"{name}: is no series"):
            contents(tmp_path / name)
    (tmp_path / "folder").mkdir()
    with pytest.raises(NotASeriesError, match="folder: this directory holds no series"):
        contents(tmp_path / "folder")
    with pytest.raises(NotASeriesError, match="none: there is no such file"):
        contents(tmp_path / "none")
    with series.open(tmp_path / "folder/run.h5", "w") as out:
        out.write_step(0.0, u=np.ones((2, 3, 4)))
    with pytest.raises(NotASeriesError, match=r"folder: is no series, but a directory with run\.h5; name what"):
        contents(tmp_path / "folder")


def test_a_table(tmp_path: Path):
    path = tmp_path / "time_series.csv"
    table = TimeSeries(path, "Of a test", columns=("step", "time", "a", "b"), provenance={"made_by": "run"})
    table.sync()
    found = contents(path)
    assert (found.engine, found.steps, found.looked_at, found.scalars) == ("time series (CSV)", [], None, {})
    for row in ((0, 0.0, 1.5, 2.0), (3, 0.25, 2.5, math.inf)):
        table.append(dict(zip(("step", "time", "a", "b"), row, strict=True)))
    table.close()
    found = contents(path)
    assert (found.steps, found.looked_at, found.scalars) == ([(0, 0.0), (3, 0.25)], 1, {"a": 2.5, "b": math.inf})
    assert contents(path, 0).scalars == contents(path, -2).scalars == {"a": 1.5, "b": 2.0}
    with pytest.raises(InputError, match="there is no step number 2: it has 2"):
        contents(path, 2)
    assert found.attributes["made_by"] == "run" and found.bytes == path.stat().st_size and found.grid is None


@pytest.mark.usefixtures("here")
def test_the_case_of_checkpoints_is_that_of_the_last(tmp_path: Path):
    place = checkpoints(tmp_path / "checkpoints")
    assert inspection.case_of(place) == "of 8" and inspection.case_of(place / "step-00000004") == "of 4"
    assert inspection.case_of(write(tmp_path / "run.h5")) == "of run.h5"
    assert inspection.case_of(foreign(tmp_path / "plain.h5", 1.0)) == ""


def test_only_folders_with_the_name_of_a_step_are_checkpoints(tmp_path: Path):
    for name in ("step-10", "step-9", "step-x", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "step-7").write_text("a file")
    assert inspection.series_at(tmp_path) == [tmp_path / "step-9", tmp_path / "step-10"]
    assert inspection.series_at(tmp_path / "other") == [tmp_path / "other"]
    assert inspection.series_at(tmp_path / "step-7") == [tmp_path / "step-7"]


def test_sizes_are_those_of_all_files(tmp_path: Path):
    for name, size in (("a/b/one.x", 10), ("a/two.x", 5), ("three.x", 3)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    sizes = {"a": 15, "three.x": 3, "*": 18, "*.x": 3, "a/*.x": 5}
    assert {name: inspection.size_on_disk(tmp_path / name) for name in sizes} == sizes


# ---- ranges ----------------------------------------------------------------------------------------------------------
class OneVariable:
    """A step with one variable, of which boxes are kept in mind as they are read."""

    def __init__(self, values: Any) -> None:
        self._values = values
        self.variables = {"u": (str(values.dtype), values.shape[::-1], False)}
        self.read_boxes: list[Any] = []

    def read(self, name: str, box: Any) -> Any:
        (x, y, z), (nx, ny, nz) = box
        self.read_boxes.append(box)
        return self._values[z : z + nz, y : y + ny, x : x + nx]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([[[1.0, 2.0], [3.0, -4.0]]], (-4, 3, 0)),
        ([[[5.0, 5.0]]], (5, 5, 0)),
        ([[[math.nan, 2.0], [3.0, math.nan]]], (2, 3, 2)),
        ([[[math.nan, math.nan], [3.0, 4.0]]], (3, 4, 2)),
        ([[[3.0, 4.0], [math.nan, math.nan]]], (3, 4, 2)),
        ([[[math.inf, 1.0], [-math.inf, 2.0]]], (-math.inf, math.inf, 0)),
        ([[[math.nan]]], (math.nan, math.nan, 1)),
        ([[[1j, 2.0]]], (math.nan, math.nan, 0)),
        (np.zeros((0, 3, 4)), (math.nan, math.nan, 0)),
    ],
)
def test_ranges(monkeypatch: pytest.MonkeyPatch, values: Any, found: tuple[float, float, int]):
    """Piece by piece, here row by row."""
    monkeypatch.setattr(inspection, "PIECE_BYTES", 1)
    one = inspection.range_of(OneVariable(np.asarray(values)), "u")  # type: ignore[arg-type]
    np.testing.assert_equal((one.min, one.max, one.not_numbers), found)


def test_no_piece_is_larger_than_the_docs_say():
    """32 MiB, where a row is smaller."""
    step = OneVariable(np.broadcast_to(np.float32(1.0), (1, 1 << 14, 1 << 10)))
    assert inspection.range_of(step, "u") == ValueRange(1, 1)  # type: ignore[arg-type]
    assert [4 * math.prod(box.count) for box in step.read_boxes] == [32 << 20] * 2


# ---- what a library could not stand ----------------------------------------------------------------------------------
def test_only_what_no_checksum_covers_is_read_in_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The text of our own formats no library reads; but values are."""
    asked: list[str] = []

    def called(path: Path, engine: str, function: str, *arguments: Any) -> Any:
        asked.append(f"{path.name} {function.rpartition(':')[2]}")
        return call_here(path, engine, function, *arguments)

    monkeypatch.setattr(guard, "call", called)
    monkeypatch.setattr(guard, "vouched", lambda path, _: "sound" in path.name)
    for engine in ("raw", "bp5"):
        for name in ("sound", "strange"):
            path = write(tmp_path / f"{name}-{engine}", engine=engine)
            asked.clear()
            contents(path)
            assert asked == (["strange-bp5 read_contents"] if (name, engine) == ("strange", "bp5") else [])
            asked.clear()
            contents(path, minmax=True)
            verify(path)
            expected = [f"{path.name} {what}" for what in ("read_contents", "read_all")]
            assert asked == (expected if name == "strange" else [])
    for number in range(2):
        write(tmp_path / f"sound_{number}.h5", 1)
    asked.clear()
    contents(tmp_path / "sound_*.h5")
    assert asked == ["sound_*.h5 format_at"], "who has written them"
    monkeypatch.setattr(guard, "vouched", lambda path, _: path.name != "sound_1.h5")
    contents(tmp_path / "sound_*.h5")
    assert asked[1:] == ["sound_*.h5 format_at", "sound_*.h5 read_contents"]


# ---- what is damage --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("how", "lines"),
    [
        ({"variables": 3}, ["2 steps, all well"]),
        ({"steps": 1, "variables": 3}, ["1 step, all well"]),
        ({"variables": 3, "unchecked": ["x"]}, ["not checked: x", "2 steps, no damage found"]),
        ({"variables": 3, "not_finite": ["y"]}, ["not finite: y", "2 steps, all well"]),
        ({"variables": 0}, ["2 steps without a variable that can be read: nothing was checked"]),
        ({"variables": 3, "damage": ["z"], "unchecked": ["x"]}, ["damaged: z", "not checked: x"]),
        ({"variables": 0, "damage": ["z"]}, ["damaged: z"]),
    ],
)
def test_lines(how: dict[str, Any], lines: list[str]):
    given = {"path": Path("run"), "steps": 2, "damage": [], "unchecked": []} | how
    assert Soundness(**given).lines() == [f"run: {line}" for line in lines]


def test_a_sound_series(tmp_path: Path):
    found = verify(write(tmp_path / "run.h5"))
    assert found == Soundness(tmp_path / "run.h5", 2, [], [], 6, [])


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (1, ["step 0 has no checksums of ids, u"]),
        (2, ["none of the 2 steps has checksums of all its variables"]),
        (3, ["none of the 3 steps has checksums of all its variables"]),
    ],
)
def test_a_series_without_checksums(tmp_path: Path, steps: int, said: list[str]):
    found = verify(write(tmp_path / "run", steps, engine="raw", parameters={"checksums": False}))
    assert (found.steps, found.damage, found.unchecked, found.variables) == (steps, [], said, 3 * steps)


def test_what_cannot_be_opened_has_no_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write(tmp_path / "run", engine="raw")
    (path / "series.jsonl").write_text("mine\n")
    found = verify(path)
    assert (found.steps, found.variables, found.unchecked) == (0, 0, []) and len(found.damage) == 1

    def died(*_: Any) -> None:
        raise IoError("the child died")

    monkeypatch.setattr(guard, "call", died)
    monkeypatch.setattr(guard, "vouched", lambda *_: False)
    assert verify(write(tmp_path / "run.bp")) == Soundness(tmp_path / "run.bp", 0, ["the child died"], [])
    monkeypatch.setattr(inspection, "format_in_child", died)
    plain = foreign(tmp_path / "plain.h5", 1.0)
    assert verify(plain) == Soundness(plain, 0, ["the child died"], [])
    with pytest.raises(inspection.DamagedError, match=r"^the child died$"):
        contents(plain)


@pytest.mark.usefixtures("here")
def test_values_of_another_program_have_no_checksums(tmp_path: Path):
    found = verify(foreign(tmp_path / "plain.h5", math.inf))
    assert (found.steps, found.damage, found.variables) == (1, [], 1)
    assert found.unchecked == ["step 0 has no checksums of u"] and "u has 24 values" in found.not_finite[0]


def test_the_record_of_a_checkpoint_is_checked(tmp_path: Path):
    """Of a checkpoint only: a copy under another name is a series as others."""
    place = checkpoints(tmp_path / "checkpoints") / "step-00000004"
    assert verify(place).damage == []
    (place / "SHA256SUMS").unlink()
    assert verify(place).damage == ["it has no SHA256SUMS"]
    place.rename(tmp_path / "copy")
    assert verify(tmp_path / "copy").damage == []
    write(tmp_path / "step-00000005", engine="bp5")
    assert verify(tmp_path / "step-00000005").damage == []


def test_what_was_found_stays(tmp_path: Path):
    found = contents(write(tmp_path / "run.h5"))
    for one, name in ((found, "steps"), (found.variables[0], "name"), (ValueRange(0, 1), "min")):
        with pytest.raises(FrozenInstanceError):
            setattr(one, name, None)
    with pytest.raises(FrozenInstanceError):
        verify(tmp_path / "run.h5").steps = 3  # type: ignore[misc]
    assert ValueRange(0, 1).not_numbers == 0
