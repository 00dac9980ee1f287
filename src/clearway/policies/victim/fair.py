"""fair: a queue below its fair share takes from one above."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.core.protocols import Shares, Taker, Victim
    from clearway.core.queues import Amounts


class FairTaking:
    """Across queues, only if afterwards the taker's queue is still further below its share than the victim's.

    Compared where the two queues part, so that the exchange can never be turned round at once. A queue within its
    guarantee is left alone. Where past use counts, the exchange must hold both with it and without: the past may
    protect a queue, but never lets another take, or two would take from each other in turn as it fades.
    """

    name = "fair"
    by_wishes = True

    def refusal(self, taker: Taker, world: Shares) -> str:
        """Return why nobody may be taken: who takes by shares must also be ordered by them, or they take turns."""
        if not world.fair_order:
            return "the policy's order does not go by fair shares, compared in turn"
        if not world.fairness.stands_above(taker.queue, taker.need):
            return f"no queue would keep a larger share than queue {taker.queue}"
        return ""

    def reaches(self, taker: Taker, queue: str, world: Shares) -> bool:
        """Return whether a queue is further above its share than the taker's would be with the job."""
        shared = world.queues.shared_level(taker.queue, queue)
        depth = 0 if shared is None else len(world.queues.chain(shared))
        after = world.fairness.position(taker.queue, more=taker.need, past=False)
        now = world.fairness.position(queue, past=False)
        return queue != taker.queue and depth < min(len(after), len(now)) and after[depth] < now[depth]

    def allows(self, taker: Taker, victim: Victim, world: Shares, gone: dict[str, Amounts]) -> bool:
        """Return whether the taker's share is still below the victim's once both have changed."""
        if not self.allows_now(taker, victim, world, gone):
            return False
        return world.queues.memory is None or self._stays_below(taker, victim, world, gone, past=True)

    def allows_now(self, taker: Taker, victim: Victim, world: Shares, gone: dict[str, Amounts]) -> bool:
        """Return the same by what both hold now, whatever they held before."""
        if victim.queue == taker.queue:
            return False
        queues = world.queues
        shared = queues.shared_level(taker.queue, victim.queue)
        depth = 0 if shared is None else len(queues.chain(shared))
        shallow = min(len(queues.chain(taker.queue)), len(queues.chain(victim.queue)))
        if depth >= shallow or not queues.above_guarantee(victim.queue, victim.gives, shared, gone):
            return False
        return self._stays_below(taker, victim, world, gone, past=False)

    def _stays_below(
        self, taker: Taker, victim: Victim, world: Shares, gone: dict[str, Amounts], *, past: bool
    ) -> bool:
        shared = world.queues.shared_level(taker.queue, victim.queue)
        depth = 0 if shared is None else len(world.queues.chain(shared))
        level = world.queues.chain(victim.queue)[-1 - depth]
        less = dict(gone.get(level, {}))
        for resource, amount in victim.gives.items():
            less[resource] = less.get(resource, 0) + amount
        after = world.fairness.position(taker.queue, more=taker.need, past=past)[depth]
        left = world.fairness.position(victim.queue, less=less, past=past)[depth]
        return after < left
