"""Abscissae of arrays, recognised by their names: wave numbers, edges of bins, coordinates."""

from __future__ import annotations

import re
from typing import Literal, get_args

Kind = Literal["time-series", "spectrum", "histogram", "profile", "slice", "isosurface", "channel"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_NAMES: dict[Kind, re.Pattern[str]] = {
    "spectrum": re.compile(r"(.*_)?(k|k[xyz]|kappa(_?[xyz])?|wave_?numbers?)"),
    "histogram": re.compile(r"(.*_)?(bin_)?(edges|bins|centres|centers)(_.*)?"),
    "profile": re.compile(r"[xyzr]|[xyzr]_?plus|radius|distance|height|coordinates?"),
}


def is_abscissa(name: str) -> bool:
    """Whether an array of this name is an abscissa of other arrays."""
    return any(form.fullmatch(name.lower()) for form in _NAMES.values())


def kind_of(name: str) -> Kind:
    """The kind of picture in which an array of this name is the abscissa; a profile for unknown names."""
    return next((kind for kind, form in _NAMES.items() if form.fullmatch(name.lower())), "profile")


def label_of(name: str) -> str:
    """The label of the axis of an abscissa."""
    return f"wave number  {name}" if kind_of(name) == "spectrum" else name


def fits(abscissa: str, length: int, count: int) -> bool:
    """Whether a list has the name of an abscissa, and the right length for `count` values: edges are one more."""
    edges = kind_of(abscissa) == "histogram" and length == count + 1
    return is_abscissa(abscissa) and (length == count or edges)


def in_common(one: str, other: str) -> int:
    """The number of equal letters at the beginning, or at the end if these are more: q_edges, q_density; ky, E_ky."""
    return max(_same(one, other), _same(one[::-1], other[::-1]))


def _same(one: str, other: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
