"""A ridge on windows, calendar and trend, for the median: squares weighted so that they become absolute errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.forecast.load.rows import LEAST_ROWS, moves, origins_to_learn
from clearway.forecast.load.windows import features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.forecast.load.series import Floats, Ints, Series

ROUNDS = 15
RIDGE = 20.0
SMALLEST = 0.05  # of the mean move: closer errors count alike, so that no weight grows without bound


class Weights(NamedTuple):
    """What is added to the level: a row of features, centred and scaled, times the weights."""

    mean: Floats
    scale: Floats
    weights: Floats

    def moves(self, rows: Floats) -> Floats:
        """Return the expected moves."""
        scaled = np.clip((rows - self.mean) / self.scale, -5, 5)
        return np.asarray(np.concatenate([scaled, np.ones((len(rows), 1))], axis=1) @ self.weights)


class Linear:
    """Iteratively reweighted least squares with a ridge (Huber, 1964)."""

    name = "ridge"

    def fit(self, past: Series, horizons: Sequence[int]) -> Linear.Fitted:
        """Solve for the weights of each horizon."""
        return self.Fitted({steps: _solved(past, steps) for steps in horizons})

    class Fitted:
        """Weights by horizon; none where the past was too short."""

        def __init__(self, weights: dict[int, Weights | None]) -> None:
            self._weights = weights

        def points(self, series: Series, origins: Ints) -> Floats:
            """Return the level with the move that is expected."""
            now = series.level[origins]
            columns = [
                now if weights is None else now + weights.moves(features(series, origins, steps))
                for steps, weights in self._weights.items()
            ]
            return series.back(np.stack(columns, axis=1))


def _solved(past: Series, steps: int) -> Weights | None:
    origins = origins_to_learn(past, steps)
    if len(origins) < LEAST_ROWS:
        return None
    rows, came = features(past, origins, steps), moves(past, origins, steps)
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    table = np.concatenate([np.clip((rows - mean) / scale, -5, 5), np.ones((len(rows), 1))], axis=1)
    least = max(SMALLEST * float(np.abs(came).mean()), 1e-9)
    ridge = RIDGE * np.diag([*np.ones(table.shape[1] - 1), 1e-6]) / least
    weights = np.zeros(table.shape[1])
    for _ in range(ROUNDS):
        each = 1 / np.maximum(np.abs(came - table @ weights), least)
        squares = (table * each[:, None]).T @ table
        weights = np.linalg.solve(squares + ridge, table.T @ (each * came))
    return Weights(mean, scale, weights)
