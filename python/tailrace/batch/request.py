"""What a job of a batch system asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from tailrace.case.case import Case

_LIMIT = re.compile(
    r"(?:(?P<days>\d+)-(?P<of_day>\d{1,2})(?::(?P<m>\d{2})(?::(?P<s>\d{2}))?)?)|"
    r"(?:(?P<hours>\d+):(?P<minutes>\d{2}):(?P<seconds>\d{2}))|(?:(?P<only>\d+):(?P<rest>\d{2}))"
)
_STEP = 240.0  # seconds for the last step, and for all files to be closed
_SLOW = 100 * 2**20  # bytes a second that a node writes of a checkpoint at worst


class BatchError(ValueError):
    """The job cannot be as it is asked for."""


@dataclass(frozen=True)
class JobRequest:
    """Nodes, time and program of a job.

    :param case: its file, as the script names it.
    :param seconds: after which the batch system ends the job.
    :param name: of the job.
    :param beside: scripts of analyses that run beside, on ranks of their own of the same nodes.
    :param settings: `key=value` for the case.
    :param options: more lines of the head, as the batch system takes them: "--account=x".
    :param setup: commands before the run, such as "module load openmpi".
    :param pack: what `tailrace pack` wrote, from which the ranks start; None: from where this command is.
    :param on_gpus: each rank of the simulation has one; `checked` takes it from the case.
    """

    case: Path
    nodes: int
    ranks_per_node: int
    seconds: int
    name: str
    beside: tuple[str, ...] = ()
    beside_ranks: int = 0
    settings: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    pack: Path | None = None
    on_gpus: bool = False

    @property
    def gpus_per_node(self) -> int:
        """One for each rank."""
        return self.ranks_per_node if self.on_gpus else 0

    @property
    def ranks(self) -> int:
        """The ranks of the simulation: all that its analysis leaves."""
        return self.nodes * self.ranks_per_node - self.beside_ranks

    def checked(self, case: Case) -> JobRequest:
        """This request, if the case can be computed so.

        :raises BatchError: there are more ranks than pencils or slabs, or no ranks are left, or the time is too short,
            or an analysis is beside a flow on GPUs.
        """
        if self.ranks < 1:
            raise BatchError(f"the analysis takes all {self.nodes * self.ranks_per_node} ranks; ask for more nodes")
        for problem in (too_many(case, self.ranks), too_short(case, self.nodes, self.seconds)):
            if problem:
                raise BatchError(problem)
        on_gpus = case.numerics.device == "gpu"
        if on_gpus and self.beside:
            raise BatchError(
                "an analysis beside a flow on GPUs would wait for them too; analyse inside the run ([[analysis]]), or "
                "files after it"
            )
        return replace(self, on_gpus=on_gpus)


def state_bytes(case: Case) -> int:
    """The bytes of a checkpoint: velocity and scalars, and what Adams-Bashforth schemes keep of earlier steps."""
    x, y, z = case.grid.points
    copies = {"ab2": 2, "ab3": 3}.get(case.time.scheme, 1)
    return x * y * z * (3 + len(case.scalar)) * copies * (8 if case.numerics.precision == "double" else 4)


def margin(case: Case, nodes: int) -> int:
    """Seconds before the limit at which a run is asked to stop: for a step, a checkpoint on slow disks, and the end."""
    return int(-(-(_STEP + state_bytes(case) / (_SLOW * nodes)) // 60) * 60)


def too_many(case: Case, ranks: int) -> str:
    """Why the points cannot be given to so many ranks; "" if they can."""
    x, y, z = case.grid.points
    on_gpus = case.numerics.device == "gpu"
    most, parts = (min(y, z), "slabs") if on_gpus else (min(x, y) * min(y, z), "pencils")
    return f"{ranks} ranks, and the {x} x {y} x {z} points give {parts} to {most} at most" if ranks > most else ""


def too_short(case: Case, nodes: int, seconds: int) -> str:
    """Why a job of so many seconds is too short; "" if it is not."""
    last = margin(case, nodes)
    if seconds >= 2 * last:
        return ""
    return (
        f"the time is {clock(seconds)}, and the last {clock(last)} of it are kept for a step and a checkpoint; ask for "
        "more time"
    )


def seconds_of(text: str) -> int:
    """The seconds of a limit as batch systems write it: HOURS:MINUTES:SECONDS, MINUTES:SECONDS, DAYS-HOURS:MINUTES.

    :raises BatchError: the text is no time.
    """
    match = _LIMIT.fullmatch(text.strip())
    if match is None:
        raise BatchError(f"expected HOURS:MINUTES:SECONDS, such as 12:00:00, or DAYS-HOURS:MINUTES; found '{text}'")
    part = {name: int(value or 0) for name, value in match.groupdict().items()}
    hours = 24 * part["days"] + part["of_day"] + part["hours"]
    minutes = part["m"] + part["minutes"] + part["only"]
    return 3600 * hours + 60 * minutes + part["s"] + part["seconds"] + part["rest"]


def clock(seconds: int) -> str:
    """HOURS:MINUTES:SECONDS, as batch systems take it."""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
