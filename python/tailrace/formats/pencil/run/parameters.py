"""The parameters that a run of the Pencil Code has written: `param.nml` and `param2.nml`."""

from __future__ import annotations

import re

from tailrace.formats.fortran_numbers import real_of

Value = bool | int | float | str
MOST_BYTES = 4 << 20  # of a file
_MOST_REPEATS = 4096

# Fortran has written these files, so this small part of its rules is enough. Its time is linear in their size.
_TOKEN = re.compile(
    r"""\s* (?: (?P<group>&\w+) | (?P<key>[A-Za-z_]\w*(?:%\w+)*(?:\([^()'"\n]{0,40}\))?)\s*= | (?P<end>/(?=\s|$))
        | (?:(?P<repeat>\d+)\*)?
          (?: '(?P<text>(?:[^']|'')*)' | "(?P<text2>(?:[^"]|"")*)" | (?P<complex>\([^()]*\))
            | (?P<word>[^\s,/'"=&*]+) )?
        ) \s*,? | (?P<other>.)""",
    re.VERBOSE,
)


def parse_parameters(text: str) -> dict[str, list[Value]]:
    """All parameters of a file, by group and name in small letters: "init_pars/lperi".

    Values that are neither a number, a truth value nor a text are left out.
    """
    found: dict[str, list[Value]] = {}
    group, values = "", None  # type: str, list[Value] | None
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "group":
            group, values = match["group"][1:].lower(), None
        elif kind == "key":
            values = found[f"{group}/{match['key'].lower()}"] = []
        elif kind == "end":
            values = None
        elif values is not None:
            value = _value(match)
            times = min(int((match["repeat"] or "1")[:9]), _MOST_REPEATS - len(values))
            if value is not None:
                values.extend([value] * times)
    return found


def _value(match: re.Match[str]) -> Value | None:
    text = match["text"] if match["text"] is not None else match["text2"]
    if text is not None:
        return text.rstrip()
    word = match["word"]
    if word is None:
        return None
    if word.strip(".").upper() in ("T", "TRUE", "F", "FALSE"):
        return word.strip(".").upper().startswith("T")
    if re.fullmatch(r"[+-]?\d{1,18}", word):
        return int(word)
    try:
        return real_of(word)
    except ValueError:
        return None
