"""Properties of the engines. Ask these functions instead of comparing the name of an engine."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tailrace.core import EngineTraits, engine_names, engine_traits

from .names import RAW_NAMES

ENGINES: dict[str, EngineTraits] = {name: engine_traits(name) for name in engine_names()}
STORING = tuple(name for name, traits in ENGINES.items() if traits.stores)  # engines that keep what they write
DEFAULT = "hdf5"  # for results, if the user chooses no engine

if TYPE_CHECKING:
    FileEngine = str
    OutputEngine = str
else:
    FileEngine = Literal[STORING]
    OutputEngine = Literal[tuple(ENGINES)]


def is_stream(path: str | Path) -> bool:
    """Whether a path names a stream: "sst:NAME", or the contact file that its readers look for."""
    text = str(path)
    return any(
        text.startswith(f"{traits.name}:") or text.endswith(tuple(traits.extensions))
        for traits in ENGINES.values()
        if traits.streams
    )


def default_path(name: str, engine: str) -> str:
    """The default path of a series: its name, with the usual extension of the engine, if it has one."""
    traits = ENGINES.get(engine)
    return name + (traits.extensions[0] if traits is not None and traits.stores and traits.extensions else "")


def stored_name(engine: str, field: str) -> str:
    """The name of a field of a run in a series: files get the names that the tools of Xcompact3D look for."""
    return RAW_NAMES.get(field, field) if ENGINES[engine].file_names else field


def engine_by_extension(path: str | Path) -> str | None:
    """The engine that the extension of a path selects."""
    extension = Path(path).suffix
    return next((name for name, traits in ENGINES.items() if extension and extension in traits.extensions), None)


def engine_of_remains(path: Path) -> str | None:
    """The engine of a damaged series that lacks its identifying files, from the names of the other files."""
    names = [entry.name for entry in path.iterdir()] if path.is_dir() else []
    found = [
        traits
        for traits in ENGINES.values()
        if any(fnmatch(name, pattern) for name in names for pattern in traits.remains)
    ]
    # The most telling one: whose extension the path has, then those that are known by one kind of file only.
    found.sort(key=lambda traits: (path.suffix not in traits.extensions, len(traits.remains), traits.model.preference))
    return found[0].name if found else None
