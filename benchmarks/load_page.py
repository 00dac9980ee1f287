"""The plots of the load forecasts: what came, what had been forecast a day before, and its interval."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from clearway.observe.report import svg
from clearway.observe.report.page import document

if TYPE_CHECKING:
    from benchmarks.load import Told

WIDTH, HEIGHT, EDGE, POINTS = 1040.0, 190.0, 24.0, 700
SHOWN = ("servegen m-large", "servegen m-small", "helios vcJLV", "helios vcLJZ")
BARS, BAR = 360.0, 16.0


def page(told: list[Told]) -> str:
    """Return the page: gains by row, and the days of a few series."""
    days = [one for one in told if one.horizon == "24 h" and one.series.name in SHOWN]
    body = [
        "<h1>Load forecasts</h1>",
        "<h2>Error beside the better of persistence and same-time-yesterday</h2>",
        _gains(told),
        *(f"<h2>{escape(one.series.name)}, forecast 24 h before</h2>{_days(one)}" for one in days),
    ]
    return document("Load forecasts", body)


def _gains(told: list[Told]) -> str:
    parts = []
    for number, one in enumerate(told):
        y, width = 4 + number * BAR, (1 - one.better) * BARS
        parts.append(svg.text((320, y + BAR - 5), f"{one.series.name}, {one.horizon}", anchor="end"))
        shade = "gain" if width >= 0 else "loss"
        parts.append(svg.rect((330 + min(width, 0), y), (max(abs(width), 1), BAR - 4), shade, one.mostly))
        parts.append(svg.text((336 + max(width, 0), y + BAR - 5), f"{1 - one.better:+.1%} {one.mostly}"))
    return svg.picture(WIDTH, 8 + len(told) * BAR, parts, "gain over the better baseline, by series and horizon")


def _days(one: Told) -> str:
    """Return the second half of a series, each moment with what had been forecast for it."""
    begin = len(one.series) // 2 - (len(one.series) - len(one.judged.came))
    each = max((len(one.judged.came) - begin) // POINTS, 1)
    at = np.arange(max(begin, 0), len(one.judged.came), each)
    at = at[~np.isnan(one.judged.came[at]) & ~np.isnan(one.judged.high[at])]
    top = float(np.max(one.judged.came[at])) * 1.1 or 1.0

    def points(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[svg.Point]:
        span = max(int(at[-1] - at[0]), 1)
        across = [EDGE + (WIDTH - 2 * EDGE) * float(x - at[0]) / span for x in at]
        down = [HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * min(max(float(v), 0.0), top) / top for v in values[at]]
        return list(zip(across, down, strict=True))

    parts = [
        svg.area(points(one.judged.high), points(one.judged.low), "p3 veil", "holds 80 %"),
        svg.polyline(points(one.judged.came), "line p2", "came"),
        svg.polyline(points(one.judged.points), "line p1", "forecast a day before"),
        svg.line((EDGE, HEIGHT - EDGE), (WIDTH - EDGE, HEIGHT - EDGE), "axis"),
        svg.text(
            (EDGE, 14), f"0 to {top:.3g}; area: 80 % interval; lines: what came, and the forecast of the day before"
        ),
    ]
    return svg.picture(WIDTH, HEIGHT, parts, f"{one.series.name}: {one.held:.0%} inside the 80 % interval")
