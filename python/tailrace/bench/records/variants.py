"""Ways of writing and reading: an engine with its parameters, by the words of the command line. All is local."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.core import engine_names

from .records import Value

USUAL = ("raw", "raw,aggregators=node", "mpiio", "hdf5", "bp4", "bp5", "sion")  # without a choice of the user
QUICK = ("raw", "mpiio", "hdf5", "bp5", "sion")
_ENDINGS = {"hdf5": ".h5", "adios_hdf5": ".h5", "bp4": ".bp", "bp5": ".bp", "sion": ".sion"}


@dataclass(frozen=True)
class Way:
    """An engine and its parameters."""

    engine: str
    parameters: tuple[tuple[str, Value], ...] = ()

    @property
    def name(self) -> str:
        """Engine and parameters in a word, as `way_of` reads it."""
        return ",".join([self.engine, *(f"{key}={value}" for key, value in self.parameters)])

    @property
    def file(self) -> str:
        """The name of its series in a directory."""
        return f"series{_ENDINGS.get(self.engine, '')}"


def way_of(text: str) -> Way:
    """A way from a word such as "hdf5" or "raw,aggregators=node,checksums=off".

    :raises ValueError: there is no such engine that writes files, or a parameter is not KEY=VALUE.
    """
    engine, *words = text.split(",")
    known = [name for name in engine_names() if name not in ("sst", "null")]
    if engine not in known:
        raise ValueError(f"--engine {text}: expected one of {', '.join(known)}, and parameters as raw,aggregators=node")
    pairs = [word.partition("=") for word in words]
    wrong = [word for word, (key, sign, value) in zip(words, pairs, strict=True) if not (key and sign and value)]
    if wrong:
        raise ValueError(f"--engine {text}: {wrong[0]!r} is no parameter; expected KEY=VALUE")
    return Way(engine, tuple(sorted((key, value) for key, _, value in pairs)))


def with_buffers(way: Way, buffers: int) -> Way:
    """The way that writes in the background, from so many copies of a step."""
    others = {key: value for key, value in way.parameters if key != "buffers"}
    return Way(way.engine, tuple(sorted({**others, "buffers": str(buffers)}.items())))
