"""Reading TOML documents, and messages about what is wrong with them; sections and keys are not known here.

`read_toml` and `apply_overrides` make the document, `explain` turns the errors of pydantic about it into problems that
name the key, the reason, the value found and the nearest valid name.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from tailrace.files.regular import open_regular

Document = dict[str, Any]

# Keys that exclude each other. Setting one from outside removes the others.
_ALTERNATIVES = ({"steps", "end"}, {"every", "interval", "times"}, {"flow", "from"}, {"from_step", "from_time"})
# Keys that go with one word of another key only. Setting that to another value from outside removes them.
_OF_WORD = {
    "dt": ("auto", ("cfl", "dt_max")),
    "initial": ("front", ("front", "thickness", "level")),
    "boundaries": ("deposit", ("deposit_distance",)),
}
_MOST_LETTERS = 1 << 24  # of a text that people write; a grid with all its points is the longest
_MARK, _MARK_IN_LATIN = "\ufeff", "\xef\xbb\xbf"  # byte order marks, by which some editors begin
_LONGEST = 600  # letters of a problem in a message: a value may be as long as the file
_STEP = re.compile(r"([A-Za-z_][\w-]*)((?:\[\d+\])*)")


class Problem(NamedTuple):
    """One problem of a case: its key and the reason."""

    key: str
    reason: str

    def __str__(self) -> str:
        text = f"{self.key}: {self.reason}" if self.key else self.reason
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ... ({len(text)} letters)"


class ConfigError(ValueError):
    """A case that cannot run. `source` names the file, `problems` lists all problems."""

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = list(problems)
        if len(self.problems) == 1:
            super().__init__(f"{source}: {self.problems[0]}")
        else:
            head = f"{source}: {len(self.problems)} problems"
            super().__init__("\n".join([head, *(f"  {problem}" for problem in self.problems)]))

    def __reduce__(self) -> tuple[Any, ...]:
        # For other ranks: pickle would call the constructor with the text alone.
        return type(self), (self.source, self.problems)

    @classmethod
    def single(cls, source: str | Path, key: str, reason: str) -> Self:
        """The error of one problem; `key` is empty for a problem of the file itself."""
        return cls(str(source), [Problem(key, reason)])


class ProblemsError(ValueError):
    """Several problems, found by one check of the whole case."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


def read_text(path: Path, encoding: str = "utf-8", most: int = _MOST_LETTERS) -> str:
    """The text of an input file. Local.

    :raises ConfigError: there is no such file, it is not text, or it has more than `most` letters.
    """
    try:
        with open_regular(path, encoding=encoding) as file:
            text = str(file.read(most + 1))
    except FileNotFoundError:
        near = difflib.get_close_matches(path.name, _neighbours(path), cutoff=0.75)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ConfigError.single(path, "", f"there is no such file{hint}") from None
    except UnicodeDecodeError as error:
        raise ConfigError.single(path, "", f"is not a text file in {encoding}: {error.reason}") from None
    except OSError as error:
        raise ConfigError.single(path, "", f"cannot be read: {error.strerror}") from None
    if len(text) > most:
        raise ConfigError.single(path, "", f"has more than {most} letters; expected a text that people write")
    return text.removeprefix(_MARK).removeprefix(_MARK_IN_LATIN)


def _neighbours(path: Path) -> list[str]:
    try:
        return [entry.name for entry in path.parent.iterdir() if entry.suffix in (".toml", ".i3d")]
    except OSError:
        return []


def read_toml(path: Path) -> Document:
    """The document of a TOML file. Local.

    :raises ConfigError: there is no such file, or it is not TOML; the message has the line.
    """
    text = read_text(path)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), [_syntax_problem(text, str(error))]) from None
    except RecursionError:
        raise ConfigError.single(path, "", "has values that are nested too deeply") from None
    except ValueError:  # Python converts no text of more than 4300 digits
        raise ConfigError.single(path, "", "has a whole number of thousands of digits") from None


def _syntax_problem(text: str, message: str) -> Problem:
    place = re.search(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)", message)
    if not place or not place[1]:
        return Problem("", f"is not valid TOML: {message}")
    line = text.splitlines()[int(place[1]) - 1].strip() if int(place[1]) <= len(text.splitlines()) else ""
    hint = '; expressions stand in quotes: "2*pi"' if re.search(r"[=\[,]\s*[\d.*/ ]*pi\b", line) else ""
    return Problem(f"line {place[1]}", f"is not valid TOML: {message[: place.start()]}, in: {line}{hint}")


