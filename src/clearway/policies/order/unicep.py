"""unicep: waiting relative to length and to the logarithm of size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.protocols import log2_parts

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate


class Unicep:
    """Larger waited / (log2(size) x expected run time) first: small and short jobs gain fastest.

    Tang et al., CLUSTER 2009. A job of one processor counts as size 2, as its logarithm would be 0; a job of
    unknown length counts as endless.
    """

    name = "unicep"
    timed = True

    def key(self, candidate: Candidate, now_us: int) -> int:
        """Return the negated score in parts of 2^32."""
        if candidate.estimate_us is None:
            return 0
        waited = now_us - candidate.submitted_us
        return -((waited << 52) // (log2_parts(max(candidate.processors, 2)) * max(candidate.estimate_us, 1)))

    def cost(self, candidate: Candidate, now_us: int) -> int:
        """Return the negated logarithm to base 2 of the score, in parts of 2^20."""
        return -log2_parts(1 - self.key(candidate, now_us))
