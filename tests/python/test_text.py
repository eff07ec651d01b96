"""Sizes and lengths of time in words; texts of strangers as they may be shown."""

import json
import sys
import tomllib
import unicodedata

import pytest

from tailrace.text import duration, message, reason, size, visible


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


def test_no_character_that_a_terminal_obeys_is_shown():
    """Each is written as JSON and TOML write it; all others stay."""
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        turns = unicodedata.bidirectional(character) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
        obeyed = turns or unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}
        shown = visible(character)
        if obeyed or character in "\u200e\u200f\u061c\ufffe\uffff":
            assert shown.isascii() and shown.isprintable()
            assert json.loads(f'"{shown}"') == character
            if not 0xD800 <= code < 0xE000:
                assert tomllib.loads(f'text = "{shown}"')["text"] == character
        else:
            assert shown == character


def test_lines_of_a_text_stay_lines_where_it_may_have_them():
    text = "a\tb\n\x1b[2Jc\r\nd"
    assert visible(text) == r"a\tb\n\u001b[2Jc\r\nd"
    assert visible(text, lines=True) == "a\tb\n\\u001b[2Jc\\r\nd"


def test_no_line_of_a_message_looks_like_another_message():
    said = message("tailrace: 'x\ntailrace: all is well\n  more' \x1b[1A")
    assert said == "tailrace: 'x\n  tailrace: all is well\n  more' \\u001b[1A"


@pytest.mark.parametrize(
    ("error", "known", "said"),
    [
        (OSError(24, "Too many open files", "a.h5"), "", "a.h5: Too many open files"),
        (OSError(24, "Too many open files", "a.h5"), "cannot read out/a.h5", "Too many open files"),
        (OSError(28, "No space left on device"), "", "No space left on device"),
        (OSError("the reason"), "", "the reason"),
        (ValueError(), "", "ValueError"),
    ],
)
def test_a_failure_names_its_file_once(error, known, said):
    assert reason(error, known) == said
