"""What is known of each pool in memory: what waits, who works, and how many workers it is worth."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

MOST_WORKERS = 256
"""Of one pool; more would not be fed by one controller."""
MOST_WAITING = 2
"""So many workers of a pool may wait for a place at once: when one starts the next is asked for."""
WORTH_US = 500_000
"""A worker is worth having for so much work."""
FIRST_GUESS_US = 100_000
"""How long a call is expected to take of which nothing is known."""
SHARE_US = 50_000
"""A worker is handed so much work at once: more would wait there while others are idle."""
MOST_IN_HAND = 512
SMOOTH = 8
DETACHED = ":detached"


@dataclass
class Job:
    """A lease of a worker: a job. `attempt`: that of the process that spoke last, 0 before one did."""

    pool: int
    attempt: int = 0
    told: set[int] = field(default_factory=set)
    """Recipes that the process knows."""
    stop: list[int] = field(default_factory=list)
    held: int = 0
    idle_since_us: int | None = None
    leaving: bool = False


class Standing(NamedTuple):
    """How a pool stands: whose calls it has (names of functions), how many could start, run; workers that are there."""

    pool: int
    functions: tuple[str, ...]
    pending: int
    running: int
    workers: int


@dataclass
class Pool:
    """Workers that are alike. `pending` calls can start now; `left` are items of maps of which no call is made yet."""

    id: int
    words: str
    actor: str | None = None
    over: bool = False
    """It is an actor that has ended for good."""
    over_us: int | None = None
    pending: int = 0
    left: int = 0
    held: int = 0
    maps: deque[int] = field(default_factory=deque)
    jobs: dict[int, Job] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)
    """Workers that are asked for and have no job yet: the number of each request."""
    mean_us: int = FIRST_GUESS_US
    early_ends: int = 0
    """So many workers in a row ended before they took a call."""
    refusals: int = 0
    """So many requests for a worker in a row were refused."""
    not_before_us: int = 0

    @property
    def busy(self) -> bool:
        """Whether there are calls, workers or requests for some."""
        return bool(self.pending or self.left or self.held or self.jobs or self.asked)

    @property
    def detached(self) -> bool:
        """Whether it is an actor that outlives its program."""
        return self.actor is not None and self.actor.endswith(DETACHED)

    @property
    def backlog(self) -> int:
        """How many calls could start, if there were workers."""
        return self.pending + self.left

    @property
    def started(self) -> int:
        """How many workers have spoken."""
        return sum(job.attempt > 0 for job in self.jobs.values())

    def took(self, us: int) -> None:
        """Learn how long a call took."""
        self.mean_us = smoothed(self.mean_us, us)

    def share(self, room: int) -> int:
        """How many calls a worker with so much room is handed now."""
        if self.actor is not None:
            return room
        worth = max(1, SHARE_US // max(self.mean_us, 1))
        even = -(-self.backlog // max(self.started, 1))
        return max(1, min(room, worth, even, MOST_IN_HAND))

    def more(self, now_us: int, fed: int = MOST_WORKERS) -> int:
        """How many workers are to be asked for now, where its rate keeps `fed` at work."""
        there = len(self.jobs) + len(self.asked)
        if now_us < self.not_before_us:
            return 0
        if self.actor is not None:
            return int(self.backlog > 0 and not there and not self.over)
        waiting = there - self.started
        work_us = (self.backlog + self.held) * self.mean_us
        wanted = min(MOST_WORKERS, fed, self.backlog + self.held, max(1, -(-work_us // WORTH_US)))
        return max(0, min(wanted - there, MOST_WAITING - waiting)) if self.backlog else 0


def smoothed(before_us: int, us: int) -> int:
    """Return a mean that has learned one more."""
    return before_us + (us - before_us) // SMOOTH
