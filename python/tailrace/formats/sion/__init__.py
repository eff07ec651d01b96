"""SION containers of other programs: their streams as bytes, or with a description as variables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tailrace.core import InputError
from tailrace.formats.file_bytes import head
from tailrace.io.dataset import Dataset

__all__ = ["dataset_at"]

_START = 8  # bytes: the name of the format, and four numbers for the byte order


def dataset_at(path: Path, parameters: Mapping[str, str] | None = None) -> Dataset | None:
    """The dataset of the first file of a container; None for another file.

    :param parameters: "description": the path of a file in TOML, see `tailrace.formats.sion.description`; by default
        the one beside the container with its name and ".toml" behind it, if there is one.
    :raises IoError: it was never closed, is incomplete or is damaged.
    :raises InputError, ConfigError: the description is wrong, or does not fit the container.
    """
    if not path.is_file():
        return None
    start = head(path, _START)
    if start[:4] != b"sion" or (start[4:] and min(start[4:]) >= ord("\t")):  # a text that begins with "sion"
        return None
    given = dict(parameters or {})
    beside = path.with_name(f"{path.name}.toml")
    description = given.pop("description", str(beside) if beside.is_file() else None)
    if given:
        raise InputError(f"{path}: a SION container has the parameter 'description', not {', '.join(given)}")
    from .dataset import SionDataset  # loads h5py

    return SionDataset(str(path), description)
