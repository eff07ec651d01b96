"""Paths that stand for many files."""

from __future__ import annotations

import glob
from pathlib import Path


def is_pattern(path: Path) -> bool:
    """Whether a path is a glob, as "out/flow_*.h5", and not the name of a file."""
    return glob.has_magic(str(path)) and not path.exists()


def matches(path: Path) -> list[Path]:
    """The files and directories that a glob names."""
    return [Path(one) for one in glob.glob(str(path))]  # noqa: PTH207 - the pattern may be absolute
