"""Which devices Ray gives out, worked out beforehand: the very ones that were decided are to be held in its ledger.

Ray takes whole devices from the lowest number on, and a share from the device where least is left after it. Where that
would not be what was decided, all that is free is held for a moment, one piece after another, and let go again where it
was decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WHOLE = 1000


def pick(free: Sequence[int], count: int, share: int) -> tuple[int, ...] | None:
    """Return the devices that Ray gives to a demand of `count` devices, or a share of one, where so much is free."""
    if share < WHOLE:
        fits = [(left - share, number) for number, left in enumerate(free) if left >= share]
        return (min(fits)[1],) if fits and count == 1 else None
    whole = [number for number, left in enumerate(free) if left == WHOLE]
    return tuple(whole[:count]) if len(whole) >= count else None


def pieces(free: Sequence[int], wanted: Sequence[int], share: int) -> list[tuple[int, int]]:
    """Return what to hold first, device and amount, so that Ray gives what is wanted; [] where it does anyway.

    In this order each piece comes from the device that is named: one before it with as much left is held by then.
    """
    if pick(free, len(wanted), share) == tuple(sorted(wanted)):
        return []
    return [(number, left) for number, left in enumerate(free) if left]
