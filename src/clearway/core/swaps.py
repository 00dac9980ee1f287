"""Exchanges: which jobs were stopped for which, and which of these pairs are left alone for a while.

A pair that is seen exchanging is frozen: whoever was stopped twice for one job is not stopped for it a third time
within an hour of the first. Nothing that the other laws overlook can so become an endless circle. Time slices are
exchanges that are wanted: they do not count.
"""

from __future__ import annotations

from typing import NamedTuple

from clearway.model.ids import JobId  # noqa: TC001 - snapshots read it at run time

FROZEN_US = 3_600_000_000
NEVER_US = -1


class Swap(NamedTuple):
    """The last two stops of a job for one taker, NEVER_US where there was one only. What one cycle stops is one."""

    taker: JobId
    first_us: int
    last_us: int
    cycle: int


Swaps = tuple[Swap, ...]


def noted(swaps: Swaps, taker: JobId, at_us: int, cycle: int) -> Swaps:
    """Return the exchanges with one more; those that can freeze nothing any more are left out."""
    before = next((swap for swap in swaps if swap.taker == taker), None)
    if before is not None and before.cycle == cycle:
        return swaps
    rest = [swap for swap in swaps if swap.taker != taker and swap.last_us + FROZEN_US > at_us]
    return (*rest, Swap(taker, NEVER_US if before is None else before.last_us, at_us, cycle))


def frozen_until(swaps: Swaps, taker: JobId, now_us: int) -> int | None:
    """Return until when a job is not stopped for a taker again, None if it may be."""
    for swap in swaps:
        if swap.taker == taker and swap.first_us != NEVER_US and swap.first_us + FROZEN_US > now_us:
            return swap.first_us + FROZEN_US
    return None
