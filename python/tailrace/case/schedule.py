"""When something is due: every n steps, after equal intervals of simulation time, or at given times.

A schedule has no memory: its answers depend on the step and the time alone, so that a resumed run continues the same
rhythm. The times of a schedule are met exactly: `next_step` shortens a step where that is needed. All is local.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Sequence

# Two times closer than this share of a step are the same time. The sum of a million steps has a rounding error of about
# 1e-9 of a step; at every scheduled time `next_step` takes that time itself, which removes the error.
SAME_TIME = 1e-6
_SAME_SHARE = 1e-9  # the same as a share of the interval, where the step changes


class Schedule:
    """A rhythm: exactly one of `every` (steps), `interval` (time) and `times` (a list of growing times).

    `every` and `interval` count from step 0 and time 0: the initial state is the first that is due.

    :param dt: the nominal time step, which sets the tolerance within which two times are the same. None: the step
        changes, and the tolerance is a share of the interval, or of the smallest distance of two of the times.
    :raises ValueError: not exactly one rhythm, or a value that is not positive.
    """

    def __init__(
        self,
        *,
        every: int | None = None,
        interval: float | None = None,
        times: Sequence[float] | None = None,
        dt: float | None,
    ) -> None:
        rhythms = {"every": every, "interval": interval, "times": times}
        given = [name for name, value in rhythms.items() if value is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"a schedule takes exactly one of every, interval and times; found {found}")
        for name, value in (("every", every), ("interval", interval), ("dt", dt)):
            if value is not None and not value > 0:
                raise ValueError(f"{name} of a schedule must be greater than 0; found {value!r}")
        self.every = every
        self.interval = interval
        self.times = None if times is None else tuple(sorted(times))
        self._tolerance = SAME_TIME * dt if dt is not None else _SAME_SHARE * self._distance()

    def _distance(self) -> float:
        """The smallest distance of two scheduled times; 0 for a rhythm in steps."""
        if self.interval is not None:
            return self.interval
        gaps = [later - earlier for earlier, later in itertools.pairwise((0.0, *(self.times or ())))]
        return min((gap for gap in gaps if gap > 0), default=0.0)

    def due(self, step: int, time: float) -> bool:
        """Whether the state after `step` steps, at `time`, is one that the schedule asks for."""
        if self.every is not None:
            return step % self.every == 0
        if self.interval is not None:
            return abs(time - self.interval * round(time / self.interval)) <= self._tolerance
        assert self.times is not None
        at = bisect.bisect_left(self.times, time - self._tolerance)
        return at < len(self.times) and self.times[at] <= time + self._tolerance

    def next_time(self, time: float) -> float | None:
        """The first scheduled time after `time`; None where there is none, and for a rhythm in steps."""
        if self.interval is not None:
            # Multiples are computed, not added up: the thousandth time is as exact as the first.
            count = math.floor((time + self._tolerance) / self.interval) + 1
            return self.interval * count
        if self.times is not None:
            at = bisect.bisect_right(self.times, time + self._tolerance)
            return self.times[at] if at < len(self.times) else None
        return None


def next_step(time: float, dt: float, targets: Iterable[float | None]) -> tuple[float, float]:
    """Size of the next step and the time after it, so that no target is passed.

    A target that the full step reaches up to rounding does not change the step (the results stay those of a run without
    targets), and only sets the time to the target, so that rounding errors do not add up.

    :param time: the time now.
    :param dt: the nominal step.
    :param targets: times that must be met: `Schedule.next_time` of each output, the end of the run; None is skipped.
    :returns: (step, time after the step).
    """
    nearest = min((target for target in targets if target is not None and target > time), default=math.inf)
    gap = nearest - time
    if gap > dt * (1.0 + SAME_TIME):
        return dt, time + dt
    if gap >= dt * (1.0 - SAME_TIME):
        return dt, nearest
    return gap, nearest
