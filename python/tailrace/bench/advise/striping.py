"""The stripes of new files on Lustre, as a command.

A shared file goes over all targets, because each stripe takes the bytes of one writer at a time; a file with one writer
stays on one target. Sizes of stripes change little (ARCHER2 User Guide, "I/O performance and tuning"); 1 MiB is the
default of Lustre.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .load import Load
from .pattern import Pattern, pattern_of

ALL = -1  # in the words of lfs: all targets
SIZE = "1M"


@dataclass(frozen=True)
class LustreMachine:
    """A machine with Lustre and no other known property."""

    file_system: str = "lustre"
    default_stripes: int = 1

    def nodes(self, ranks: int) -> int:
        """One node per rank: this does not change the pattern."""
        return ranks


def stripes_for(pattern: Pattern) -> int:
    """The stripe count of the files of a pattern: one target, or all."""
    return ALL if pattern.shared else 1


def stripe_command(engine: str, parameters: Mapping[str, Any], load: Load, directory: str) -> str:
    """`lfs setstripe` for the directory that an engine writes to. Raises PatternError if the engine stores nothing."""
    pattern = pattern_of(engine, parameters, load, LustreMachine(), load.ranks)  # more stripes than ranks are of no use
    count = parameters.get("stripe_count") or stripes_for(pattern)
    size = parameters.get("stripe_size") or SIZE
    return f"lfs setstripe -c {count} -S {size} {shlex.quote(directory)}"
