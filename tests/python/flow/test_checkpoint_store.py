"""A store of checkpoints, written to and read from directly."""

import shutil
import sys

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers import mpi_run
from tailrace.flow import checkpoint
from tailrace.flow.checkpoint import CheckpointStore, State
from tailrace.io import series


def write(store: CheckpointStore, step: int, names: str = "xyz") -> None:
    state = State(step, 0.5 * step, 1, 1, "none", 1)
    store.write(state, {f"u{name}": series.Block(np.full((2, 3, 4), 1.0), (4, 3, 2)) for name in names}, {})


@pytest.mark.parametrize("lacking", ["x", "y", "z"])
def test_a_checkpoint_without_a_component_is_damaged(tmp_path, lacking):
    """Its checksums are right, so that nothing else tells."""
    store, said = CheckpointStore(tmp_path, 9, MPI.COMM_SELF), []
    write(store, 1)
    write(store, 2, "xyz".replace(lacking, ""))
    assert store.newest(said.append).state.step == 1
    assert said == [f"checkpoint {tmp_path / 'step-00000002'} is damaged and skipped: it has no u{lacking}"]


def test_a_kill_after_a_replacement_leaves_the_new_one(tmp_path):
    """The one that it replaced is still there under its other name, and must neither come back nor be in the way."""
    store, said = CheckpointStore(tmp_path, 9, MPI.COMM_SELF), []
    write(store, 2)
    replaced = tmp_path / "step-00000002.replaced"
    shutil.copytree(tmp_path / "step-00000002", replaced)
    (replaced / "ux-1.bin").write_bytes(b"old")
    assert store.newest(said.append).state.step == 2
    assert said == []
    assert replaced.exists()
    write(store, 3)
    assert [path.name for path in store.present()] == ["step-00000003", "step-00000002"]
    assert not replaced.exists()


def test_every_checkpoint_is_written_under_the_lock(tmp_path):
    """Also the second one that is written without a claim around it."""
    store, other = (CheckpointStore(tmp_path, 9, MPI.COMM_SELF) for _ in range(2))
    write(store, 1)
    with other.claim(), pytest.raises(tr.IoError, match="is writing it"):
        write(store, 2)
    write(store, 2)
    assert other.present()[0].name == "step-00000002"


def test_what_is_set_aside_takes_no_name_of_a_link(tmp_path):
    """Not even of one that leads nowhere now."""
    (tmp_path / "step-00000001").mkdir()
    link = tmp_path / "step-00000001.set-aside"
    link.symlink_to("a disk that is not mounted")
    checkpoint._set_aside(tmp_path / "step-00000001")
    assert link.is_symlink()
    assert (tmp_path / "step-00000001.set-aside1").is_dir()


CLOCKS = """
from mpi4py import MPI
from tailrace.case.sections import CheckpointSection
from tailrace.run import checkpoint_rhythm

comm, now = MPI.COMM_WORLD, [0.0]

class Clock:
    monotonic = staticmethod(lambda: now[0])

checkpoint_rhythm.clock = Clock
rhythm = checkpoint_rhythm.CheckpointRhythm(CheckpointSection(minutes=1), 0)
for step, (first, others) in enumerate([(61.0, 59.0), (59.0, 61.0)], 1):
    now[0] = others if comm.rank else first
    assert rhythm.due(step, comm, at_end=False) == (first > 60), (step, comm.rank)
"""


def test_the_clock_of_rank_0_counts_for_all(tmp_path):
    """Clocks of two ranks differ a little: ranks that asked their own would wait for each other for ever."""
    command = [*mpi_run.mpiexec(2), sys.executable, "-c", CLOCKS]
    result = mpi_run.finish(mpi_run.start(command, tmp_path), 60)
    assert result.code == 0, result.text
