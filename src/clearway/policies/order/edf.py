"""edf: the earliest deadline first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.protocols import UNKNOWN_US

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate


class EarliestDeadlineFirst:
    """By the deadline; jobs without one last (Liu and Layland 1973)."""

    name = "edf"
    timed = False

    def key(self, candidate: Candidate, now_us: int) -> int:  # noqa: ARG002 - stays the same while it waits
        """Return the moment of the deadline in microseconds."""
        return UNKNOWN_US if candidate.spec.deadline_us is None else candidate.spec.deadline_us
