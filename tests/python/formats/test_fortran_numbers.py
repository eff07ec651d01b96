"""Words of Fortran that are numbers, and words that are only numbers of Python."""

import pytest

from tailrace.formats.fortran_numbers import real_of


@pytest.mark.parametrize(
    ("word", "value"), [("1.5d-3", 1.5e-3), ("0.1-100", 0.1e-100), ("-2.E+02", -200.0), (".5", 0.5)]
)
def test_numbers(word, value):
    assert real_of(word) == value


@pytest.mark.parametrize("word", ["1.6E3_8", "1_0", "", "1.0.0", "x"])
def test_no_numbers(word):
    with pytest.raises(ValueError):  # the caller names file and line
        real_of(word)
