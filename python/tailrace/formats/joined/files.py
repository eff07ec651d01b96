"""Which files belong together, by their names."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tailrace.core import InputError, engine_at
from tailrace.formats.file_bytes import is_hdf5
from tailrace.formats.patterns import is_pattern, matches
from tailrace.io.engines import ENGINES

_NUMBER = re.compile(r"\d+")
_LAST = re.compile(r"(\d+)(?=\D*$)")  # the last whole number of a name
_MOST = 4  # names in a message


def files_at(path: Path) -> list[Path]:
    """The files of a glob, or the numbered files and BP directories of a directory; in the order of their numbers.

    :raises InputError: those of a directory have several names, so that it is not known which belong together.
    """
    if is_pattern(path):
        return sorted(matches(path), key=in_order)
    if not path.is_dir():
        return []
    numbered = [one for one in path.iterdir() if not one.name.startswith(".") and _LAST.search(one.stem)]
    found = [one for one in numbered if _may_be_step(one)]
    names = Counter(family(one) for one in found)
    if len(names) > 1:
        examples = ", ".join(f'"{path / one}"' for one in sorted(names)[:_MOST])
        raise InputError(
            f"{path}: has numbered files of several names; to fix this, say which belong together, as one of {examples}"
        )
    return sorted(found, key=in_order)


def _may_be_step(path: Path) -> bool:
    if path.is_file():
        return is_hdf5(path)
    engine = ENGINES.get(engine_at(str(path)))
    return engine is not None and engine.owns_directory


def family(path: Path) -> str:
    """The name of a file with a star for its last number: "flow_0012.h5" is of "flow_*.h5"."""
    return _LAST.sub("*", path.stem, count=1) + path.suffix


def number_in(path: Path) -> int | None:
    """The last whole number in the name of a file."""
    found = _LAST.search(path.stem)
    return int(found[1]) if found and len(found[1]) < 18 else None


def in_order(path: Path) -> tuple[list[tuple[int, str]], str]:
    """A key that sorts "flow_9.h5" before "flow_10.h5"."""
    words, numbers = _NUMBER.split(str(path)), [*map(int, _NUMBER.findall(str(path))), -1]
    return [(number, word) for word, number in zip(words, numbers, strict=True)], str(path)
