"""What any model has to beat: it stays as it is, and it will be as it was at that time yesterday."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.forecast.load.series import Floats, Ints, Series


class Persistence:
    """The last value."""

    name = "persistence"

    def fit(self, past: Series, horizons: Sequence[int]) -> Persistence.Fitted:  # noqa: ARG002 - nothing is learned
        """Return what needs no past."""
        return self.Fitted(len(horizons))

    class Fitted:
        """The last value, at each horizon."""

        def __init__(self, count: int) -> None:
            self._count = count

        def points(self, series: Series, origins: Ints) -> Floats:
            """Return the value at each origin."""
            return np.repeat(series.filled[origins][:, None], self._count, axis=1)


class SameTimeYesterday:
    """The value a day before (the seasonal naive forecast), of more than a day ahead the latest at that time of day."""

    name = "yesterday"

    def fit(self, past: Series, horizons: Sequence[int]) -> SameTimeYesterday.Fitted:  # noqa: ARG002 - as above
        """Return what needs no past."""
        return self.Fitted(tuple(horizons))

    class Fitted:
        """The latest known value at the time of day."""

        def __init__(self, horizons: Sequence[int]) -> None:
            self._horizons = horizons

        def points(self, series: Series, origins: Ints) -> Floats:
            """Return the latest value at each time of day; the last one where that is before the beginning."""
            columns = [latest_at_that_time(series, origins, steps) for steps in self._horizons]
            return np.stack([series.filled[np.where(at < 0, origins, at)] for at in columns], axis=1)


def latest_at_that_time(series: Series, origins: Ints, steps: int) -> Ints:
    """Return the latest known step at the time of day that is so many steps ahead; below 0: there is none."""
    days = -(-steps // series.day)
    return np.asarray(origins + steps - days * series.day)
