"""Checkpoints of Nektar++ (.fld, .rst, .chk): XML files, directories of them, and HDF5."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tailrace.core import InputError
from tailrace.formats.file_bytes import HDF5, head

from .checkpoint import NektarCheckpoint
from .dataset import NektarDataset
from .hdf5 import hdf5_checkpoint
from .xml import xml_checkpoint

__all__ = ["dataset_at"]

_HEAD = 4096
_ROOT = re.compile(rb"<NEKTAR[\s>]")
_NUMBERED = re.compile(r"(.+)_(\d{1,9})\.chk")


def dataset_at(path: Path, parameters: Mapping[str, str] | None = None) -> NektarDataset | None:
    """The checkpoint at a path, or the checkpoints NAME_0.chk, NAME_1.chk, ... in a directory.

    :param path: a file, the directory of an Info.xml, or a directory with the checkpoints of one run.
    :returns: None if the content is something else.
    :raises IoError: it is a checkpoint, and damaged.
    :raises InputError: parameters are given; the format has none.
    """
    single = _checkpoint(path)
    numbered = _numbered(path) if single is None and path.is_dir() else []
    found = [single] if single is not None else [_checkpoint(file) for _, file in numbered]
    checkpoints = [one for one in found if one is not None]
    if not found or len(checkpoints) < len(found):
        return None
    if parameters:
        raise InputError(f"{path}: checkpoints of Nektar++ have no parameter '{next(iter(parameters))}'")
    return NektarDataset(str(path), checkpoints, [number for number, _ in numbered])


def _checkpoint(path: Path) -> NektarCheckpoint | None:
    first = path / "Info.xml" if path.is_dir() else path
    if not first.is_file():
        return None
    begin = head(first, _HEAD)
    if begin.startswith(HDF5):
        return hdf5_checkpoint(path) if first == path else None
    return xml_checkpoint(path) if _ROOT.search(begin) else None


def _numbered(directory: Path) -> list[tuple[int, Path]]:
    """The checkpoints in a directory by their numbers; empty if they have different names."""
    found = [(match, entry) for entry in directory.iterdir() if (match := _NUMBERED.fullmatch(entry.name))]
    if len({match[1] for match, _ in found}) != 1:
        return []
    return sorted((int(match[2]), entry) for match, entry in found)
