"""What a run gives to the consumers that it opens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailrace.fields.operators import Operators
    from tailrace.flow.model import Model


@dataclass(frozen=True)
class Opening:
    """The beginning of a run, fresh or resumed.

    :param model: what is computed; its case says what is wanted.
    :param operators: makes the schemes for fields when they are first needed.
    :param resumed: the step that the run goes on from; None: it starts from the beginning.
    :param provenance: where the results come from, which they store.
    :param say: prints a line on rank 0.
    """

    model: Model
    operators: Callable[[], Operators]
    resumed: int | None
    provenance: Mapping[str, Any]
    say: Callable[[str], None]
