"""The numbers of the page: where each run is, what it has written, its case."""

from __future__ import annotations

import time as clock
import tomllib
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from bokeh.models import Div

from tailrace.text import duration
from tailrace.text import size as size_of

from .stored_choice import plain

if TYPE_CHECKING:
    from pathlib import Path

    from .watched_run import WatchedRun

_KEPT = 20  # rows that the rate is of
_SHOWN = ("step", "time", "dt", "kinetic_energy", "max_divergence", "cfl")


class StatePanel:
    """A text for one viewer, which screen readers read too."""

    def __init__(self, runs: Sequence[WatchedRun]) -> None:
        self._runs = runs
        self._seen: dict[str, list[tuple[float, float, float]]] = {}  # of each run: when it was at which step and time
        self.root = Div(text="", sizing_mode="stretch_width")

    def update(self) -> None:
        """Tell the last rows."""
        text = "".join(self._told(run) for run in self._runs)
        if text != self.root.text:
            self.root.text = text

    def _told(self, run: WatchedRun) -> str:
        table = run.main()
        rows: list[tuple[str, str]] = []
        if table is not None:
            last = table.last()
            rows += [(name, f"{last[name]:.6g}") for name in _SHOWN if name in last]
            rows += [("last row", f"{duration(_age(table.path))} ago")]
            if {"step", "time"} <= last.keys():
                rows += self._speed(run, last["step"], last["time"])
        rows += [(name, size_of(size)) for name, size in sorted(run.sizes.items())]
        rows += [(f"problem: {name}", text) for name, text in run.problems.items()]
        lines = "".join(f"<tr><th scope=row>{plain(name)}</th><td>{plain(value)}</td></tr>" for name, value in rows)
        case = f"<details><summary>case</summary><pre>{escape(run.case)}</pre></details>" if run.case else ""
        return f"<h2>{plain(run.name)}</h2><table>{lines}</table>{case}"

    def _speed(self, run: WatchedRun, step: float, time: float) -> list[tuple[str, str]]:
        """How fast the run is since the page was opened, and when it ends at that rate."""
        seen = self._seen.setdefault(run.name, [])
        if seen and step < seen[-1][1]:  # resumed from an earlier checkpoint
            seen.clear()
        if not seen or seen[-1][1] != step:
            seen.append((clock.monotonic(), step, time))
            del seen[:-_KEPT]
        (began, first_step, first_time), (now, _, _) = seen[0], seen[-1]
        if step <= first_step:
            return []
        rows = [("steps/s", f"{(step - first_step) / (now - began):.4g}")]
        end = _end(run.case)
        done, first = (time, first_time) if end and end[0] == "time" else (step, first_step)
        if end and done < end[1]:
            rows.append(("time left", duration((end[1] - done) / (done - first) * (now - began))))
        return rows


def _end(case: str) -> tuple[str, float] | None:
    """Where a run ends: at a time, or at a step."""
    try:
        told = tomllib.loads(case).get("time", {})
    except tomllib.TOMLDecodeError:
        return None
    found = next((name for name in ("end", "steps") if isinstance(told.get(name), int | float)), None)
    return None if found is None else ({"end": "time", "steps": "step"}[found], float(told[found]))


def _age(path: Path) -> float:
    try:
        return max(clock.time() - path.stat().st_mtime, 0.0)
    except OSError:
        return 0.0
