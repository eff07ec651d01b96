"""BP4 and BP5 directories of other programs, through ADIOS2.

Global arrays become arrays and lists. Local arrays of ADIOS2, whose blocks have no place in a whole, become lists, with
one block after another, or one variable for each block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import ForeignBp, IoError, engine_at
from tailrace.formats.overlaps import rows_in
from tailrace.formats.recognise import is_foreign_bp
from tailrace.grids import UniformGrid
from tailrace.io import guard
from tailrace.io.values import Attribute, Scalar

from .guess import attributes_of_guess
from .openpmd_bp import BpIterations, openpmd_iterations
from .parts import (
    ArrayPart,
    LayoutMaker,
    Names,
    PartsDataset,
    StepLayout,
    parts_of,
    plain_name,
    scalars_of,
    variable_name,
)

TIMES = ("time", "Time", "TIME", "t", "physical_time", "simulation_time")
INDICES = ("step", "Step", "iteration", "Iteration", "itime", "timestep", "cycle", "CYCLE")
_MOST_BLOCKS = 16  # local arrays of more dimensions: each block is a variable
_MOST_ENDS = 4096  # values that are read to find files that were cut off


Rows = tuple[int, ...]  # row counts of blocks without places, which follow each other in a list


@dataclass
class BpDescription:
    """The description of a BP directory. A child process makes it, because the library may crash."""

    steps: list[tuple[int, float]] = field(default_factory=list)
    layouts: list[StepLayout] = field(default_factory=list)
    scalars: list[tuple[str, ...]] = field(default_factory=list)  # their names in each step
    blocks: list[dict[str, Rows]] = field(default_factory=list)  # of each step, by the name in the file
    attributes: dict[str, Attribute] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)  # of each step, its number in the directory
    fixed: list[dict[str, Scalar]] = field(default_factory=list)  # of each step, values that are no variables
    grid: UniformGrid | None = None
    timed: bool = True  # whether the times are in the files
    ours: bool = False  # a series of Tailrace without its tailrace.json


class BpDataset(PartsDataset):
    """Steps of a BP directory of any program. `path`: the directory. `found`: the result of `describe`."""

    format = "bp"

    def __init__(self, path: str, found: BpDescription) -> None:
        super().__init__(path)
        self.steps, self.attributes, self.notes, self.timed = found.steps, found.attributes, found.notes, found.timed
        self._set_layouts(found.layouts)
        self._scalars, self._blocks = found.scalars, found.blocks
        self._numbers, self._fixed, self.grid = found.numbers, found.fixed, found.grid
        self.files = sorted(str(one) for one in Path(path).iterdir() if one.is_file())
        self._file: ForeignBp | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the open file."""
        return self.__dict__ | {"_file": None}

    def scalars(self, position: int) -> dict[str, Scalar]:
        """See `Dataset`."""
        number = self._numbers[position]
        values = {name: self._opened().value(number, name) for name in self._scalars[position]}
        return scalars_of(self.steps[position], values | self._fixed[position])

    def close(self) -> None:
        """See `Dataset`."""
        self._file = None

    def _opened(self) -> ForeignBp:
        if self._file is None:
            self._file = ForeignBp(self.path)
        return self._file

    def _fetch(self, position: int, part: ArrayPart, start: list[int], values: NDArray[Any]) -> None:
        number, joined = self._numbers[position], self._blocks[position].get(part.source)
        if joined is None:
            self._opened().read(number, part.source, part.block, start, values)
            return
        for block, first, _, place in rows_in(start[0], values.shape[0], enumerate(joined)):
            self._opened().read(number, part.source, block, [first, *start[1:]], values[place])


