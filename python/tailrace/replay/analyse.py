"""`tailrace analyse`: scripts that run on the steps of a series, on disk or from a stream."""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tailrace.analysis.earlier_results import EarlierResults
from tailrace.analysis.errors import AnalysisError
from tailrace.analysis.ownership import check_results
from tailrace.analysis.results import ResultSink, last_result
from tailrace.analysis.script import Script, load
from tailrace.analysis.script_results import ScriptResults
from tailrace.analysis.script_runner import ScriptRunner
from tailrace.consumers.analysis import Analysis, OnError
from tailrace.core import InputError, keep_freed_memory
from tailrace.fields.field import Field
from tailrace.files.provenance import of_program
from tailrace.io.coupling import explain
from tailrace.io.engines import DEFAULT, STORING, default_path
from tailrace.io.names import result_names
from tailrace.parallel import agree, first_error, on_root, spread
from tailrace.steps.grid_file import read_grid_file
from tailrace.text import duration, message

from .run_beside import await_stream
from .source import SeriesSource

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.steps.step import Step


@dataclass(frozen=True)
class AnalysisRequest:
    """The options of the command.

    :param values: NAME=VALUE or SCRIPT:NAME=VALUE, parameters of scripts.
    :param chosen: the positions of the stored steps to analyse.
    :param groups: the number of groups of ranks that take steps in turn.
    :param overwrite: earlier results of `tailrace analyse` may be replaced.
    :param beside: a run has started this analysis beside it.
    """

    scripts: Sequence[str]
    source: str
    out: Path = Path("analysis")
    values: Sequence[str] = ()
    chosen: slice = field(default_factory=lambda: slice(None))
    groups: int = 1
    grid: Path | None = None
    engine: str | None = None
    resume: bool = False
    precision: str | None = None
    on_error: OnError = "stop"
    overwrite: bool = False
    beside: bool = False


class _Moment(NamedTuple):
    step: int
    time: float
    group: int
    missed: int  # steps that the source has lost before it


