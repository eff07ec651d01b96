"""A case from any file that has one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .case import Case, load_case

CASES = (".toml", ".i3d", ".prm")  # the endings of cases


def read_case(path: Path, overrides: Sequence[str] = ()) -> tuple[Case, list[str]]:
    """The case from a TOML file or an Xcompact3D input, and notes about what is not done as the file says. Local.

    :param overrides: `key=value`, which replace values of the file.
    :raises ConfigError: something is wrong; the message lists every problem.
    """
    if path.suffix == ".toml":
        case = load_case(path, overrides)
        return case, case.notes()
    from .xcompact3d.input import read_input

    case, notes = read_input(path, overrides)
    return case, [*notes, *case.notes()]
