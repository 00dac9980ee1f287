"""Intervals from past errors: quantiles of the latest at the same horizon, wider after misses, narrower after none.

Conformal prediction for series (Gibbs and Candès, 2021): each bound aims at a rate of misses, and moves the quantile
that it takes when it turns out to miss too often or too seldom. Two things are changed for horizons of many steps:

- An error is known only when its horizon has passed, so a bound hears late; the longer, the smaller its steps, or it
  would swing. Where even the largest error of the past is too small, it goes beyond.
- The errors of overlapping horizons are nearly the same error. So many steps of history count for far fewer errors
  than they are, and the quantile for few of them is further out.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np
from sortedcontainers import SortedList

if TYPE_CHECKING:
    from clearway.forecast.load.series import Floats

STEP = 0.03  # how far one miss moves the quantile, at most
DELAYED = 0.4  # and how far all those move it of which nothing is known yet
HALF = 0.5  # no bound is on the far side of the middle
BEYOND = 0.1  # the furthest step past the largest error: this many below rate 0
STRETCH = 10.0  # at -0.1 a bound is twice as far out as the largest error
LEAST_KEPT, HORIZONS_KEPT = 500, 7
OVERLAP = 3.0  # errors count for so many in each horizon's length


class Bounds:
    """The two bounds of one horizon, as offsets to the point."""

    def __init__(self, level: float, steps: int) -> None:
        """Aim at holding a share `level` of what comes, so many steps ahead."""
        self._aim = (1 - level) / 2
        self._low = self._high = self._aim
        self._move = min(STEP, DELAYED / steps)
        self._kept = max(LEAST_KEPT, HORIZONS_KEPT * steps)
        self._apart = min(OVERLAP / steps, 1.0)
        self._latest: deque[float] = deque()
        self._sorted: SortedList[float] = SortedList()

    def offsets(self) -> tuple[float, float]:
        """Return the offsets now; before the first error nothing is known: zero."""
        if not self._sorted:
            return 0.0, 0.0
        low = self._sorted[-1 - self._place(self._low)] * self._stretch(self._low)
        high = self._sorted[self._place(self._high)] * self._stretch(self._high)
        return min(low, 0.0), max(high, 0.0)

    def _place(self, rate: float) -> int:
        """Return which error from the near end has a share `rate` beyond it."""
        count = len(self._sorted)
        within = (1 - max(rate, 0.0)) * (1 + 1 / (count * self._apart))
        return min(int(np.ceil(within * count)) - 1, count - 1)

    @staticmethod
    def _stretch(rate: float) -> float:
        return 1.0 + STRETCH * max(-rate, 0.0)

    def learn(self, error: float, low: float, high: float) -> None:
        """Take in an error (what came minus the point), and the offsets that had been given for it."""
        self._low = self._moved(self._low, missed=error < low)
        self._high = self._moved(self._high, missed=error > high)
        self._latest.append(error)
        self._sorted.add(error)
        if len(self._latest) > self._kept:
            self._sorted.remove(self._latest.popleft())

    def _moved(self, rate: float, *, missed: bool) -> float:
        return min(max(rate + self._move * (self._aim - missed), -BEYOND), HALF)


def offsets(errors: Floats, steps: int, level: float) -> tuple[Floats, Floats]:
    """Return the offsets of both bounds at each origin, and after the last one, from signed errors by origin.

    The error of an origin is known `steps` later; NaN where it never will be.
    """
    bounds = Bounds(level, steps)
    found = np.zeros((len(errors) + 1, 2))
    for origin in range(len(errors) + 1):
        known = origin - steps
        if known >= 0 and not np.isnan(errors[known]):
            bounds.learn(float(errors[known]), *found[known])
        found[origin] = bounds.offsets()
    return found[:, 0], found[:, 1]
