"""The machine that the results are of: those of other machines are left out."""

from __future__ import annotations

from ..records.records import Failure, Measurement, Run
from ..records.results import BenchResults
from .observations import is_write
from .question import AdviceError


def of_one_machine(results: BenchResults) -> tuple[BenchResults, tuple[str, ...]]:
    """The results of the machine that was measured last, and a doubt if there are others.

    Imported results do not name their machine.
    """
    writers = {one.run for one in results.measurements if is_write(one.cell)}
    runs = [run for run in results.runs if run.run in writers]
    machines = list(dict.fromkeys(map(_machine, runs)))
    if len(machines) < 2:
        return results, ()
    last = _machine(max(runs, key=lambda run: run.began))
    kept = {run.run for run in results.runs if run.run not in writers or _machine(run) == last}
    listed = "; ".join(f"{name}, {cores} cores" for name, cores in machines)
    doubt = (
        f"the results are of {len(machines)} machines ({listed}), and those of the last, {last[0]}, {last[1]} cores, "
        "are taken; give the files of your machine alone"
    )
    records: list[Run | Measurement | Failure] = [*results.runs, *results.measurements, *results.failures]
    return BenchResults([one for one in records if one.run in kept], results.notes), (doubt,)


def of_one_directory(results: BenchResults, name: str | None) -> BenchResults:
    """The results whose writes went into a directory of this name.

    :raises AdviceError: nothing was written in it, or there are several directories and no name is given.
    """
    names = sorted({one.cell.directory for one in results.measurements if is_write(one.cell)})
    if name is not None and name not in names:
        raise AdviceError(f"nothing was written in the directory {name!r}; there are {', '.join(map(repr, names))}")
    if name is None and len(names) > 1:
        raise AdviceError(
            f"the results are of the directories {', '.join(map(repr, names))}, which have figures of their own; "
            "choose one by --directory NAME"
        )
    kept = [one for one in results.measurements if name is None or one.cell.directory == name]
    return BenchResults([*results.runs, *kept, *results.failures], results.notes)


def _machine(run: Run) -> tuple[str, str]:
    return str(run.machine.get("processor")), str(run.machine.get("cores"))
