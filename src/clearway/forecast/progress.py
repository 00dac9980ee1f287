"""How long a running job will yet take, by its forecast and by how far it says it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.model.forecast import HALF, HIGH, LEVELS, LOW, Forecast
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from collections.abc import Sequence

WHOLE = 1000
UNSTEADY = 300
"""By so many thousandths a pace is taken to be off, either way, at the ends of the interval of 80 %; by twice as many
at the beginning of the work."""
BASIS = "how far it is"


class Told(NamedTuple):
    """How far a job is, by its own word: `step` of `total`; the pace is that since it was at another step.

    `ran_us` is how long it has run, `since_us` how long it had run at `since`: 0 and 0 for its start.
    """

    step: int
    total: int
    ran_us: int
    since: int = 0
    since_us: int = 0

    @property
    def says(self) -> bool:
        """Whether a pace follows from it."""
        return 0 <= self.since < self.step <= self.total and self.since_us < self.ran_us

    @property
    def left_us(self) -> int:
        """What is left at its pace."""
        return (self.ran_us - self.since_us) * (self.total - self.step) // (self.step - self.since)


def remaining(said: Forecast | None, told: Told) -> tuple[int, ...]:
    """Return how much longer a job runs, not exceeded with each chance of LEVELS: microseconds, rising, at least 1.

    What is left at its own pace, give or take some, and what the forecast leaves to a job that has run so long are
    mixed level by level: each counts the more the narrower it is. Without progress it is the forecast alone, without a
    forecast the pace alone; with neither it is nothing.
    """
    if not told.says:
        return () if said is None else _rising([_by_past(said, told, level) for level in LEVELS])
    if said is None:
        return _rising([_by_pace(told, level) for level in LEVELS])
    vague = _square(_by_past(said, told, HIGH) - _by_past(said, told, LOW))
    unsteady = _square(_by_pace(told, HIGH) - _by_pace(told, LOW))
    return _rising(
        [
            (_by_past(said, told, level) * unsteady + _by_pace(told, level) * vague) // (vague + unsteady)
            for level in LEVELS
        ]
    )


def informed(said: Forecast | None, told: Told, elapsed_us: int) -> Forecast:
    """Return the same as a forecast of the whole run of a job that started so long ago; it may have stood still since.

    Nothing shorter than `elapsed_us` is in it, so `Forecast.given` of it is right from now on.
    """
    quantiles = tuple(elapsed_us + us for us in remaining(said, told))
    return Forecast(quantiles, quantiles[LEVELS.index(HALF)], BASIS, 0 if said is None else said.runs)


def _by_past(said: Forecast, told: Told, level: int) -> int:
    return said.given(told.ran_us, level) - told.ran_us


def _by_pace(told: Told, level: int) -> int:
    most = UNSTEADY + UNSTEADY * (told.total - told.step) // (told.total - told.since)
    off = most * (level - HALF) // (HIGH - HALF)
    return told.left_us * (WHOLE + off) // WHOLE if off >= 0 else told.left_us * WHOLE // (WHOLE - off)


def _square(width_us: int) -> int:
    """Return the square of a width, in seconds; at least one."""
    return max((width_us // SECOND_US) ** 2, 1)


def _rising(quantiles: Sequence[int]) -> tuple[int, ...]:
    found: list[int] = []
    for one in quantiles:
        found.append(max(one, found[-1] if found else 1))
    return tuple(found)
