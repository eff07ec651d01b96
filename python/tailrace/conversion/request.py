"""The request of a conversion, and its report."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tailrace.core import InputError
from tailrace.formats.recognise import FAMILIES
from tailrace.formats.writers import ENDINGS, writer_of
from tailrace.io.engines import ENGINES, STORING, engine_by_extension, is_stream

from .selection import Selection

# Formats that an engine writes, by their common names.
ENGINE_OF = {alias: name for name, traits in ENGINES.items() for alias in traits.aliases}
_OF_DIRECTORIES = "raw"  # the engine of targets without an extension
COMPRESSING = [name for name, traits in ENGINES.items() if traits.compression]


class Converted(NamedTuple):
    """The report of a conversion.

    :param steps, bytes: the number of steps of the target, and the size of their values.
    :param resumed: how many of these steps an interrupted conversion had written.
    :param verified: whether all was read back and compared.
    :param removed: how many files of the source were removed.
    :param notes: what was changed or left out on the way.
    """

    path: str
    engine: str
    steps: int
    bytes: int
    resumed: int
    verified: bool
    removed: int
    notes: list[str]


@dataclass(frozen=True)
class ConversionRequest:
    """The arguments of the user; see `convert`."""

    source: str
    target: str
    selection: Selection = field(default_factory=Selection)
    engine: str | None = None
    format: str | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    compression: str | None = None
    source_format: str | None = None
    source_parameters: Mapping[str, object] = field(default_factory=dict)
    verify: bool = True
    resume: bool = False
    delete_originals: bool = False

    @property
    def writer(self) -> str | None:
        """The format of another program, if no engine writes it."""
        if self.format is None and self.engine is None:
            return ENDINGS.get(Path(self.target).suffix)
        return None if self.format in ENGINE_OF else self.format

    @property
    def target_engine(self) -> str | None:
        """The engine that writes the target, chosen as `tailrace.open` does; None for a format of another program."""
        if self.writer is not None:
            return None
        if self.format is not None:
            return ENGINE_OF[self.format]
        usual = engine_by_extension(self.target) or _OF_DIRECTORIES
        return self.engine or os.environ.get("TAILRACE_ENGINE") or usual

    def engine_parameters(self) -> dict[str, object]:
        """The parameters of the engine, with the one for compression.

        :raises InputError: the engine does not compress.
        """
        if self.compression is None:
            return dict(self.parameters)
        engine = self.target_engine or str(self.writer)
        if engine not in COMPRESSING:
            raise InputError(f"compression: {engine} does not compress; {', '.join(COMPRESSING)} do")
        return {**self.parameters, ENGINES[engine].compression: self.compression}

    def check(self) -> None:
        """Check the arguments. Raises InputError if one is unknown, or two contradict each other."""
        if Path(self.target).name in ("", ".."):
            raise InputError(f"{self.target!r}: is no name for the target of a conversion")
        for name, path in (("source", self.source), ("target", self.target)):
            if is_stream(path):
                raise InputError(
                    f"{path}: is a stream, and the {name} of a conversion must be on disk, to be read again"
                )
        if self.format is not None and self.engine is not None:
            raise InputError("engine, format: give one of them; an engine writes a series of Tailrace")
        if self.engine is not None and self.engine not in ENGINES:
            raise InputError(f"engine = {self.engine!r}: no such engine; there are {', '.join(ENGINES)}")
        if self.target_engine is not None and self.target_engine not in STORING:
            raise InputError(
                f"engine = {self.target_engine}: keeps nothing on disk, so it is no target of a conversion"
            )
        if self.source_format is not None and self.source_format not in FAMILIES:
            raise InputError(
                f"source_format = {self.source_format!r}: no such family of formats; there are {', '.join(FAMILIES)}"
            )
        if self.writer is not None:
            writer_of(self.writer)
        self.engine_parameters()
        if self.delete_originals and not self.verify:
            raise InputError("--delete-originals needs the comparison of the result; leave out --no-verify")
        if self.delete_originals and self.selection.wishes:
            raise InputError(
                f"--delete-originals: with {', '.join('--' + one for one in self.selection.wishes)} the result has "
                "less than the source, which would be lost; leave out one or the other"
            )

    def described(self) -> dict[str, Any]:
        """The arguments that must be the same when the conversion is resumed, as JSON values."""
        return {
            "source": str(Path(self.source).absolute()),
            "target": str(Path(self.target).absolute()),
            **self.selection.described(),
            "engine": self.engine,
            "format": self.format,
            "parameters": {name: str(value) for name, value in self.parameters.items()},
            "compression": self.compression,
            "delete_originals": self.delete_originals,
            "source_format": self.source_format,
            "source_parameters": {name: str(value) for name, value in self.source_parameters.items()},
        }
