"""Look for damage in files of other programs."""

from __future__ import annotations

from collections.abc import Callable

from tailrace.core import IoError


def errors_of(*looks: Callable[[], object]) -> list[str]:
    """The messages of the functions that raise an error: each reads a part that may be damaged."""
    errors = []
    for look in looks:
        try:
            look()
        except IoError as error:
            errors.append(str(error))
    return errors
