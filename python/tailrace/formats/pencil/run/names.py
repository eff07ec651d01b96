"""The names of the fields of a run of the Pencil Code: from `index.pro` and `varname.dat`."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"^\s*i(\w+)\s*=\s*(\d{1,9})\s*$")
_LIST = re.compile(r"^\s*i(\w+)\s*=\s*indgen\((\d{1,9})\)\s*\+\s*(\d{1,9})\s*$")
_WRITTEN = re.compile(r"\s*(\d{1,6})\s+(\w{1,60})\s*")


def field_names(index: str, varname: str, count: int) -> tuple[tuple[str, ...], dict[str, str]]:
    """Names of the fields as in HDF5 files, in the order of a snapshot, and their other usual names.

    :param index: the text of `index.pro`.
    :param varname: the text of `varname.dat`.
    :param count: the largest number of fields; fields without a name are `field1`, ...
    """
    listed: dict[int, list[str]] = {}
    for line in index.splitlines():
        if (plain := _PLAIN.match(line)) and 0 < int(plain[2]) <= count:
            listed.setdefault(int(plain[2]), []).append(plain[1])
        elif (array := _LIST.match(line)) and int(array[2]) + int(array[3]) - 1 <= count:
            for at in range(int(array[2])):
                listed.setdefault(int(array[3]) + at, []).append(f"{array[1]}{at + 1}")
    written = {int(match[1]): match[2] for line in varname.splitlines() if (match := _WRITTEN.fullmatch(line))}
    names: list[str] = []
    aliases: dict[str, str] = {}
    for position in range(1, count + 1):
        name = _best(listed.get(position, []), written.get(position))
        if not name or name in names:
            name = f"field{position}"
        names.append(name)
        usual = written.get(position)
        if usual and usual != name and not usual[-1].isdigit():
            aliases[usual] = name
    return tuple(names), {usual: name for usual, name in aliases.items() if usual not in names}


def _best(listed: list[str], written: str | None) -> str | None:
    """The best of several names: the first component of a vector has two, iuu and iux."""
    if written is None or not listed:
        return listed[-1] if listed else _component(written)
    for name in (_component(written), written, f"{written}1"):
        if name in listed:
            return name
    return listed[-1]


def _component(written: str | None) -> str | None:
    if written and (match := re.fullmatch(r"([a-z])\1([123])", written)):
        return match[1] + "xyz"[int(match[2]) - 1]
    return written
