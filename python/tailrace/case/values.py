"""The values of a case file: numbers, texts, triples and lists, each with its limits and the words of its errors."""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    AllowInfNan,
    BeforeValidator,
    Field,
    PlainSerializer,
    Strict,
    WrapValidator,
)

MIN_POINTS = 8  # the widest stencil of the sixth-order schemes, closures at both ends included

SMALLEST, LARGEST = 1e-100, 1e100
MOST_RANKS = 2**31 - 1  # MPI counts ranks in C's int
MOST_STEPS = 2**53  # more, and a step no longer changes the time

SCALAR_SIDES = ("periodic", "no-flux", "deposit", "free", "outflow")
SIDES = ("periodic", "free-slip", "wall", "inflow", "outflow")
VIEWS = ("corner", "x", "y", "z")


def parse_length(value: Any) -> Any:
    """A length given as a number or as text of numbers, `pi`, `*` and `/`: "2*pi". Anything else passes unchanged.

    :raises ValueError: text of another form.
    """
    if not isinstance(value, str):
        return value
    tokens = re.split(r"\s*([*/])\s*", value.strip())
    result, operator = 1.0, "*"
    try:
        for position, token in enumerate(tokens):
            if position % 2:
                operator = token
                continue
            factor = math.pi if token == "pi" else float(token)
            result = result * factor if operator == "*" else result / factor
    except (ValueError, ZeroDivisionError):
        raise ValueError('must be a number or an expression of numbers, pi, * and /, such as "2*pi"') from None
    return result


