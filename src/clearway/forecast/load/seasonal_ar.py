"""Seasonal autoregression of changes, by least squares: an ARIMA(p,1,0)(1,1,0) that predicts each horizon directly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.forecast.load.naive import latest_at_that_time
from clearway.forecast.load.rows import LEAST_ROWS, moves, origins_to_learn
from clearway.forecast.load.windows import taken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.forecast.load.series import Floats, Ints, Series

ORDER = 6
RIDGE = 1e-3  # of the squares of a column: keeps equal columns solvable


class SeasonalAr:
    """The change to come, from the last changes and the one that followed at this time on the day before."""

    name = "seasonal-ar"

    def fit(self, past: Series, horizons: Sequence[int]) -> SeasonalAr.Fitted:
        """Solve for the weights of each horizon."""
        return self.Fitted({steps: _weights(past, steps) for steps in horizons})

    class Fitted:
        """Weights by horizon; none where the past was too short."""

        def __init__(self, weights: dict[int, Floats | None]) -> None:
            self._weights = weights

        def points(self, series: Series, origins: Ints) -> Floats:
            """Return the level with the change that is expected."""
            now = series.level[origins]
            columns = [
                now if weights is None else now + _rows(series, origins, steps) @ weights
                for steps, weights in self._weights.items()
            ]
            return series.back(np.stack(columns, axis=1))


def _rows(series: Series, origins: Ints, steps: int) -> Floats:
    level = series.level
    changes = [taken(level, origins - lag) - taken(level, origins - lag - 1) for lag in range(ORDER)]
    then = latest_at_that_time(series, origins, steps)
    before = taken(level, then)
    seasonal = [before - level[origins], before - taken(level, then - steps)]
    return np.nan_to_num(np.stack([*changes, *seasonal, np.ones(len(origins))], axis=1))


def _weights(past: Series, steps: int) -> Floats | None:
    origins = origins_to_learn(past, steps)
    if len(origins) < LEAST_ROWS:
        return None
    rows, came = _rows(past, origins, steps), moves(past, origins, steps)
    squares = rows.T @ rows
    ridge = RIDGE * np.diag(np.diag(squares)) + 1e-9 * np.eye(len(squares))
    return np.asarray(np.linalg.solve(squares + ridge, rows.T @ came))
