"""Run times as places on a scale of equal ratios, and distributions as masses in its bins."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from collections.abc import Sequence

Masses = NDArray[np.float64]
"""A mass for each bin. They need not sum to one."""

BINS = 512  # one is 3.9 % wider than the one before
SHORTEST_US = SECOND_US // 10
LONGEST_US = 365 * 24 * 3600 * SECOND_US
RATIO = LONGEST_US / SHORTEST_US
EDGES_US = tuple(round(SHORTEST_US * RATIO ** (place / BINS)) for place in range(BINS + 1))
"""The ends of the bins. The first also takes what is shorter, the last what is longer."""
MIDDLES_US = np.array([round(SHORTEST_US * RATIO ** ((place + 0.5) / BINS)) for place in range(BINS)], np.float64)
SPREAD = (0.04, 0.08, 0.76, 0.08, 0.04)
"""What one run says of the bins around its own: few things take the same time twice."""
REACH = len(SPREAD) // 2
KEPT = 1000  # results are rounded to so many parts, so that the last digits of a machine's arithmetic do not show
_PLACES = np.arange(BINS + 1, dtype=np.float64)


def bin_of(us: int) -> int:
    """Return the bin of a run time."""
    return min(max(bisect_right(EDGES_US, us) - 1, 0), BINS - 1)


def within(us: int, place: int) -> float:
    """Return where in its bin a run time lies, from 0 to 1."""
    low, high = EDGES_US[place], EDGES_US[place + 1]
    part: float = (us - low) / (high - low)
    return min(max(part, 0.0), 1.0)


def _spread_rows() -> Masses:
    rows = np.zeros((BINS, BINS))
    for place in range(BINS):
        for step, part in enumerate(SPREAD):
            rows[place, min(max(place + step - REACH, 0), BINS - 1)] += part
    return rows


ROWS = _spread_rows()
"""For each bin the masses that one run in it stands for; what would fall off an end stays there."""


def places_at(masses: Masses, levels: Masses) -> list[float]:
    """Return the places at levels from 0 to 1: the bin, and as its fraction the part of the bin's mass below."""
    sums = np.concatenate(((0.0,), np.cumsum(masses)))
    found: list[float] = np.interp(levels * sums[-1], sums, _PLACES).tolist()
    return found


def mean_us(masses: Masses, limit_us: int | None) -> int:
    """Return the mean of run times that end at the limit at the latest."""
    middles = MIDDLES_US if limit_us is None else np.minimum(MIDDLES_US, limit_us)
    return rounded(float(masses @ middles) / float(masses.sum()))


def beyond(masses: Masses, us: int) -> Masses:
    """Return what remains of a distribution for a run that has outlived `us`, with a sum of one."""
    first = min(bin_of(us) + 1, BINS - 1)
    rest = np.zeros(BINS)
    rest[first:] = masses[first:] + np.exp2(-np.arange(BINS - first) / HALVES_AFTER) * ALWAYS
    rest /= rest.sum()
    return rest


HALVES_AFTER = 18  # bins, in which a run time doubles: what nobody knows outlives the double with a chance of one half
ALWAYS = 1e-6


def rounded(us: float) -> int:
    """Return a run time to about one part in a thousand, at least a microsecond."""
    step = 1
    while us >= step * KEPT * 10:
        step *= 10
    return max(1, round(us / step) * step)


def points(levels: Sequence[int]) -> Masses:
    """Return levels in thousandths as parts of one."""
    return np.array(levels, np.float64) / KEPT
