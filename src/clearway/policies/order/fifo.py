"""fifo: first come, first served."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate


class Fifo:
    """By the moment of submit, which later attempts keep; equal ones by order of entry."""

    name = "fifo"
    timed = False

    def key(self, candidate: Candidate, now_us: int) -> int:  # noqa: ARG002 - stays the same while it waits
        """Return the moment of submit in microseconds."""
        return candidate.submitted_us
