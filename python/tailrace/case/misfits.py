"""What the keys of a case say together and cannot: names that are taken twice, parts that do not fit each other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from . import places
from .captions import caption
from .device import not_on_device
from .document import Problem
from .random_flow import problems_of
from .region import nodes_of, region_of
from .sections import TAYLOR_GREEN

if TYPE_CHECKING:
    from .case import Case


def misfits(case: Case, source: Path) -> list[Problem]:
    """All of them.

    :param source: the case file, which no output may replace.
    """
    return [
        *_clashes(case, source),
        *_missed_times(case),
        *_missed_points(case),
        *_unfit_parts(case),
        *_unknown_in_titles(case),
        *problems_of(case.case, case.grid),
    ]


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


def _unfit_parts(case: Case) -> Iterator[Problem]:
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
    words = {word for ends in grid.ends for word in ends}
    if case.case.flow == TAYLOR_GREEN and words - {"periodic", "free-slip"}:
        found.append(("case.flow", f"'{case.case.flow}' has no walls or inflows; give your own, as 'file.py:function'"))
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
