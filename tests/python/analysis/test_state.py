"""What `save` of a script returns: checked, packed for a checkpoint, and the same again."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace.analysis import state
from tailrace.core import IoError
from tailrace.flow.checkpoint import CheckpointStore, OpenCheckpoint, State
from tailrace.io import series


@pytest.fixture(scope="module")
def ops():
    return tr.Operators((8, 9, 10), (1.0, 2.0, 3.0), ("periodic", "free-slip", "periodic"), comm=MPI.COMM_SELF)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "save must return a dict with texts as keys; it returned NoneType"),
        ([1], "it returned list"),
        ({1: 2}, "it returned dict"),
        ({"a": np.array([None])}, "state 'a': an array of Python objects cannot be stored"),
        ({"a": 1j}, "state 'a' is of type complex; expected a Field, an array, a number, a text, or lists of them"),
        ({"a": {1, 2}}, "state 'a' is of type set"),
        ({"a": [np.zeros(2)]}, "state 'a' is of type list"),
    ],
)
def test_what_cannot_be_stored_is_named(given, said):
    with pytest.raises(TypeError, match=said):
        state.check(given)


def test_a_list_in_itself_is_named():
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(TypeError, match="state 'a' is of type list"):
        state.check({"a": circle})


def test_fields_are_on_nodes_and_of_a_stored_type(ops):
    f = tr.Field.from_function(ops, 1.0)
    for wrong in (f.like(f.data > 0), tr.interpolate(f, "x", "centre")):
        with pytest.raises(TypeError, match="state 'a': a field must be on the nodes and of float32, float64, int32"):
            state.check({"a": wrong})
    assert state.check({"a": f}) == {"a": f}


def test_kinds_are_names_and_types():
    found = state.check({"n": np.int64(3), "a": np.zeros(2), "t": "x", "b": True})
    assert type(found["n"]) is int
    assert state.kinds(found) == ["n (int)", "a (ndarray)", "t (str)", "b (bool)"]


def stored(path: Path, packed: state.Packed) -> OpenCheckpoint:
    """A checkpoint with these states."""
    store = CheckpointStore(path, 2, MPI.COMM_SELF)
    velocity = {f"u{axis}": series.Block(np.zeros((10, 9, 8)), (8, 9, 10)) for axis in "xyz"}
    store.write(State(4, 0.5, 1, 1, "none", 1), {**velocity, **packed.blocks}, dict(packed.about), packed.lists)
    return store.newest(print)


def test_a_state_comes_back_as_it_was(ops, tmp_path):
    f = tr.Field.from_function(ops, lambda x, y, z: x + 2 * y + 3 * z, parity=(1, -1, 1))
    given = {
        "field": f.like(f.data, name="own"),
        "count": 3,
        "text": "a \u00fc",
        "list": [1, 2.5, "x", None],
        "real": np.arange(6.0).reshape(2, 3),
        "single": np.arange(3, dtype=np.float32),
        "bytes": np.arange(5, dtype=np.uint8),
        "flags": np.array([[True], [False], [True]]),
        "complex": np.array(1 + 2j),
        "words": np.array(["ab", "c"]),
        "turned": np.arange(6.0).reshape(2, 3).T,
        "nothing": np.zeros((0, 3)),
    }
    first = state.pack("one", 4, state.check(given), ops)
    second = state.pack("two", None, None, ops)
    packed = state.whole([first, second])
    assert sorted(packed.about) == ["analysis/one", "analysis/two"]
    assert len(packed.blocks) == 1
    assert len(packed.lists) == 8
    checkpoint = stored(tmp_path, packed)
    step, found = state.unpack("one", checkpoint, ops)
    assert step == 4
    assert list(found) == list(given)
    for key, value in given.items():
        if isinstance(value, np.ndarray):
            assert (found[key].dtype, found[key].shape) == (value.dtype, value.shape), key
            np.testing.assert_array_equal(found[key], value)
            assert found[key].flags.writeable
        elif key != "field":
            assert found[key] == value
    np.testing.assert_array_equal(found["field"].data, f.data)
    assert (found["field"].parity, found["field"].name) == (f.parity, "own")
    assert state.unpack("two", checkpoint, ops) == (None, None)
    assert state.unpack("three", checkpoint, ops) == (None, None), "of which it tells nothing"


def test_a_damaged_text_is_named(ops):
    for text in ("{", "[" * 100_000):
        checkpoint = SimpleNamespace(path="checkpoints/step-00000004", about={"analysis/one": text})
        with pytest.raises(IoError, match="checkpoints/step-00000004: the state of analysis 'one' is damaged: "):
            state.unpack("one", checkpoint, ops)  # type: ignore[arg-type]
    checkpoint.about["analysis/one"] = json.dumps({"step": 7})
    assert state.unpack("one", checkpoint, ops) == (7, None)  # type: ignore[arg-type]
