"""How a run is: in words and numbers, from what it tells and from what it has written."""

from __future__ import annotations

import time as clock
import tomllib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tailrace.text import duration
from tailrace.text import size as size_of

if TYPE_CHECKING:
    from pathlib import Path

    from .watched_run import WatchedRun

_KEPT = 20  # looks that the rate is of
_SILENT = 60.0  # seconds without a word after which a run may have died
_SHOWN = ("step", "time", "dt", "kinetic_energy", "max_divergence", "cfl")

Row = tuple[str, str]


class RunState:
    """The state of one run. It is looked at once a second, which gives its rate."""

    def __init__(self, run: WatchedRun) -> None:
        self._run = run
        self._seen: list[tuple[float, float, float]] = []  # when it was at which step and time

    def look(self) -> None:
        """Note where the run is now."""
        step, time = self.place()
        seen = self._seen
        if seen and step < seen[-1][1]:  # resumed from an earlier checkpoint
            seen.clear()
        if not seen or seen[-1][1] != step:
            seen.append((clock.monotonic(), step, time))
            del seen[:-_KEPT]

    def place(self) -> tuple[float, float]:
        """The step and the time, as far as they are known."""
        last, facts = self._last(), self._run.facts
        found = (last.get("step", 0.0), last.get("time", 0.0))
        if facts is None or facts.step is None or facts.time is None or not self.is_running:
            return found
        return max(found, (float(facts.step), facts.time))

    def _last(self) -> dict[str, float]:
        table = self._run.main()
        return table.last() if table is not None else {}

    @property
    def is_running(self) -> bool:
        """Whether it tells that it computes, and is not known to have died."""
        facts = self._run.facts
        return facts is not None and facts.state == "running" and not facts.has_died()

    def headline(self) -> str:
        """One line: how it is, where it is, how fast, how long it takes."""
        step, time = self.place()
        parts = [self.state(), f"step {step:.0f}", f"t = {time:.4g}"]
        share, left = self._share(), self._left()
        parts += [f"{share:.0%} done"] if share is not None else []
        parts += [f"{self._rate():.3g} steps/s"] if self._rate() > 0 else []
        parts += [f"{duration(left)} left"] if left is not None else []
        return ", ".join(parts)

    def state(self) -> str:
        """A few words."""
        facts, table = self._run.facts, self._run.main()
        if facts is None:
            return "no rows yet" if table is None else f"last row {duration(_age(table.path))} ago"
        silent = duration(max(clock.time() - facts.told, 0.0))
        if facts.state != "running":
            return facts.state
        if facts.has_died():
            return f"died {silent} ago without a word (its process is gone)"
        return f"no sign of life for {silent}" if clock.time() - facts.told > _SILENT else "running"

    def _end(self) -> tuple[str, float] | None:
        """Where the run ends: at a time, or at a step."""
        facts = self._run.facts
        told = (facts.end if facts is not None else {}) or _end_of(self._run.case)
        found = ((name, told.get(name)) for name in ("time", "step"))
        return next(((name, float(end)) for name, end in found if end is not None), None)

    def _share(self) -> float | None:
        end, (step, time) = self._end(), self.place()
        if end is None or end[1] <= 0:
            return None
        return min((time if end[0] == "time" else step) / end[1], 1.0)

    def _rate(self) -> float:
        if len(self._seen) < 2:
            return 0.0
        (began, first, _), (now, last, _) = self._seen[0], self._seen[-1]
        return (last - first) / max(now - began, 1e-9)

    def _left(self) -> float | None:
        end = self._end()
        if end is None or len(self._seen) < 2:
            return None
        at = {"step": 1, "time": 2}[end[0]]
        (began, *_), (now, *_) = self._seen[0], self._seen[-1]
        first, last = self._seen[0][at], self._seen[-1][at]
        return (end[1] - last) / (last - first) * (now - began) if last > first and end[1] > last else None

    def numbers(self) -> list[Row]:
        """The numbers that tell whether it goes well."""
        facts, last = self._run.facts, dict(self._last())
        if facts is not None and self.is_running:
            now = {"step": facts.step, "time": facts.time, "dt": facts.dt}
            last |= {name: float(value) for name, value in now.items() if value is not None}
        rows = [(name, f"{last[name]:.6g}") for name in _SHOWN if name in last]
        rows += [("steps/s", f"{self._rate():.4g}")] if self._rate() > 0 else []
        left, table = self._left(), self._run.main()
        rows += [("time left", duration(left))] if left is not None else []
        rows += [("last row", f"{duration(_age(table.path))} ago")] if table is not None else []
        return rows

    def machine(self) -> list[Row]:
        """Where it runs."""
        facts = self._run.facts
        if facts is None:
            return []
        rows = [("run", facts.title), ("host", facts.host), ("machine", facts.machine), ("directory", facts.directory)]
        if facts.memory is not None:
            rows.append(("memory of a rank", f"{size_of(facts.memory[0])} to {size_of(facts.memory[2])}"))
        return [row for row in rows if row[1]]

    def phases(self) -> list[tuple[str, tuple[float, float, float], float]]:
        """Where the time goes: phase, least, mean and largest seconds of the ranks, share."""
        facts = self._run.facts
        if facts is None:
            return []
        total = max(facts.elapsed, 1e-9)
        return sorted(((name, one, one[1] / total) for name, one in facts.phases.items()), key=lambda one: -one[2])

    def written(self) -> Iterator[Row]:
        """Outputs, checkpoints, pictures, analyses: what they have done, and the sizes of the files."""
        facts = self._run.facts
        if facts is not None and facts.written:
            yield "all", f"{size_of(facts.written)}, {size_of(facts.written / max(facts.elapsed, 1e-9))}/s"
        for told in [] if facts is None else filter(None, facts.consumers):
            head, *rest = told.items()
            yield f"{head[0]} {head[1]}", ", ".join(f"{what} {_number(what, value)}" for what, value in rest)
        for name, size in sorted(self._run.sizes.items()):
            yield name, size_of(size)

    def warnings(self) -> list[str]:
        """What the run warns of, and files that cannot be read."""
        facts = self._run.facts
        told = [] if facts is None else facts.warnings
        return [*told, *(f"{name}: {text}" for name, text in self._run.problems.items())]

    def log(self) -> list[str]:
        """The lines that the run has printed."""
        return [] if self._run.facts is None else self._run.facts.log

    def case(self) -> str:
        """The text of the case."""
        facts = self._run.facts
        return (facts.case if facts is not None else "") or self._run.case


def _number(what: str, value: int | float | str) -> str:
    if "bytes" in what and not isinstance(value, str):
        return size_of(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _end_of(case: str) -> dict[str, float | None]:
    """Where a case ends."""
    try:
        told = tomllib.loads(case).get("time", {})
    except tomllib.TOMLDecodeError:
        return {}
    return {name: told.get(key) for name, key in (("time", "end"), ("step", "steps")) if _is_number(told.get(key))}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _age(path: Path) -> float:
    try:
        return max(clock.time() - path.stat().st_mtime, 0.0)
    except OSError:
        return 0.0
