"""priority: the larger number first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate


class Priority:
    """By the job's `priority`, larger first."""

    name = "priority"

    def key(self, candidate: Candidate) -> int:
        """Return the negated priority."""
        return -candidate.spec.priority
