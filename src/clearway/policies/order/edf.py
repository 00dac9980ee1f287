"""edf: the earliest deadline first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.protocols import LOG_PARTS, UNKNOWN_US

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate

HOUR_US = 3600 * 1_000_000
YEAR_US = 365 * 24 * HOUR_US


class EarliestDeadlineFirst:
    """By the deadline; jobs without one last (Liu and Layland 1973)."""

    name = "edf"
    timed = False

    def key(self, candidate: Candidate, now_us: int) -> int:  # noqa: ARG002 - stays the same while it waits
        """Return the moment of the deadline in microseconds."""
        return UNKNOWN_US if candidate.spec.deadline_us is None else candidate.spec.deadline_us

    def cost(self, candidate: Candidate, now_us: int) -> int:  # noqa: ARG002 - stays the same while it waits
        """Return the deadline in hours, in parts of 2^20; a job without one counts as due a year after its submit."""
        due = candidate.spec.deadline_us
        return ((candidate.submitted_us + YEAR_US if due is None else due) << LOG_PARTS) // HOUR_US

    def clock(self, now_us: int) -> int:
        """Return now in hours: what is shown is how long it still is."""
        return (now_us << LOG_PARTS) // HOUR_US