class Analyse:
    """A request, carried out on the ranks of `comm`. Collective."""

    def __init__(self, request: AnalysisRequest, comm: MPI.Comm) -> None:
        self._request, self._world = request, comm
        self._started = clock.monotonic()  # before the wait for the first step of a stream
        told = of_program("beside" if request.beside else "analyse", comm.size)
        self._provenance = {**told, "source": request.source}
        self._scripts = agree(comm, lambda: load_scripts(request.scripts, request.values))
        given = agree(comm, lambda: read_grid_file(request.grid) if request.grid else None)
        agree(comm, self._check)
        self._ranks = comm.size // request.groups  # ranks of a group
        self._group = comm.rank // self._ranks
        ours = comm.Split(self._group, comm.rank)
        if request.beside:
            on_root(comm, lambda: await_stream(request.source))
        self._source = SeriesSource(request.source, ours, grid_file=given, precision=request.precision)
        agree(comm, self._check_stream)
        self._comm = ours
        self._engine = request.engine or (self._source.engine if self._source.engine in STORING else DEFAULT)
        for script in self._scripts:
            self._check_place(script)
            for results in result_names(script.name):
                check_results(request.out, results, self._engine, comm)
        self._earlier = EarlierResults(
            comm, request.out, [script.name for script in self._scripts], self._engine,
            resume=request.resume, overwrite=request.overwrite, beside=request.beside,
        )  # fmt: skip
        self._analyses = [self._analysis(script) for script in self._scripts]
        self._last: _Moment | None = None
        self._missed = 0
        self._waited = 0.0
        self._finals: list[str] = []  # lines about the results of `finish`

    def _check(self) -> None:
        request, size = self._request, self._world.size
        if size % request.groups:
            raise InputError(
                f"--steps-at-once {request.groups}: {size} ranks do not make {request.groups} groups of equal size"
            )
        for script in self._scripts:
            missing = [name for name in ("save", "load", "merge") if not script.has(name)]
            if request.groups > 1 and script.is_class and missing:
                raise InputError(
                    f"--steps-at-once: analysis '{script.name}' may keep a state (it is a class), and has no "
                    f"{', '.join(missing)}, which are needed to merge the states of the groups"
                )
        if request.resume:
            check_resume(self._scripts)

    def _check_stream(self) -> None:
        if self._request.groups > 1 and self._source.streaming:
            raise InputError("--steps-at-once: the steps of a stream come one by one; leave it out")
        parts = (self._request.chosen.start, self._request.chosen.stop, self._request.chosen.step)
        if self._source.streaming and any(part is not None and part < 0 for part in parts):
            raise InputError("--steps: the end of a stream is not known; give numbers from 0 on")

    def _check_place(self, script: Script) -> None:
        for results in result_names(script.name):
            path = self._request.out / default_path(results, self._engine)
            if path.resolve() == Path(self._source.path).resolve():
                raise InputError(
                    f"{self._source.path} is where the results of analysis '{script.name}' go; choose another "
                    "directory by -o"
                )

    def _analysis(self, script: Script) -> Analysis:
        request, source, engine = self._request, self._source, self._engine
        done = rewind_to = None
        if request.resume and source.streaming:
            rewind_to = source.first_index - 1
        elif request.resume:
            done = rewind_to = last_result(request.out, script.name, engine, self._world)
        runner = ScriptRunner(script, self._comm)
        sink = ResultSink(
            request.out, script.name, self._world, source.operators,
            engine=engine, attributes=source.attributes, provenance=self._provenance, resume_step=rewind_to,
        )  # fmt: skip
        return Analysis(runner, sink, request.on_error, self._say, done=done)

    # ---- the steps ---------------------------------------------------------------------------------------------------
    def run(self) -> int:
        """Analyse all steps.

        :returns: the exit code: 1 if a script was switched off, else 0.
        """
        keep_freed_memory()  # every step allocates the same sizes
        try:
            if self._source.streaming:
                for step in self._source.stream(self._request.chosen):
                    self._round(step, 1)
            else:
                self._read_all()
            self._finish()
            self._waited = self._source.waited() if self._source.streaming else 0.0
        finally:
            failing = sys.exc_info()[0]
            if failing is None or issubclass(failing, AnalysisError):  # raised on all ranks alike
                for analysis in self._analyses:
                    analysis.close()
                self._source.close()
            self._earlier.close()
        self._sum_up(clock.monotonic() - self._started)
        return 1 if any(analysis.failed for analysis in self._analyses) else 0

    def _read_all(self) -> None:
        source, groups = self._source, self._request.groups
        chosen = source.positions(self._request.chosen)
        wanted = [at for at in chosen if any(analysis.wants(source.index(at), 0.0) for analysis in self._analyses)]
        for first in range(0, len(wanted), groups):
            taken = wanted[first : first + groups]
            self._round(source.read(taken[self._group]) if self._group < len(taken) else None, len(taken))

    def _round(self, step: Step | None, taken: int) -> None:
        """Every group analyses its step; then the results are written in the order of the steps.

        :param taken: how many groups have a step.
        """
        ours = None if step is None else _Moment(step.index, step.time, self._group, len(step.missed))
        moments = [ours] if self._request.groups == 1 else self._world.allgather(ours)[:: self._ranks]
        there: list[_Moment] = [moment for moment in moments if moment is not None][:taken]
        for analysis in self._analyses:
            results = self._look(analysis, step)
            for moment in there:
                if analysis.wants(moment.step, moment.time):
                    mine = results if moment.group == self._group else None
                    analysis.sink.write(moment.step, moment.time, mine, leader=moment.group * self._ranks)
        if self._last is None:
            self._replace_earlier()
        self._last = there[-1]
        self._missed += sum(moment.missed for moment in there)

    def _replace_earlier(self) -> None:
        if self._request.overwrite:
            for analysis in self._analyses:
                analysis.flush()
            on_root(self._world, self._earlier.replace)

    def _look(self, analysis: Analysis, step: Step | None) -> ScriptResults | None:
        seen = step is not None and analysis.wants(step.index, step.time)
        return self._by_groups(analysis, partial(analysis.look, step) if step and seen else _nothing)

    def _by_groups(self, analysis: Analysis, work: Callable[[], ScriptResults | None]) -> ScriptResults | None:
        if self._request.groups == 1:
            return work()
        error: AnalysisError | None = None
        results = None
        before = analysis.failed
        try:
            results = work()
        except AnalysisError as caught:
            error = caught
        found = first_error(self._world, error if before is None and error else analysis.failed)
        if error:
            raise error
        if found is not None and analysis.failed is None:
            analysis.fail(found)
        return results

    # ---- the end -----------------------------------------------------------------------------------------------------
    def _finish(self) -> None:
        for analysis in self._analyses:
            if not analysis.runner.script.has("finish") or analysis.failed or self._last is None:
                continue
            self._merge(analysis)
            results = self._by_groups(analysis, analysis.finished if self._group == 0 else _nothing)
            self._finals.append(analysis.write_final(self._last.step, self._last.time, results))
        for analysis in self._analyses:
            analysis.flush()

    def _merge(self, analysis: Analysis) -> None:
        """Merge the states of the other groups into that of the first; ranks pair by their parts of the fields."""
        if self._request.groups == 1:
            return
        state = analysis.runner.save()
        plain = None if state is None else {key: _packed(value) for key, value in state.items()}
        column = self._world.Split(self._comm.rank, self._world.rank)
        states = column.gather(plain)
        for other in (states or [])[1:]:
            if other is not None:
                analysis.runner.merge({key: self._unpacked(value) for key, value in other.items()})

    def _unpacked(self, value: Any) -> Any:
        if isinstance(value, _PackedField):
            return Field(value.data, self._source.operators, parity=value.parity, name=value.name)
        return value

    def _sum_up(self, total: float) -> None:
        seconds = spread(self._world, {analysis.name: analysis.runner.seconds for analysis in self._analyses})
        for analysis in self._analyses:
            self._out(analysis.sink.summary(f", {seconds[analysis.name][1]:.2f} s in the script"))
        for line in self._finals:
            self._out(line)
        if self._missed:
            self._out(f"missed {self._missed} steps that the source does not have")
        waited = f", {self._waited:.2f} s of them waiting for steps" if self._source.streaming else ""
        for line in self._coupling() if self._source.streaming else []:
            self._out(line)
        self._out(f"analysed {self._source.path} in {duration(total) if total > 60 else f'{total:.2f} s'}{waited}")

    def _coupling(self) -> list[str]:
        """The cost of the stream for both sides. It is printed once: a run prints it itself, other programs do not."""
        if self._source.attributes.get("made_by") != "run":
            return explain(self._source.coupling)
        return [] if self._request.beside else ["the run reports at its end what the stream has cost both sides"]

    def _say(self, text: str) -> None:
        if self._world.rank == 0:
            print(message(f"tailrace: {text}"), file=sys.stderr, flush=True)

    def _out(self, text: str) -> None:
        if self._world.rank == 0:
            print(message(text), flush=True)


