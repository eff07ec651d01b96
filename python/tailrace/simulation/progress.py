"""The progress of a run while it computes, and tables of its time when it ends.

On a terminal: a bar and a line of numbers, drawn again in place. Elsewhere: plain lines, few of them.
"""

from __future__ import annotations

import math
import sys
import time as clock
from collections import deque
from collections.abc import Callable, Mapping
from typing import Self, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live as RichLive
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tailrace.text import duration, is_terminal, message, size

_WINDOW = 10.0  # seconds over which the speed is taken
_QUIET = 10.0  # seconds between plain lines, at least
_SHORT = 5.0  # seconds of a run that says little about the machine
_MUCH = 0.2  # of the time without a processor


class Live:
    """The progress of a run, as a context manager, on one rank.

    :param total_steps: the step at which the run ends; None if unknown.
    :param end: the time at which it ends, for the progress if the number of steps is unknown.
    :param first_time: the time at which this run starts.
    :param stream: the output; standard output by default. If it is not a terminal, lines are plain: one at every tenth
        of the run, or after ten seconds, and fewer the longer it runs.
    :param first_step: the step from which this run starts (that of its checkpoint).
    :param now: the clock, in seconds; for tests.
    """

    def __init__(
        self,
        total_steps: int | None,
        stream: TextIO | None = None,
        *,
        first_step: int = 0,
        end: float | None = None,
        first_time: float = 0.0,
        now: Callable[[], float] = clock.monotonic,
    ) -> None:
        self._stream = stream if stream is not None else sys.stdout
        self._console = Console(file=self._stream, highlight=False, force_terminal=is_terminal(self._stream))
        self._total, self._first, self._now = total_steps, first_step, now
        self._end, self._first_time = end, first_time
        self._step, self._time, self._dt = first_step, first_time, 0.0
        self._energy = self._divergence = self._cfl = math.nan
        self._io_bytes = 0
        self._recent: deque[tuple[float, int, float]] = deque()  # clock, step, share
        self._live: RichLive | None = None
        self._started = self._last_line = now()
        self._last_tenth = 0

    def __enter__(self) -> Self:
        self._started = self._last_line = self._now()
        self._recent.append((self._started, self._first, 0.0))
        if self._console.is_terminal:
            self._live = RichLive(
                get_renderable=self._render, console=self._console, refresh_per_second=4, transient=True
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()
        if self._step > self._first:
            self._console.print(self._plain(), soft_wrap=True)

    def update(
        self,
        step: int,
        time: float,
        dt: float,
        *,
        energy: float | None = None,
        divergence: float | None = None,
        cfl: float | None = None,
        io_bytes: int | None = None,
    ) -> None:
        """Show the state after a step. Cheap enough for every step; values that are not given stay unchanged.

        :param energy: volume-averaged kinetic energy.
        :param divergence: max |div u| L / U.
        :param io_bytes: bytes written since the run started, over all ranks.
        """
        self._step, self._time, self._dt = step, time, dt
        self._energy = self._energy if energy is None else energy
        self._divergence = self._divergence if divergence is None else divergence
        self._cfl = self._cfl if cfl is None else cfl
        self._io_bytes = self._io_bytes if io_bytes is None else io_bytes
        now = self._now()
        self._recent.append((now, step, self._share()))
        while len(self._recent) > 2 and self._recent[0][0] < now - _WINDOW:
            self._recent.popleft()
        if not self._live and self._worth_a_line(now):
            self._console.print(self._plain(), soft_wrap=True)
            self._stream.flush()

    def message(self, text: str) -> None:
        """Print a line above the progress."""
        self._console.print(Text(message(text)), soft_wrap=True)
        self._stream.flush()

    def _worth_a_line(self, now: float) -> bool:
        tenth = int(10 * self._share())
        # A night of lines every ten seconds would be four thousand lines.
        if tenth == self._last_tenth and now - self._last_line < max(_QUIET, (now - self._started) / 20):
            return False
        if self._share() >= 1:  # the last line says it
            return False
        self._last_tenth, self._last_line = tenth, now
        return True

    def _share(self) -> float:
        if self._total is not None:
            done, all_of_it = float(self._step - self._first), float(self._total - self._first)
        elif self._end is not None:
            done, all_of_it = self._time - self._first_time, self._end - self._first_time
        else:
            return 0.0
        return min(1.0, done / all_of_it) if all_of_it > 0 else 0.0

    def _left(self) -> float:
        """Seconds to the end, at the speed of the last seconds; 0 if unknown."""
        (earlier, _, first), (later, _, last) = self._recent[0], self._recent[-1]
        return (1 - last) * (later - earlier) / (last - first) if last > first else 0.0

    def _speed(self) -> float:
        (earlier, first, _), (later, last, _) = self._recent[0], self._recent[-1]
        return (last - first) / (later - earlier) if later > earlier else 0.0

    def _numbers(self) -> dict[str, str]:
        elapsed = self._now() - self._started
        speed = self._speed()
        numbers = {"t": f"{self._time:.4f}", "dt": f"{self._dt:.3g}"}
        for name, value, form in (
            ("energy", self._energy, ".6f"),
            ("max div", self._divergence, ".1e"),
            ("CFL", self._cfl, ".2f"),
        ):
            if not math.isnan(value):
                numbers[name] = f"{value:{form}}"
        numbers["steps/s"] = f"{speed:.3g}"
        if self._io_bytes and elapsed > 0:
            numbers["I/O"] = f"{size(self._io_bytes / elapsed)}/s"
        if (left := self._left()) > 0:
            numbers["left"] = duration(left)
        return numbers

    def _of(self) -> str:
        return f"{self._step}/{self._total}" if self._total else f"{self._step}"

    def _plain(self) -> Text:
        share = f" ({self._share():.0%})" if self._total or self._end else ""
        return Text(
            f"step {self._of()}{share}  " + "  ".join(f"{name} {text}" for name, text in self._numbers().items())
        )

    def _render(self) -> RenderableType:
        line = Text(overflow="ellipsis", no_wrap=True)
        for name, text in self._numbers().items():
            line.append(f"{name} ", style="dim").append(f"{text}   ")
        known = self._total or self._end
        head = Table.grid(padding=(0, 1))
        head.add_row(
            Text("step", style="dim"),
            Text(self._of(), style="bold"),
            ProgressBar(total=1.0, completed=self._share(), width=40) if known else Text(""),
            Text(f"{self._share():.0%}" if known else "", style="bold"),
        )
        return Group(head, line)


def summary_table(phases: Mapping[str, tuple[float, float, float]], total: float, stream: TextIO | None = None) -> None:
    """Print a table of the time: phases by their share, and the rest.

    :param phases: name -> (min, mean, max) over the ranks, in seconds. No phase contains another.
    :param total: wall-clock seconds of the run.
    """
    stream = stream if stream is not None else sys.stdout
    console = Console(file=stream, highlight=False, force_terminal=is_terminal(stream))
    length = duration(total) if total >= 10 else f"{total:.2f} s"
    table = Table(title=f"Where the {length} went", title_justify="left", box=None, padding=(0, 2))
    table.add_column("phase")
    for column in ("min s", "mean s", "max s", "share"):
        table.add_column(column, justify="right")
    for name, (low, mean, high) in sorted(phases.items(), key=lambda item: -item[1][1]):
        table.add_row(name, f"{low:.2f}", f"{mean:.2f}", f"{high:.2f}", _share(mean, total))
    rest = total - sum(mean for _, mean, _ in phases.values())
    table.add_row("the rest", "", f"{max(0.0, rest):.2f}", "", _share(max(0.0, rest), total), style="dim")
    console.print(table)


def busy_processors(waited: float, total: float) -> str:
    """A line where ranks had to wait for a processor; "" where that hardly matters.

    :param waited: seconds of the rank that waited most, of `total`.
    """
    if total < _SHORT or waited < _MUCH * total:
        return ""
    return (
        f"note: a rank waited {_share(min(waited, total), total)} of the time for a processor, and the others for it: "
        "other programs ran here, as those that draw pictures, or more ranks than cores; without them the run is faster"
    )


def _share(part: float, total: float) -> str:
    return f"{part / total:.1%}" if total > 0 else "-"
