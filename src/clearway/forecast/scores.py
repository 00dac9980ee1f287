"""Scores of forecasts beside what came: error, coverage and sharpness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clearway.model.forecast import LEVELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

HOUR_US = 3600 * 10**6
MONTH_US = 30 * 24 * HOUR_US
FEW = 100
"""A month with fewer jobs is not judged: chance alone moves its coverage by more than eight points."""
INTERVALS = {"80": (100, 900), "95": (25, 975)}
_LEVELS = np.array(LEVELS) / 1000
_PLACE = {level: LEVELS.index(level) for level in LEVELS}


@dataclass(frozen=True)
class Scores:
    """Means over all runs that are judged.

    `pinball` is the mean over LEVELS of the quantile loss of the logarithm of the run time, `pinball_h` of the run time
    in hours; `log_error` the median of the distance between the logarithms of median and run time. `coverage` is by
    interval in per cent, `months` the lowest and the highest of any month; `width` is the mean ratio, as a logarithm,
    of the ends of the 80 % interval: its sharpness. `below` is, for each of LEVELS, the part of the runs that did not
    exceed what was stated at it, in per cent: the closer to the level, the better calibrated.
    """

    jobs: int
    pinball: float
    pinball_h: float
    log_error: float
    coverage: dict[str, float]
    months: dict[str, tuple[float, float]]
    width: float
    below: tuple[float, ...]


def scores(said: Sequence[tuple[int, ...]], ran_us: Sequence[int], at_us: Sequence[int]) -> Scores:
    """Judge forecasts of one run or more, given as quantiles at LEVELS."""
    quantiles, ran = np.maximum(np.array(said, np.float64), 1), np.array(ran_us, np.float64)
    log_said, log_ran = np.log(quantiles), np.log(ran)
    held, months = {}, {}
    month = (np.array(at_us) - min(at_us)) // MONTH_US
    for name, (low, high) in INTERVALS.items():
        inside = (ran >= quantiles[:, _PLACE[low]]) & (ran <= quantiles[:, _PLACE[high]])
        held[name] = 100 * float(inside.mean())
        each = [100 * float(inside[month == m].mean()) for m in np.unique(month) if (month == m).sum() >= FEW]
        months[name] = (min(each, default=held[name]), max(each, default=held[name]))
    width = log_said[:, _PLACE[900]] - log_said[:, _PLACE[100]]
    return Scores(
        len(ran), _pinball(log_said, log_ran), _pinball(quantiles / HOUR_US, ran / HOUR_US),
        float(np.median(np.abs(log_said[:, _PLACE[500]] - log_ran))), held, months, float(width.mean()),
        tuple(100 * float(part) for part in (ran[:, None] <= quantiles).mean(axis=0)),
    )  # fmt: skip


def _pinball(said: NDArray[np.float64], came: NDArray[np.float64]) -> float:
    away = came[:, None] - said
    return float(np.maximum(_LEVELS * away, (_LEVELS - 1) * away).mean())
