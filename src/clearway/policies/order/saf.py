"""saf: the job of the smallest area first, that is of size times expected run time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.protocols import UNKNOWN_US, log2_parts

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate

DEVICE_SECOND = 1000 * 1_000_000
UNKNOWN = UNKNOWN_US << 40


class SmallestAreaFirst:
    """By the devices of the whole job (CPUs where it asks for none) times its expected run time; unknown length last.

    Carastan-Santos, de Camargo, Trystram, Zrigui: One can only gain by replacing EASY backfilling, CCGrid 2019.
    """

    name = "saf"
    timed = False

    def key(self, candidate: Candidate, now_us: int) -> int:  # noqa: ARG002 - stays the same while it waits
        """Return the area in milli-GPU-microseconds, in milli-CPU-microseconds where it asks for no devices."""
        if candidate.estimate_us is None:
            return UNKNOWN
        spec = candidate.spec
        milli = spec.milli_gpus or sum(role.tasks * role.demand.cpus for role in spec.roles)
        return candidate.estimate_us * max(milli, 1)

    def cost(self, candidate: Candidate, now_us: int) -> int:
        """Return the logarithm to base 2 of the area in device seconds, in parts of 2^20."""
        return log2_parts(max(self.key(candidate, now_us) // DEVICE_SECOND, 1))
