"""fifo: first come, first served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.protocols import LOG_PARTS

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate

HOUR_US = 3600 * 1_000_000


class Fifo:
    """By the moment of submit, which later attempts keep; equal ones by order of entry."""

    name = "fifo"
    timed = False

    def key(self, candidate: Candidate, now_us: int) -> int:  # noqa: ARG002 - stays the same while it waits
        """Return the moment of submit in microseconds."""
        return candidate.submitted_us

    def cost(self, candidate: Candidate, now_us: int) -> int:  # noqa: ARG002 - stays the same while it waits
        """Return the moment of submit in hours, in parts of 2^20."""
        return (candidate.submitted_us << LOG_PARTS) // HOUR_US

    def clock(self, now_us: int) -> int:
        """Return now in hours: what is shown is how long ago."""
        return (now_us << LOG_PARTS) // HOUR_US
