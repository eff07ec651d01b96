"""Sizes and lengths of time in words."""

import pytest

from tailrace.text import duration, size


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 00 s"), (185, "3 min 05 s"), (7800, "2 h 10 min"), (273_600, "3 d 04 h")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (13_107_200, "12.5 MiB"), (2**30, "1.0 GiB"),
     (3 * 2**40, "3.0 TiB"), (5000 * 2**40, "5000.0 TiB")],
)  # fmt: skip
def test_sizes(count, text):
    assert size(count) == text
