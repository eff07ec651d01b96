"""Checkpoints of Nektar++ (.fld, .rst, .chk): XML files, directories of them, and HDF5."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tailrace.core import InputError
from tailrace.files.regular import open_regular

from .checkpoint import Checkpoint
from .dataset import NektarDataset
from .hdf5 import hdf5_checkpoint
from .xml import xml_checkpoint

__all__ = ["dataset_at"]

_HEAD = 4096
_HDF5 = b"\x89HDF\r\n\x1a\n"
_ROOT = re.compile(rb"<NEKTAR[\s>]")
_NUMBERED = re.compile(r"(.+)_(\d{1,9})\.chk")


def dataset_at(path: Path, parameters: Mapping[str, str] | None = None) -> NektarDataset | None:
    """The checkpoint at a path, or the checkpoints NAME_0.chk, NAME_1.chk, ... in a directory. Local.

    :param path: a file, the directory of an Info.xml, or a directory with the checkpoints of one run.
    :returns: None: the content is something else.
    :raises IoError: it is a checkpoint, and damaged.
    :raises InputError: there are parameters; it has none.
    """
    numbers = None
    found = _checkpoint(path)
    if found is not None:
        checkpoints = [found]
    else:
        numbered = _numbered(path) if path.is_dir() else []
        numbers = [number for number, _ in numbered]
        checkpoints = []
        for _, one in numbered:
            found = _checkpoint(one)
            if found is None:
                return None
            checkpoints.append(found)
        if not checkpoints:
            return None
    if parameters:
        raise InputError(f"{path}: checkpoints of Nektar++ have no parameter '{next(iter(parameters))}'")
    return NektarDataset(str(path), checkpoints, numbers)


def _checkpoint(path: Path) -> Checkpoint | None:
    first = path / "Info.xml" if path.is_dir() else path
    if not first.is_file():
        return None
    with open_regular(first, "rb") as file:
        head = file.read(_HEAD)
    if head.startswith(_HDF5):
        return hdf5_checkpoint(path) if first == path else None
    return xml_checkpoint(path) if _ROOT.search(head) else None


def _numbered(directory: Path) -> list[tuple[int, Path]]:
    """The checkpoints in a directory by their numbers; none where they have different names."""
    found = [(match, entry) for entry in directory.iterdir() if (match := _NUMBERED.fullmatch(entry.name))]
    if len({match[1] for match, _ in found}) != 1:
        return []
    return sorted((int(match[2]), entry) for match, entry in found)
