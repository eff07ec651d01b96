"""What to say of a path at which there is nothing."""

from __future__ import annotations

import difflib
import os
from pathlib import Path


def nothing_at(path: Path) -> str:
    """Why there is nothing at a path, with the name beside it that may be meant; it goes after the path. Local."""
    near = difflib.get_close_matches(path.name, _beside(path), n=1)
    hint = f"; did you mean {path.parent / near[0]}?" if near else ""
    if not path.is_symlink():
        return f"there is no such file or directory{hint}"
    target = os.path.realpath(path)
    if os.path.lexists(target):  # with links all followed, only a circle of them is left
        return f"it is a link that leads back to itself{hint}"
    return f"it is a link to {target}, which is not there{hint}"


def _beside(path: Path) -> list[str]:
    """The names of what is there beside a path; links that lead nowhere are not."""
    try:
        return [one.name for one in path.parent.iterdir() if one.name != path.name and one.exists()]
    except OSError:
        return []
