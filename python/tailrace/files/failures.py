"""Failures of the system as errors that name what was being done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tailrace.core import IoError
from tailrace.text import reason


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
