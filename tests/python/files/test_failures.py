"""Failures of the system say what was being done."""

from __future__ import annotations

import pytest

from tailrace.core import IoError
from tailrace.files.failures import io_errors


def test_a_failure_of_the_system_says_what_was_being_done() -> None:
    with (
        pytest.raises(IoError, match=r"^cannot write run\.csv: No space left on device$"),
        io_errors("cannot write run.csv"),
    ):
        raise OSError(28, "No space left on device")


def test_other_errors_are_raised_as_they_are() -> None:
    """Also one of ours, which says already what was being done."""
    for error in (IoError("run.h5 is damaged"), ValueError("wrong")):
        with pytest.raises(type(error)) as raised, io_errors("cannot write run.csv"):
            raise error
        assert raised.value is error


def test_what_works_raises_nothing() -> None:
    with io_errors("cannot write run.csv"):
        pass
