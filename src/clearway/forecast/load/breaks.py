"""Load breaks: what comes lies beyond its interval, several steps in a row and on the same side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from clearway.forecast.load.series import Floats

IN_A_ROW = 3
"""One step beyond an interval of 95 % is to be expected each twenty; three in a row on one side are a break."""


class Break(NamedTuple):
    """A break, from the step at which it began to the last one that is beyond.

    `noticed`: the step at which it was a break; before that it might have been chance. `beyond`: how far the furthest
    value is outside its interval.
    """

    side: Literal["above", "below"]
    begin: int
    noticed: int
    end: int
    beyond: float


def load_breaks(values: Floats, low: Floats, high: Floats, in_a_row: int = IN_A_ROW) -> list[Break]:
    """Return the breaks of a series, in their order, by the interval that had been forecast for each step.

    A gap (NaN) neither ends a break nor makes it longer, nor does a step for which nothing was forecast (NaN).
    """
    found: list[Break] = []
    run: list[tuple[int, float]] = []
    side: Literal["above", "below"] = "above"
    for step, (value, lowest, highest) in enumerate(zip(values.tolist(), low.tolist(), high.tolist(), strict=True)):
        if value != value or lowest != lowest or highest != highest:  # noqa: PLR0124 - only NaN is not itself
            continue
        now: Literal["above", "below", "inside"] = (
            "above" if value > highest else "below" if value < lowest else "inside"
        )
        if run and now != side:
            found += _broken(side, run, in_a_row)
            run = []
        if now != "inside":
            side = now
            run.append((step, max(value - highest, lowest - value)))
    return [*found, *_broken(side, run, in_a_row)]


def _broken(side: Literal["above", "below"], run: list[tuple[int, float]], in_a_row: int) -> list[Break]:
    if len(run) < in_a_row:
        return []
    return [Break(side, run[0][0], run[in_a_row - 1][0], run[-1][0], max(beyond for _, beyond in run))]
