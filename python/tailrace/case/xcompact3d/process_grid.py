"""The process grid of an input of Xcompact3D on another number of ranks than it was written for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailrace.case.document import override_key

if TYPE_CHECKING:
    from tailrace.case.case import Case


def fitted(case: Case, ranks: int, overrides: Sequence[str]) -> tuple[Case, list[str]]:
    """The case on this number of ranks: p_row and p_col that do not fit are chosen, which a note says. Local.

    :param overrides: those of the case; a number that they give is meant for these ranks, and stays.
    """
    rows, cols = case.parallel.rows, case.parallel.cols
    given = {override_key(override) for override in overrides}
    if _fits(ranks, rows, cols) or given & {"parallel.rows", "parallel.cols"}:
        return case, []
    chosen = case.model_copy(update={"parallel": case.parallel.model_copy(update={"rows": 0, "cols": 0})})
    note = f"BasicParam.p_row = {rows} and p_col = {cols} do not fit {ranks} rank(s): the process grid is chosen"
    return chosen, [f"{note} (or give it by --set parallel.rows=... --set parallel.cols=...)"]


def _fits(ranks: int, rows: int, cols: int) -> bool:
    """Whether there is a process grid with these numbers; 0 stands for any."""
    return rows * cols == ranks if rows and cols else ranks % (rows or cols or 1) == 0