def apply_overrides(document: Document, overrides: Sequence[str]) -> tuple[list[Problem], list[str]]:
    """Set every `key=value` of `overrides` in the document, in their order. Local.

    The key names a place as in `time.dt`, `grid.points[0]`, `output[1].every`. The value is TOML; a bare word that is
    not TOML is text, so that `time.scheme=rk3` needs no quotes.

    :returns: the problems found, and notes of keys that are left out: they go with another value only, or a later
        override sets what excludes them.
    """
    problems, notes, given = [], [], set[str]()
    for override in overrides:
        key, separator, value = override.partition("=")
        try:
            if not separator or not key.strip():
                raise ValueError("must be key=value, such as time.dt=0.001")
            without = _assign(document, key.strip(), override_value(value.strip()), given)
            given.add(key.strip())
            notes += [f"--set {override} leaves out {one}" for one in without]
        except ValueError as error:
            problems.append(Problem(f"--set {override}", str(error)))
    return problems, notes


def leaves(values: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested tables, each with the key that a case file and `--set` have for it."""
    if isinstance(values, dict):
        for name, value in values.items():
            yield from leaves(value, f"{key}.{name}" if key else name)
    elif isinstance(values, list) and any(isinstance(one, dict) for one in values):
        for at, one in enumerate(values):
            yield from leaves(one, f"{key}[{at}]")
    else:
        yield key, values


def override_key(override: str) -> str:
    """The key of a `key=value`."""
    return override.partition("=")[0].strip()


def override_value(text: str) -> Any:
    """The value of a `key=value`: TOML, or a bare word as text.

    :raises ValueError: it is neither.
    """
    try:
        document = tomllib.loads(f"value = {text}")
        if set(document) == {"value"}:  # more keys: the text had several lines
            return document["value"]
    except tomllib.TOMLDecodeError:
        pass
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if re.fullmatch(r"[\w./~*][\w./:+*-]*", text):
        return text
    raise ValueError(f'{text or "nothing"!r} is not a TOML value: a number, true, false, [a, b, c] or "text"')


def _assign(document: Document, key: str, value: Any, given: Set[str]) -> list[str]:
    """Set a value; returns the keys, with their values, that do not go with it and were there.

    :param given: the keys that were set before it: an alternative in the file alone is replaced without a word.
    """
    place: Any = document
    *parents, last = _key_path(key)
    for depth, step in enumerate(parents):
        if isinstance(step, int) or isinstance(place, list):
            place = _entry(place, step, key)
        else:
            following = [*parents, last][depth + 1]
            place = place.setdefault(step, [] if isinstance(following, int) else {})
        if not isinstance(place, dict | list):
            raise ValueError(f"there is a single value, not a table, at '{step}'")
    if isinstance(last, int):
        _entry(place, last, key)
        place[last] = value
        return []
    if not isinstance(place, dict):
        raise ValueError(f"'{last}' needs the number of the entry before it, as in output[0].{last}")
    without, within = [], key.rpartition(".")[0]
    if "parameters" not in parents:  # those of a script have names of their own
        for group in _ALTERNATIVES:
            if last in group:
                for other in sorted(group & place.keys() - {last}):
                    replaced = f"{within}.{other} = {show(place.pop(other))}"
                    without += [replaced] if f"{within}.{other}" in given else []
        word, others = _OF_WORD.get(last, ("", ()))
        for other in () if _has_word(value, word) else others:
            if other in place:
                without.append(f"{within}.{other} = {show(place.pop(other))}")
    place[last] = value
    return without


def _has_word(value: Any, word: str) -> bool:
    """Whether a value is a word, or a list with it at any depth."""
    return any(_has_word(one, word) for one in value) if isinstance(value, list) else bool(value == word)


def _key_path(key: str) -> list[str | int]:
    path: list[str | int] = []
    for part in key.split("."):
        match = _STEP.fullmatch(part.strip())
        if not match:
            raise ValueError(f"'{key}' is not a key, such as time.dt or grid.points[0]")
        path.append(match[1])
        path += [int(index) for index in re.findall(r"\d+", match[2])]
    return path


def _entry(place: Any, index: str | int, key: str) -> Any:
    if not isinstance(place, list) or not isinstance(index, int):
        raise ValueError(f"'{key}' does not fit: numbers in [] go with lists, names with tables")
    if index >= len(place):
        raise ValueError(f"'{key}' asks for entry {index}, but there are {len(place)} (counted from 0)")
    return place[index]


def explain(
    error: ValidationError, model: type[BaseModel], document: Document, overrides: Sequence[str]
) -> list[Problem]:
    """The errors of pydantic as problems in the words of the case file. Local.

    :param model: the model that was validated; it has the valid keys.
    :param document: what was validated.
    :param overrides: the `key=value` of the command line; problems with them say so.
    """
    problems: list[Problem] = []
    from_outside = {override_key(override) for override in overrides}
    for details in error.errors():
        kind, context = details["type"], details.get("ctx", {})
        cause = context.get("error")
        if isinstance(cause, ProblemsError):
            problems += cause.problems
            continue
        path = details["loc"]
        found = "" if _whole_table(kind, details["input"]) else f" (found {show(details['input'])})"
        reason = _reason(kind, details, model, path) + found
        if _key(path) in from_outside:
            reason += ", by --set"
        problems.append(Problem(_label(path, document), reason))
    return problems


def plain_values(value: Any) -> Any:
    """A document made in Python, with the types of TOML: NumPy's values become numbers and lists, paths text."""
    if isinstance(value, dict):
        return {key: plain_values(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(one) for one in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value.tolist() if hasattr(value, "tolist") else value


def show(value: Any) -> str:
    """A value as in a case file, cut where it is long. Local."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _whole_table(kind: str, value: Any) -> bool:
    return kind == "missing" or (isinstance(value, dict) and kind in ("value_error", "extra_forbidden"))


def _key(path: Sequence[int | str]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _label(path: Sequence[int | str], document: Document) -> str:
    """The key, with the name of the entry where the entry of a list has one: output[0] ('snapshots').every."""
    if len(path) >= 2 and isinstance(path[1], int):
        try:
            name = document[str(path[0])][path[1]]["name"]
        except (KeyError, IndexError, TypeError):
            name = None
        if isinstance(name, str):
            rest = _key(path[2:])
            return f"{_key(path[:2])} ('{name}')" + (f".{rest}" if rest else "")
    return _key(path)


def _reason(kind: str, details: Mapping[str, Any], model: type[BaseModel], path: Sequence[int | str]) -> str:
    context = details.get("ctx", {})
    if kind == "extra_forbidden":
        return "unknown key" + _nearest_key(model, path)
    if kind == "missing":
        field = _keys(_table(model, path[:-1])).get(str(path[-1]))
        described = field.description if field else None
        return "is missing" + (f": {described}" if described else "")
    if kind == "literal_error":
        return f"must be {context['expected']}{_nearest_choice(details['input'], context['expected'])}"
    if kind == "value_error":
        return str(context["error"])
    words = {
        "int_type": "must be a whole number",
        "float_type": "must be a number",
        "string_type": "must be text",
        "bool_type": "must be true or false",
        "finite_number": "must be a finite number",
        "string_too_short": "must not be empty",
        "too_short": "must not be empty",
        "list_type": "must be a list",
        "dict_type": "must be a table",
        "model_type": "must be a table",
        "model_attributes_type": "must be a table",
        "invalid_key": "must be text, as all keys",
    }
    limits = {"greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt", "less_than_equal": "le"}
    if kind in limits:
        phrase = {"gt": "greater than", "ge": "at least", "lt": "less than", "le": "at most"}[limits[kind]]
        return f"must be {phrase} {context[limits[kind]]:g}"
    if kind == "list_type" and len(path) == 1:
        return f"must be a list of tables: write [[{path[0]}]], with double brackets"
    return words.get(kind, str(details["msg"]))


def _nearest_choice(found: Any, expected: str) -> str:
    choices = re.findall(r"'([^']*)'", expected)
    near = difflib.get_close_matches(str(found).lower(), choices, n=1, cutoff=0.5)
    return f"; did you mean '{near[0]}'?" if near else ""


def _table(model: type[BaseModel], path: Sequence[int | str]) -> type[BaseModel]:
    """The model of the table at `path`, or of the last table on the way that has one."""
    for step in path:
        field = None if isinstance(step, int) else _keys(model).get(step)
        if field is not None:
            inner = getattr(field.annotation, "__args__", (field.annotation,))[0]
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                model = inner
    return model


def _keys(table: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a table by their keys."""
    return {field.alias or name: field for name, field in table.model_fields.items()}


def _nearest_key(model: type[BaseModel], path: Sequence[int | str]) -> str:
    """A suggestion for an unknown key: of the same table, else of another one."""
    name = str(path[-1])
    table = _table(model, path[:-1])
    siblings = list(_keys(table))
    near = difflib.get_close_matches(name.lower(), siblings, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {_key([*path[:-1], near[0]])}?"
    for section in model.model_fields:
        if name in _keys(_table(model, [section])) and _table(model, [section]) is not model:
            return f"; it belongs to [{section}]"
    return f"; valid here: {', '.join(siblings)}"
