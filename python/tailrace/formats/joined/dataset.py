"""The steps of many files, one file after another."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tailrace.core import InputError, IoError, is_series
from tailrace.grids import same_places
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored
from tailrace.io.values import Scalar
from tailrace.text import counted

from .files import family, in_order, number_in
from .ours import SeriesDataset
from .time_units import in_one_unit

Find = Callable[[Path, str | None], Dataset | None]

_NUMBER = re.compile(r"[-+.\de]*\d")  # in a note
_OPEN = 16  # files that stay open after they were read
_NAMED = 3  # files or attributes that a note names


class JoinedDataset(Dataset):
    """Files that the same program has written one after another, in the order of their times.

    :param files: each a series of Tailrace, or a file or directory of another program.
    :param named: what the user calls them.
    :param find: the dataset of one file, perhaps of a family that is tried alone; None for a series of Tailrace.
    """

    plain = True  # other libraries may claim the files as well

    def __init__(self, files: list[Path], named: str, find: Find) -> None:
        super().__init__(named)
        self._files: list[Dataset] = []
        ordered = sorted(dict.fromkeys(files), key=in_order)
        for path in ordered:
            self._take(path, find, last=path == ordered[-1])
        if not self._files:
            raise IoError(f"{named}: no file of it can be read: {self.left_out[0]}")
        self.format = self._files[0].format  # type: ignore[misc] # that of the files
        self._set_steps()
        self._compare()
        first = self._files[0]
        self.grid, self.places, self.aliases = first.grid, first.places, first.aliases
        self.files = [file for one in self._files for file in one.files]
        self._recent: list[Dataset] = []

    def _take(self, path: Path, find: Find, last: bool) -> None:
        """Add a file; the last one may be incomplete, because its program was killed or still writes it."""
        try:
            found = self._open(path, find)
        except IoError as error:
            if not last:
                raise IoError(
                    f"{error}. It is one of {self.path}; to read the others, move it away, or give a list without it"
                ) from None
            self.left_out.append(f"{path.name} is left out, as the last file it may be incomplete: {error}")
            return
        if found is None:
            raise InputError(f"{path}: is nothing that can be read, as one of {self.path}; give a list without it")
        found.close()
        if self._files:
            found.share(self._files[0])
        if found.steps:
            self._files.append(found)
            self.left_out += found.left_out
        else:
            self.left_out.append(f"{path.name} has no step")

    def _open(self, path: Path, find: Find) -> Dataset | None:
        """The dataset of a file; that the program of the first one has written it is tried first."""
        if self._files and not isinstance(self._files[0], SeriesDataset):
            module = type(self._files[0]).__module__.split(".")
            family = module[module.index("formats") + 1]
            with suppress(InputError):
                return find(path, family)
        return find(path, None) or (SeriesDataset(path) if is_series(str(path)) else None)

    # ---- order and times ---------------------------------------------------------------------------------------------
    def _set_steps(self) -> None:
        timed = [one.timed for one in self._files]
        converted = in_one_unit(self._files, self.path) if all(timed) else []
        if all(timed):
            self._files.sort(key=lambda one: one.steps[0][1])
        numbers = [number_in(Path(one.path)) for one in self._files]
        known = [number for number in numbers if number is not None]
        if len(known) < len(numbers) or any(a >= b for a, b in pairwise(known)):
            known = []
        self.steps = [step for one in self._files for step in one.steps]
        alone = len(self.steps) == len(self._files)
        if any(a[0] >= b[0] for a, b in pairwise(self.steps)):
            indices = known if known and alone else range(len(self.steps))
            self.steps = [(index, time) for index, (_, time) in zip(indices, self.steps, strict=True)]
        self._first = [0, *accumulate(len(one.steps) for one in self._files)]
        order = "in the order of their times" if all(timed) else "in the order of their names"
        self.notes = [f"{counted(len(self._files), 'file')} as one series, {order}", *converted]
        if not all(timed):
            self.notes.append(self._number_times(timed, known if alone else []))

    def _number_times(self, timed: Sequence[bool], numbers: Sequence[int]) -> str:
        """Let numbers stand for the times of files that have none; what is to be said of it."""
        without = [Path(one.path).name for one, known in zip(self._files, timed, strict=True) if not known]
        what = "the numbers in their names" if numbers else "their positions"
        at, steps = 0, []
        for one, known in zip(self._files, timed, strict=True):
            for _ in one.steps:
                index, time = self.steps[at]
                steps.append((index, time if known else float(numbers[at] if numbers else at)))
                at += 1
        self.steps = steps
        return f"{_some(without)}: no time is in the file, so {what} stand for the times"

    # ---- what they have in common ------------------------------------------------------------------------------------
    def _compare(self) -> None:
        """Take the attributes that all files have, and note what tells that they are not of one run."""
        first = self._files[0]
        names = Counter(family(Path(one.path)) for one in self._files)
        if len(names) > 1:
            several = [f"{count} {name}" for name, count in names.items()]
            self.notes.append(f"the files have several names: {_some(several)}")
        self.attributes = dict(first.attributes)
        differ: dict[str, str] = {}
        for one in self._files[1:]:
            self._compare_shapes(one)
            for name in first.attributes.keys() | one.attributes.keys():
                values = [held.attributes.get(name, "nothing") for held in (first, one)]
                if not _same(*values) and name not in differ and not _is_of_step(values, first, one):
                    here = [Path(held.path).name for held in (first, one)]
                    differ[name] = f"{name} ({_short(values[0])} in {here[0]}, {_short(values[1])} in {here[1]})"
            same = one.attributes
            self.attributes = {name: value for name, value in self.attributes.items() if _same(same.get(name), value)}
        if differ:
            self.notes.append(f"attributes that differ from file to file are left out: {_some(list(differ.values()))}")
        notes: dict[str, str] = {}
        for path, note in ((one.path, note) for one in self._files for note in one.notes):
            notes.setdefault(_NUMBER.sub("#", note.replace(path, "")), note)
        self.notes = [*dict.fromkeys(self.notes), *notes.values()]

    def _compare_shapes(self, one: Dataset) -> None:
        first = self._files[0]
        if first.grid is not None and one.grid is not None and not same_places(first.grid, one.grid):
            names = [Path(held.path).name for held in (first, one)]
            self.notes.append(f"{names[1]} has its points at other places than {names[0]}, whose places are taken")
        before, now = first.variables(0), one.variables(0)
        for name in before.keys() & now.keys():
            if before[name].shape != now[name].shape and not before[name].is_list:
                shapes = [" x ".join(map(str, held[name].shape)) for held in (before, now)]
                names = [Path(held.path).name for held in (first, one)]
                note = f"'{name}' has {shapes[0]} points in {names[0]} and {shapes[1]} in {names[1]}"
                self.notes.append(f"{note}: they may be of two runs")
                return
        if before.keys() != now.keys():
            changed = sorted(before.keys() ^ now.keys())
            note = f"{_some(changed)} is not in both of {Path(first.path).name} and {Path(one.path).name}"
            self.notes.append(note)

    # ---- the files ---------------------------------------------------------------------------------------------------
    def _at(self, position: int) -> tuple[Dataset, int]:
        number = bisect_right(self._first, position) - 1
        return self._files[number], position - self._first[number]

    def __getstate__(self) -> dict[str, Any]:
        """Without the list of open files."""
        return self.__dict__ | {"_recent": []}

    def variables(self, position: int) -> dict[str, Stored]:
        """See `Dataset`."""
        one, at = self._at(position)
        return one.variables(at)

    def derived(self, position: int) -> dict[str, Stored]:
        """See `Dataset`."""
        one, at = self._at(position)
        return one.derived(at)

    def vectors(self, position: int) -> dict[str, tuple[str, str, str]]:
        """See `Dataset`."""
        one, at = self._at(position)
        return one.vectors(at)

    def scalars(self, position: int) -> dict[str, Scalar]:
        """See `Dataset`."""
        one, at = self._at(position)
        return one.scalars(at)

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """See `Dataset`."""
        one, at = self._at(position)
        self._keep(one)
        one.read(at, name, box, out)

    def check(self, position: int) -> list[str]:
        """See `Dataset`."""
        one, at = self._at(position)
        self._keep(one)
        return one.check(at)

    def unchecked(self, position: int) -> list[str]:
        """The variables of a step that have no checksum: those of other programs."""
        one, at = self._at(position)
        self._keep(one)
        return one.unchecked(at) if isinstance(one, SeriesDataset) else list(one.variables(at))

    def _keep(self, one: Dataset) -> None:
        """Close the file that was not used for the longest time, so that descriptors and memory do not grow."""
        if one in self._recent:
            self._recent.remove(one)
        self._recent.append(one)
        if len(self._recent) > _OPEN:
            self._recent.pop(0).close()

    def close(self) -> None:
        """See `Dataset`."""
        for one in self._recent:
            one.close()
        self._recent = []


def _is_of_step(values: Sequence[object], *files: Dataset) -> bool:
    """Whether an attribute that differs is what the steps tell: the time or the index."""
    return all(value in one.steps[0] for value, one in zip(values, files, strict=True))


def _same(one: object, other: object) -> bool:
    """Whether two attributes are the same; NaN is the same as NaN."""
    return one == other or (one != one and other != other)  # only NaN differs from itself


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _short(value: object) -> str:
    words = " ".join(str(value).split())
    return words if len(words) < 40 else f"{words[:36]}..."
