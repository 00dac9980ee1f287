"""f1: a formula learned from simulations of many workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.protocols import UNKNOWN_US, log2_parts

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate

SECOND_US = 1_000_000
SUBMIT_WEIGHT = 870  # of the published formula


class F1:
    """Smaller log10(expected run time) x size + 870 x log10(submit) first. Times in seconds.

    Carastan-Santos and de Camargo: Obtaining dynamic scheduling policies with simulation and machine learning,
    SC 2017, formula F1. Submit counts from the driver's clock; before the first second it counts as 1.
    """

    name = "f1"
    timed = False

    def key(self, candidate: Candidate, now_us: int) -> int:  # noqa: ARG002 - stays the same while it waits
        """Return the score in parts of 2^20, by logarithms to base 2: the order is the same."""
        if candidate.estimate_us is None:
            return UNKNOWN_US
        length = max(candidate.estimate_us // SECOND_US, 1)
        submit = max(candidate.submitted_us // SECOND_US, 1)
        return log2_parts(length) * candidate.processors + SUBMIT_WEIGHT * log2_parts(submit)

    def cost(self, candidate: Candidate, now_us: int) -> int:
        """Return the logarithm to base 2 of the score, in parts of 2^20."""
        return log2_parts(1 + self.key(candidate, now_us))
