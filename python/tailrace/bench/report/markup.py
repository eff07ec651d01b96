"""Elements of a page. They may contain any text: HTML and control characters are escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any
from xml.etree import ElementTree

from tailrace.text import visible

Element = ElementTree.Element
_NUMBER = re.compile(r"[-+]?\d[\d.e+-]*( \S{1,5})?")  # with its unit
_SHORT = 12  # characters


def element(name: str, *content: Element | str | None, **attributes: str) -> Element:
    """An element. In names of attributes, an underline at the end is dropped (`class_`), and others become hyphens."""
    names = {key.rstrip("_").replace("_", "-"): visible(value, lines=True) for key, value in attributes.items()}
    made = Element(name, names)
    last: Element | None = None
    for one in content:
        if one is None:
            continue
        if isinstance(one, Element):
            made.append(one)
            last = one
        elif last is None:
            made.text = (made.text or "") + visible(one, lines=True)
        else:
            last.tail = (last.tail or "") + visible(one, lines=True)
    return made


def text_of(made: Element) -> str:
    """The element as HTML."""
    return ElementTree.tostring(made, encoding="unicode", method="html")


def table(caption: str, columns: Sequence[str], groups: Iterable[tuple[str, Sequence[Sequence[str]]]]) -> Element:
    """A table in a frame that scrolls sideways, so that the page does not have to.

    :param groups: heading and rows of each; "" for rows without a heading. The first cell of a row heads it.
    """
    head = element("thead", element("tr", *(element("th", one, scope="col") for one in columns)))
    made = element("table", element("caption", caption), head)
    for heading, rows in groups:
        body = element("tbody")
        if heading:
            over = element("th", heading, scope="rowgroup", colspan=str(len(columns)))
            body.append(element("tr", over, class_="group"))
        for first, *others in rows:
            cells = (element("td", one, **_kind(one)) for one in others)
            body.append(element("tr", element("th", first, scope="row", **_kind(first)), *cells))
        made.append(body)
    return element("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)


def folded(title: str, *content: Element, open_: bool = False) -> Element:
    """Content that unfolds when its title is clicked, and is shown on paper."""
    made = element("details", element("summary", title), *content)
    if open_:
        made.set("open", "open")
    return made


def listed(lines: Iterable[str], **attributes: str) -> Element:
    """A list of lines."""
    return element("ul", *(element("li", line) for line in lines), **attributes)


def data_block(values: Any) -> str:
    """JSON for the inside of a script element: no text in it can end the element."""
    text = json.dumps(values, allow_nan=False, separators=(",", ":"))  # ASCII only
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _kind(text: str) -> dict[str, str]:
    """The class of a table cell: numbers are aligned to the right, and long texts may be broken anywhere."""
    if _NUMBER.fullmatch(text):
        return {"class_": "number"}
    return {"class_": "long"} if len(text) > _SHORT else {}