def _two(value: Any) -> Any:
    """Two entries. The number is checked here, for the message; the entries are checked later."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError("must be a list of two values")
    return tuple(value)


def _three(value: Any) -> Any:
    """Three entries, one per direction. The length is checked here, for the message; the entries are checked later."""
    if not isinstance(value, list | tuple):
        raise ValueError("must be a list of three values, for x, y and z")
    if len(value) != 3:
        raise ValueError(f"must have three values, for x, y and z; it has {len(value)}")
    return tuple(value)


def _sides(value: Any) -> Any:
    """The boundary of a direction: a word for both ends, or two words, for the lower and the upper end."""
    words = list(value) if isinstance(value, list | tuple) else [value]
    if len(words) not in (1, 2) or not all(isinstance(word, str) for word in words):
        raise ValueError(f"must be {one_of(SIDES)}, or a list of two of them, for the lower and the upper end")
    for word in words:
        if word.lower() in ("dirichlet", "no-slip"):
            raise ValueError("is called 'wall' here, or 'inflow' and 'outflow' where the flow goes through")
        if word not in SIDES:
            near = difflib.get_close_matches(word.lower(), SIDES, n=1, cutoff=0.5)
            raise ValueError(f"must be {one_of(SIDES)}" + (f"; did you mean '{near[0]}'?" if near else ""))
    lower, upper = words[0], words[-1]
    if (lower == "periodic") != (upper == "periodic"):
        raise ValueError("must be 'periodic' at both ends, or at none")
    if (upper == "outflow" or lower == "outflow") and (lower, upper) != ("inflow", "outflow"):
        raise ValueError("'outflow' is an upper end, and its lower end is an 'inflow': [\"inflow\", \"outflow\"]")
    return lower if lower == upper else (lower, upper)


def _scalar_sides(value: Any) -> Any:
    """What a scalar is at the ends of a direction: a word, a number, or two of them."""
    parts = list(value) if isinstance(value, list | tuple) else [value, value]
    if len(parts) != 2:
        raise ValueError("must be one value, or a list of two, for the lower and the upper end")
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, str | int | float):
            raise ValueError(f"must be {one_of(SCALAR_SIDES)}, a number, or a function as 'file.py:function'")
        if isinstance(part, str) and part not in SCALAR_SIDES and ".py:" not in part:
            near = difflib.get_close_matches(part.lower(), SCALAR_SIDES, n=1, cutoff=0.5)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise ValueError(f"must be {one_of(SCALAR_SIDES)}, a number, or a function as 'file.py:function'{hint}")
        if not isinstance(part, str) and not math.isfinite(part):
            raise ValueError("must be a finite number")
    return tuple(float(part) if not isinstance(part, str) else part for part in parts)


def _file_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][\w.+-]*", value):
        raise ValueError("must be a name of letters, digits and _ . + - (files are named after it)")
    return value


def _rising(value: list[float]) -> list[float]:
    for earlier, later in itertools.pairwise(value):
        if later <= earlier:
            raise ValueError(f"must rise: {later:g} comes after {earlier:g}")
    return value


def one_of(words: Sequence[str]) -> str:
    """The words as a list for a message: 'a', 'b' or 'c'."""
    *others, last = [f"'{word}'" for word in sorted(words)]
    return f"{', '.join(others)} or {last}"


def _parameter(value: Any) -> Any:
    if not isinstance(value, str | int | float | bool):
        raise ValueError("must be text, a number or true/false")
    return value


def _number_or_auto(value: Any, number: Callable[[Any], float]) -> Any:
    if isinstance(value, str) and value != "auto":
        raise ValueError('must be a number, or "auto" to choose it by the velocity')
    return value if value == "auto" else number(value)


def _outflow_speed(value: Any, number: Callable[[Any], float]) -> Any:
    words = ("largest", "middle")
    if isinstance(value, str) and value not in words:
        near = difflib.get_close_matches(value.lower(), words, n=1, cutoff=0.5)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise ValueError(f"must be 'largest', 'middle' or a positive number{hint}")
    return value if isinstance(value, str) else number(value)


def _initial(value: Any, number: Callable[[Any], float]) -> Any:
    words = ("front", "linear", "waves")
    if isinstance(value, str) and value not in words and ".py:" not in value:
        near = difflib.get_close_matches(value.lower(), words, n=1, cutoff=0.5)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise ValueError(f"must be a number, 'front', 'linear', 'waves', or a function as 'file.py:function'{hint}")
    return value if isinstance(value, str) else number(value)


def _view(value: Any, direction: Callable[[Any], tuple[float, float, float]]) -> Any:
    if isinstance(value, str) and value not in VIEWS:
        raise ValueError(f"must be {one_of(VIEWS)}, or the direction towards the camera, a list of three numbers")
    return value if isinstance(value, str) else direction(value)


def _extent(value: Any, ends: Callable[[Any], tuple[float, float]]) -> Any:
    if isinstance(value, str) and value != "all":
        raise ValueError('must be "all", or a list of two numbers: from and to')
    return value if value == "all" else ends(value)


def _limits(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError("must be a list of two numbers: the least and the largest value")
    return tuple(value)


def _rising_limits(value: tuple[float, float]) -> tuple[float, float]:
    if not value[0] < value[1]:
        raise ValueError("must be the least and the largest value, in this order")
    return value


def _scalar_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z]\w*", value, re.ASCII):
        raise ValueError("must be a letter, and then letters, digits and _")
    return value


def _computable(value: float) -> float:
    """A number whose products and quotients with others of its kind are no infinities."""
    if value != 0 and not SMALLEST <= abs(value) <= LARGEST:
        raise ValueError(f"must be 0 or of a size between {SMALLEST:g} and {LARGEST:g}")
    return value


Whole = Annotated[int, Strict(), Field(le=2**53)]
Real = Annotated[float, Strict(), AllowInfNan(False), AfterValidator(_computable)]
Text = Annotated[str, Strict(), Field(min_length=1)]
Name = Annotated[Text, AfterValidator(_file_name)]
Points = Annotated[Whole, Field(ge=MIN_POINTS)]
Index = Annotated[Whole, Field(ge=0)]
Step = Annotated[Whole, Field(ge=1)]
Length = Annotated[Real, Field(gt=0), BeforeValidator(parse_length)]
_Entry = TypeVar("_Entry")
Pair = Annotated[tuple[_Entry, _Entry], BeforeValidator(_two)]
Triple = Annotated[tuple[_Entry, _Entry, _Entry], BeforeValidator(_three)]
if TYPE_CHECKING:
    StepSize = float | Literal["auto"]
    OutflowSpeed = float | Literal["largest", "middle"]
    ScalarInitial = float | str
    View = Literal["corner", "x", "y", "z"] | tuple[float, float, float]
    Extent = tuple[float, float] | Literal["all"]
else:  # a union would name its members in the keys of problems
    StepSize = Annotated[Real, Field(gt=0), WrapValidator(_number_or_auto), PlainSerializer(lambda dt: dt)]
    OutflowSpeed = Annotated[Real, Field(gt=0), WrapValidator(_outflow_speed), PlainSerializer(lambda speed: speed)]
    ScalarInitial = Annotated[Real, WrapValidator(_initial), PlainSerializer(lambda value: value)]
    View = Annotated[Triple[Real], WrapValidator(_view), PlainSerializer(lambda view: view)]
    Extent = Annotated[Pair[Real], WrapValidator(_extent), PlainSerializer(lambda extent: extent)]
Flag = Annotated[bool, Strict()]
ScalarName = Annotated[Text, AfterValidator(_scalar_name)]
ScalarLimits = Annotated[tuple[Real, Real], BeforeValidator(_limits), AfterValidator(_rising_limits)]
Sides = Annotated[str | tuple[str, str], BeforeValidator(_sides)]
ScalarSides = Annotated[tuple[str | float, str | float], BeforeValidator(_scalar_sides)]
Times = Annotated[list[Annotated[Real, Field(ge=0)]], Field(min_length=1), AfterValidator(_rising)]
Parameter = Annotated[str | int | float | bool, BeforeValidator(_parameter)]
