"""Rolling origin: every model predicts each part of a past from what came before it, then learns that too."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.forecast.load.models import Fitted, LoadModel
    from clearway.forecast.load.series import Floats, Ints, Series

PARTS = 14  # a series is predicted in so many parts
FIRST = 2  # parts that are only learned from
LEAST_STEPS = 24
MIDDLE = "middle"
MIDDLE_OF = ("profile", "seasonal-ar", "ridge", "boosted")
"""Of those of them that are there, the median is one more forecast: models that err differently err less together."""


class Walk(NamedTuple):
    """What each model would have predicted at each origin, knowing what came up to it.

    `begins`: the first origin of each part; `points`: by model, a row for each origin from `first` on.
    """

    series: Series
    horizons: tuple[int, ...]
    first: int
    begins: tuple[int, ...]
    points: dict[str, Floats]

    @property
    def origins(self) -> Ints:
        """The origins in their order, one a step."""
        return np.arange(self.first, len(self.series), dtype=np.int64)

    def came(self, at: int) -> Floats:
        """Return what came at the horizon with this index, by origin; NaN where nobody knows."""
        steps = self.horizons[at]
        later = self.series.values[self.first + steps :]
        return np.concatenate([later, np.full(len(self.origins) - len(later), np.nan)])

    def errors(self, at: int) -> dict[str, Floats]:
        """Return the absolute errors by model and origin, NaN where nobody knows."""
        came = self.came(at)
        return {name: np.abs(came - points[:, at]) for name, points in self.points.items()}


def walk(series: Series, models: Sequence[LoadModel], horizons: Sequence[int]) -> Walk:
    """Go through a past. A model whose `refit` is n is fitted for every n-th part only."""
    each = max(len(series) // PARTS, 1)
    first = min(max(FIRST * each, LEAST_STEPS), max(len(series) - 1, 0))
    begins = tuple(range(first, len(series), each))
    points: dict[str, list[Floats]] = {model.name: [] for model in models}
    fitted: dict[str, Fitted] = {}
    for number, begin in enumerate(begins):
        end = min(begin + each, len(series))
        past, seen = series.until(begin), series.until(end)
        for model in models:
            if model.name not in fitted or number % getattr(model, "refit", 1) == 0:
                fitted[model.name] = model.fit(past, horizons)
            points[model.name].append(fitted[model.name].points(seen, np.arange(begin, end, dtype=np.int64)))
    stacked = {name: np.concatenate(parts) for name, parts in points.items()}
    together = [stacked[name] for name in MIDDLE_OF if name in stacked]
    if together:
        stacked[MIDDLE] = np.median(np.stack(together), axis=0)
    return Walk(series, tuple(horizons), first, begins, stacked)


def now(series: Series, models: Sequence[LoadModel], name: str, steps: int) -> float:
    """Return what a model forecasts from the last step, fitted on all that is known; `name` may be the middle."""
    last = np.array([len(series) - 1], dtype=np.int64)
    asked = MIDDLE_OF if name == MIDDLE else (name,)
    points = [model.fit(series, (steps,)).points(series, last)[0, 0] for model in models if model.name in asked]
    return float(np.median(points))
