"""priority: the larger number first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate


class Priority:
    """By the job's `priority`, larger first."""

    name = "priority"
    timed = False

    def key(self, candidate: Candidate, now_us: int) -> int:  # noqa: ARG002 - stays the same while it waits
        """Return the negated priority."""
        return -candidate.priority
