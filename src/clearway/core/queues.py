"""Queues and shared limits: who uses how much, and what holds a job back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.resources import use_of
from clearway.model.fleet import LimitSpec, QueueSpec
from clearway.model.reasons import Code, Reason, because

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clearway.core.ledger import Held
    from clearway.model.job import Demand, JobSpec

Amounts = dict[str, int]


class Queues:
    """The tree of queues with what each uses; limits hold at every level."""

    def __init__(self) -> None:
        """Begin with the queue `default` and no shared limits."""
        self.specs: dict[str, QueueSpec] = {"default": QueueSpec("default")}
        self.limits: dict[str, LimitSpec] = {}
        self.used: dict[str, Amounts] = {"default": {}}
        self.slots: dict[str, int] = {}
        self._chains: dict[str, tuple[str, ...]] = {}
        self._use: dict[Demand, Amounts] = {}

    def set_queue(self, spec: QueueSpec) -> None:
        """Create or change a queue."""
        self.specs[spec.name] = spec
        self.used.setdefault(spec.name, {})
        self._chains.clear()

    def set_limit(self, spec: LimitSpec) -> None:
        """Create or change a shared limit."""
        self.limits[spec.name] = spec
        self.slots.setdefault(spec.name, 0)

    def chain(self, queue: str) -> tuple[str, ...]:
        """Return a queue and the queues above it, nearest first."""
        found = self._chains.get(queue)
        if found is None:
            names: list[str] = []
            at = queue
            while at and at in self.specs and at not in names:
                names.append(at)
                at = self.specs[at].parent
            found = self._chains[queue] = tuple(names)
        return found

    def use(self, demand: Demand) -> Amounts:
        """Return what one task counts against its queues; worked out once per demand."""
        found = self._use.get(demand)
        if found is None:
            found = self._use[demand] = use_of(demand)
        return found

    def count(self, queue: str, demand: Demand, tasks: int) -> None:
        """Add (or with a negative number take away) the use of so many tasks."""
        amounts = self.use(demand)
        for name in self.chain(queue):
            used = self.used[name]
            for resource, amount in amounts.items():
                used[resource] = used.get(resource, 0) + amount * tasks

    def count_held(self, queue: str, held: Iterable[Held], sign: int) -> None:
        """Add or take away the use of grants."""
        for one in held:
            self.count(queue, one.demand, sign)

    def count_slots(self, uses: Iterable[str], sign: int) -> None:
        """Take or give back one slot of each shared limit."""
        for name in uses:
            self.slots[name] = self.slots.get(name, 0) + sign

    def held_back(self, spec: JobSpec) -> Reason | None:
        """Return what a limit says against starting a job with its least tasks, None if nothing does."""
        for name in self.chain(spec.queue):
            for resource, limit in self.specs[name].limit:
                need = sum(role.min_tasks * self.use(role.demand).get(resource, 0) for role in spec.roles)
                used = self.used[name].get(resource, 0)
                if need and used + need > limit:
                    return because(Code.QUEUE_LIMIT, queue=name, resource=resource, need=need, used=used, limit=limit)
        for name in spec.uses:
            limit_spec = self.limits.get(name)
            if limit_spec and self.slots.get(name, 0) >= limit_spec.slots:
                return because(Code.SLOTS, limit=name, slots=limit_spec.slots, used=self.slots.get(name, 0))
        return None

    def room_for(self, spec: JobSpec, demand: Demand, more: int) -> int:
        """Return how many of `more` further tasks the limits of a job's queues allow beyond what is counted."""
        amounts = self.use(demand)
        for name in self.chain(spec.queue):
            for resource, limit in self.specs[name].limit:
                if amounts.get(resource):
                    more = min(more, (limit - self.used[name].get(resource, 0)) // amounts[resource])
        return max(more, 0)

    def validate(self, live: Mapping[str, Amounts]) -> list[str]:
        """Return where the counted use differs from `live`, which was recomputed from the grants."""
        wrong = []
        for name, used in self.used.items():
            now = {k: v for k, v in used.items() if v}
            if now != {k: v for k, v in live.get(name, {}).items() if v}:
                wrong.append(f"queue {name}: {now} in the books, {live.get(name, {})} by its grants")
        return wrong
