"""An output as a consumer of steps: what it writes, what it goes on with, and what a stream leaves out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace.case.sections.output_section import OutputSection
from tailrace.consumers import output as outputs
from tailrace.consumers.output import Output
from tailrace.core import IoError
from tailrace.io.coupling import Coupling, CouplingSide, LeftOut
from tailrace.io.engines import STORING
from tailrace.io.series import PhaseSummary
from tailrace.io.time_series import last_step, read_time_series

SIDE = CouplingSide(1, 3, 2.0, 1.0, 0.5, 0.5, "open", "here", 1)
STREAM = Coupling("writer", SIDE, (), 2, 1, 4)


class Stream:
    """In the place of a stream: takes every step but those that it leaves out."""

    engine = "sst"

    def __init__(self) -> None:
        self.counters = {"bytes_written": 640, "write_seconds": 0.25, "wait_seconds": 0.5}
        self.coupling, self.dropped, self.notes = STREAM, [], ["a note"]
        self.calls: list[str] = []

    def begin_step(self, index: int, time: float) -> bool:
        return index % 4 == 0

    def write(self, name: str, block: Any, region: Any) -> None:
        self.calls.append(f"write {name}")

    def summary(self) -> list[PhaseSummary]:
        return [PhaseSummary("write", 3, 640, 0.5, 1.0, 2.25)]

    def __len__(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.calls.append(name)


@pytest.fixture
def stream(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = Stream()
    monkeypatch.setattr(outputs.series, "open", lambda *_, **__: found)
    return found


def streaming(resume_step=None) -> Output:
    section = OutputSection(name="live", fields=["ux"], every=2, engine="sst", path="sst:live")
    time = SimpleNamespace(constant_dt=0.1, dt=0.1)
    return Output(section, time, tr.UniformGrid((8, 9, 10)), MPI.COMM_SELF, attributes={}, resume_step=resume_step)


def taken(index: int) -> Any:
    return SimpleNamespace(index=index, time=0.1 * index, block=lambda name: name)


def test_a_stream_tells_its_steps_and_its_readers(stream, capsys):
    output = streaming()
    assert (output.phase, output.wants(2, 0.2), output.wants(3, 0.3)) == ("output", True, False)
    told = {
        "output": "sst:live",
        "engine": "sst",
        "bytes of rank 0": 640,
        "seconds writing": 0.25,
        "seconds waiting": 0.5,
    }
    left_out = {"dropped": 2, "skipped": 1, "not read": 4, "reader": "nobody read it"}
    assert output.progress() == {**told, "steps": 0, "step": -1, **left_out}
    for index in (0, 2, 4, 4):
        output.take(taken(index))
    assert [call for call in stream.calls if call != "set_attribute"] == [
        *("write ux", "end_step"), "end_step", *("write ux", "end_step")
    ]  # fmt: skip
    stream.coupling = Coupling("none", SIDE, (), 0, 0, 0)
    assert output.progress() == {**told, "steps": 3, "step": 4}
    assert output.bytes_written == 640
    stream.coupling = STREAM
    output.close()
    assert stream.calls[-2:] == ["flush", "close"]
    output.close()
    assert stream.calls.count("close") == 1
    stream.counters["bytes_written"] = 999
    assert output.bytes_written == 640 and output.progress() == {"output": "sst:live", "steps": 3}
    output.report()
    said = capsys.readouterr().out.splitlines()
    assert "live: sst:live" in said[0] and "640 bytes" in said[2] and said[-3].strip() == "a note"
    assert said[-1].strip() == "nobody read it"
    assert not Path("live-left-out.csv").exists(), "nothing was left out"


def rows_left_out() -> list[tuple[float, ...]]:
    found = read_time_series("live-left-out.csv")
    return list(zip(*(found[name].tolist() for name in ("step", "time", "skipped")), strict=True))


def test_the_steps_that_a_stream_leaves_out_are_recorded_once(stream):
    output = streaming()
    stream.dropped = [LeftOut(0, 0.0, "dropped"), LeftOut(1, 0.1, "unread")]
    output.flush()
    assert stream.calls[-1] == "flush"
    assert rows_left_out() == [(0, 0.0, 0)]
    output.flush()
    stream.dropped += [LeftOut(2, 0.2, "skipped"), LeftOut(3, 0.3, "dropped")]
    output.flush()
    assert rows_left_out() == [(0, 0.0, 0), (2, 0.2, 1), (3, 0.3, 0)]
    output.flush()
    stream.dropped.append(LeftOut(4, 0.4, "skipped"))
    output.close()
    assert [row[0] for row in rows_left_out()] == [0, 2, 3, 4]
    again = streaming(resume_step=2)
    stream.dropped = [LeftOut(3, 0.3, "skipped")]
    again.flush()
    assert rows_left_out() == [(0, 0.0, 0), (2, 0.2, 1), (3, 0.3, 1)], "later ones, from before, are dropped"
    again.close()


def test_a_record_of_steps_left_out_that_somebody_replaced_is_an_error(stream):
    output = streaming()
    stream.dropped = [LeftOut(0, 0.0, "dropped")]
    output.flush()
    text = Path("live-left-out.csv").read_text()
    Path("live-left-out.csv").write_text(text + "7,0.7,0\n")
    output.flush()  # there is nothing new
    stream.dropped.append(LeftOut(1, 0.1, "dropped"))
    with pytest.raises(IoError, match=r"^cannot write live-left-out\.csv: it was replaced by somebody else"):
        output.flush()
    assert last_step("live-left-out.csv") == 7


@pytest.mark.parametrize("engine", ["raw", "hdf5", "null"])
def test_an_output_goes_on_after_the_step_of_a_checkpoint(tmp_path, monkeypatch, engine):
    """A step that is there already is not written again, and one that is not there is."""
    monkeypatch.chdir(tmp_path)
    section = OutputSection(name="a", fields=["ux"], every=2, engine=engine, path="deep/deeper/a")
    time = SimpleNamespace(constant_dt=0.1, dt=0.1)

    def write(resumed: int | None, *indices: int) -> dict[str, Any]:
        grid = tr.UniformGrid((8, 9, 10))
        output = Output(section, time, grid, MPI.COMM_SELF, attributes={"name": "x"}, resume_step=resumed)
        for index in indices:
            value = np.full((10, 9, 8), index + 100 * (resumed or 0), float)
            output.take(
                SimpleNamespace(index=index, time=0.1 * index, block=lambda _, v=value: tr.Block(v, (8, 9, 10)))
            )
        output.flush()
        told = dict(output.progress())
        output.close()
        return told

    assert write(None, 0, 2, 4)["step"] == 4
    told = write(2, 2, 4, 6)
    assert (told["steps"], told["step"]) == (2 if engine in STORING else 3, 6)
    if engine in STORING:
        with tr.open("deep/deeper/a") as stored:
            assert [step.index for step in stored] == [0, 2, 4, 6]
            assert [step["ux"].max() for step in stored] == [0, 2, 204, 206]
            assert (stored.attributes["every"], stored.attributes["name"]) == (2, "x")
        assert write(3, 3, 4)["steps"] == 2, "step 3 was not there"
        with tr.open("deep/deeper/a") as stored:
            assert [step["ux"].max() for step in stored] == [0, 2, 303, 304]
    assert write(None, 0)["steps"] == 1


def test_an_output_by_times_tells_no_interval(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    section = OutputSection(name="a", fields=["ux"], interval=0.5, engine="raw", path="a")
    grid = tr.UniformGrid((8, 9, 10))
    time = SimpleNamespace(constant_dt=0.1, dt=0.1)
    output = Output(section, time, grid, MPI.COMM_SELF, attributes={}, resume_step=None)
    assert output.next_time(0.2) == 0.5
    output.take(SimpleNamespace(index=0, time=0.0, block=lambda _: tr.Block(np.zeros((10, 9, 8)), (8, 9, 10))))
    output.close()
    with tr.open("a") as stored:
        assert "every" not in stored.attributes
