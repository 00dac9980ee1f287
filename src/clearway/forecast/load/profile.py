"""A usual day: the middle of the last week at that time, moved by how today stands to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.forecast.load.rows import LEAST_ROWS, origins_to_learn
from clearway.forecast.load.windows import DAYS, level_over, profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.forecast.load.series import Floats, Ints, Series

KEPT = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
DRIFTS = (0.0, 0.25, 0.5, 0.75)
PLAIN = (0.0, 0.5)  # where the past is too short to tell: nothing of this moment stays, half of the day's level does


class _Parts(NamedTuple):
    usual: Floats
    off: Floats
    drift: Floats

    def at(self, kept: float, drift: float) -> Floats:
        return np.asarray(self.usual + kept * self.off + (1 - kept) * drift * self.drift)


class DailyProfile:
    """usual(then) + kept x (now - usual(now)) + (1 - kept) x drift x (the day's level - the week's).

    `kept` and `drift` are those that would have erred least in the past, for each horizon.
    """

    name = "profile"

    def fit(self, past: Series, horizons: Sequence[int]) -> DailyProfile.Fitted:
        """Try what stays of a deviation."""
        return self.Fitted({steps: _tried(past, steps) for steps in horizons})

    class Fitted:
        """The two shares, by horizon."""

        def __init__(self, shares: dict[int, tuple[float, float]]) -> None:
            self._shares = shares

        def points(self, series: Series, origins: Ints) -> Floats:
            """Return the middle at each horizon."""
            columns = [_parts(series, origins, steps).at(*shares) for steps, shares in self._shares.items()]
            return series.back(np.stack(columns, axis=1))


def _parts(series: Series, origins: Ints, steps: int) -> _Parts:
    return _Parts(
        profile(series, origins, steps),
        series.level[origins] - profile(series, origins, 0),
        level_over(series, origins, 1) - level_over(series, origins, DAYS),
    )


def _tried(past: Series, steps: int) -> tuple[float, float]:
    """Return the two shares that would have erred least, once two days before a moment can be looked at."""
    origins = origins_to_learn(past, steps)
    origins = origins[origins >= 2 * past.day]
    if len(origins) < max(LEAST_ROWS, past.day // 2):
        return PLAIN if len(past) > past.day else (1.0, 0.0)
    parts, came = _parts(past, origins, steps), past.values[origins + steps]
    errors = {
        (kept, drift): float(np.abs(past.back(parts.at(kept, drift)) - came).mean())
        for kept in KEPT
        for drift in DRIFTS
    }
    return min(errors, key=lambda shares: (errors[shares], shares))
