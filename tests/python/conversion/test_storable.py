"""What a series of an engine cannot store as it is: each is changed or left out, with a note."""

from __future__ import annotations

import math
from typing import Any

import pytest

import tailrace as tr
from tailrace.conversion import storable
from tailrace.core import engine_traits
from tailrace.io.engines import ENGINES

TEXTLESS = next(name for name, traits in ENGINES.items() if traits.stores and not traits.text_lists)
LIMITED = next(name for name, traits in ENGINES.items() if traits.longest_text)


@pytest.mark.parametrize("name", ["ux", "u_1", "a.b", "-1", "9", "A-z"])
def test_names_of_variables(name: str):
    assert storable.is_name(name)


@pytest.mark.parametrize("name", ["", ".a", "a b", "a/b", "u'", "\u00fc"])
def test_what_names_no_variable(name: str):
    assert not storable.is_name(name)


@pytest.mark.parametrize(
    ("name", "value", "engine", "kept", "note"),
    [
        ("a", 3, "hdf5", 3, ""),
        ("a", "text", "hdf5", "text", ""),
        ("a", "", "hdf5", "", ""),
        ("a", [1.5, 2.0], "hdf5", [1.5, 2.0], ""),
        ("ux/units", "m", "hdf5", "m", ""),
        ("a b", 3, "hdf5", None, "the attribute 'a b' is left out: a series takes names of letters"),
        ("ux/a b", 3, "hdf5", None, "the attribute 'ux/a b' is left out"),
        ("a/b/c", 3, "hdf5", None, "the attribute 'a/b/c' is left out"),
        ("a", [], "hdf5", None, "the attribute a is left out: it is an empty list"),
        ("a", "x\0y", "hdf5", None, "the attribute a is left out: it is a text with a character NUL"),
        ("a", ["x", "y\0"], "hdf5", None, "the attribute a is left out: it is a text with a character NUL"),
        ("a", ["x", "y"], "hdf5", ["x", "y"], ""),
        ("a", ["x", "y"], TEXTLESS, "x, y", f"stored as one text: the engine {TEXTLESS} has no lists of texts"),
        ("a", "x, y", TEXTLESS, "x, y", ""),
        ("a", [1, 2], TEXTLESS, [1, 2], ""),
        ("a", math.inf, "hdf5", "inf", "the attribute a is stored as a text: it has numbers that are not finite"),
        ("a", [1.0, math.nan], "hdf5", "1.0, nan", "the attribute a is stored as a text"),
    ],
)
def test_attributes(name: str, value: Any, engine: str, kept: Any, note: str):
    notes: dict[str, None] = {}
    found = storable.attributes({name: value, "after": 1}, engine, notes)
    assert found == ({} if kept is None else {name: kept}) | {"after": 1}
    assert (note in next(iter(notes))) if note else not notes


@pytest.mark.parametrize(
    ("found", "kept", "names", "noted"),
    [
        ({"a": 1.0, "b": "x"}, {"a": 1.0, "b": "x"}, {}, ""),
        ({"a b": 1.0}, {"a.b": 1.0}, {"a.b": "a b"}, "the value 'a b' of a step has the name a.b"),
        ({"/a": 1.0}, {"a": 1.0}, {"a": "/a"}, "has the name a"),
        ({"\u00fc": 1.0}, {"value": 1.0}, {"value": "\u00fc"}, "has the name value"),
        ({"a b": 1.0, "a/b": 2.0}, {"a.b": 1.0}, {"a.b": "a b"}, "the value 'a/b' of a step is left out"),
        ({"a b": 1.0, "a.b": 2.0}, {"a.b": 2.0}, {}, "the value 'a b' of a step is left out: another one has the name"),
        ({"a": "x\0"}, {}, {}, "the value a of a step is left out: it is a text with a character NUL"),
    ],
)
def test_values_of_steps(found: dict[str, Any], kept: dict[str, Any], names: dict[str, str], noted: str):
    known: dict[str, str] = {}
    notes: dict[str, None] = {}
    assert storable.scalars(found, "hdf5", known, notes) == kept and known == names
    assert noted in "; ".join(notes) and bool(notes) == bool(noted)


def test_first_names_are_read_again():
    assert storable.names_of({"renamed": "a.b a b\nc d\n\nnone\n "}) == {"a.b": "a b", "c": "d"}
    assert storable.names_of({}) == {}


def test_a_text_may_be_as_long_as_the_engine_takes():
    most = engine_traits(LIMITED).longest_text
    for text, stays in (("x" * most, True), ("x" * (most + 1), False), ("\u00fc" * (most // 2 + 1), False)):
        notes: dict[str, None] = {}
        assert storable.scalars({"a": text}, LIMITED, {}, notes) == ({"a": text} if stays else {})
        assert ("".join(notes) == "") == stays
        assert storable.attributes({"a": text}, LIMITED, {}) == ({"a": text} if stays else {})


def test_types_that_hold_the_same_values():
    some = {name: set(traits.types) for name, traits in ENGINES.items() if traits.stores}
    for stored, wider in (("bool", "uint8"), ("float16", "float32")):
        for engine in (name for name, types in some.items() if stored not in types and wider in types):
            notes: dict[str, None] = {}
            assert storable.dtype("u", stored, engine, notes) == wider
            assert list(notes) == [f"u: stored as {wider}, which holds its values: the engine {engine} has no {stored}"]
    notes = {}
    assert storable.dtype("u", "float64", "hdf5", notes) == "float64" and not notes
    with pytest.raises(tr.InputError, match=r"u: the engine hdf5 stores no float128, but .*choose another engine"):
        storable.dtype("u", "float128", "hdf5", notes)
