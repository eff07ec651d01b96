"""An input file of Xcompact3D: a Fortran namelist, with its mistakes named. All is local."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailrace.case.document import ConfigError, Problem, read_text

_REQUIRED = object()
_MOST_LETTERS = 50_000  # of an input: nested braces take f90nml the square of their number, here some seconds
_BROKEN = "is not a readable Fortran namelist"
_KEY = re.compile(r"(\w+)(?:\([^)]*\))?\s*=")
_TEXT = re.compile(r"'[^']*('|$)|\"[^\"]*(\"|$)")  # open at the end where a ! is in it
_WITH_KIND = re.compile(r"(?<![\w.])([+-]?\.?\d[\d.]*(?:[ed][+-]?\d+)?)_\w+", re.IGNORECASE)


class Namelist:
    """An input file with methods that read values by group, key and type. `problems` collects all errors.

    :param needed: the group that such a file must have.
    """

    def __init__(self, path: Path, needed: str = "BasicParam") -> None:
        self.path = path
        self.problems: list[Problem] = []
        self.groups = _parse(path, needed)

    def reject(self, key: str, reason: str) -> None:
        """Add a problem and continue, so that all problems are found."""
        self.problems.append(Problem(key, reason))

    def has(self, group: str, key: str) -> bool:
        """Whether the file has a value for the key."""
        return self.raw(group, key) is not None

    def raw(self, group: str, key: str) -> Any:
        """The value that f90nml has read; None if the key or its value is missing."""
        return self.groups.get(group.lower(), {}).get(key.lower())

    def entry(self, group: str, key: str, number: int) -> Any:
        """An entry of an array, counted from 0; None where the file has none."""
        value = self.raw(group, key)
        entries = value if isinstance(value, list) else [value]
        told = getattr(self.groups.get(group.lower()), "start_index", {}).get(key.lower())
        at = number + 1 - ((told or [1])[0] or 1)  # "ri(2) = 1" alone has no first entry
        return entries[at] if 0 <= at < len(entries) else None

    def whole(self, group: str, key: str, default: Any = _REQUIRED) -> Any:
        """A whole number, or the default if the key is missing; any other value adds a problem."""
        return self._typed(group, key, default, int, "a whole number")

    def real(self, group: str, key: str, default: Any = _REQUIRED) -> Any:
        """A number, or the default if the key is missing; any other value adds a problem."""
        return self._typed(group, key, default, int | float, "a number")

    def _typed(self, group: str, key: str, default: Any, kind: Any, name: str) -> Any:
        value = self.raw(group, key)
        if value is None:
            if default is _REQUIRED:
                self.reject(f"{group}.{key}", f"is missing or empty: it must be {name}")
                return None
            return default
        if isinstance(value, bool) or not isinstance(value, kind):
            self.reject(f"{group}.{key}", f"must be {name} (found {fortran(value)})")
            return None
        return value

    def choice(
        self, group: str, key: str, names: dict[int, str], default: Any = _REQUIRED, hint: str = ""
    ) -> str | None:
        """The name for a whole number; a number without a name in Tailrace adds a problem."""
        value = self.whole(group, key, default)
        if value is None or value in names:
            return names.get(value)
        known = ", ".join(f"{number} ({name})" for number, name in names.items())
        self.reject(f"{group}.{key}", f"must be one of {known} (found {value}){hint}")
        return None


def fortran(value: Any) -> str:
    """A value as in the file."""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _parse(path: Path, needed: str) -> dict[str, Any]:
    import f90nml  # type: ignore[import-untyped,unused-ignore]

    text = read_text(path, encoding="latin-1")  # comments in old inputs are not always UTF-8; keys and values are ASCII
    if len(text) > _MOST_LETTERS:
        raise ConfigError.single(path, "", f"an input has at most {_MOST_LETTERS} letters (found {len(text)})")
    if kinds := _kinds(text):
        raise ConfigError(str(path), kinds)
    try:
        unclosed = _unclosed(text)  # f90nml may read the next groups as values of the unclosed group
        with contextlib.redirect_stdout(io.StringIO()):  # where a quote is open it prints a table of its own
            groups: dict[str, Any] = {} if unclosed else f90nml.Parser().reads(text)
    except Exception as error:  # f90nml has no exception type of its own
        problem = _open_quote(text) or Problem("", f"{_BROKEN}: {str(error) or type(error).__name__}")
        raise ConfigError(str(path), [problem]) from None
    if unclosed:
        raise ConfigError(str(path), [unclosed])
    if needed.lower() not in groups:
        found = ", ".join(f"&{name}" for name in groups) or "no groups at all"
        raise ConfigError.single(path, needed, f"there is no group &{needed} ... /; found {found}")
    names = [str(name) for name in groups]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ConfigError(str(path), [Problem(f"&{name}", "is there more than once; keep one") for name in doubled])
    return groups


def _code_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        yield number, line.split("!")[0].strip()


def _unclosed(text: str) -> Problem | None:
    """The first group without a closing slash, which is the most frequent mistake."""
    opened: tuple[int, str] | None = None
    for number, code in _code_lines(text):
        if code.startswith("&") and code.lower() != "&end":
            if opened:
                break
            opened = (number, code.split()[0])
        if code.startswith("/") or code.endswith("/") or code.lower() == "&end":
            opened = None
    if opened is None:
        return None
    return Problem(f"line {opened[0]}", f"{_BROKEN}: group {opened[1]} is not closed by a line with /")


def _kinds(text: str) -> list[Problem]:
    """Numbers with a kind, which no namelist has; Python would read 1.6E3_8 as 1.6e38."""
    problems = []
    for number, line in _code_lines(text):
        code = _TEXT.sub("", line)
        for found in _WITH_KIND.finditer(code):
            keys = _KEY.findall(code[: found.start()])
            key = f"{keys[-1]}: " if keys else ""
            reason = f"{key}{found[0]} is no number of a namelist, which takes no kind; write {found[1]}"
            problems.append(Problem(f"line {number}", reason))
    return problems


def _open_quote(text: str) -> Problem | None:
    for number, code in _code_lines(text):
        if code.count("'") % 2 or code.count('"') % 2:
            return Problem(f"line {number}", f"{_BROKEN}: a quote is not closed, in: {code}")
    return None
