"""Whether a flow fits into the memory of a machine, which is asked before anything is allocated."""

import os

import pytest
from mpi4py import MPI

from helpers.harness.kept import KEPT
from helpers.programs import simulation_programs
from tailrace import core as _core
from tailrace import machine
from tailrace.flow import memory


def test_ranks_of_one_machine_share_its_memory():
    """Each could hold its part alone; together they cannot."""
    there = machine.usable_memory()
    ranks = KEPT.ranks(3)
    assert ranks.results(simulation_programs.has_memory, nodes=[10, 100, there // 1000]) == [None] * 3
    for outcome in ranks.run(simulation_programs.has_memory, nodes=[10, 150, there // 1000]):
        assert outcome.error == "InputError"
        assert f"10 x 150 x {there // 1000} points need at least" in outcome.text
        assert "on each of the 3 ranks; 3 of them are on a machine where they can use" in outcome.text
        assert "they would fit on 5 ranks at the earliest" in outcome.text, "1.5 machines, of three ranks each"


def test_all_of_the_memory_can_be_used():
    there = machine.usable_memory()
    memory.check_memory((there, 1, 1), 1, MPI.COMM_SELF)
    with pytest.raises(_core.InputError, match="1 of them are on a machine"):
        memory.check_memory((there + 1, 1, 1), 1, MPI.COMM_SELF)


OWN = "/system.slice/slurmstepd.scope/job_7/step_0"


@pytest.mark.parametrize(
    ("groups", "place", "limit", "least"),
    [
        ("", "memory.max", "4096\n", 4096),  # of a container
        ("", "memory/memory.limit_in_bytes", "4096\n", 4096),
        ("", "memory.max", "max\n", None),
        ("", "memory/memory.limit_in_bytes", f"{1 << 63}\n", None),
        (f"0::{OWN}\n", f"{OWN}/memory.max", "8192\n", 8192),  # of a job: on the step, or on what is above it
        (f"0::{OWN}\n", "system.slice/slurmstepd.scope/job_7/memory.max", "8192\n", 8192),
        (f"0::{OWN}\n", "system.slice/slurmstepd.scope/job_8/memory.max", "8192\n", None),
        ("5:cpu,memory:/slurm/uid_0/job_7\n1:cpu:/", "memory/slurm/uid_0/memory.limit_in_bytes", "8192\n", 8192),
        ("5:cpu:/slurm/uid_0/job_7\n", "memory/slurm/uid_0/job_7/memory.limit_in_bytes", "8192\n", None),
        ("0::/../outside\n", "outside/memory.max", "8192\n", None),
        ("0::/\n", "memory.max", "8192\n", 8192),
    ],
)
def test_a_container_or_a_job_may_have_less_than_its_machine(tmp_path, groups, place, limit, least):
    whole = machine.usable_memory(tmp_path / "none", tmp_path)
    assert whole == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    (tmp_path / "own").write_text(groups)
    file = tmp_path / "cgroup" / place.lstrip("/")
    file.parent.mkdir(parents=True)
    file.write_text(limit)
    assert machine.usable_memory(tmp_path / "own", tmp_path / "cgroup") == (least or whole)
