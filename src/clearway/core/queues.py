"""Queues and shared limits: who uses how much, and what holds a job back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.memo import note
from clearway.core.resources import use_of
from clearway.model.fleet import LimitSpec, QueueSpec
from clearway.model.reasons import Code, Fact, Reason, because

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clearway.core.ledger import Held
    from clearway.core.memory import Memory
    from clearway.model.job import Demand, JobSpec, Role

Amounts = dict[str, int]


class Queues:
    """The tree of queues with what each uses; limits hold at every level."""

    def __init__(self) -> None:
        """Begin with the queue `default` and no shared limits."""
        self.specs: dict[str, QueueSpec] = {"default": QueueSpec("default")}
        self.limits: dict[str, LimitSpec] = {}
        self.used: dict[str, Amounts] = {"default": {}}
        self.slots: dict[str, int] = {}
        self.asked: dict[str, Amounts] = {"default": {}}
        self.revision = 0
        self.any_guarantee = self.any_per_user = self.any_limit = self.nested = False
        self.keeping: set[str] = set()
        """Queues that do not lend what they are guaranteed."""
        self.capacity: Amounts = {}
        """What there is, told where some queue does not lend."""
        self.used_by: dict[tuple[str, str], Amounts] = {}
        """What each user holds in a queue and below it, where some queue limits that."""
        self.memory: Memory | None = None
        """What the queues held before, where the policy remembers it."""
        self._children: dict[str, list[str]] | None = None
        self._chains: dict[str, tuple[str, ...]] = {}
        self._stated: dict[str, tuple[tuple[str, str, int], ...]] = {}
        self._moves = 0
        self._moved: dict[str, int] = {"default": 0}
        self.touched: dict[str, int] = {"default": 0}
        """When a queue, or one below it, was last given something or asked for something; such numbers only grow."""
        self._use: dict[Demand, Amounts] = {}
        self._least: dict[tuple[Role, ...], Amounts] = {}
        self._total: dict[tuple[Role, ...], tuple[tuple[str, int], ...]] = {}

    def set_queue(self, spec: QueueSpec) -> None:
        """Create or change a queue."""
        self.specs[spec.name] = spec
        self.used.setdefault(spec.name, {})
        self.asked.setdefault(spec.name, {})
        self.revision += 1
        self.any_guarantee = any(one.guarantee for one in self.specs.values())
        self.nested = any(one.parent for one in self.specs.values())
        self.keeping = {one.name for one in self.specs.values() if one.guarantee and not one.lend}
        self.any_limit = any(one.limit or one.limit_per_user or not one.borrow for one in self.specs.values())
        self.any_per_user = any(one.limit_per_user for one in self.specs.values())
        self._children = None
        self._chains.clear()
        self._stated.clear()
        self._all_moved()

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

    def forget_use(self) -> None:
        """Forget what every queue holds and asks, to be counted anew."""
        for name in self.specs:
            self.used[name], self.asked[name] = {}, {}
        self.used_by.clear()
        if self.memory is not None:
            self.memory.hold_nothing()
        self._all_moved()

    def _all_moved(self) -> None:
        self._moves += 1
        self._moved = dict.fromkeys(self.specs, self._moves)
        self.touched = dict(self._moved)

    @property
    def moves(self) -> int:
        """A number that changes whenever some queue's use or words do."""
        return self._moves

    def stamp(self, queue: str) -> int:
        """Return a number that changes whenever the use of a queue or of one above it does, or their words do."""
        return self._moved[(self._chains.get(queue) or self.chain(queue))[-1]]

    def per_user(self, queue: str) -> bool:
        """Return whether a queue or one above it limits what each user holds."""
        return any(self.specs[name].limit_per_user for name in self.chain(queue))

    def children(self, parent: str) -> list[str]:
        """Return the queues right below one, "" for the top, by name."""
        if self._children is None:
            self._children = {}
            for name in sorted(self.specs):
                self._children.setdefault(self.specs[name].parent, []).append(name)
        return self._children.get(parent, [])

    def wanted_here(self, queue: str) -> Amounts:
        """Return what a queue's own jobs hold and wait for, without the queues below it."""
        total = dict(self.used[queue])
        for child in self.children(queue):
            for resource, amount in self.used[child].items():
                total[resource] = total.get(resource, 0) - amount
        for resource, amount in self.asked[queue].items():
            total[resource] = total.get(resource, 0) + amount
        return total

    def wanted(self, queue: str) -> Amounts:
        """Return what a queue holds and what waits in it and below it, together."""
        total = self.wanted_here(queue)
        for child in self.children(queue):
            for resource, amount in self.wanted(child).items():
                total[resource] = total.get(resource, 0) + amount
        return total

    def burden(self, queue: str, more: Amounts | None, less: Amounts | None) -> Amounts:
        """Return what counts against a queue: what it holds, with `more` or without `less`."""
        used = self.used[queue]
        if more is None and less is None:
            return used
        more, less = more or {}, less or {}
        return {name: used.get(name, 0) + more.get(name, 0) - less.get(name, 0) for name in {*used, *more, *less}}

    def past(self, queue: str) -> Amounts:
        """Return what a queue and those below it held before, by the policy's half-life, in parts of core.memory."""
        return {} if self.memory is None else self.memory.past(queue, self.children)

    def ask(self, spec: JobSpec, sign: int) -> None:
        """Count (or take away) what a waiting job wants, at its own queue."""
        self.revision += 1
        self._ask(spec, sign)

    def start(self, spec: JobSpec, held: Sequence[Held]) -> None:
        """Count what a waiting job wanted as held: what its queue wants together stays, if it got all its tasks."""
        before = self.revision
        self._ask(spec, -1)
        self.count_held(spec, held, 1)
        if len(held) == sum(role.tasks for role in spec.roles):
            self.revision = before

    def _ask(self, spec: JobSpec, sign: int) -> None:
        self._moves += 1
        for name in self.chain(spec.queue):
            self.touched[name] = self._moves
        asked = self.asked[spec.queue]
        for resource, amount in self.total(spec.roles):
            asked[resource] = asked.get(resource, 0) + sign * amount

    def total(self, roles: tuple[Role, ...]) -> tuple[tuple[str, int], ...]:
        """Return what all tasks of a job count against its queues; worked out once for equal roles."""
        found = self._total.get(roles)
        if found is None:
            amounts: Amounts = {}
            for role in roles:
                for resource, amount in self.use(role.demand).items():
                    amounts[resource] = amounts.get(resource, 0) + amount * role.tasks
            found = note(self._total, roles, tuple(amounts.items()))
        return found

    def guaranteed(self, queue: str, need: Amounts, below: str | None = None, *, stated_anywhere: bool = False) -> bool:
        """Return whether a queue stays within its guarantee with `need`, at each level that states one.

        Only levels below the queue `below` count. False where no level states a guarantee of what is needed.
        `stated_anywhere`: whether it would do so at some level at least, which is enough against some victims.
        """
        if below is None and not stated_anywhere:
            return self._in_all(queue, need)
        verdicts = []
        for name in self.chain(queue):
            if name == below:
                break
            for resource, amount in self.specs[name].guarantee:
                if need.get(resource, 0):
                    verdicts.append(self.used[name].get(resource, 0) + need[resource] <= amount)
        return bool(verdicts) and (any(verdicts) if stated_anywhere else all(verdicts))

    def _in_all(self, queue: str, need: Amounts) -> bool:
        """Return whether a queue stays within every guarantee stated of what is needed, and one is."""
        stated = self._stated.get(queue)
        if stated is None:
            specs = [self.specs[name] for name in self.chain(queue)]
            stated = self._stated[queue] = tuple((s.name, r, amount) for s in specs for r, amount in s.guarantee)
        found = False
        for name, resource, amount in stated:
            wanted = need.get(resource)
            if wanted:
                if self.used[name].get(resource, 0) + wanted > amount:
                    return False
                found = True
        return found

    def has_claims(self, queue: str, below: str | None) -> bool:
        """Return whether a queue holds less than is guaranteed of something, at a level below the queue `below`."""
        for name in self.chain(queue):
            if name == below:
                break
            if any(self.used[name].get(resource, 0) < amount for resource, amount in self.specs[name].guarantee):
                return True
        return False

    def above_guarantee(self, queue: str, need: Amounts, below: str | None, gone: dict[str, Amounts]) -> bool:
        """Return whether a queue holds more than its guarantee of something in `need`, without what is `gone`.

        That must hold at each level below `below` that states a guarantee; a level that states none is always above.
        """
        for name in self.chain(queue):
            if name == below:
                break
            stated, used, less = dict(self.specs[name].guarantee), self.used[name], gone.get(name, {})
            if not any(used.get(r, 0) - less.get(r, 0) > stated.get(r, 0) for r, wanted in need.items() if wanted):
                return False
        return True

    def shared_level(self, one: str, other: str) -> str | None:
        """Return the nearest queue above both (or either of them), None if only the top is."""
        others = set(self.chain(other))
        return next((name for name in self.chain(one) if name in others), None)

    def least_of(self, spec: JobSpec) -> Amounts:
        """Return what a job with its least tasks counts against its queues; worked out once for equal roles."""
        found = self._least.get(spec.roles)
        if found is None:
            found = self._least[spec.roles] = {}
            for role in spec.roles:
                for resource, amount in self.use(role.demand).items():
                    found[resource] = found.get(resource, 0) + amount * role.min_tasks
        return found

    def use(self, demand: Demand) -> Amounts:
        """Return what one task counts against its queues; worked out once per demand."""
        found = self._use.get(demand)
        if found is None:
            found = note(self._use, demand, use_of(demand))
        return found

    def count(self, queue: str, demand: Demand, tasks: int) -> None:
        """Add (or with a negative number take away) the use of so many tasks."""
        amounts = self.use(demand)
        if self.memory is not None:
            self.memory.change(queue, amounts, tasks)
        self._moves += 1
        for name in self.chain(queue):
            used = self.used[name]
            for resource, amount in amounts.items():
                used[resource] = used.get(resource, 0) + amount * tasks
            self.touched[name] = self._moves
        self._moved[name] = self._moves  # the topmost
        self.revision += 1

    def count_held(self, spec: JobSpec, held: Iterable[Held], sign: int) -> None:
        """Add or take away the use of grants of a job."""
        for one in held:
            self.count(spec.queue, one.demand, sign)
            if self.any_per_user:
                self._count_user(spec, one.demand, sign)

    def _count_user(self, spec: JobSpec, demand: Demand, sign: int) -> None:
        for name in self.chain(spec.queue):
            used = self.used_by.setdefault((name, spec.user), {})
            for resource, amount in self.use(demand).items():
                used[resource] = used.get(resource, 0) + sign * amount
                if not used[resource]:
                    del used[resource]
            if not used:
                del self.used_by[name, spec.user]

    def limits_of(self, spec: JobSpec) -> Iterator[tuple[str, str, int, int, str | None]]:
        """Yield each limit on what a job's queues or its user may hold: queue, resource, use, limit, whose it is."""
        for name in self.chain(spec.queue):
            queue = self.specs[name]
            for resource, limit in queue.limit if queue.borrow else _smaller(queue.limit, queue.guarantee):
                yield name, resource, self.used[name].get(resource, 0), limit, None
            for resource, limit in queue.limit_per_user:
                yield name, resource, self.used_by.get((name, spec.user), {}).get(resource, 0), limit, spec.user

    def count_slots(self, uses: Iterable[str], sign: int) -> None:
        """Take or give back one slot of each shared limit."""
        for name in dict.fromkeys(uses):
            self.slots[name] = self.slots.get(name, 0) + sign

    def held_back(self, spec: JobSpec, gone: Mapping[str, Amounts] | None = None) -> Reason | None:
        """Return what a limit says against starting a job with its least tasks, None if nothing does.

        `gone` is what others are about to give back, by queue.
        """
        if not self.any_limit and not spec.uses and not self.keeping:
            return None
        for name, resource, holds, limit, user in self.limits_of(spec):
            used = holds - (gone or {}).get(name, {}).get(resource, 0)
            need = sum(role.min_tasks * self.use(role.demand).get(resource, 0) for role in spec.roles)
            if need and used + need > limit:
                facts: dict[str, Fact] = {
                    "queue": name,
                    "resource": resource,
                    "need": need,
                    "used": used,
                    "limit": limit,
                }
                if (
                    user is None
                    and not self.specs[name].borrow
                    and limit == dict(self.specs[name].guarantee).get(resource)
                ):
                    facts["borrows"] = 0
                return because(Code.QUEUE_LIMIT, **facts, **({"user": user} if user is not None else {}))
        if self.keeping and (kept := self._kept_from(spec, gone or {})) is not None:
            return kept
        for name in spec.uses:
            limit_spec = self.limits.get(name)
            if limit_spec and self.slots.get(name, 0) >= limit_spec.slots:
                return because(Code.SLOTS, limit=name, slots=limit_spec.slots, used=self.slots.get(name, 0))
        return None

    def _kept_from(self, spec: JobSpec, gone: Mapping[str, Amounts]) -> Reason | None:
        """Return which queue that does not lend keeps from a job what is idle; a claim inside a guarantee is let in."""
        least = self.least_of(spec)
        if self.guaranteed(spec.queue, least):
            return None
        for resource, need in sorted(least.items()):
            if not need or resource not in self.capacity:
                continue
            tops = self.children("")
            held = sum(self._left_in(name, resource, gone) for name in tops)
            kept, whose = self._keeps("", resource, gone, self.chain(spec.queue))
            if kept and held + need + kept > self.capacity[resource]:
                return because(Code.QUEUE_LIMIT, queue=whose, resource=resource, need=need, used=held, kept=kept)
        return None

    def _left_in(self, name: str, resource: str, gone: Mapping[str, Amounts]) -> int:
        return self.used[name].get(resource, 0) - gone.get(name, {}).get(resource, 0)

    def _keeps(self, parent: str, resource: str, gone: Mapping[str, Amounts], mine: tuple[str, ...]) -> tuple[int, str]:
        """Return what queues below one keep idle for their own jobs only, and the first that keeps some."""
        total, first = 0, ""
        for name in self.children(parent):
            amount, whose = self._keeps(name, resource, gone, mine)
            if name in self.keeping and name not in mine:
                stated = dict(self.specs[name].guarantee).get(resource, 0)
                own = stated - self._left_in(name, resource, gone)
                amount, whose = (own, name) if own > amount else (amount, whose)
            total, first = total + amount, first or whose
        return total, first

    def room_for(self, spec: JobSpec, demand: Demand, more: int, drafted: Iterable[Held] = ()) -> int:
        """Return how many of `more` further tasks the limits of a job's queues allow beside what is drafted."""
        amounts = self.use(demand)
        beside: Amounts = {}
        for one in drafted:
            for resource, amount in self.use(one.demand).items():
                beside[resource] = beside.get(resource, 0) + amount
        for _, resource, used, limit, _ in self.limits_of(spec):
            if amounts.get(resource):
                more = min(more, (limit - used - beside.get(resource, 0)) // amounts[resource])
        return max(more, 0)

    def validate(self, live: Mapping[str, Amounts]) -> list[str]:
        """Return where the counted use differs from `live`, which was recomputed from the grants."""
        wrong = []
        for name, used in self.used.items():
            now = {k: v for k, v in used.items() if v}
            if now != {k: v for k, v in live.get(name, {}).items() if v}:
                wrong.append(f"queue {name}: {now} in the books, {live.get(name, {})} by its grants")
        return wrong

    def validate_users(self, live: Mapping[tuple[str, str], Amounts]) -> list[str]:
        """Return where what users hold, as counted for limits per user, differs from `live`."""
        wrong = []
        for key in sorted({*self.used_by, *live}):
            now = {k: v for k, v in self.used_by.get(key, {}).items() if v}
            if now != {k: v for k, v in live.get(key, {}).items() if v}:
                wrong.append(f"user {key[1]} in queue {key[0]}: {now} in the books, {live.get(key, {})} by the grants")
        return wrong


def _smaller(limit: tuple[tuple[str, int], ...], guarantee: tuple[tuple[str, int], ...]) -> list[tuple[str, int]]:
    """Return what a queue may hold that borrows nothing: what it is guaranteed; of the rest, what its limit says."""
    most = dict(limit)
    return sorted((most | {r: min(amount, most.get(r, amount)) for r, amount in guarantee}).items())
