"""The case file: how it is read and validated.

A case is TOML (`load_case`). It is validated as a whole before anything starts; `ConfigError` lists every problem with
its key, the reason, the value found and, for names, the nearest valid one. The keys of each section are in `sections`.

Paths of outputs, checkpoints, results and the time series are relative to the directory where the program runs. The
Python files of an initial flow and of analyses are relative to the case file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Self

from pydantic import Field, PrivateAttr, ValidationError, ValidationInfo, model_validator

from tailrace.io.engines import DEFAULT
from tailrace.notebook import card

from . import places, scripts
from .arguments import hint
from .captions import caption
from .device import not_on_device
from .document import (
    ConfigError,
    Document,
    Problem,
    ProblemsError,
    apply_overrides,
    explain,
    leaves,
    plain_values,
    read_toml,
)
from .random_flow import problems_of
from .region import nodes_of, notes_of, region_of
from .sections.analysis_section import AnalysisSection
from .sections.body_section import BodySection
from .sections.boundary_section import BoundarySection
from .sections.case_section import READY_FLOWS, TAYLOR_GREEN, CaseSection, missing_series
from .sections.catalyst_section import CatalystSection
from .sections.forcing_section import ForcingSection
from .sections.grid_section import GridSection
from .sections.numerics_section import NumericsSection, ParallelSection
from .sections.output_section import OutputSection
from .sections.parameters_section import ParametersSection
from .sections.picture_section import PictureSection
from .sections.recording_section import CheckpointSection, DiagnosticsSection
from .sections.rhythm import Rhythm
from .sections.scalar_section import ScalarSection
from .sections.section import Section
from .sections.time_section import TimeSection

__all__ = ["Case", "ConfigError", "case_from_document", "load_case"]

# Adams-Bashforth extrapolates from steps of one size, so it cannot shorten one to land on a time.
_FIXED_STEP = ("ab2", "ab3")
# What `case_from_document` tells the constructor, which takes keys of the case only.
_CONTEXT: ContextVar[dict[str, Any] | None] = ContextVar("_CONTEXT", default=None)


class Case(Section):
    """A whole simulation as its case file describes it.

    >>> grid = {"points": (16, 12, 8), "lengths": (2 * np.pi,) * 3, "boundaries": ("periodic",) * 3}
    >>> case = tr.Case(case={"reynolds": 100.0}, grid=grid, time={"dt": 0.01, "steps": 3})
    >>> case.grid.points, case.viscosity
    ((16, 12, 8), 0.01)
    """

    case: CaseSection
    parameters: ParametersSection = ParametersSection()
    grid: GridSection
    boundary: BoundarySection = BoundarySection()
    forcing: ForcingSection = ForcingSection()
    scalar: list[ScalarSection] = Field(default_factory=list)
    body: BodySection | None = None
    time: TimeSection
    numerics: NumericsSection = NumericsSection()
    parallel: ParallelSection = ParallelSection()
    diagnostics: DiagnosticsSection = DiagnosticsSection()
    output: list[OutputSection] = Field(default_factory=list)
    analysis: list[AnalysisSection] = Field(default_factory=list)
    picture: list[PictureSection] = Field(default_factory=list)
    catalyst: list[CatalystSection] = Field(default_factory=list)
    checkpoint: CheckpointSection = CheckpointSection()

    _directory: Path = PrivateAttr(default=Path())
    _text: str | None = PrivateAttr(default=None)  # without what a program added
    _overrides: list[str] = PrivateAttr(default_factory=list)
    _left_out: list[str] = PrivateAttr(default_factory=list)  # what overrides left without use

    def __init__(self, /, **document: Any) -> None:
        """A case made in Python: the tables of a case file as dictionaries, `tr.Case(grid={"points": (64, 64, 64)})`.

        Numbers and arrays of NumPy and paths are taken too. Python files are relative to the present directory.

        :raises ConfigError: something is wrong; the message lists every problem.
        """
        context = _CONTEXT.get()
        if context is not None:  # `case_from_document` explains what is wrong
            self.__pydantic_validator__.validate_python(document, self_instance=self, context=context)
            return
        plain: Document = plain_values(document)
        try:
            self.__pydantic_validator__.validate_python(plain, self_instance=self, context={"scalars": _scalars(plain)})
        except ValidationError as error:
            raise ConfigError("the case", explain(error, Case, plain, ())) from None

    @model_validator(mode="before")
    @classmethod
    def _storage_precision(cls, data: Any) -> Any:
        """A run in single precision stores float32 unless an output says otherwise."""
        numerics, outputs = (data.get("numerics"), data.get("output")) if isinstance(data, dict) else (None, None)
        if not isinstance(numerics, dict) or numerics.get("precision") != "single" or not isinstance(outputs, list):
            return data
        outputs = [{"precision": "float32", **entry} if isinstance(entry, dict) else entry for entry in outputs]
        return {**data, "output": outputs}

    @model_validator(mode="after")
    def _fits_together(self, info: ValidationInfo) -> Self:
        self._directory = Path((info.context or {}).get("directory", "."))
        problems = [
            *_clashes(self, Path((info.context or {}).get("source", "."))),
            *_missed_times(self),
            *_missed_points(self),
            *_misfits(self),
            *_unknown_in_titles(self),
            *problems_of(self.case, self.grid),
            *missing_series(self.case, self._directory, Path(self.checkpoint.path)),
        ]
        if problems:
            raise ProblemsError(problems)
        return self

    @property
    def directory(self) -> Path:
        """The directory of the case file."""
        return self._directory

    @property
    def text(self) -> str:
        """The case as its user gave it, as TOML with all values."""
        return self.to_toml() if self._text is None else self._text

    @property
    def overrides(self) -> list[str]:
        """The `key=value` that replaced values of its file."""
        return list(self._overrides)

    @property
    def viscosity(self) -> float:
        """Kinematic viscosity, with the velocity and length scales at one."""
        return 1.0 / self.case.reynolds

    def initial_velocity(self) -> scripts.Velocity | None:
        """The user's function of (x, y, z) returning (ux, uy, uz); None for a flow that the solver has by name.

        :raises ConfigError: the file fails when it is loaded, or the name is not a function.
        """
        flow = self.case.flow
        return None if flow is None or flow in READY_FLOWS else self.function("case.flow", flow)

    def functions(self) -> Iterator[tuple[str, str]]:
        """Key and 'file.py:function' of every function of a user that is part of the flow. Local."""
        words: list[tuple[str, Any]] = [
            ("case.flow", None if self.case.flow in READY_FLOWS else self.case.flow),
            ("case.forcing", self.case.forcing),
            ("boundary.velocity", self.boundary.velocity),
            ("body.shape", None if self.body is None else self.body.shape),
        ]
        for at, scalar in enumerate(self.scalar):
            words.append((f"scalar[{at}].initial", scalar.initial))
            words += [(f"scalar[{at}].boundaries", end) for ends in scalar.boundaries or () for end in ends]
        for at, picture in enumerate(self.picture):
            words += [(f"picture[{at}].layers '{word}'", word) for word in picture.functions()]
        for at, pipeline in enumerate(self.catalyst):
            words += [(f"catalyst[{at}].fields '{word}'", word) for word in pipeline.functions()]
        yield from ((key, word) for key, word in words if isinstance(word, str) and ".py:" in word)

    def function(self, key: str, word: str) -> Any:
        """The function 'file.py:function' of `key`, with its values of [parameters]. Local.

        :raises ConfigError: the file fails when it is loaded, the name is not a function, or a value has a wrong type.
        """
        return scripts.with_parameters(scripts.load_function(word, self._directory, key), self.parameters.values)

    def check_parameters(self) -> None:
        """Check that a function takes each of [parameters]. It runs the files of the functions. Local.

        :raises ConfigError: a file fails when it is loaded, no function has such an argument, or a value a wrong type.
        """
        if names := self.parameters.values:
            functions = [scripts.load_function(word, self._directory, key) for key, word in self.functions()]
            known = list(dict.fromkeys(name for function in functions for name in scripts.parameters_of(function)))
            problems = [
                Problem(f"parameters.{name}", f"no function of the case has such an argument; {hint(name, known)}")
                for name in names
                if name not in known
            ]
            if problems:
                raise ConfigError("the case", problems)
            for function in functions:
                scripts.with_parameters(function, self.parameters.values)

    def body_force(self) -> scripts.Force | None:
        """The user's function of (x, y, z, t) returning (fx, fy, fz); None if the case has no forcing.

        :raises ConfigError: the file fails when it is loaded, or the name is not a function.
        """
        forcing = self.case.forcing
        return None if forcing is None else self.function("case.forcing", forcing)

    def _repr_html_(self) -> str:
        """For notebooks: what was given, by its keys."""
        return card(f"Case {self.case.name}", leaves(self.model_dump(exclude_unset=True)))

    def rhythms(self) -> Iterable[tuple[str, Rhythm]]:
        """Outputs, analyses, pictures and pipelines, each with its label in messages."""
        for at, output in enumerate(self.output):
            yield f"output[{at}] ('{output.name}')", output
        for at, analysis in enumerate(self.analysis):
            yield f"analysis[{at}] ('{analysis.name}')", analysis
        for at, picture in enumerate(self.picture):
            yield f"picture[{at}] ('{picture.name}')", picture
        for at, pipeline in enumerate(self.catalyst):
            yield f"catalyst[{at}] ('{pipeline.name}')", pipeline

    def places(self) -> Iterator[places.Place]:
        """Everything that a run reads, but for the case file, and then what it writes. Local."""
        Place = places.Place
        for key, word in self.functions():
            yield Place(key, str(self.directory / word.rpartition(":")[0]), "input")
        if self.case.from_ is not None:
            yield Place("case.from", str(self.directory / self.case.from_), "input")
        for at, analysis in enumerate(self.analysis):
            script, _ = scripts.find_analysis(analysis.script, self.directory)
            yield Place(f"analysis[{at}].script", str(script), "input")
        for at, output in enumerate(self.output):
            if isinstance(config := output.parameters.get("config"), str):
                yield Place(f"output[{at}].parameters.config", config, "input")
        yield from places.of_table("diagnostics.path", self.diagnostics.path)
        yield from places.of_checkpoints("checkpoint.path", self.checkpoint.path)
        for at, output in enumerate(self.output):
            yield from places.of_output(f"output[{at}]", output)
        for at, analysis in enumerate(self.analysis):
            yield from places.of_results(f"analysis[{at}].name", Path(analysis.out), analysis.name, analysis.engine)
        for at, picture in enumerate(self.picture):
            yield from places.of_pictures(f"picture[{at}].name", picture)
        for at, pipeline in enumerate(self.catalyst):
            yield Place(f"catalyst[{at}].script", str(self.directory / pipeline.script), "input")
            yield from places.of_pipeline(f"catalyst[{at}].name", pipeline)

    def clash_beside(self, words: Sequence[str], out: Path) -> str:
        """What is wrong with the place of the results of scripts beside a run; "" if nothing is. Local.

        :param words: the scripts, as the command takes them.
        """
        files = [(f"the script {word}", scripts.find_analysis(word, Path())[0]) for word in words]
        taken = [*self.places(), *(places.Place(key, str(path), "input") for key, path in files)]
        for word in words:
            for place in places.of_results("--beside-out", out, scripts.name_of(word), DEFAULT):
                if reason := places.clash(place, taken):
                    return f"{place.key}: {reason}"
        return ""

    @staticmethod
    def _ends_a_step(time: float, dt: float) -> bool:
        return abs(time - round(time / dt) * dt) <= 1e-6 * dt

    def missed(self, time: float) -> str:
        """Why no step can end at a time; "" if one can. Local."""
        scheme, dt = self.time.scheme, self.time.dt
        if scheme not in _FIXED_STEP or dt == "auto":
            return ""
        if self._ends_a_step(time, dt):
            return ""
        count = round(time / dt)
        return (
            f"must be a multiple of time.dt = {dt:g}, because {scheme} cannot shorten a step to land on a time "
            f"(found {time:g}); the nearest multiple is {max(count, 1) * dt:.12g}, or use scheme = 'rk3'"
        )

    @property
    def total_steps(self) -> int | None:
        """Steps to the end of the run. None: not known, as where steps are shortened to end at times of outputs."""
        dt = self.time.constant_dt
        times = [time for _, entry in self.rhythms() for time in (*(entry.times or ()), entry.interval) if time]
        shortened = dt is not None and not all(self._ends_a_step(time, dt) for time in times)
        return None if shortened and self.time.steps is None else self.time.total_steps

    def notes(self) -> list[str]:
        """What is done in another way than the case says: keys without use, places of outputs between the nodes."""
        return [*self._left_out, *notes_of(self.output, self.grid)]

    def warnings(self) -> list[str]:
        """What is allowed but probably a mistake: outputs and checkpoints that this run never reaches."""
        steps, end = (math.inf if last is None else last for last in (self.total_steps, self.time.end_time))
        found = []
        for label, entry in self.rhythms():
            if entry.every is not None and entry.every > steps:
                found.append(f"{label}: every = {entry.every} is more than the {steps} steps of the run")
            if entry.interval is not None and entry.interval > end * (1 + 1e-9):
                found.append(f"{label}: interval = {entry.interval:g} is more than the run's {end:g}")
            late = [time for time in entry.times or [] if time > end * (1 + 1e-9)]
            if late:
                found.append(f"{label}: the run ends at {end:g}, before {', '.join(f'{time:g}' for time in late[:5])}")
        if self.checkpoint.every > steps:
            found.append(f"checkpoint.every = {self.checkpoint.every} is more than the {steps} steps of the run")
        return found

    def with_output(self, section: OutputSection) -> Case:
        """The case with one more output, which `text` does not show."""
        added = self.model_copy(update={"output": [*self.output, section]})
        added._text = self.text
        return added

    def to_toml(self) -> str:
        """The case as a TOML document that `load_case` reads back to an equal case; every key is written out."""
        import tomlkit

        document = self.model_dump(mode="json", exclude_none=True)
        for part in ("output", "analysis", "scalar", "picture", "catalyst"):
            for entry in document[part]:
                if not entry.get("parameters", True):
                    del entry["parameters"]
                for table in (entry, *entry.get("layers", [])):  # a text that is not given is no empty text
                    for key in [key for key, value in table.items() if value == ""]:
                        del table[key]
            if not document[part]:
                del document[part]
        return tomlkit.dumps(document)


def _clashes(case: Case, source: Path) -> Iterable[Problem]:
    """Names and places that are taken twice, one problem for each entry: the second would damage the first."""
    problems = dict(_taken_names(case))
    seen = [places.Place("the case file", str(source), "input")] if source.is_file() else []
    for place in case.places():
        if reason := places.clash(place, seen):
            problems.setdefault(place.key.partition(".")[0], Problem(place.key, reason))
        else:
            seen.append(place)
    return problems.values()


def _taken_names(case: Case) -> Iterator[tuple[str, Problem]]:
    names: dict[str, str] = {}
    for at, output in enumerate(case.output):
        if output.name in names:
            yield f"output[{at}]", Problem(f"output[{at}].name", f"'{output.name}' is taken by {names[output.name]}")
        names.setdefault(output.name, f"output[{at}].name")
    results: dict[Path, str] = {}
    for at, analysis in enumerate(case.analysis):
        key, place = f"analysis[{at}].name", Path(os.path.realpath(analysis.out)) / analysis.name
        if place in results:
            reason = f"'{analysis.name}' is taken by {results[place]}; give this one another name, or another out"
            yield f"analysis[{at}]", Problem(key, reason)
        results.setdefault(place, key)


def _scalars(document: Document) -> list[str]:
    """The names of scalars in a document that is not validated yet: outputs may name them."""
    tables = document.get("scalar")
    return [str(one.get("name", "phi")) for one in tables if isinstance(one, dict)] if isinstance(tables, list) else []


def _misfits(case: Case) -> Iterator[Problem]:
    """Boundaries, forces and scalars that do not fit each other or the grid."""
    grid = case.grid
    found = [*case.boundary.problems(grid), *case.forcing.problems(grid), *case.numerics.problems(grid)]
    others = {"body": case.body, "parallel.rows": case.parallel.rows > 1}
    found += not_on_device(grid, case.numerics, others)
    names: set[str] = set()
    for at, scalar in enumerate(case.scalar):
        label = f"scalar[{at}] ('{scalar.name}')"
        found += scalar.problems(label, grid)
        if scalar.name in names:
            found.append((f"{label}.name", f"'{scalar.name}' is taken by another scalar"))
        names.add(scalar.name)
    if case.numerics.implicit_y:
        found += _no_implicit_y(case)
    if case.body is not None and case.body.box is not None and case.forcing.band is not None:
        reason = "a force on a body is not measured where forcing.band is another force in each step; leave one out"
        found.append(("body.box", reason))
    words = {word for ends in grid.ends for word in ends}
    if case.case.flow == TAYLOR_GREEN and words - {"periodic", "free-slip"}:
        unlike = "has no walls or inflows; give your own, as 'file.py:function', or 'uniform' where a program sets it"
        found.append(("case.flow", f"'{case.case.flow}' {unlike}"))
    for key, reason in found:
        yield Problem(key, reason)


def _no_implicit_y(case: Case) -> Iterator[tuple[str, str]]:
    """Key and reason of what does not go with implicit diffusion along y."""
    key = "numerics.implicit_y"
    if case.grid.ends[1][0] == "periodic":
        yield key, "needs a y with ends, such as walls (grid.boundaries[1] is periodic); leave it out"
        return
    if case.body is not None:
        yield key, "does not go with [body], at whose surface the lines along y would have to end; leave it out"
    for at, scalar in enumerate(case.scalar):
        for word, what in (("deposit", "what settles"), ("free", "a scalar that is free")):
            if word in scalar.ends(case.grid)[1]:
                label = f"scalar[{at}] ('{scalar.name}').boundaries[1]"
                yield key, f"does not go with {what} at an end of y ({label} is '{word}'); leave it out"


def _unknown_in_titles(case: Case) -> Iterator[Problem]:
    for at, picture in enumerate(case.picture):
        try:
            caption(picture.title, case.model_dump(exclude_none=True))
        except ValueError as error:
            yield Problem(f"picture[{at}].title", str(error))


def _missed_points(case: Case) -> Iterable[Problem]:
    """Regions of outputs that are not inside the grid."""
    if not case.output:
        return
    from tailrace.core import InputError  # the compiled module, which the command loads late

    try:
        grid = nodes_of(case.grid)
    except InputError as error:
        yield Problem("grid", str(error))
        return
    for at, output in enumerate(case.output):
        try:
            region_of(output, grid)
        except ValueError as error:
            key, reason = str(error).split(": ", 1)
            yield Problem(f"output[{at}] ('{output.name}').{key}", reason)


def _missed_times(case: Case) -> Iterable[Problem]:
    """Times that no step ends at: multiples of dt are needed where the scheme cannot shorten a step."""
    dt = case.time.dt
    if dt == "auto":
        return
    wanted: list[tuple[str, float]] = [("time.end", case.time.end)] if case.time.end is not None else []
    for key, entry in case.rhythms():
        if entry.interval is not None:
            wanted.append((f"{key}.interval", entry.interval))
            if entry.interval < dt * (1 - 1e-6):
                reason = f"{entry.interval:g} is shorter than the time step {dt:g}; use every = 1"
                yield Problem(f"{key}.interval", reason)
        wanted += [(f"{key}.times[{number}]", time) for number, time in enumerate(entry.times or [])]
    for key, time in wanted:
        if reason := case.missed(time):
            yield Problem(key, reason)


def load_case(path: str | Path, overrides: Sequence[str] = ()) -> Case:
    """Read and validate a TOML case file.

    :param overrides: `key=value` pairs that replace values of the file; see `document.apply_overrides`.
    :raises ConfigError: something is wrong; the message lists every problem of the file and of the overrides.

    >>> text = '''
    ... case = {flow = "taylor-green", reynolds = 100.0}
    ... grid.points = [16, 12, 8]
    ... grid.lengths = ["2*pi", "2*pi", "2*pi"]
    ... grid.boundaries = ["periodic", "periodic", "periodic"]
    ... time = {dt = 0.01, steps = 3}
    ... '''
    >>> with open("tgv.toml", "w") as file:
    ...     _ = file.write(text)
    >>> tr.load_case("tgv.toml", ["time.steps=5"]).time.steps
    5
    """
    path = Path(path)
    return case_from_document(read_toml(path), source=str(path), directory=path.parent, overrides=overrides)


def case_from_document(document: Document, *, source: str, directory: Path, overrides: Sequence[str] = ()) -> Case:
    """Validate a case given as nested dictionaries, as TOML is read; `overrides` are applied to it first.

    :param source: the name of the document in errors.
    :param directory: the paths of Python files are relative to it.
    :raises ConfigError: everything that is wrong with it.
    """
    problems, notes = apply_overrides(document, overrides)
    token = _CONTEXT.set({"directory": directory, "source": source, "scalars": _scalars(document)})
    try:
        case = Case(**document)
    except ValidationError as error:
        raise ConfigError(source, problems + explain(error, Case, document, overrides)) from None
    finally:
        _CONTEXT.reset(token)
    if problems:
        raise ConfigError(source, problems)
    case._overrides, case._left_out = list(overrides), notes
    return case
