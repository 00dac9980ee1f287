"""Load by boosted trees (LightGBM) on windows, calendar, trend and the mix of tasks, for the median of the move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lightgbm
import numpy as np

from clearway.forecast.load.rows import LEAST_ROWS, moves, origins_to_learn
from clearway.forecast.load.windows import features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.forecast.load.series import Floats, Ints, Series

ROUNDS = 60
OPTIONS = {
    "objective": "l1",
    "learning_rate": 0.05,
    "num_leaves": 8,
    "min_data_in_leaf": LEAST_ROWS,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "seed": 1,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}
"""Small trees and few of them: a series has a few thousand rows that are much alike."""


class Boosted:
    """A `forecast.load.LoadModel`."""

    name = "boosted"
    refit = 2
    """A rolling evaluation grows it for every second part only."""

    def fit(self, past: Series, horizons: Sequence[int]) -> Boosted.Fitted:
        """Grow the trees of each horizon."""
        return self.Fitted({steps: _grown(past, steps) for steps in horizons})

    class Fitted:
        """Trees by horizon; none where the past was too short."""

        def __init__(self, trees: dict[int, lightgbm.Booster | None]) -> None:
            self._trees = trees

        def points(self, series: Series, origins: Ints) -> Floats:
            """Return the level with the move that is expected."""
            now = series.level[origins]
            columns = [
                now if trees is None else now + np.asarray(trees.predict(features(series, origins, steps)))
                for steps, trees in self._trees.items()
            ]
            return series.back(np.stack(columns, axis=1))


def _grown(past: Series, steps: int) -> lightgbm.Booster | None:
    origins = origins_to_learn(past, steps)
    if len(origins) < 2 * LEAST_ROWS:
        return None
    rows = lightgbm.Dataset(features(past, origins, steps), moves(past, origins, steps))
    return lightgbm.train(OPTIONS, rows, ROUNDS)
