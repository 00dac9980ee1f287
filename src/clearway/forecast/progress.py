"""How long a running job will yet take, by its forecast and by how far it says it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model.forecast import LEVELS

if TYPE_CHECKING:
    from clearway.model.forecast import Forecast

WHOLE, HALF = 1000, 500
UNSTEADY = 4
"""A fourth of what is left, times the part of the work that is left, may a pace be off."""


def remaining_us(said: Forecast, elapsed_us: int, level: int, step: int = 0, total: int = 0) -> int:
    """Return how much longer a job runs, not exceeded with a chance of `level` thousandths; at least a microsecond.

    `step` of `total`: as far as it says it is. What is left at its own pace and what its forecast leaves are weighed by
    the part that is done: at the beginning the forecast speaks, at the end the pace. Around the pace lies an interval
    that closes with it. Without progress it is the forecast given that it has run so long.
    """
    by_past = said.given(elapsed_us, level) - elapsed_us
    if not 0 < step <= total or elapsed_us <= 0:
        return by_past
    left_us = elapsed_us * (total - step) // step
    spread = (level - HALF) * (total - step) // total * 2 // UNSTEADY
    by_pace = left_us * (WHOLE + spread) // WHOLE
    return max(1, (by_past * (total - step) + by_pace * step) // total)


def remaining(said: Forecast, elapsed_us: int, step: int = 0, total: int = 0) -> tuple[int, ...]:
    """Return the same at each of LEVELS, rising."""
    found: list[int] = []
    for level in LEVELS:
        found.append(max(remaining_us(said, elapsed_us, level, step, total), found[-1] if found else 1))
    return tuple(found)
