"""The formats of other programs that can be written, by name."""

from __future__ import annotations

import difflib
from importlib import import_module

from tailrace.core import InputError

from .writer import Writer

# The name of a format -> the module of its Writer, and its class.
WRITERS: dict[str, tuple[str, str]] = {
    "nektar-hdf5": ("tailrace.formats.nektar.hdf5_writer", "NektarHdf5Writer"),
    "nektar-xml": ("tailrace.formats.nektar.xml_writer", "NektarXmlWriter"),
    "pencil-hdf5": ("tailrace.formats.pencil.write.writer", "PencilWriter"),
    "pvd": ("tailrace.formats.vtk.writer", "VtkWriter"),
    "xcompact3d": ("tailrace.formats.xcompact3d.writer", "Xcompact3dWriter"),
}

ENDINGS: dict[str, str] = {".pvd": "pvd"}  # of targets that mean a format


def writer_of(name: str) -> type[Writer]:
    """The Writer of a format. Raises InputError if no format has that name; the message lists the known ones."""
    if name not in WRITERS:
        near = difflib.get_close_matches(name, WRITERS, n=1, cutoff=0.5)
        there = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(WRITERS)) or 'none'}"
        raise InputError(f"format = {name!r}: no such format can be written; {there}")
    module, kind = WRITERS[name]
    found: type[Writer] = getattr(import_module(module), kind)
    return found
