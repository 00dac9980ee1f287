"""Windows of the past, as features: how a series stands to what it was, when it is, and what else is known."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from clearway.forecast.load.naive import latest_at_that_time

if TYPE_CHECKING:
    from clearway.forecast.load.series import Floats, Ints, Series

DAYS = 7  # a day of each kind
AROUND = 5  # steps looked at beside each day's moment, within half an hour of it
SAMPLES = 48  # of a day: enough for its middle
LAGS = (1, 2, 3, 6, 12, 24)
WINDOWS = (3, 6, 12, 36)


def middle(rows: Floats, otherwise: Floats) -> Floats:
    """Return the median of each row without its NaN, `otherwise` for rows of nothing else."""
    rows = np.sort(rows, axis=1)
    known = np.sum(~np.isnan(rows), axis=1)
    row = np.arange(len(rows))
    found = (rows[row, np.maximum(known - 1, 0) // 2] + rows[row, np.minimum(known // 2, rows.shape[1] - 1)]) / 2
    odd = known % 2 == 1
    found[odd] = rows[row[odd], known[odd] // 2]
    return np.where(known == 0, otherwise, found)


def taken(values: Floats, at: Ints) -> Floats:
    """Return the values at some steps; NaN before the beginning."""
    return np.where(at < 0, np.nan, values[np.maximum(at, 0)])


def profile(series: Series, origins: Ints, steps: int) -> Floats:
    """Return what is usual at the time of day so many steps ahead: the middle of the last week, half an hour wide.

    `steps` may be 0: what is usual now, by the days before.
    """
    return series.kept("profile", steps, partial(_profile, steps=steps))[origins]


def _profile(series: Series, origins: Ints, steps: int) -> Floats:
    day, wide = series.day, max(series.day // SAMPLES, 1)
    days = -(-steps // day) if steps else 1
    moments = (origins + steps)[:, None] - day * np.arange(days, days + DAYS)[None, :]
    beside = np.unique(np.linspace(-wide, wide, AROUND).round().astype(np.int64))
    at = np.minimum(moments[:, :, None] + beside[None, None, :], origins[:, None, None])
    found = taken(series.level, at.reshape(len(origins), -1))
    return middle(found, series.level[origins])


def level_over(series: Series, origins: Ints, days: int) -> Floats:
    """Return the middle of the last days, of samples of it."""
    return series.kept("level", days, partial(_level_over, days=days))[origins]


def _level_over(series: Series, origins: Ints, days: int) -> Floats:
    each = max(series.day // SAMPLES, 1)
    at = origins[:, None] - np.arange(0, days * series.day, each)[None, :]
    return middle(taken(series.level, at), series.level[origins])


def features(series: Series, origins: Ints, steps: int) -> Floats:
    """Return a row for each origin: windows, the same time on days before, trend, calendar, and what is beside.

    Levels are relative to that of the origin, so that a row looks alike wherever a series stands. What lies before the
    beginning counts as no difference.
    """
    return series.kept("features", steps, partial(_features, steps=steps))[origins]


def _features(series: Series, origins: Ints, steps: int) -> Floats:
    level, now, day = series.level, series.level[origins], series.day
    usual, week = profile(series, origins, steps), level_over(series, origins, DAYS)
    yesterday = taken(level, latest_at_that_time(series, origins, steps))
    columns = [taken(level, origins - lag) - now for lag in LAGS]
    columns += [_mean(level, origins, width) - now for width in (*WINDOWS, day)]
    columns += [
        usual - now,
        profile(series, origins, 0) - now,
        yesterday - now,
        yesterday - taken(level, origins - day),
    ]
    columns += [level_over(series, origins, 1) - week, week - now, now]
    at, turn = origins + steps, 2 * np.pi
    columns += [f(turn * series.of_day(at)) for f in (np.sin, np.cos)]
    columns += [f(turn * series.of_week(at)) for f in (np.sin, np.cos)]
    for column in series.beside.T:
        columns += [column[origins], column[origins] - taken(column, origins - LAGS[-2])]
    return np.nan_to_num(np.stack(columns, axis=1), nan=0.0, posinf=0.0, neginf=0.0)


def _mean(level: Floats, origins: Ints, width: int) -> Floats:
    """Return the mean of the last so many steps, fewer at the beginning."""
    sums = np.concatenate([np.zeros(1), np.cumsum(level)])
    begin = np.maximum(origins + 1 - width, 0)
    return np.asarray((sums[origins + 1] - sums[begin]) / (origins + 1 - begin))
