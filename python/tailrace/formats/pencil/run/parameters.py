"""The parameters that a run of the Pencil Code has written: `param.nml` and `param2.nml`. All is local."""

from __future__ import annotations

import re
from pathlib import Path

from tailrace.core import IoError
from tailrace.files.regular import open_regular

Value = bool | int | float | str
_MOST_BYTES = 4 << 20
_MOST_REPEATS = 4096

# Fortran has written these files, so that this small part of its rules is enough, and takes a time that grows only with
# the size of the file.
_TOKEN = re.compile(
    r"""\s* (?: (?P<group>&\w+) | (?P<key>[A-Za-z_]\w*(?:%\w+)*(?:\([^()'"\n]{0,40}\))?)\s*= | (?P<end>/(?=\s|$))
        | (?:(?P<repeat>\d+)\*)?
          (?: '(?P<text>(?:[^']|'')*)' | "(?P<text2>(?:[^"]|"")*)" | (?P<complex>\([^()]*\))
            | (?P<word>[^\s,/'"=&*]+) )?
        ) \s*,? | (?P<other>.)""",
    re.VERBOSE,
)


def read_parameters(path: Path) -> dict[str, list[Value]]:
    """All parameters of a file, by group and name in small letters: "init_pars/lperi". Local.

    A file that is not there has no parameters. Values that are neither a number, a truth value nor a text are left out.

    :raises IoError: it is too large or is no regular file.
    """
    found: dict[str, list[Value]] = {}
    group, values = "", None  # type: str, list[Value] | None
    for match in _TOKEN.finditer(_text(path)):
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


def _text(path: Path) -> str:
    try:
        with open_regular(path, "rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise IoError(f"{path}: cannot be read: {error.strerror}") from None
    if len(raw) > _MOST_BYTES:
        raise IoError(f"{path}: has more than {_MOST_BYTES} bytes; parameters of a run have fewer")
    return str(raw.decode("latin-1"))


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
        # Fortran writes D for E, and omits the letter of exponents with three digits: 0.1-100.
        return float(re.sub(r"(?<=[\d.])([+-]\d{3})$", r"E\1", word.upper().replace("D", "E")))
    except ValueError:
        return None