def describe(path: str) -> BpDescription:
    """Describe a BP directory, through ADIOS2, which may crash on damaged metadata or wait without end."""
    file = ForeignBp(path)
    names = [*file.attributes(), *(one[0] for step in range(min(file.steps(), 2)) for one in file.variables(step))]
    found = BpDescription(ours=any(name.startswith("tailrace/") for name in names))
    left_out = file.left_out_attributes()
    notes: dict[str, None] = {}
    if left_out:
        notes[f"the attributes {', '.join(left_out)} are complex numbers, or 2^63 and more: they are left out"] = None
    iterations = None if found.ours else openpmd_iterations(file)
    if iterations is None:
        _take_steps(found, file, notes)
    else:
        _take_iterations(found, iterations, notes)
    if found.steps:
        file.check_values(found.numbers[-1], _MOST_ENDS)
    found.notes = list(notes)
    return found


def _take_steps(found: BpDescription, file: ForeignBp, notes: dict[str, None]) -> None:
    """The steps of ADIOS2, as they are."""
    for step in range(file.steps()):
        layout, blocks, scalars, more = _variables(file, step)
        found.layouts.append(layout)
        found.blocks.append(blocks)
        found.scalars.append(scalars)
        notes |= dict.fromkeys(more)
    found.attributes = _attributes(file, found.layouts)
    found.steps = _steps(file, found, notes)
    found.numbers, found.fixed = list(range(len(found.steps))), [{}] * len(found.steps)


def _take_iterations(found: BpDescription, iterations: BpIterations, notes: dict[str, None]) -> None:
    guess = iterations.guess
    found.numbers, found.grid, found.timed = iterations.numbers, guess.grid, guess.timed
    found.attributes = attributes_of_guess(iterations.attributes, guess)
    for step in guess.steps:
        found.steps.append((step.index, step.time))
        found.layouts.append(step.made.layout())
        found.fixed.append(step.scalars)
        found.scalars.append(())
        found.blocks.append({})
    made = [note for step in guess.steps for note in step.made.notes]
    notes |= dict.fromkeys([guess.note, *guess.notes, *made])


def _attributes(file: ForeignBp, layouts: list[StepLayout]) -> dict[str, Attribute]:
    """The attributes under our names; those of a variable of the first step as variable/attribute."""
    variables = {part.source: name for one in layouts[:1] for name, part in one.parts.items() if not part.fixed}
    names = Names()
    found: dict[str, Attribute] = {}
    for name, value in file.attributes().items():
        owner, slash, last = name.strip("/").rpartition("/")
        begin = variables.get(owner, plain_name(owner)) + "/" if slash else ""
        found[names.once(begin + plain_name(last))] = value
    return found


def _variables(file: ForeignBp, step: int) -> tuple[StepLayout, dict[str, Rows], tuple[str, ...], list[str]]:
    maker = LayoutMaker()
    joined: dict[str, Rows] = {}
    scalars = []
    for name, kind, shape, blocks in file.variables(step):
        if kind == "text" and not shape and not blocks:
            scalars.append(name)
        elif kind == "text" or not hasattr(np, kind) or " " in kind:
            maker.notes.append(f"'{name}' has the type {kind}, which is not read as an array: it is left out")
        elif blocks:
            _add_blocks(maker, joined, name, np.dtype(kind), [tuple(one) for one in blocks])
        elif shape:
            maker.add(name, parts_of(name, np.dtype(kind), tuple(shape)))
        elif kind == "uint64" and not _is_held(file, step, name):
            maker.notes.append(f"'{name}' is 2^63 or more, which an int64 does not hold: it is left out")
        else:
            scalars.append(name)
    return maker.layout(), joined, tuple(scalars), maker.notes


def _is_held(file: ForeignBp, step: int, name: str) -> bool:
    """Whether a single uint64 is below 2^63."""
    try:
        file.value(step, name)
    except IoError:
        return False
    return True


