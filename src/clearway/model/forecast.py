"""How long a job will run, as a distribution of whole numbers, so that whatever follows from it follows again."""

from __future__ import annotations

from bisect import bisect_right

import msgspec

LEVELS = (25, 50, 100, 200, 300, 400, 500, 600, 700, 800, 900, 950, 975)
"""The levels, in thousandths, at which a forecast states a run time."""
WHOLE = 1000
LOW, HALF, HIGH = 100, 500, 900
"""The median, and the ends of the interval that holds 80 % of the runs."""
TAIL_PARTS = 10  # what outlives the last level is expected to go on for a tenth of its run time


class Forecast(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How long a job runs from its start: `quantiles` in microseconds at LEVELS, rising, and the mean.

    `basis` names what it rests on most, `runs` how many past runs that were; `model` is the hash of a trained model.
    """

    quantiles: tuple[int, ...]
    mean_us: int
    basis: str
    runs: int = 0
    model: str = ""

    def at(self, level: int) -> int:
        """Return the run time that is not exceeded with a chance of `level` thousandths; straight between LEVELS."""
        place = bisect_right(LEVELS, level)
        if place in (0, len(LEVELS)):
            return self.quantiles[min(place, len(LEVELS) - 1)]
        below, above = LEVELS[place - 1], LEVELS[place]
        low, high = self.quantiles[place - 1], self.quantiles[place]
        return low + (high - low) * (level - below) // (above - below)

    def passed(self, elapsed_us: int) -> int:
        """Return the chance, in thousandths, that it is over after running so long."""
        place = bisect_right(self.quantiles, elapsed_us)
        if place == 0:
            return LEVELS[0] * elapsed_us // max(self.quantiles[0], 1)
        if place == len(LEVELS):
            return LEVELS[-1]
        below, above = LEVELS[place - 1], LEVELS[place]
        low, high = self.quantiles[place - 1], self.quantiles[place]
        return below + (above - below) * (elapsed_us - low) // (high - low)

    def given(self, elapsed_us: int, level: int) -> int:
        """Return the same as `at` for a job that has run so long and still runs: always more than `elapsed_us`."""
        gone = self.passed(elapsed_us)
        wanted = gone + (WHOLE - gone) * level // WHOLE
        if elapsed_us >= self.quantiles[-1]:
            return elapsed_us + max(elapsed_us // TAIL_PARTS, 1)
        return max(self.at(wanted), elapsed_us + 1)
