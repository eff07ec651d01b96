"""The state of a script in a checkpoint: what `save` returned, stored so that any number of ranks can load it.

A Field is stored like the fields of the flow, an array as a list of its values, and everything else, with the shapes
and types of the arrays, as JSON in the attribute "analysis/NAME".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.fields.field import Field
from tailrace.fields.operators import Operators
from tailrace.fields.points import NODES
from tailrace.flow.checkpoint import OpenCheckpoint, Packed
from tailrace.io import series
from tailrace.io.values import EVERYWHERE, is_everywhere


def check(state: Any) -> dict[str, Any]:
    """The state, in types that can be stored.

    :raises TypeError: it is no dict, or has a value that cannot be stored.
    """
    if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
        raise TypeError(f"save must return a dict with texts as keys; it returned {type(state).__name__}")
    found: dict[str, Any] = {}
    for key, value in state.items():
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, Field):
            if not is_everywhere(plain.dtype) or plain.centred != NODES:
                raise TypeError(f"state '{key}': a field must be on the nodes and of {', '.join(EVERYWHERE)}")
        elif isinstance(plain, np.ndarray):
            if plain.dtype.hasobject:
                raise TypeError(f"state '{key}': an array of Python objects cannot be stored")
        else:
            try:
                json.dumps(plain)
            except (TypeError, ValueError):
                raise TypeError(
                    f"state '{key}' is of type {type(value).__name__}; expected a Field, an array, a number, a text, "
                    "or lists of them"
                ) from None
        found[key] = plain
    return found


def kinds(state: Mapping[str, Any]) -> list[str]:
    """Names and types, which must be the same on all ranks."""
    return [f"{key} ({type(value).__name__})" for key, value in state.items()]


def pack(name: str, step: int | None, state: Mapping[str, Any] | None, operators: Operators) -> Packed:
    """A state for a checkpoint. Fields come from all ranks, everything else from rank 0.

    :param step: the last step that the script has seen.
    """
    blocks, lists = {}, {}
    told: dict[str, Any] = {"step": step}
    if state is not None:
        told["state"] = entries = {}
        for number, (key, value) in enumerate(state.items()):
            place = f"analysis.{name}.{number}"
            if isinstance(value, Field):
                x, y, z = operators.grid.nodes
                sx, sy, sz = operators.box()[0]
                blocks[place] = series.Block(value.data, (x, y, z), (sx, sy, sz))
                entries[key] = {"field": place, "parity": list(value.parity), "name": value.name}
            elif isinstance(value, np.ndarray):
                flat = _flat(value)
                lists[place] = flat if operators.comm.rank == 0 else flat[:0]
                entries[key] = {"array": place, "dtype": value.dtype.str, "shape": list(value.shape)}
            else:
                entries[key] = {"value": value}
    return Packed(blocks, lists, {f"analysis/{name}": json.dumps(told)})


def unpack(name: str, checkpoint: OpenCheckpoint, operators: Operators) -> tuple[int | None, dict[str, Any] | None]:
    """The last step that a script had seen, and its state; None if the checkpoint has no state of it. Collective."""
    text = checkpoint.about.get(f"analysis/{name}")
    if text is None:
        return None, None
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise IoError(f"checkpoint {checkpoint.path}: the state of analysis '{name}' is damaged: {error}") from None
    if "state" not in told:
        return told["step"], None
    state: dict[str, Any] = {}
    for key, entry in told["state"].items():
        if "field" in entry:
            values = checkpoint.read(entry["field"], operators.box())
            x, y, z = entry["parity"]
            state[key] = Field(values, operators, parity=(x, y, z), name=entry["name"])
        elif "array" in entry:
            flat, dtype = checkpoint.read_list(entry["array"]), np.dtype(entry["dtype"])
            count = int(np.prod(entry["shape"]))
            if not is_everywhere(dtype):
                flat = np.frombuffer(flat.tobytes()[: count * dtype.itemsize], dtype)
            state[key] = flat.reshape(entry["shape"]).copy()
        else:
            state[key] = entry["value"]
    return told["step"], state


def whole(packed: list[Packed]) -> Packed:
    """Several states as one."""
    found = Packed({}, {}, {})
    for one in packed:
        found.blocks.update(one.blocks)
        found.lists.update(one.lists)
        found.about.update(one.about)
    return found


def _flat(array: NDArray[Any]) -> NDArray[Any]:
    """The values in one dimension, or their bytes if their type cannot be stored."""
    if is_everywhere(array.dtype):
        return np.ascontiguousarray(array).reshape(-1)
    data = np.ascontiguousarray(array).tobytes()
    return np.frombuffer(data + bytes(-len(data) % 4), np.int32)
