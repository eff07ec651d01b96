"""Checkpoints of Nektar++ in HDF5, written by several ranks. Each rank opens the file once."""

from __future__ import annotations

from pathlib import Path

from tailrace.files.whole import publish
from tailrace.parallel import on_root

from .writing import NektarWriter


class NektarHdf5Writer(NektarWriter):
    """One HDF5 file for a step. Elements that have their own numbers of modes make all definitions MIXORDER."""

    format = "nektar-hdf5"

    def finish(self, target: Path) -> None:  # noqa: D102
        on_root(self.comm, lambda: publish(self._draft, target))
