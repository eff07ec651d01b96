"""Variants of writing and reading: an engine with its parameters, as words of the command line."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.io.engines import STORING, default_path

from .records import Value

USUAL = ("raw", "raw,aggregators=node", "mpiio", "hdf5", "bp4", "bp5", "sion")  # without a choice of the user
QUICK = ("raw", "mpiio", "hdf5", "bp5", "sion")


@dataclass(frozen=True)
class Variant:
    """An engine and its parameters."""

    engine: str
    parameters: tuple[tuple[str, Value], ...] = ()

    @property
    def name(self) -> str:
        """Engine and parameters in a word, as `variant_of` reads it."""
        return ",".join([self.engine, *(f"{key}={value}" for key, value in self.parameters)])

    @property
    def file(self) -> str:
        """The name of its series in a directory."""
        return default_path("series", self.engine)


def variant_of(text: str) -> Variant:
    """A variant from a word such as "hdf5" or "raw,aggregators=node,checksums=off".

    :raises ValueError: there is no such engine that writes files, or a parameter is not KEY=VALUE.
    """
    engine, *words = text.split(",")
    if engine not in STORING:
        raise ValueError(
            f"--engine {text}: expected one of {', '.join(STORING)}, and parameters as raw,aggregators=node"
        )
    pairs = [word.partition("=") for word in words]
    wrong = [word for word, (key, sign, value) in zip(words, pairs, strict=True) if not (key and sign and value)]
    if wrong:
        raise ValueError(f"--engine {text}: {wrong[0]!r} is no parameter; expected KEY=VALUE")
    return Variant(engine, tuple(sorted((key, value) for key, _, value in pairs)))


def with_buffers(variant: Variant, buffers: int) -> Variant:
    """The variant that writes in the background, from `buffers` copies of a step."""
    others = {key: value for key, value in variant.parameters if key != "buffers"}
    return Variant(variant.engine, tuple(sorted({**others, "buffers": str(buffers)}.items())))
