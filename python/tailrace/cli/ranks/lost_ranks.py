"""Whether a job has lost a rank and does not end by itself."""

from __future__ import annotations

import select
import sys
import time

from tailrace import processes

_PATIENCE = 30.0  # seconds that mpiexec may take to end a job that has lost a rank
_START = 60.0  # seconds in which ranks appear
_PAUSE = 1.0  # seconds between two looks


class LostRanks:
    """Watches the ranks of a job, as far as they run on this machine.

    mpiexec ends the job when a rank dies. Rarely it does not: Open MPI 4.1.4 with PMIx 4.2.2 had ended all ranks, and
    then waited for a lock in PMIx_server_finalize. A rank that has done its work stays until the others have done
    theirs, because all leave MPI together.

    :param number: the process number of mpiexec.
    :param ranks: how many there are, also on other machines; 1: the process is the rank, without mpiexec.
    """

    def __init__(self, number: int, ranks: int) -> None:
        self._number, self._expected = number, ranks if ranks > 1 else 0
        self._ranks: list[processes.Process] = []
        self._begun = self._whole = self._looked = time.monotonic()

    def stuck(self) -> str:
        """Why the job will not end by itself; "" as long as it may. Must be called often."""
        now = time.monotonic()
        if now - self._looked < _PAUSE:
            return ""
        self._looked = now
        if len(self._ranks) < self._expected and now - self._begun < _START:
            self._ranks = _merged(self._ranks, _ranks_of(self._number))
        launcher = processes.find(self._number)
        lost = next((one for one in self._ranks if not _is_there(one)), None)
        if lost is None or launcher is None or launcher.state == "T" or _output_waits():
            self._whole = now
        elif now - self._whole > _PATIENCE:
            return f"rank process {lost.number} has ended, and mpiexec has not ended the job for {_PATIENCE:g} s"
        return ""


def _ranks_of(number: int) -> list[processes.Process]:
    """The ranks below mpiexec: processes that run our Python, without those that a rank has started."""
    found: list[processes.Process] = []
    for one in processes.family(number)[1:]:  # parents come before their children
        if one.program == sys.executable and all(one.parent != rank.number for rank in found):
            found.append(one)
    return found


def _merged(known: list[processes.Process], found: list[processes.Process]) -> list[processes.Process]:
    identities = {(one.number, one.begun) for one in known}
    return known + [one for one in found if (one.number, one.begun) not in identities]


def _is_there(one: processes.Process) -> bool:
    found = processes.find(one.number)
    return found is not None and found.begun == one.begun


def _output_waits() -> bool:
    """Whether nobody reads our output, as in `| less`: mpiexec stays until everything is written."""
    poll = select.poll()
    for descriptor in (1, 2):
        poll.register(descriptor, select.POLLOUT)
    return len(poll.poll(0)) < 2  # an output that is closed is reported, too
