"""fifo: first come, first served."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate


class Fifo:
    """By the moment of submit, which later attempts keep; equal ones by order of entry."""

    name = "fifo"

    def key(self, candidate: Candidate) -> int:
        """Return the moment of submit in microseconds."""
        return candidate.submitted_us
