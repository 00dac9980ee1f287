"""largest: the largest job first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.protocols import log2_parts

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate


class LargestFirst:
    """By the devices of the whole job, then its CPUs: large jobs are hardest to place."""

    name = "largest"
    timed = False

    def key(self, candidate: Candidate, now_us: int) -> int:  # noqa: ARG002 - stays the same while it waits
        """Return the negated size: milli-GPU of all tasks, milli-CPU where it asks for no devices."""
        spec = candidate.spec
        return -(spec.milli_gpus << 40) - sum(role.tasks * role.demand.cpus for role in spec.roles)

    def cost(self, candidate: Candidate, now_us: int) -> int:  # noqa: ARG002 - stays the same while it waits
        """Return the negated logarithm to base 2 of the size (devices, else CPUs), in parts of 2^20."""
        return -log2_parts(candidate.processors)