def _nothing() -> None:
    """The work of a group that has no step in this round."""


class _PackedField(NamedTuple):
    data: Any
    parity: Any
    name: str


def _packed(value: Any) -> Any:
    return _PackedField(value.data, value.parity, value.name) if isinstance(value, Field) else value


def load_scripts(words: Sequence[str], values: Sequence[str]) -> list[Script]:
    """The scripts with their parameters.

    :param values: NAME=VALUE for every script that has such a parameter, SCRIPT:NAME=VALUE for one.
    :raises InputError: a script cannot be found, two have the same name, or a parameter is unknown or of another type.
    :raises AnalysisError: a script fails when it is loaded.
    """
    scripts = [load(word) for word in words]
    names = [script.name for script in scripts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two scripts have the name '{twice}', which names their results; rename one, or run twice")
    for text in values:
        key, separator, value = text.partition("=")
        if not separator or not key.strip():
            raise InputError(f"--set {text}: must be NAME=VALUE or SCRIPT:NAME=VALUE")
        wanted, _, name = key.strip().rpartition(":")
        if wanted and wanted not in names:
            raise InputError(f"--set {text}: there is no script '{wanted}'; there are {', '.join(names)}")
        takers = [script for script in scripts if script.name == wanted or (not wanted and name in script.parameters())]
        for script in takers or scripts[:1]:  # if no script takes it, the first raises the error
            script.set(name, value.strip())
    for script in scripts:
        script.check_complete()
    return scripts


def check_resume(scripts: Sequence[Script]) -> None:
    """Check that scripts can continue without a saved state. Raises InputError if one of them may keep a state."""
    for script in scripts:
        if script.is_class:
            raise InputError(
                f"--resume: analysis '{script.name}' may keep a state (it is a class), which is stored in the "
                "checkpoints of a simulation only; run it inside, or analyse from the beginning, without --resume"
            )


def analyse(request: AnalysisRequest, comm: MPI.Comm | None = None) -> int:
    """Do what `tailrace analyse` does. Collective over `comm`, COMM_WORLD by default.

    :returns: the exit code: 0 done, 1 a script was switched off after an error.
    :raises AnalysisError: a script failed, and `on_error` is "stop".
    :raises InputError, IoError, ConfigError: the source, the grid file or an option is wrong.
    """
    if comm is None:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    return Analyse(request, comm).run()
