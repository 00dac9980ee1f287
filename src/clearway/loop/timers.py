"""Moments at which something is due."""

from __future__ import annotations

import heapq
from enum import IntEnum
from typing import NamedTuple


class Due(IntEnum):
    """What is due. At one moment they are taken in this order."""

    READY = 0
    TIME_LIMIT = 1
    DEADLINE = 2
    START_DEADLINE = 3
    RETRY_WINDOW = 4
    LEASE = 5
    PROMISE = 6
    VICTIM = 7
    BOOKING = 8


class Timer(NamedTuple):
    """Something due: for a job and its attempt, or for a node."""

    at_us: int
    due: Due
    number: int
    attempt: int = 0


class Timers:
    """A heap of timers. One that no longer applies is noticed when its moment comes."""

    def __init__(self) -> None:
        """Begin empty."""
        self._heap: list[Timer] = []

    def add(self, timer: Timer) -> None:
        """Have something due."""
        heapq.heappush(self._heap, timer)

    def next_us(self) -> int | None:
        """Return the earliest moment at which something may be due."""
        return self._heap[0].at_us if self._heap else None

    def pop_due(self, now_us: int) -> Timer | None:
        """Return and forget the first timer that is due, None if none is."""
        if self._heap and self._heap[0].at_us <= now_us:
            return heapq.heappop(self._heap)
        return None
