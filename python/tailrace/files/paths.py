"""Whether a path is in use."""

from __future__ import annotations

from pathlib import Path

EARLIER = ".earlier"  # ending of the names of earlier results that are set aside


def holds_something(path: Path) -> bool:
    """Whether the path is a file, or a directory that is not empty. Results that are set aside do not count."""
    return path.is_file() or (path.is_dir() and any(entry.suffix != EARLIER for entry in path.iterdir()))
