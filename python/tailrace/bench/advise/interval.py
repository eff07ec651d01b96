"""How often to write a checkpoint: the intervals of Young (1974) and Daly (2006).

J. W. Young, A first order approximation to the optimum checkpoint interval, Communications of the ACM 17 (1974) 530.
J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, Future Generation Computer
Systems 22 (2006) 303.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

HOUR = 3600.0
MOST = 500.0  # failures during one interval: hardly any interval ends, and exp would overflow


@dataclass(frozen=True)
class Interval:
    """Seconds of computation between two checkpoints, and what they cost."""

    cost: float  # seconds of a checkpoint
    failure: float  # mean seconds between two failures of the job
    young: float
    daly: float

    @property
    def lost(self) -> float:
        """The share of the time that is lost with Daly's interval."""
        return lost_share(self.daly, self.cost, self.failure)


def interval_of(cost: float, failure: float) -> Interval:
    """The intervals for checkpoints of `cost` seconds on a machine that fails every `failure` seconds.

    :raises ValueError: a number is not positive.
    """
    if not cost > 0 or not failure > 0:
        raise ValueError(f"expected a cost and a time between failures above 0 s (found {cost:g} s and {failure:g} s)")
    return Interval(cost, failure, young(cost, failure), daly(cost, failure))


def young(cost: float, failure: float) -> float:
    """sqrt(2 C M), in seconds; good if C is much smaller than M."""
    return math.sqrt(2 * cost * failure)


def daly(cost: float, failure: float) -> float:
    """Equation (37) of Daly, in seconds; M if a checkpoint takes 2 M or longer."""
    if cost >= 2 * failure:
        return failure
    ratio = cost / (2 * failure)
    return young(cost, failure) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - cost


def lost_share(interval: float, cost: float, failure: float, restart: float = 0.0) -> float:
    """The share of the time of a run that is no progress, with failures as a Poisson process; between 0 and 1.

    The time for `interval` seconds of progress is M exp(R / M) (exp((interval + C) / M) - 1), Daly's equation (20).
    """
    if interval + cost + restart > MOST * failure:
        return 1.0
    needed = failure * math.exp(restart / failure) * math.expm1((interval + cost) / failure)
    return 1 - interval / needed
