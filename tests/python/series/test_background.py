"""Writing in the background: bounded, in order, together with other series, with errors for failed steps."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.engines import ENGINES, KINDS, Engine
from helpers.harness.workers import Workers
from helpers.programs.series import background_ends, io_programs


@pytest.fixture(params=ENGINES, ids=str)
def engine(request) -> Engine:
    return request.param


@pytest.mark.parametrize("buffers", [1, 3])
def test_memory_is_bounded(tmp_path, kind, one, buffers):
    with Workers(1) as fresh:  # memory that earlier cases have given back would hide what this one takes
        path = str(kind.path(tmp_path))
        given = {"path": path, "engine": kind.name, "buffers": buffers, "steps": 24}
        found = fresh.results(io_programs.memory_of_buffers, limit=60, **given)[0]
    # The engine may hold a step of its own, and the allocator some.
    assert found["grown"] < (buffers + 3) * found["step"], found["grown"] / found["step"]


@pytest.mark.parametrize("buffers", [1, 2])
def test_a_copy_of_adios2_counts_as_a_buffer(tmp_path, buffers):
    with Workers(1) as fresh:
        path = str(tmp_path / "run.bp")
        given = {"path": path, "engine": "bp4", "buffers": buffers, "steps": 24}
        found = fresh.results(io_programs.memory_of_buffers, limit=60, **given)[0]
    assert found["grown"] < (buffers + 0.75) * found["step"], found["grown"] / found["step"]
    parameters = {"buffers": buffers}
    with tr.open(tmp_path / "told.bp", "w", engine="bp4", parameters=parameters) as out:
        assert f"buffers = {buffers}: one of them is the copy that bp4 makes itself" in out.notes
    with tr.open(tmp_path / "told5.bp", "w", engine="bp5", parameters=parameters) as out:
        assert not any("copy" in note for note in out.notes)


def test_only_the_end_of_a_step_is_in_the_background_where_adios2_has_the_one_buffer(tmp_path):
    data = np.random.default_rng(1).random((64, 64, 64))
    parameters = {"buffers": 1, "trace": str(tmp_path / "trace.json")}
    with tr.open(tmp_path / "run.bp", "w", engine="bp4", parameters=parameters) as out:
        out.write_step(1.0, ux=data)
        out.write_step(2.0, ux=data)
    events = [event for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if event["ph"] == "X"]
    writes = [event for event in events if event["name"] == "write"]
    # The block of each step goes to ADIOS2 immediately, and to the file in the background.
    assert [(event["tid"], event["args"]["step"]) for event in sorted(writes, key=lambda event: event["ts"])] == [
        (0, 0),
        (1, 0),
        (0, 1),
        (1, 1),
    ]
    assert not any(event["name"] == "copy" for event in events)


def test_order_and_close(tmp_path, engine, some):
    path = str(engine.path(tmp_path))
    parameters = {**engine.parameters, "buffers": 4}
    some.results(io_programs.write_series, path=path, engine=engine.name, parameters=parameters, steps=40)
    assert some.results(io_programs.check_series, path=path)[0] == list(range(1, 41))  # close has waited


@pytest.mark.parametrize(
    "pair", list(zip(KINDS, KINDS[1:] + KINDS[:1], strict=True)), ids=lambda pair: f"{pair[0]}+{pair[1]}"
)
def test_two_series_in_the_background(tmp_path, some, pair):
    paths = []
    for number, engine in enumerate(pair):
        (tmp_path / str(number)).mkdir()
        paths.append(str(engine.path(tmp_path / str(number))))
    engines = [engine.name for engine in pair]
    some.results(io_programs.two_in_the_background, paths=paths, engines=engines, between=str(tmp_path / "plain.h5"))
    for path in [*paths, str(tmp_path / "plain.h5")]:
        assert some.results(io_programs.check_series, path=path)[0] == list(range(1, 9))


def test_attributes_of_a_step_that_was_lost_come_with_the_next(tmp_path, engine):
    path, values = engine.path(tmp_path), np.arange(24.0).reshape(2, 3, 4)
    with tr.open(path, "w", engine=engine.name, parameters={**engine.parameters, "buffers": 2}) as out:
        out.write_step(0.0, index=1, ux=values)
        out.set_attribute("late", 7)
        out.begin_step(2, 0.5)
        changed = values.copy()
        out.write("ux", changed, deferred=True)
        changed += 1
        out.end_step()
        with pytest.raises(tr.InputError, match=r"step 2 could not be written .* was changed"):
            out.flush()
        out.write_step(0.5, index=2, ux=values)
        out.flush()
        if not engine.is_file:  # which its writer holds
            assert tr.open(path).attributes["late"] == 7
    assert tr.open(path).attributes["late"] == 7


@pytest.mark.parametrize("level, ranks", [("single", 1), ("funneled", 1), ("funneled", 3), ("serialized", 1)])
def test_mpi_without_threads(tmp_path, level, ranks):
    """It writes in the calling thread and says so."""
    process = mpi_run.start_module(background_ends, "all_engines", level, cwd=tmp_path, ranks=ranks)
    result = mpi_run.finish(process, 60)
    assert result.code == 0, result.text


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_series_that_is_never_closed(tmp_path, one, ranks):
    """The program ends, and the steps in the background are complete."""
    process = mpi_run.start_module(background_ends, "never_closed", cwd=tmp_path, ranks=ranks)
    result = mpi_run.finish(process, 60)
    assert result.code == 0, result.text
    for engine in ENGINES:
        stored = str(tmp_path / f"{engine.label}-{engine.place}")
        assert one.results(io_programs.check_series, path=stored)[0] == [1, 2, 3]


@pytest.mark.parametrize("buffers", [0, 2])
def test_a_rank_that_raises_between_two_calls(tmp_path, kind, one, buffers):
    """The others wait for it in `write`; `-m mpi4py` ends them, as in any program with MPI, and complete steps stay."""
    series = kind.path(tmp_path)
    words = ("raises", series, kind.name, buffers)
    process = mpi_run.start_module(background_ends, *words, cwd=tmp_path, ranks=3, aborting=True)
    result = mpi_run.finish(process, 60)
    assert result.code != 0 and "rank 1 alone" in result.err
    if not buffers:
        assert one.results(io_programs.check_series, path=str(series))[0] == [1]


def test_buffers_that_no_memory_has_room_for(tmp_path):
    with tr.open(tmp_path / "most.h5", "w", parameters={"buffers": 512}):
        pass
    for number in (513, 100_000_000):
        with pytest.raises(tr.InputError, match=f"parameter buffers = '{number}': expected at most 512"):
            tr.open(tmp_path / "run.h5", "w", parameters={"buffers": number})
    assert not (tmp_path / "run.h5").exists()
