"""Two runs in one directory: the second is refused before it touches anything, and the first ends as if alone."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.kept import KEPT
from helpers.inputs import cases
from tailrace.files import locks
from tailrace.io.found import ExistingResult
from tailrace.io.time_series import read_time_series
from tailrace.simulation import existing_results

OUTPUTS = ("hdf5", "bp5", "raw")
STEPS, EVERY = 240, 20  # enough that the first run is still under way when it is stopped after its first checkpoint


def _tables(directory: Path) -> dict[str, list[bytes]]:
    found = sorted(path for path in directory.rglob("*.csv"))
    return {str(path.relative_to(directory)): cases.table(path) for path in found}


def _wait_for(path: Path, process, limit: float = 60) -> None:
    end = time.monotonic() + limit
    while not path.exists():
        assert process.poll() is None and time.monotonic() < end, f"there is no {path}"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The case of a run that nobody disturbs."""
    directory = tmp_path_factory.mktemp("alone")
    case = cases.write_case(directory, steps=STEPS, every=EVERY, outputs=OUTPUTS, output_every=EVERY)
    assert cases.run(case, ranks=2, limit=150).code == 0
    return case


@pytest.mark.parametrize("arguments", [(), ("--overwrite",), ("--resume",)], ids=["new", "overwrite", "resume"])
def test_a_second_run_is_refused(tmp_path: Path, alone: Path, arguments: tuple[str, ...]):
    case = cases.write_case(tmp_path / "shared", steps=STEPS, every=EVERY, outputs=OUTPUTS, output_every=EVERY)
    first = mpi_run.start(mpi_run.tailrace_command("run", case, ranks=2), case.parent)
    try:
        _wait_for(case.parent / "checkpoints" / f"step-{EVERY:08d}", first)
        ranks = mpi_run.rank_processes(first)
        for rank in ranks:
            os.kill(rank, signal.SIGSTOP)  # so that it is still there when the second begins
        second = cases.run(case, *arguments, overwrite=False)
        said = cases.message(second)
        assert "is writing it" in said
        assert f"process {ranks[0]} " in said
        for rank in ranks:
            os.kill(rank, signal.SIGCONT)
    finally:
        result = mpi_run.finish(first, 150)
    assert result.code == 0, result.text
    assert _tables(case.parent) == _tables(alone.parent)
    assert cases.checkpoints(case.parent) == cases.checkpoints(alone.parent)
    cases.assert_same_state(cases.state(case.parent, STEPS), cases.state(alone.parent, STEPS))
    verified = KEPT.result(case.parent, "verify", "out.h5", "out.bp", "out")
    assert verified.code == 0, verified.text
    assert not list(case.parent.rglob("*.lock"))


def test_a_run_that_begins_while_another_sets_results_aside(tmp_path: Path, monkeypatch):
    """It would go on with files that lose their names under it."""
    case = cases.write_case(tmp_path, steps=4, every=2, outputs=OUTPUTS, output_every=2)
    assert cases.run(case).code == 0
    said = []

    def resume_first(found: list[ExistingResult]) -> list[Path]:
        second = mpi_run.start(mpi_run.tailrace_command("run", case, "--resume", "--set=time.steps=6"), tmp_path)
        said.append(mpi_run.finish(second, 100))
        return files_of(found)

    files_of = existing_results.files_of
    monkeypatch.setattr(existing_results, "files_of", resume_first)
    monkeypatch.chdir(tmp_path)
    assert tr.Simulation(tr.load_case(case), overwrite=True).run() == 0
    assert said[0].code != 0 and "is writing it" in said[0].text, said[0].text
    assert list(read_time_series(tmp_path / "time_series.csv")["step"])[-1] == 4
    verified = KEPT.result(tmp_path, "verify", "out.h5", "out.bp", "out")
    assert verified.code == 0, verified.text
    assert not list(tmp_path.rglob("*.lock")) and not list(tmp_path.rglob("*.earlier*"))


def test_a_killed_run_holds_nothing(tmp_path: Path):
    case = cases.write_case(tmp_path, steps=4000, every=10, outputs=OUTPUTS)
    process = mpi_run.start(mpi_run.tailrace_command("run", case, ranks=2), case.parent)
    _wait_for(case.parent / "checkpoints" / "step-00000010", process)
    mpi_run.kill_session(process)
    mpi_run.finish(process, 60)
    assert list(tmp_path.glob("*.lock"))
    resumed = cases.run(case, "--resume", "--set", "time.steps=60")
    assert resumed.code == 0, resumed.text
    assert not list(tmp_path.rglob("*.lock"))


def test_it_is_told_once_where_a_second_writer_would_not_be_noticed(monkeypatch, capsys):
    class Lock:
        def __init__(self, target: str) -> None:
            self.note = f"a second writer of {target} would not be noticed"

    monkeypatch.setattr(locks, "FileLock", Lock)
    for target in ("table.csv", "table.csv", "checkpoints"):
        locks.take(target)
    assert capsys.readouterr().out == "".join(
        f"note: a second writer of {target} would not be noticed\n" for target in ("table.csv", "checkpoints")
    )
