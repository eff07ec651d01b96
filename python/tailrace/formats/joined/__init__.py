"""Many files as one series: a directory of numbered files, a glob as "out/flow_*.h5", or a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tailrace.core import InputError
from tailrace.formats.patterns import is_pattern

from .dataset import Find, JoinedDataset
from .files import files_at

__all__ = ["JoinedDataset", "dataset_at", "dataset_of", "files_at"]


def dataset_at(path: Path, find: Find, parameters: Mapping[str, str]) -> JoinedDataset | None:
    """The files of a glob, or the numbered files of a directory, as one; None if there are none.

    :raises InputError: parameters are given; or the directory has files of several names.
    :raises IoError: a file that is not the last one is damaged.
    """
    files = files_at(path)
    if not files and is_pattern(path):
        raise InputError(f"{path}: no file has a name of this pattern")
    if not files:
        return None
    if parameters:
        raise InputError(f"{path}: many files as one series have no parameters; found {', '.join(parameters)}")
    return dataset_of(files, str(path), find)


def dataset_of(files: Sequence[Path], named: str, find: Find) -> JoinedDataset:
    """These files as one series.

    :param find: see `JoinedDataset`.
    :param named: what the user calls them.
    :raises InputError: there are none, or one is nothing that can be read.
    :raises IoError: a file that is not the last one is damaged.
    """
    if not files:
        raise InputError(f"{named}: no file is given; expected the paths of at least one")
    return JoinedDataset(list(files), named, find)
