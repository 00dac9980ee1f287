"""How long turns took to decide, minute by minute: medians and 99th percentiles of the last two hours."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from clearway.ports.observer import Heard

MINUTE_US = 60_000_000
MINUTES = 120
STEPS = 8
"""Times are counted in classes, so many in each doubling: what is told is within 5 % of what was."""
_MEDIAN, _P99 = 0.5, 0.99


class Minute(NamedTuple):
    """One minute, which begins at `at_us`: its turns, and how long they took, in milliseconds."""

    at_us: int
    turns: int
    median_ms: float
    p99_ms: float


class Pace:
    """Counts what it hears; one thread writes, any may read."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._minutes: deque[tuple[int, dict[int, int]]] = deque(maxlen=MINUTES)

    def hear(self, turn: Heard) -> None:
        """Count a turn; one without records is in no minute."""
        if not turn.records:
            return
        at_us = turn.records[-1].at_us // MINUTE_US * MINUTE_US
        if not self._minutes or self._minutes[-1][0] < at_us:
            self._minutes.append((at_us, {}))
        counts = self._minutes[-1][1]
        step = round(math.log2(max(turn.decide_us, 1)) * STEPS)
        counts[step] = counts.get(step, 0) + 1

    def minutes(self) -> list[Minute]:
        """Return the minutes in which something was decided, oldest first."""
        return [_told(at_us, counts.copy()) for at_us, counts in self._minutes.copy()]

    def whole(self) -> Minute | None:
        """Return all of them as one; None where nothing was decided."""
        every: dict[int, int] = {}
        minutes = self._minutes.copy()
        for _, counts in minutes:
            for step, many in counts.copy().items():
                every[step] = every.get(step, 0) + many
        return _told(minutes[0][0], every) if every else None


def _told(at_us: int, counts: dict[int, int]) -> Minute:
    turns = sum(counts.values())
    return Minute(at_us, turns, _quantile(counts, turns, _MEDIAN), _quantile(counts, turns, _P99))


def _quantile(counts: dict[int, int], turns: int, part: float) -> float:
    """Return the nearest rank, in milliseconds."""
    left = math.ceil(turns * part)
    for step in sorted(counts):
        left -= counts[step]
        if left <= 0:
            break
    return round(2 ** (step / STEPS) / 1000, 3)
