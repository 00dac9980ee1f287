"""priority: a job of higher priority may stop one of lower priority in its own queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.core.protocols import Shares, Taker, Victim
    from clearway.core.queues import Amounts


class ByPriority:
    """Within one leaf queue, by priority alone; equal ones never stop each other."""

    name = "priority"
    by_wishes = False

    def refusal(self, taker: Taker, world: Shares) -> str:
        """Return "" if a job of lower priority runs in the taker's queue."""
        running = world.lowest.get(taker.queue)
        if running and running[0] < taker.priority:
            return ""
        return f"nobody of lower priority than {taker.priority} runs in queue {taker.queue}"

    def reaches(self, taker: Taker, queue: str, world: Shares) -> bool:  # noqa: ARG002 - the shape
        """Return whether it is the taker's own queue."""
        return queue == taker.queue

    def allows(self, taker: Taker, victim: Victim, world: Shares, gone: dict[str, Amounts]) -> bool:  # noqa: ARG002 - the shape
        """Return whether the victim is of lower priority in the same queue."""
        return victim.queue == taker.queue and victim.priority < taker.priority
