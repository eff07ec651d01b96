"""Whether a flow fits into the memory of a machine, which is asked before anything is allocated."""

import pytest
from mpi4py import MPI

from helpers.harness.kept import KEPT
from helpers.programs import simulation_programs
from tailrace import core as _core
from tailrace.flow import memory


def test_ranks_of_one_machine_share_its_memory():
    """Each could hold its part alone; together they cannot."""
    there = memory.machine_memory()
    ranks = KEPT.ranks(3)
    assert ranks.results(simulation_programs.has_memory, nodes=[10, 100, there // 1000]) == [None] * 3
    for outcome in ranks.run(simulation_programs.has_memory, nodes=[10, 150, there // 1000]):
        assert outcome.error == "InputError"
        assert f"10 x 150 x {there // 1000} points need at least" in outcome.text
        assert "on each of the 3 ranks; 3 of them are on a machine with" in outcome.text
        assert "they would fit on 5 ranks at the earliest" in outcome.text, "1.5 machines, of three ranks each"


def test_all_of_the_memory_can_be_used():
    there = memory.machine_memory()
    memory.check_memory((there, 1, 1), 1, MPI.COMM_SELF)
    with pytest.raises(_core.InputError, match="1 of them are on a machine"):
        memory.check_memory((there + 1, 1, 1), 1, MPI.COMM_SELF)


@pytest.mark.parametrize(("limit", "least"), [("4096\n", 4096), ("max\n", None), (f"{1 << 63}\n", None), (None, None)])
def test_a_container_may_have_less_than_its_machine(tmp_path, monkeypatch, limit, least):
    places = [tmp_path / "memory.max", tmp_path / "memory.limit_in_bytes"]
    monkeypatch.setattr(memory, "_LIMITS", places)
    whole = memory.machine_memory()
    for place in places:
        if limit is not None:
            place.write_text(limit)
        assert memory.machine_memory() == (least or whole)
        place.unlink(missing_ok=True)
