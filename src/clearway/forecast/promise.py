"""What holds a forecaster to its word: the levels at which it reads its distributions move until they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.forecast.grid import Masses, points
from clearway.model.forecast import LEVELS

if TYPE_CHECKING:
    from clearway.model.forecast import Forecast

STEP = 0.003
ONE_SIDED = 0.1
"""Intervals are widened and narrowed at both ends alike; a leaning to one side is followed so much more slowly."""
FIRST_RUNS = 10
MIDDLE = 0.5
LEAST = 0.0005


class Promise:
    """Levels that are moved after each run by what it had been told.

    Adaptive conformal inference (Gibbs and Candes, "Adaptive Conformal Inference Under Distribution Shift", 2021), for
    each interval around the median: one that has held too often becomes narrower by a step, one that has not wider by
    as many steps as make the promised share right in the long run, whatever comes.
    """

    def __init__(self) -> None:
        """Begin with levels as they are meant."""
        self.meant = points(LEVELS)
        self.levels = self.meant.copy()
        self.runs = 0

    def read(self) -> Masses:
        """Return the levels at which a distribution is to be read, rising."""
        return np.maximum.accumulate(self.levels)

    def learn(self, said: Forecast, ran_us: int, *, whole: bool) -> None:
        """Take in what a run had been told; of one that was broken off only what is known of it counts."""
        quantiles = np.array(said.quantiles)
        over = np.where(self.meant < MIDDLE, quantiles > ran_us, quantiles >= ran_us)  # what is at an end is inside
        held = over.astype(np.float64)
        if not whole:
            gone = said.passed(ran_us) / 1000
            held[over] = (self.meant[over] - gone).clip(0) / (1 - gone)
        missed = self.meant - held
        both, one = (missed - missed[::-1]) / 2, (missed + missed[::-1]) / 2
        self.runs += 1
        self.levels += max(STEP, 0.1 / (self.runs + FIRST_RUNS)) * (both + ONE_SIDED * one)
        np.clip(self.levels, LEAST, 1 - LEAST, out=self.levels)
