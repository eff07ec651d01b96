"""Failures of the system as errors that name what was being done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tailrace.core import IoError


@contextmanager
def io_errors(what: str) -> Iterator[None]:
    """Put this around calls of the system: their failure is raised as an IoError, which says `what` and why.

    :param what: such as "cannot write run.csv".
    """
    try:
        yield
    except IoError:
        raise
    except OSError as error:
        raise IoError(f"{what}: {reason(error, what)}") from error


def reason(error: OSError, known: str = "") -> str:
    """Why a call of the system failed, with the name of the file where `known` does not have it."""
    if error.strerror is None:
        return str(error) or type(error).__name__
    named = "" if error.filename is None else str(error.filename)
    return error.strerror if not named or named in known else f"{named}: {error.strerror}"
