"""What is at a path, apart from what it contains."""

from __future__ import annotations

from pathlib import Path

EARLIER = ".earlier"  # behind the names of earlier results that are set aside


def holds_something(path: Path) -> bool:
    """Whether there is a file, or a directory that is not empty; what is set aside does not count."""
    return path.is_file() or (path.is_dir() and any(entry.suffix != EARLIER for entry in path.iterdir()))
