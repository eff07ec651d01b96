"""The names of the parts of a checkpoint as variables and numbers of a step.

    u, v, p                     values of a field, one after the other
    elements                    numbers of the elements
    orders                      numbers of modes of each element, a column for each direction; of MIXORDER only
    planes_z, planes_y, planes_s    numbers of homogeneous planes, lines and strips
    shape, basis, modes, fields, homogeneous, strips, lengths    the definition, in words
    metadata.Time, provenance.NektarVersion     as they are in the file

With several definitions, all names except those of the last line get the endings ".0", ".1", ...
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tailrace.io.placement import Stored
from tailrace.io.values import Scalar

from .definition import Definition, DefinitionError, parse_modes

ELEMENTS, ORDERS = "elements", "orders"
PLANES = ("planes_y", "planes_z", "planes_s")
RESERVED = (ELEMENTS, ORDERS, *PLANES)
METADATA, PROVENANCE = "metadata.", "provenance."
PER_ELEMENT = "per element"
DESCRIBED = ("shape", "basis", "modes", "fields", "homogeneous", "strips", "lengths")


def plain(name: str) -> str:
    """A name with only the letters that names of variables may have."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".") or "_"


def suffixes(count: int) -> list[str]:
    """The endings of the names of each definition."""
    return [""] if count == 1 else [f".{one}" for one in range(count)]


def field_names(definition: Definition) -> list[str]:
    """The names of its fields as variables. Raises DefinitionError if two of them would be the same."""
    names = [f"field_{plain(one)}" if plain(one) in RESERVED else plain(one) for one in definition.fields]
    if len(set(names)) < len(names):
        raise DefinitionError(f"FIELDS: expected names that differ in their letters and digits, found {names}")
    return names


def describe(definition: Definition) -> dict[str, Scalar]:
    """A definition as numbers and texts."""
    found: dict[str, Scalar] = {
        "shape": definition.shape,
        "basis": ",".join(definition.basis),
        "modes": PER_ELEMENT if definition.modes is None else ",".join(map(str, definition.modes)),
        "fields": ",".join(definition.fields),
    }
    if definition.homogeneous:
        found |= {
            "homogeneous": definition.homogeneous,
            "strips": int(definition.strips),
            "lengths": ",".join(map(repr, definition.lengths)),
        }
    return found


def described(scalars: Mapping[str, Scalar], suffix: str, planes: Mapping[str, int]) -> Definition:
    """The definition from the result of `describe`. Only the count of its planes is known, not their numbers.

    :param planes: the number of planes, by the names in `PLANES`.
    :raises DefinitionError: something is missing or wrong.
    """

    def text(name: str) -> str:
        if name + suffix not in scalars:
            raise DefinitionError(f"expected the text '{name}{suffix}' of the step, as checkpoints of Nektar++ have it")
        return str(scalars[name + suffix])

    modes = text("modes")
    homogeneous = int(scalars.get(f"homogeneous{suffix}", 0))
    try:
        lengths = tuple(float(one) for one in text("lengths").split(",")) if homogeneous else ()
    except ValueError:
        raise DefinitionError(f"lengths{suffix}: expected numbers, found '{text('lengths')[:40]}'") from None
    if homogeneous not in (0, 1, 2):
        raise DefinitionError(f"homogeneous{suffix}: expected 0, 1 or 2, found {homogeneous}")
    y, z, s = (tuple(range(planes.get(one, 0))) for one in PLANES)
    return Definition(
        tuple(text("fields").split(",")),
        text("shape"),
        tuple(one.strip() for one in text("basis").split(",")),
        None if modes == PER_ELEMENT else parse_modes(f"UNIORDER:{modes}"),
        homogeneous,
        bool(scalars.get(f"strips{suffix}", 0)),
        lengths,
        y,
        z,
        s,
    )


def lists(definition: Definition, suffix: str, elements: int, values: int) -> dict[str, Stored]:
    """The variables of a definition."""
    found = {ELEMENTS: Stored("int64", (1, elements, 1), True)}
    if definition.modes is None:
        found[ORDERS] = Stored("int64", (definition.directions, elements, 1), True)
    for name, ids in zip(PLANES, (definition.y_ids, definition.z_ids, definition.s_ids), strict=True):
        if ids:
            found[name] = Stored("int64", (1, len(ids), 1), True)
    found |= {name: Stored("float64", (1, values, 1), True) for name in field_names(definition)}
    return {name + suffix: one for name, one in found.items()}


def named(texts: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Metadata with the names of numbers of a step."""
    return {prefix + plain(name): text for name, text in texts.items()}


def numbers_text(values: Sequence[float]) -> str:
    """Numbers, separated by commas, with all their digits."""
    return ",".join(f"{one:.17g}" for one in values)
