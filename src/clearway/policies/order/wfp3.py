"""wfp3: waiting relative to length, cubed, times size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.protocols import log2_parts

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate

SECOND_US = 1_000_000


class Wfp3:
    """Larger (waited / expected run time)^3 x size first: nobody waits long for how long it runs.

    Tang, Lan, Desai, Buettner: Fault-aware, utility-based job scheduling on Blue Gene/P systems, CLUSTER 2009.
    A job of unknown length counts as endless. Times in whole seconds, as in the published formula.
    """

    name = "wfp3"
    timed = True

    def key(self, candidate: Candidate, now_us: int) -> int:
        """Return the negated score in millionths."""
        if candidate.estimate_us is None:
            return 0
        waited = (now_us - candidate.submitted_us) // SECOND_US
        length = max(candidate.estimate_us // SECOND_US, 1)
        return -(waited**3 * candidate.processors * SECOND_US // length**3)

    def cost(self, candidate: Candidate, now_us: int) -> int:
        """Return the negated logarithm to base 2 of the score, in parts of 2^20."""
        return -log2_parts(1 - self.key(candidate, now_us))
