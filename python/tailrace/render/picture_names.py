"""Names of pictures that are made together: no two are the same."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from tailrace.formats.patterns import is_pattern

from .style import in_name


def head(path: Path) -> str:
    """What the name of a picture begins with: the name of its file; of a pattern what can be in a name."""
    return (in_name(path.stem) or "files") if is_pattern(path) else path.stem


def apart(drawn: Sequence[tuple[str, Path]]) -> list[str]:
    """The names of pictures. Local.

    Pictures of the same name get the parts of the paths of their files that differ: A-snap.png for A/snap.h5. What is
    the same after that gets a number.

    :param drawn: the name of each picture and its file.
    """
    names = [name for name, _ in drawn]
    for name, count in Counter(names).items():
        if count > 1:
            same = [at for at, (one, _) in enumerate(drawn) if one == name]
            for at, part in zip(same, _differing([drawn[at][1] for at in same]), strict=True):
                names[at] = f"{part}-{name}" if part else name
    found: list[str] = []
    for name in names:
        found.append(_free(Path(name), {*found}))
    return found


def _differing(paths: Sequence[Path]) -> list[str]:
    """What tells paths apart: folders of theirs, and the endings where these are needed."""
    whole = [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100 - with "..", and links as they are
    found = _middles([list(path.parent.parts) for path in whole])
    if len({*found}) == len(found):
        return found
    return _middles([[*path.parent.parts, path.suffix[1:]] for path in whole])


def _middles(lists: Sequence[list[str]]) -> list[str]:
    """Lists of words without the first and last words that all of them have."""
    begin = _in_common(lists)
    rest = [one[begin:] for one in lists]
    end = _in_common([one[::-1] for one in rest])
    return ["-".join(one[: len(one) - end]) for one in rest]


def _in_common(lists: Sequence[list[str]]) -> int:
    """How many words at the beginning all lists have in common."""
    return sum(1 for _ in takewhile(lambda words: len({*words}) == 1, zip(*lists)))  # noqa: B905 - up to the shortest


def _free(name: Path, taken: set[str]) -> str:
    """A name that is not taken: the name itself, or with a number."""
    found, number = str(name), 1
    while found in taken:
        number += 1
        found = f"{name.stem}-{number}{name.suffix}"
    return found
