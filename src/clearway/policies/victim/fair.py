"""fair: a queue below its fair share takes from one above."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.core.protocols import Shares, Taker, Victim
    from clearway.core.queues import Amounts


class FairTaking:
    """Across queues, only if afterwards the taker's queue is still further below its share than the victim's.

    Compared where the two queues part, so that the exchange can never be turned round at once. A queue within its
    guarantee is left alone.
    """

    name = "fair"
    by_wishes = True

    def refusal(self, taker: Taker, world: Shares) -> str:  # noqa: ARG002 - the shape
        """Return why nobody may be taken: who takes by shares must also be ordered by them, or they take turns."""
        return "" if world.fair_order else "the policy's order does not go by fair shares"

    def reaches(self, taker: Taker, queue: str, world: Shares) -> bool:
        """Return whether a queue is further above its share than the taker's would be with the job."""
        shared = world.queues.shared_level(taker.queue, queue)
        depth = 0 if shared is None else len(world.queues.chain(shared))
        after, now = world.fairness.position(taker.queue, more=taker.need), world.fairness.position(queue)
        return queue != taker.queue and depth < min(len(after), len(now)) and after[depth] < now[depth]

    def allows(self, taker: Taker, victim: Victim, world: Shares, gone: dict[str, Amounts]) -> bool:
        """Return whether the taker's share is still below the victim's once both have changed."""
        if victim.queue == taker.queue:
            return False
        queues = world.queues
        mine, other = queues.chain(taker.queue), queues.chain(victim.queue)
        shared = queues.shared_level(taker.queue, victim.queue)
        depth = 0 if shared is None else len(queues.chain(shared))
        if depth >= min(len(mine), len(other)) or not queues.above_guarantee(victim.queue, victim.gives, shared, gone):
            return False
        level = other[-1 - depth]
        less = dict(gone.get(level, {}))
        for resource, amount in victim.gives.items():
            less[resource] = less.get(resource, 0) + amount
        after = world.fairness.position(taker.queue, more=taker.need)[depth]
        left = world.fairness.position(victim.queue, less=less)[depth]
        return after < left
