"""sjf: the shortest job first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.protocols import UNKNOWN_US, log2_parts

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate

SECOND_US = 1_000_000


class ShortestFirst:
    """By the expected run time (estimate, else limit); jobs of unknown length last."""

    name = "sjf"
    timed = False

    def key(self, candidate: Candidate, now_us: int) -> int:  # noqa: ARG002 - stays the same while it waits
        """Return the expected run time in microseconds."""
        return UNKNOWN_US if candidate.estimate_us is None else candidate.estimate_us

    def cost(self, candidate: Candidate, now_us: int) -> int:
        """Return the logarithm to base 2 of the expected run time in seconds, in parts of 2^20."""
        return log2_parts(max(self.key(candidate, now_us) // SECOND_US, 1))
