"""How a walk went: what was forecast at each origin by the model chosen there, with its interval, and what came."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.forecast.load.choice import choices
from clearway.forecast.load.conformal import offsets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.forecast.load.series import Floats
    from clearway.forecast.load.walk import Walk


class Judged(NamedTuple):
    """Columns by origin, for one horizon."""

    models: Sequence[str]
    points: Floats
    low: Floats
    high: Floats
    came: Floats


def judge(walked: Walk, at: int, level: float = 0.8) -> Judged:
    """Go through the origins of a walk: the model chosen by then, and the interval of its errors that were known."""
    starts = [*choices(walked, at)]
    begins = np.array([begin for begin, _ in starts])
    places = np.searchsorted(begins, np.arange(len(walked.origins)), side="right") - 1
    names = np.array([choice.model for _, choice in starts])[places]
    series, came = walked.series, walked.came(at)
    points, low, high = (np.full(len(came), np.nan) for _ in range(3))
    for name in sorted(set(names.tolist())):
        mine = walked.points[name][:, at]
        here, moved = names == name, series.moved(mine)
        lower, upper = offsets(series.moved(came) - moved, walked.horizons[at], level)
        points[here] = mine[here]
        low[here], high[here] = series.back(moved + lower[:-1])[here], series.back(moved + upper[:-1])[here]
    return Judged(names.tolist(), points, low, high, came)
