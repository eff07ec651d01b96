"""The source of a conversion: a series of Tailrace or files of another program, whose steps give plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.core import engine_at
from tailrace.formats.recognise import is_series_of_ours, open_dataset, series_of_run
from tailrace.io import guard, series
from tailrace.io.handle import Handle
from tailrace.parallel import on_root

if TYPE_CHECKING:
    from mpi4py import MPI


def open_arrays(
    path: str, comm: MPI.Comm, *, family: str | None = None, parameters: Mapping[str, str] | None = None, trusted: bool
) -> series.ArraySeries:
    """Open a path to read. Collective.

    :param family: a family of formats of `tailrace.formats.recognise`; by default found from the content.
    :param parameters: parameters of the reader.
    :param trusted: this program has written it. Otherwise a child process first reads metadata that could crash a
        library.
    :raises InputError: there is nothing that can be read.
    :raises IoError: it is damaged.
    """
    if family is None:
        path = str(on_root(comm, lambda: series_of_run(path)))
    found = open_dataset(path, comm, family, dict(parameters or {}), not trusted)
    if found is not None:
        return series.ArraySeries(Handle(found), "r", comm)
    strange = not trusted and on_root(comm, lambda: _is_strange(Path(path)))
    return series.open(path, "r", comm=comm, parameters=parameters, guard=strange)


def _is_strange(path: Path) -> bool:
    """Whether the metadata of a series could crash a library."""
    if not path.exists() or not is_series_of_ours(path):
        return False
    return not guard.vouched(path, engine_at(str(path)))