def _add_blocks(
    maker: LayoutMaker,
    joined: dict[str, Rows],
    name: str,
    dtype: np.dtype[Any],
    blocks: list[tuple[int, ...]],
) -> None:
    """Make a list of blocks of one dimension, or of two with equal numbers of columns; else a variable per block."""
    full = next((one for one in blocks if one and 0 not in one), max(blocks, key=len) or (0,))
    # Blocks without values have any extents, in BP4 none at all.
    blocks = [one if one and 0 not in one else (0, *full[1:]) for one in blocks]
    columns = {one[1:] for one in blocks}
    if len(blocks[0]) <= 2 and len(columns) == 1:
        rows = tuple(one[0] for one in blocks)
        maker.add(name, parts_of(name, dtype, (sum(rows), *blocks[0][1:]), as_list=True))
        joined[name] = rows
        if len(blocks) > 1:
            maker.notes.append(f"'{name}' has blocks without places in a whole; they stand one after another in a list")
        return
    if len(blocks) > _MOST_BLOCKS:
        maker.notes.append(
            f"'{name}' has {len(blocks)} blocks without places in a whole (at most {_MOST_BLOCKS} are read): left out"
        )
        return
    maker.notes.append(
        f"'{name}' has blocks without places in a whole; each is a variable, {variable_name(name)}_block0 ..."
    )
    for number, shape in enumerate(blocks):
        maker.add(f"{name}_block{number}", parts_of(name, dtype, shape, block=number))


def _steps(file: ForeignBp, found: BpDescription, notes: dict[str, None]) -> list[tuple[int, float]]:
    """Number and time of each step: from a variable with a usual name, else the position of the step in the file."""
    count = file.steps()
    times, time_name = _along(file, found, TIMES)
    indices, index_name = _along(file, found, INDICES)
    whole = all(float(one).is_integer() for one in indices)
    if len(indices) == count and whole and all(a < b for a, b in pairwise(indices)):
        notes[f"the numbers of the steps are those of the variable '{index_name}'"] = None
        numbers = [int(one) for one in indices]
    else:
        numbers = list(range(count))
    if len(times) == count:
        notes[f"the times of the steps are those of the variable '{time_name}'"] = None
        return list(zip(numbers, times, strict=True))
    if count == 1 and (name := next((one for one in TIMES if one in found.attributes), None)):
        value = found.attributes[name]
        if isinstance(value, int | float):
            notes[f"the time is that of the attribute '{name}'"] = None
            return [(numbers[0], float(value))]
    found.timed = False
    notes["no variable of the steps is known to be their time: the number of the step stands for it"] = None
    return [(one, float(one)) for one in numbers]


def _along(file: ForeignBp, found: BpDescription, names: tuple[str, ...]) -> tuple[list[float], str]:
    """The values of the first single number with one of these names in all steps; empty if a step does not have it."""
    for name in names:
        same = [one for one in found.scalars[0] if one.strip("/").rsplit("/", 1)[-1] == name] if found.scalars else []
        if same and all(same[0] in one for one in found.scalars):
            values = [file.value(step, same[0]) for step in range(file.steps())]
            if not any(isinstance(one, str) for one in values):
                return [float(one) for one in values], same[0]
        parts = found.layouts[0].parts if found.layouts else {}
        ours = variable_name(name)
        if ours in parts and parts[ours].shape == (1,):
            return _ones(file, ours), name
    return [], ""


def _ones(file: ForeignBp, name: str) -> list[float]:
    """The values of a list with one row, in the steps that have it."""
    values = []
    for step in range(file.steps()):
        for one, kind, shape, _ in file.variables(step):
            if variable_name(one) == name and shape == [1]:
                value = np.empty(1, kind)
                file.read(step, one, 0, [0], value)
                values.append(float(value[0]))
    return values


def dataset_at(path: Path) -> BpDataset | None:
    """The dataset of a directory; None if it is not BP, or is one of ours. Raises IoError if it is damaged."""
    if not is_foreign_bp(path):
        return None
    for each in sorted(path.iterdir()):
        if each.is_symlink() and not each.resolve().is_relative_to(path.resolve()):
            raise IoError(f"{each}: expected a file of the BP directory, found a link to {each.readlink()}")
    found: BpDescription = guard.call(path, engine_at(str(path)), f"{__name__}:describe", str(path))
    return None if found.ours else BpDataset(str(path), found)
