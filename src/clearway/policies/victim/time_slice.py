"""time_slice: jobs of equal standing take turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.core.protocols import Shares, Taker, Victim
    from clearway.core.queues import Amounts


class TimeSlice:
    """After its quantum a job that saves its work may be stopped for a waiting one of the same queue and priority.

    One without checkpoints would begin anew at each turn and never end: it is left alone.
    """

    name = "time_slice"
    by_wishes = False

    def refusal(self, taker: Taker, world: Shares) -> str:  # noqa: ARG002 - the shape
        """Return why there are no turns: the policy gives no quantum."""
        return "" if world.time_slice_us else "the policy gives no time slice"

    def reaches(self, taker: Taker, queue: str, world: Shares) -> bool:  # noqa: ARG002 - the shape
        """Return whether it is the taker's own queue."""
        return queue == taker.queue

    def allows(self, taker: Taker, victim: Victim, world: Shares, gone: dict[str, Amounts]) -> bool:  # noqa: ARG002 - the shape
        """Return whether the victim has had its quantum."""
        alike = victim.queue == taker.queue and victim.priority == taker.priority
        over = world.time_slice_us is not None and victim.run_us >= world.time_slice_us
        return alike and over and victim.saves
