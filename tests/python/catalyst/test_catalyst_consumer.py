"""A pipeline as a consumer of steps: when it is executed, what it gets, and what a failure costs. ParaView itself is in
`test_catalyst`."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness import recorded_calls
from helpers.harness.descriptors import descriptors
from helpers.inputs.fields import noise
from tailrace.case.schedule import Schedule
from tailrace.catalyst.packages import CatalystError
from tailrace.consumers import catalyst
from tailrace.consumers.catalyst import Catalyst, open_catalyst
from tailrace.core import InputError, IoError

pytest.importorskip("vtkmodules")


class Executed:
    """In the place of ParaView: makes a file for each step, at every fourth step."""

    last: ClassVar[Any] = None
    error = ""

    def __init__(self, comm: Any, script: Path, source: str, parameters: Any, out: Path) -> None:
        if self.error:
            raise CatalystError(self.error)
        self.given = (script, source, dict(parameters), out)
        self.out, self.closed = out, 0
        self.parts: dict[int, Any] = {}
        self.fails: dict[int, Exception] = {}
        Executed.last = self

    def wants(self, index: int, time: float) -> bool:
        return index % 4 == 0 or index == 2

    def execute(self, index: int, time: float, part: Any) -> bool:
        if index in self.fails:
            raise self.fails[index]
        self.parts[index] = part.grid
        if index != 2:  # it was asked for the first time, and its trigger was not due
            (self.out / f"{index}.png").write_text("a picture")
        return index != 2

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalyst, "Pipeline", Executed)


def case_of(**keys: Any) -> tr.Case:
    Path("p.py").write_text("ColorBy(display, ('POINTS', 'speed'))\n")
    return tr.Case(
        case={"flow": "taylor-green", "reynolds": 100.0},
        grid={"points": (8, 9, 10), "lengths": (1.0, 1.0, 1.0), "boundaries": ("periodic",) * 3},
        time={"dt": 0.01, "steps": 3},
        catalyst=[{"script": "p.py", "every": 2, "fields": ["ux"], **keys}],
    )


def made(say: Any = print, resumed: int | None = None, **keys: Any) -> Catalyst:
    section = case_of(**keys).catalyst[0]
    schedule = Schedule(every=2, dt=0.01)
    return Catalyst(section, MPI.COMM_SELF, say, schedule, directory=Path(), scalars=[], functions={}, resumed=resumed)


def take(consumer: Catalyst, *indices: int) -> None:
    ops = tr.Operators((8, 9, 10), (1.0, 1.0, 1.0), ("periodic",) * 3, comm=MPI.COMM_SELF)
    names = ["ux", "uy", "uz"]
    for index in indices:
        step = tr.Step(index, 0.01 * index, ops, names, lambda name: noise(ops, names.index(name)), attributes={})
        consumer.take(step)


def executions() -> list[tuple[int, float, list[str]]]:
    lines = [json.loads(line) for line in Path("catalyst/p.jsonl").read_text().splitlines()]
    return [(line["step"], line["time"], line["files"]) for line in lines[1:]]


def arrays(grid: Any) -> dict[str, int]:
    """The names of the arrays of a data set, and how many numbers each has at a point."""
    data = grid.GetPointData()
    found = [data.GetArray(at) for at in range(data.GetNumberOfArrays())]
    return {one.GetName(): one.GetNumberOfComponents() for one in found}


def test_it_is_executed_where_its_triggers_want_it(capsys: pytest.CaptureFixture[str]) -> None:
    before, said = descriptors(), []
    consumer = made(said.append, parameters={"level": 3})
    assert said == [
        "warning: catalyst 'p': p.py uses the array 'speed', which it does not get; fields = [...] of the block gives "
        "it what it needs"
    ]
    pipeline = Executed.last
    assert pipeline.given == (Path("p.py").resolve(), "grid", {"level": 3}, Path("catalyst/p").resolve())
    assert (consumer.phase, consumer.wants(2, 0.02), consumer.wants(3, 0.03)) == ("catalyst p", True, False)
    take(consumer, 0, 2, 4, 6, 8)
    assert list(pipeline.parts) == [0, 2, 4, 8]
    assert arrays(pipeline.parts[4]) == {"ux": 1}
    assert executions() == [(0, 0.0, ["0.png"]), (4, 0.04, ["4.png"]), (8, 0.08, ["8.png"])]
    take(consumer, 4, 8)
    assert len(executions()) == 3, "a step is executed once"
    consumer.flush()
    consumer.close()
    consumer.close()
    assert pipeline.closed == 1
    assert (consumer.left_out, consumer.incomplete, len(said)) == (0, False, 1)
    assert not descriptors() - before
    consumer.report()
    assert capsys.readouterr().out == "catalyst/p: 3 executions of p.py\n"


def test_the_components_of_the_velocity_are_given_as_a_vector_too() -> None:
    consumer = made(fields=["ux", "uy", "uz"])
    take(consumer, 0)
    grid = Executed.last.parts[0]
    assert arrays(grid) == {"ux": 1, "uy": 1, "uz": 1, "velocity": 3}
    consumer.close()
    consumer = made(fields=["velocity"], resumed=0)
    take(consumer, 4)
    assert arrays(Executed.last.parts[4]) == {"velocity": 3}
    from vtkmodules.util.numpy_support import vtk_to_numpy

    ops = tr.Operators((8, 9, 10), (1.0, 1.0, 1.0), ("periodic",) * 3, comm=MPI.COMM_SELF)
    found = vtk_to_numpy(Executed.last.parts[4].GetPointData().GetArray("velocity"))
    x, y, z = ops.shape()
    np.testing.assert_array_equal(found[:, 1].reshape(z, y, x), noise(ops, 1))
    consumer.close()


def test_a_run_that_goes_on_executes_what_is_not_recorded() -> None:
    first = made()
    take(first, 0, 4, 8)
    first.close()
    consumer = made(resumed=4)
    take(consumer, 0, 4, 8)
    consumer.close()
    assert list(Executed.last.parts) == [8]
    new = made(resumed=0)
    take(new, 0)
    assert list(Executed.last.parts) == []
    new.close()


def test_a_failure_costs_a_step(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    consumer = made(said.append, fields=["ux"])
    Executed.last.fails = {4: CatalystError("no such array"), 8: InputError("no field")}
    take(consumer, 0, 4, 8, 12)
    consumer.close()
    assert said[1:] == [
        "warning: catalyst 'p' of step 4 is left out: no such array",
        "warning: catalyst 'p' of step 8 is left out: no field",
    ]
    assert [step for step, _, _ in executions()] == [0, 12]
    assert (consumer.left_out, consumer.incomplete) == (2, True)
    consumer.report()
    assert capsys.readouterr().out.splitlines() == [
        "catalyst/p: 2 executions of p.py",
        "warning: 2 executions of 'p' failed, see above",
    ]


def test_without_paraview_nothing_is_executed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Executed, "error", "there is no ParaView")
    said: list[str] = []
    consumer = made(said.append)
    take(consumer, 0, 4)
    assert said[1:] == ["warning: catalyst 'p' is switched off: there is no ParaView"]
    assert executions() == []
    consumer.close()
    consumer.flush()  # there is nothing to wait for
    assert consumer.incomplete
    consumer.report()
    assert capsys.readouterr().out == ""


def test_a_record_that_cannot_be_written_switches_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise IoError("no space")

    said: list[str] = []
    consumer = made(said.append)
    assert consumer._record is not None
    monkeypatch.setattr(consumer._record, "note", full)
    take(consumer, 0, 4)
    assert said[1:] == ["warning: catalyst 'p' is switched off: no space"]
    assert list(Executed.last.parts) == [0]
    close = consumer._record.close

    def closed() -> None:
        close()
        full()

    monkeypatch.setattr(consumer._record, "close", closed)
    consumer.close()  # it was told already
    (other := made(out="other")).flush()
    assert other._record is not None
    close = other._record.close
    monkeypatch.setattr(other._record, "close", closed)
    with pytest.raises(IoError, match="no space"):
        other.close()


def test_the_record_is_on_the_disk_after_a_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = made()
    take(consumer, 0)
    with monkeypatch.context() as patched:
        calls = recorded_calls.in_python(patched, "fsync")
        consumer.flush()
    assert [path.name for _, path in calls] == ["p.jsonl"]
    consumer.close()


def test_the_blocks_of_a_case_are_opened() -> None:
    model = SimpleNamespace(case=case_of(), comm=MPI.COMM_SELF)
    (consumer,) = open_catalyst(SimpleNamespace(model=model, say=print, resumed=None))  # type: ignore[arg-type]
    take(consumer, 0)
    assert len(executions()) == 1
    consumer.close()
