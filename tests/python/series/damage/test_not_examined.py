"""A file that the system cannot examine is not taken for missing, removed, or another program's."""

from __future__ import annotations

import pytest

from helpers.harness.injection import run

WRITTEN = """
stale = failed = 0
kept = []
for sticky in (False, True):
    for number in range(1, 300):
        os.system("rm -rf x*")
        with tr.open("x", "w", engine="{engine}") as out:
            out.write_step(0.1, index=1, ux=a)
        injector.arm(Fault("stat", "ESTALE", sticky=sticky), number)
        try:
            with tr.open("x", "{mode}", engine="{engine}") as out:
                out.write_step(0.2, index=2, ux=2 * a)
        except tr.IoError as failure:
            failed += 1
            stale += "Stale file handle" in str(failure)
            if "Stale file handle" not in str(failure):
                print(number, failure)
        out = None
        gc.collect()
        if not injector.disarm():
            break
        with tr.open("x", "a", engine="{engine}") as out:
            out.write_step(0.9, index=9, ux=9 * a)
        assert steps("x")[-1] == (9, True)
        if not sticky:  # else what cannot be examined may be another program's, and stays
            kept += [name for name in os.listdir() if name.endswith((".lock", ".journal"))]
print(failed > 20, stale == failed, kept)
"""


@pytest.mark.parametrize("engine", ["hdf5", "raw"])
@pytest.mark.parametrize("mode", ["w", "a"])
def test_errors_say_what_cannot_be_examined(tmp_path, library, engine, mode):
    assert run(library, tmp_path, WRITTEN.format(engine=engine, mode=mode)) == "True True []\n"


TOGETHER = """
from mpi4py import MPI
from tailrace.flow.checkpoint import CheckpointStore, State
comm = MPI.COMM_WORLD
place = tr.Block(np.full((2, 4, 4), 1.0), (4, 4, 4), (0, 0, 2 * comm.rank))
if "{what}" == "newest":
    for step in (1, 2):
        CheckpointStore(os.path.abspath("x"), 9, comm).write(
            State(step, 0.1, 1, 2, "none", 2), {{name: place for name in ("ux", "uy", "uz")}}, {{}})
else:
    with tr.open("x", "w", engine="{what}", comm=comm) as out:
        out.write_step(0.1, index=1, ux=place)

def look():
    if "{what}" == "newest":
        return CheckpointStore(os.path.abspath("x"), 9, comm).newest(lambda _: None).state.step
    with tr.open("x", comm=comm) as stored:
        return stored.verify()

failed = 0
for rank in (0, 1):
    for number in range(1, 300):
        comm.Barrier()
        if comm.rank == rank:
            injector.arm(Fault("stat", "ESTALE", sticky=True), number)
        try:
            told = str(look())
        except tr.IoError:  # a rank says by itself why, if it knows
            told = "an error"
            failed += 1
        gc.collect()
        fired = comm.bcast(injector.disarm() if comm.rank == rank else "", root=rank)
        assert len(set(comm.allgather(told))) == 1, comm.allgather(told)
        if not fired:
            break
if comm.rank == 0:
    print(failed > 3)
"""


@pytest.mark.parametrize("what", ["newest", "raw", "hdf5"])
def test_no_rank_goes_another_way_than_the_others(tmp_path, library, what):
    """One of them alone cannot examine a file: if it went on by itself, the others would wait for it for ever."""
    assert run(library, tmp_path, TOGETHER.format(what=what), 2) == "True\n"
