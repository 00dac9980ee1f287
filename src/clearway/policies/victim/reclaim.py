"""reclaim: a queue takes back what it is guaranteed from queues that borrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.core.protocols import Shares, Taker, Victim
    from clearway.core.queues import Amounts


class Reclaim:
    """The taker's queue stays within its guarantee with it; the victim's queue is above its own when chosen.

    Both are judged at every level below the one that the two queues share.
    """

    name = "reclaim"
    by_wishes = False

    def refusal(self, taker: Taker, world: Shares) -> str:
        """Return why the taker has no claim: its queue states no guarantee, or would pass it."""
        if world.queues.guaranteed(taker.queue, taker.need, stated_anywhere=True):
            return ""
        return f"queue {taker.queue} has no guarantee that covers it"

    def reaches(self, taker: Taker, queue: str, world: Shares) -> bool:
        """Return whether the claim holds against a queue."""
        return self._claims(taker, queue, world, {})

    def allows(self, taker: Taker, victim: Victim, world: Shares, gone: dict[str, Amounts]) -> bool:
        """Return whether the claim still holds against the victim's queue."""
        return self._claims(taker, victim.queue, world, gone)

    def _claims(self, taker: Taker, queue: str, world: Shares, gone: dict[str, Amounts]) -> bool:
        if queue == taker.queue:
            return False
        shared = world.queues.shared_level(taker.queue, queue)
        if not world.queues.guaranteed(taker.queue, taker.need, below=shared):
            return False
        return world.queues.above_guarantee(queue, taker.need, shared, gone)
