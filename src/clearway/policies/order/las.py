"""las: least attained service first, in two dimensions: device time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.protocols import LOG_PARTS

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate

QUEUE_US = 3600 * 1_000_000 * 1000  # one GPU-hour in milli-GPU-microseconds: jobs below it are all equal
LEVELS = 16  # levels double: 1, 2, 4 .. GPU-hours; nobody needs more to tell jobs apart


class LeastAttained:
    """By the device time a job has had so far, in doubling levels; equal ones by the next order.

    Levels instead of exact amounts keep jobs of like service from passing one another all the time
    (Gu et al., Tiresias, NSDI 2019).
    """

    name = "las"
    timed = False

    def key(self, candidate: Candidate, now_us: int) -> int:  # noqa: ARG002 - stays the same while it waits
        """Return the level of device time attained: 0 below one GPU-hour, then one more each time it doubles."""
        return min((candidate.attained // QUEUE_US).bit_length(), LEVELS)

    def cost(self, candidate: Candidate, now_us: int) -> int:
        """Return the level in parts of 2^20: one is one doubling of the device time that it has had."""
        return self.key(candidate, now_us) << LOG_PARTS
