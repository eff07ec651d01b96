"""What a page asks of a run: a part of a field, small enough for a screen."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

_LONGEST = 200  # characters of the name of a field, which may be an expression
_KINDS = ("plane", "box")


@dataclass(frozen=True)
class Wanted:
    """A part of a field at the last step.

    :param kind: "plane": at one node of a direction; "box": all of it, with few points.
    :param field: a field, a vector (its size), or what follows from the velocity.
    :param axis: the direction normal to a plane: x, y or z.
    :param node: of a plane, along `axis`; None: the middle.
    """

    kind: Literal["plane", "box"]
    field: str
    axis: str = "z"
    node: int | None = None

    @property
    def name(self) -> str:
        """A name for the file of its answer."""
        return hashlib.sha256(self.told().encode()).hexdigest()[:20]

    def told(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def read(cls, told: Any) -> Self | None:
        """What was told, as JSON has it; None where it is something else."""
        if not isinstance(told, dict) or set(told) != {"kind", "field", "axis", "node"}:
            return None
        kind, field, axis, node = told["kind"], told["field"], told["axis"], told["node"]
        is_field = isinstance(field, str) and 0 < len(field) <= _LONGEST
        is_node = node is None or (type(node) is int and 0 <= node < 2**31)
        good = kind in _KINDS and is_field and axis in ("x", "y", "z") and is_node
        return cls(kind, field, axis, node) if good else None
