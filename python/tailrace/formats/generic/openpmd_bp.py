"""Iterations of openPMD in BP directories: a group for each, or the same variables in all steps of ADIOS2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tailrace.core import ForeignBp
from tailrace.io.values import Attribute

from .guess import Guess, GuessedStep
from .hdf5_contents import Array, Hdf5Contents
from .openpmd import SAID, base_of, grid_of, iteration

_INTERNAL = "__openPMD"  # how these attributes of its library begin
_UNTIMED = "BP4 keeps only the last number and time of its iterations: the numbers of the steps stand for them"

About = dict[str, Attribute]


@dataclass
class BpIterations:
    """The iterations of a directory.

    :param guess: the steps; the arrays are named as in the file.
    :param numbers: of each, its step in the file.
    :param attributes: of each group and variable, without the first slash; "" the root.
    """

    guess: Guess
    numbers: list[int]
    attributes: dict[str, About]


def openpmd_iterations(file: ForeignBp) -> BpIterations | None:
    """The iterations of a directory that says it is openPMD; None if it is not, or has none."""
    known: dict[str, About] = {"": {}}
    for path, value in file.attributes().items():
        group, _, name = path.strip("/").rpartition("/")
        if not path.strip("/").startswith(_INTERNAL):
            known.setdefault(group, {})[name] = value
    version = known[""].get("openPMD")
    if not isinstance(version, str):
        return None
    base, notes = base_of(known[""]), dict[str, None]()
    found: dict[int, tuple[int, GuessedStep]] = {}  # an iteration that stands in several steps is that of the last one
    grid = None
    for at, group, number, contents, names in _iterations(file, base, known, notes):
        step = iteration(contents, group, number)
        grid = grid or (None if found else grid_of(contents, [step]))
        found[number] = at, _as_in_the_file(step, names)
    if not found:
        return None
    note = f"openPMD {version}: the iterations in '/{base}' are the steps; {SAID}"
    steps = [step for _, step in found.values()]
    guess = Guess(steps, note, grid, notes=list(notes), timed=_UNTIMED not in notes)
    return BpIterations(guess, [at for at, _ in found.values()], known)


def _iterations(
    file: ForeignBp, base: str, known: dict[str, About], notes: dict[str, None]
) -> Iterator[tuple[int, str, int, Hdf5Contents, dict[str, str]]]:
    """Of each iteration the step in the file, the group, the number, the contents, and the names of its arrays."""
    standing: list[tuple[int, About]] = []
    for at in range(file.steps()):
        contents, names = _contents(file, at, known, notes)
        groups = {name.partition("/")[0] for name in contents.below(base)}
        numbers = sorted(int(one) for one in groups if one.isdecimal() and len(one) < 18)
        for number in numbers:
            yield at, f"{base}/{number}", number, contents, names
        if groups and not numbers:
            standing = standing or _standing(file, base, known.get(base, {}), notes)
            number, contents.attributes[base] = standing[at]
            yield at, base, number, contents, names


def _standing(file: ForeignBp, base: str, last: About, notes: dict[str, None]) -> list[tuple[int, About]]:
    """The number and the attributes of each step, where the variables of all iterations have the same names."""
    names = {f"/{base}/{name}": name for name in ("snapshot", "time", "dt", "timeUnitSI")}
    told: list[About] = [
        {names[path]: one for path, one in about.items()} for about in file.attributes_in_steps(list(names))
    ]
    numbers = [one for about in told if isinstance(one := about.get("snapshot"), int)]
    if len(numbers) == file.steps() and all(a < b for a, b in pairwise(numbers)):
        return [(number, {**last, **about}) for number, about in zip(numbers, told, strict=True)]
    notes[_UNTIMED] = None
    return [(at, {name: one for name, one in last.items() if name != "time"}) for at in range(file.steps())]


def _contents(
    file: ForeignBp, at: int, known: dict[str, About], notes: dict[str, None]
) -> tuple[Hdf5Contents, dict[str, str]]:
    """The arrays of a step by their paths, and the names of these paths."""
    found, names = Hdf5Contents(attributes=dict(known)), {}
    for name, kind, shape, blocks in file.variables(at):
        path = name.strip("/")
        if blocks or not shape or kind == "text" or not hasattr(np, kind) or " " in kind:
            why = "has blocks without places in a whole" if blocks else f"is a {kind} that is no array of numbers"
            notes[f"'{name}' {why}: it is left out"] = None
        else:
            found.arrays[path], names[path] = Array(path, np.dtype(kind), tuple(shape)), name
    return found, names


def _as_in_the_file(step: GuessedStep, names: Mapping[str, str]) -> GuessedStep:
    """The same with the names of the arrays as ADIOS2 knows them: path -> name."""
    made = step.made
    made.parts = {name: replace(part, source=names[f"{step.group}/{part.source}"]) for name, part in made.parts.items()}
    return step
