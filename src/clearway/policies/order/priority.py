"""priority: the larger number first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.protocols import LOG_PARTS

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate


class Priority:
    """By the job's `priority`, larger first. With `ageing_us` it rises by 1 at every such tick of the clock.

    All that wait rise at the same ticks, so their order among one another never moves and the key stays the same: it
    counts from the tick at which a job began to wait. Time in which it held a place is no waiting; what it had gained
    before stays. (Kleinrock, A delay dependent queue discipline, 1964.)
    """

    name = "priority"
    timed = False

    def __init__(self, ageing_us: int | None = None) -> None:
        """Raise by one after so long, None never."""
        self.ageing_us = ageing_us

    def key(self, candidate: Candidate, now_us: int) -> int:  # noqa: ARG002 - stays the same while it waits
        """Return the negated priority, and with it the tick from which on it rises."""
        if self.ageing_us is None:
            return -candidate.priority
        return candidate.waiting_since_us // self.ageing_us - candidate.priority

    def cost(self, candidate: Candidate, now_us: int) -> int:
        """Return the key in parts of 2^20: one point of priority is one."""
        return self.key(candidate, now_us) << LOG_PARTS

    def clock(self, now_us: int) -> int:
        """Return the tick that it is: what is shown is the priority with what age gave it."""
        return 0 if self.ageing_us is None else now_us // self.ageing_us << LOG_PARTS
