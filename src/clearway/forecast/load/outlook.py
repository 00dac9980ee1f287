"""What is forecast now: each horizon by the model that has earned it, with intervals, and how good it has been."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.forecast.load.breaks import IN_A_ROW, Break, load_breaks
from clearway.forecast.load.choice import choose
from clearway.forecast.load.conformal import offsets
from clearway.forecast.load.judged import judge
from clearway.forecast.load.models import MODELS
from clearway.forecast.load.walk import now, walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.forecast.load.models import LoadModel
    from clearway.forecast.load.series import Series
    from clearway.forecast.load.walk import Walk

LEVELS = (0.8, 0.95)


class LoadAhead(NamedTuple):
    """A forecast: a middle, intervals that hold 80 % and 95 %, and the mean past error beside that of persistence.

    `judged`: how many past forecasts that is by. Where it is 0, nothing is known of the errors, and the intervals are
    None: there is too little past.
    """

    horizon_s: float
    model: str
    point: float
    within_80: tuple[float, float] | None
    within_95: tuple[float, float] | None
    error: float
    persistence_error: float
    judged: int


class Outlook(NamedTuple):
    """A forecast for each horizon, and where the past left the interval of 95 % that had been forecast."""

    rows: list[LoadAhead]
    breaks: list[Break]


def ahead(series: Series, horizons_s: Sequence[float], models: Sequence[LoadModel] = MODELS) -> Outlook:
    """Forecast from the last step, for those horizons that are not shorter than a step.

    Steps of breaks count from the beginning of the series.
    """
    steps = {horizon: count for horizon in horizons_s if (count := series.steps(horizon)) is not None}
    if not len(series) or not steps:
        return Outlook([], [])
    walked = walk(series, models, tuple(dict.fromkeys(steps.values())))
    return Outlook([_one(walked, models, horizon, count) for horizon, count in steps.items()], _broken(walked))


def _broken(walked: Walk) -> list[Break]:
    """Return the breaks by a horizon that is longer than what makes one: a shorter forecast has followed it by then."""
    long = [at for at, steps in enumerate(walked.horizons) if steps >= 2 * IN_A_ROW]
    at = long[0] if long else len(walked.horizons) - 1
    judged, later = judge(walked, at, LEVELS[-1]), walked.first + walked.horizons[at]
    found = load_breaks(judged.came, judged.low, judged.high)
    return [one._replace(begin=one.begin + later, noticed=one.noticed + later, end=one.end + later) for one in found]


def _one(walked: Walk, models: Sequence[LoadModel], horizon_s: float, steps: int) -> LoadAhead:
    series, at = walked.series, walked.horizons.index(steps)
    errors = walked.errors(at)
    choice = choose(errors, steps)
    point = now(series, models, choice.model, steps)
    if not choice.judged:
        return LoadAhead(horizon_s, choice.model, point, None, None, 0.0, 0.0, 0)
    mine, base = (float(np.nanmean(errors[name])) for name in (choice.model, "persistence"))
    signed = series.moved(walked.came(at)) - series.moved(walked.points[choice.model][:, at])
    within = [_interval(series, point, *(side[-1] for side in offsets(signed, steps, level))) for level in LEVELS]
    return LoadAhead(horizon_s, choice.model, point, within[0], within[1], mine, base, choice.judged)


def _interval(series: Series, point: float, low: float, high: float) -> tuple[float, float]:
    moved = series.moved(np.array([point]))
    return float(series.back(moved + low)[0]), float(series.back(moved + high)[0])
