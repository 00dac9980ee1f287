"""What forecasts are measured against: what people and schedulers use where nothing forecasts."""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING

from clearway.model.forecast import LEVELS

if TYPE_CHECKING:
    from collections.abc import Hashable

    from clearway.ports.forecaster import Known

Quantiles = tuple[int, ...]
WHOLE = 1000
UNKNOWN_US = 3600 * 10**6
"""What is said before anything has ended: an hour."""


def _group(known: Known) -> Hashable:
    return known.user, known.queue, known.milli_gpus, known.milli_cpus, known.tasks


def _who(known: Known) -> Hashable:
    return known.user or (known.queue, known.milli_gpus, known.milli_cpus, known.tasks)


class Rivals:
    """The four of them, taught by the same ends.

    `last`: as long as the last run of this user (where the past has no users: of this queue and size) that is over.
    `median`: the median of all runs of this user, queue and size that are over; of all runs where there is none.
    `group`: the quantiles of the same runs. `estimate`: what the user said; where nothing was said, the median.
    """

    NAMES = ("last", "median", "group", "estimate")

    def __init__(self) -> None:
        """Begin with nothing known."""
        self._last: dict[Hashable, int] = {}
        self._runs: dict[Hashable, list[int]] = {None: []}

    def learn(self, known: Known, ran_us: int) -> None:
        """Take in a run that is over."""
        self._last[_who(known)] = ran_us
        insort(self._runs.setdefault(_group(known), []), ran_us)
        insort(self._runs[None], ran_us)

    def say(self, known: Known) -> dict[str, Quantiles]:
        """Return the quantiles of each at LEVELS; one that states a single number states it at all of them."""
        runs = self._runs.get(_group(known)) or self._runs[None] or [UNKNOWN_US]
        median = runs[len(runs) // 2]
        points = {
            "last": self._last.get(_who(known), median), "median": median, "estimate": known.asked_us or median,
        }  # fmt: skip
        said: dict[str, Quantiles] = {name: (us,) * len(LEVELS) for name, us in points.items()}
        said["group"] = tuple(runs[min(len(runs) * level // WHOLE, len(runs) - 1)] for level in LEVELS)
        return said
