"""Moments at which something is due."""

from __future__ import annotations

import heapq
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


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
    FLOW_LIMIT = 9
    MACHINE = 10
    SCHEDULE = 11
    COST = 12
    NOTICE = 13
    IDLE = 14
    BUDGET = 15
    GUARD = 16


OF_JOBS = frozenset({Due.READY, Due.TIME_LIMIT, Due.DEADLINE, Due.START_DEADLINE, Due.RETRY_WINDOW, Due.COST, Due.IDLE})
"""What is due for a job, and means nothing when the job is over."""

PER_JOB, SPARE = 8, 1024  # timers of jobs that are over are thrown out when there are more than so many a live job


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

    def prune(self, live: int, may_be_due: Callable[[Timer], bool]) -> None:
        """Throw out what means nothing any more, if with `live` jobs there must be much of it."""
        if len(self._heap) > PER_JOB * live + SPARE:
            self._heap = [timer for timer in self._heap if may_be_due(timer)]
            heapq.heapify(self._heap)

    def all(self) -> list[Timer]:
        """Return everything that is due some time, soonest first."""
        return sorted(self._heap)

    def next_us(self) -> int | None:
        """Return the earliest moment at which something may be due."""
        return self._heap[0].at_us if self._heap else None

    def pop_due(self, now_us: int) -> Timer | None:
        """Return and forget the first timer that is due, None if none is."""
        if self._heap and self._heap[0].at_us <= now_us:
            return heapq.heappop(self._heap)
        return None
