"""Texts that take values of a case, as "Re = {reynolds}" in the title of a picture or in a legend."""

from __future__ import annotations

import difflib
import re
from typing import Any

from .document import Document, leaves

_NAMED = re.compile(r"\{([A-Za-z_][\w.\[\]-]*)(?::([^{}]*))?\}")


def caption(text: str, case: Document) -> str:
    """The text with the value of each key that stands in braces. Local.

    A key is whole, `{time.dt}`, or its last part if only one key of the case ends so: `{reynolds}`. A format of Python
    may follow: `{reynolds:.1e}`.

    :raises ValueError: the case has no such key, or a format does not fit its value.
    """
    values = dict(leaves(case))
    return _NAMED.sub(lambda found: _value(found[0], found[1], found[2] or "", values), text)


def _value(word: str, name: str, form: str, values: dict[str, Any]) -> str:
    keys = [name] if name in values else [key for key in values if key.rpartition(".")[2] == name]
    if len(keys) > 1:
        raise ValueError(f"{word}: {' and '.join(keys)} end so; give one of them in braces")
    if not keys:
        near = difflib.get_close_matches(name, [*values, *(key.rpartition(".")[2] for key in values)], n=1)
        raise ValueError(f"{word}: the case has no such key{f'; did you mean {near[0]}?' if near else ''}")
    value = values[keys[0]]
    if not form and isinstance(value, float) and float(f"{value:.6g}") == value:
        form = ".6g"
    try:
        return format(value, form)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{word}: {error}") from None
