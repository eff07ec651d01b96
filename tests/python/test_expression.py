"""Expressions of fields: what they are worth, and what they must not have."""

from __future__ import annotations

import numpy as np
import pytest

from tailrace.expression import evaluate, is_expression, names_in

VALUES = {"ux": np.array([1.0, 4.0, 9.0]), "uy": np.array([-1.0, 0.5, 2.0], np.float32)}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5 * (ux**2 + uy**2)", 0.5 * (VALUES["ux"] ** 2 + VALUES["uy"] ** 2)),
        ("sqrt(ux) - -uy / 2", np.sqrt(VALUES["ux"]) + VALUES["uy"] / 2),
        ("maximum(ux, 3 + uy) * pi", np.maximum(VALUES["ux"], 3 + VALUES["uy"]) * np.pi),
        ("ux", VALUES["ux"]),
    ],
)
def test_values(text, value):
    np.testing.assert_allclose(evaluate(text, VALUES.__getitem__), value, rtol=1e-15)


def test_names_and_types():
    assert names_in("sqrt(ux) + uy * ux - pi") == ["ux", "uy"]
    assert is_expression("ux*2") and not is_expression("vorticity_x")
    assert evaluate("2 * uy + 1", VALUES.__getitem__).dtype == np.float32


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ux +", "neither a field nor an expression"),
        ("1 + 2", "names no field"),
        ("ux.__class__", "cannot be used"),
        ("__import__('os')", "there is no function __import__"),
        ("ux if uy else 1", "cannot be used"),
        ("True * ux", "cannot be used"),
        ("'a' * ux", "cannot be used"),
        ("sqrt(ux, uy)", "takes 1 value"),
        ("sqrt(x=ux)", "there is no function sqrt|cannot be used"),
        ("9**9**9**9 * ux", "cannot be computed"),
        ("1 / 0 * ux", "cannot be computed"),
        ("(-1)**0.5 * ux", "not real"),
        ("(" * 600 + "ux" + ")" * 600, "at most 1000 letters"),
        ("(" * 300 + "ux" + ")" * 300, "neither a field"),
    ],
)
def test_what_is_none(text, words):
    with pytest.raises(ValueError, match=words):
        evaluate(text, VALUES.__getitem__)
