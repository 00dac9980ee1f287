"""What a decision looks at: the books, the line, the queues, and what runs until when.

The loop changes it by applying records; `decide` changes only its indices, and counts what it starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sortedcontainers import SortedList

from clearway.core.bookings import Bookings
from clearway.core.domains import bound_of
from clearway.core.fairness import Fairness
from clearway.core.forecasts import Forecasts
from clearway.core.ledger import Held, Ledger
from clearway.core.line import Line, Mode, WaitClass, Waiting, class_key
from clearway.core.memory import Memory
from clearway.core.mix import Mix
from clearway.core.places import Places
from clearway.core.profile import Ends
from clearway.core.protocols import Shares, Taker
from clearway.core.queues import Queues

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clearway.core.domains import Bound
    from clearway.core.line import ClassKey, Key
    from clearway.core.protocols import Candidate, Order, Rules
    from clearway.core.swaps import Swaps
    from clearway.model.events import Grant
    from clearway.model.fleet import BookingSpec, MachineType, QueueSpec
    from clearway.model.ids import ClassId, JobId, NodeId
    from clearway.model.job import Demand, JobSpec


class Reservation(NamedTuple):
    """The promise to a waiting job: these grants from `start_us` on. `held`: it is being cleared for the job."""

    job: JobId
    start_us: int
    grants: tuple[Grant, ...]
    held: bool = False


class Running:
    """What the core knows of a job that holds something."""

    __slots__ = (
        "attempt", "calm_until_us", "candidate", "ended_task", "job", "leaving", "paused", "priority",
        "spec", "started_us", "stopping", "swaps", "used",
    )  # fmt: skip

    def __init__(self, candidate: Candidate, attempt: int, started_us: int, calm_until_us: int) -> None:
        """Begin running."""
        self.candidate, self.attempt = candidate, attempt
        self.job, self.spec, self.priority = candidate.job, candidate.spec, candidate.priority
        self.ended_task = False
        self.started_us = started_us
        self.calm_until_us = calm_until_us
        self.stopping = self.paused = False
        self.swaps: Swaps = ()
        self.leaving: set[tuple[int, int]] = set()
        self.used: dict[int, int] = {}

    def use(self, grants: Sequence[Grant]) -> None:
        """Take note of the task numbers that an attempt has used."""
        for grant in grants:
            self.used[grant.role] = max(self.used.get(grant.role, 0), grant.index + 1)

    def next_index(self, role: int) -> int:
        """Return the first task number of a role that this attempt has not used yet."""
        return self.used.get(role, 0)


def waits_again(since_us: int, started_us: int, now_us: int, ageing_us: int | None) -> int:
    """Return since when a job has waited that began at `since_us`, ran from `started_us` on and waits again now.

    Of ageing it has just what it had gained when it started: whole ticks.
    """
    waited = started_us - since_us
    if ageing_us is not None:
        waited = (started_us // ageing_us - since_us // ageing_us) * ageing_us
    return now_us - waited


class View:
    """The state that `decide` reads."""

    def __init__(self, rules: Rules) -> None:
        """Begin with an empty fleet and an empty line."""
        self.rules = rules
        self.ledger = Ledger()
        self.ledger.proportional = rules.proportional
        self.queues = Queues()
        self.line = Line()
        self.forecasts = Forecasts(rules.quantile)
        self.ends = Ends(self.ledger, self.forecasts)
        self.bookings = Bookings(self.ledger, self.queues)
        self.fairness = Fairness(self.queues, self.ledger, rules.measure)
        self.reservations: dict[JobId, Reservation] = {}
        self.running: dict[JobId, Running] = {}
        self.running_in: dict[str, dict[JobId, Running]] = {}
        self.lowest: dict[str, SortedList[int]] = {}
        self.elastic: set[JobId] = set()
        self.places: dict[Demand, Places] = {}
        self.emptied: dict[bool, tuple[int, View]] = {}
        self.lifted: set[tuple[JobId, int, int]] = set()
        """Grants (job, role, index) that a search for victims has drafted as given back: none is given back twice."""
        self.changed_limits: set[str] = set()
        self.promises_changed = False
        self.victims_changed = False
        self.own_orders: dict[str, tuple[Order, ...]] = {}
        self.types: dict[str, MachineType] = {}
        self._unsorted: set[str] = set()
        self._remember(0)

    @property
    def drifts(self) -> bool:
        """Whether time alone may move the order of the queues: where past use counts."""
        return bool(self.rules.by_queue) and self.queues.memory is not None

    @property
    def moving_order(self) -> bool:
        """Whether starts move the order of the jobs that come after: where queues count."""
        return bool(self.rules.by_queue) or self.queues.any_guarantee

    # --- rules ---------------------------------------------------------------------------------

    def set_rules(self, rules: Rules, now_us: int, inside: Mapping[str, tuple[Order, ...]]) -> None:
        """Decide by other rules from now on: every key and every score is worked out anew.

        `inside`: the order inside each queue, () for the policy's.
        """
        self.rules = rules
        self.forecasts.level = rules.quantile
        self.ledger.proportional = rules.proportional
        self.own_orders = {name: orders for name, orders in inside.items() if orders}
        self.fairness = Fairness(self.queues, self.ledger, rules.measure)
        self._remember(now_us)
        self.places.clear()
        self.emptied.clear()
        for cls in self.line.classes.values():
            cls.places = [self.places_of(role.demand) for role in cls.spec.roles]
            cls.bound = self.bound_of(cls.spec)
            if cls.entries:
                self.line.wake(cls)
        self.promises_changed = True
        self.rekey(now_us)

    def _remember(self, now_us: int) -> None:
        """Begin to remember what queues held, go on by another half-life, or no longer do."""
        half_life_us, memory = self.rules.half_life_us, self.queues.memory
        if half_life_us is None:
            self.queues.memory = None
        elif memory is not None:
            memory.forget_by(half_life_us)
        else:
            memory = self.queues.memory = Memory(half_life_us, now_us)
            for running in self.running.values():
                for one in self.ledger.holdings[running.job]:
                    memory.change(running.spec.queue, self.queues.use(one.demand), 1)

    def reach(self, now_us: int) -> None:
        """Be told the moment that it is: past use fades."""
        if self.queues.memory is not None:
            self.queues.memory.reach(now_us)

    def places_of(self, demand: Demand) -> Places:
        """Return the candidates of a demand, one object per demand."""
        found = self.places.get(demand)
        if found is None:
            found = self.places[demand] = Places(self.ledger, self.rules, demand)
        return found

    def bound_of(self, spec: JobSpec) -> Bound | None:
        """Return what the topology of a job asks for, None where it asks for nothing."""
        if not (spec.topology.require or spec.topology.prefer):
            return None
        places = [self.places_of(role.demand) for role in spec.roles]
        return bound_of(self.ledger, spec, places, prefers=self.rules.topology > 0)

    # --- order ---------------------------------------------------------------------------------

    def key(self, one: Candidate, now_us: int) -> Key:
        """Return what orders a job: the policy's orders in turn, then submit time, then number.

        Where an order goes by queues the key has 0: the position is looked up at each turn. Orders that are weighed
        are one part, their sum.
        """
        quantum, mix = self.rules.time_slice_us, self.rules.mix
        if mix is not None:
            cost = mix.cost(one, now_us, without="fifo" if quantum else "")
            turns = ((one.served_us // quantum, one.submitted_us),) if quantum else ()
            return (cost, *turns, one.submitted_us, one.job)
        parts: list[Any] = [0] * len(self.rules.orders)
        for i, order in self.rules.job_orders:
            parts[i] = order.key(one, now_us)
        if quantum:
            # taking turns: whoever had fewer quanta comes before whoever came first
            first = next((i for i, order in enumerate(self.rules.orders) if order.name == "fifo"), len(parts))
            turn = (one.served_us // quantum, one.submitted_us)
            parts[first : first + 1] = [turn]
        return (*parts, one.submitted_us, one.job)

    def rekey(self, now_us: int) -> None:
        """Work out the keys of all waiting jobs anew: rules changed, or time did for rules that look at it."""
        for cls in self.line.classes.values():
            for waiting in list(cls.jobs.values()):
                self.line.rekey(waiting, self.key(waiting.candidate, now_us))
        self._unsorted.update(self.own_orders)

    def order_queues(self, now_us: int) -> None:
        """Bring the order up to date where time moves it, and inside queues that have an order of their own.

        Such a queue stands among the others where its first job by its own order stands by the policy; the jobs
        behind that one never stand before it.
        """
        if any(order.timed for _, order in self.rules.job_orders):
            self.rekey(now_us)
        for queue in sorted(self._unsorted):
            orders = self.own_orders.get(queue, ())
            mine = [w for cls in self.line.classes.values() if cls.spec.queue == queue for w in cls.jobs.values()]
            if not orders:
                for waiting in mine:
                    self.line.rekey(waiting, self.key(waiting.candidate, now_us))
                continue
            mine.sort(key=lambda w: (*(o.key(w.candidate, now_us) for o in orders), w.candidate.submitted_us, w.job))
            place: Key = ()
            for rank, waiting in enumerate(mine):
                place = max(place, self.key(waiting.candidate, now_us))
                self.line.rekey(waiting, (*place, rank))
        self._unsorted.clear()

    def set_queue(self, spec: QueueSpec, orders: tuple[Order, ...]) -> None:
        """Create or change a queue; `orders` is its own order, () for the policy's."""
        queues = self.queues
        queues.set_queue(spec)
        queues.forget_use()
        for running in self.running.values():
            queues.count_held(running.spec, self.ledger.holdings[running.job], 1)
        for cls in self.line.classes.values():
            for waiting in cls.jobs.values():
                if not waiting.started:
                    queues.ask(waiting.spec, 1)
        self.own_orders.pop(spec.name, None)
        if orders:
            self.own_orders[spec.name] = orders
        self._unsorted.add(spec.name)
        self.victims_changed = True

    def turn_key(self, cls: WaitClass, waiting: Waiting, *, alone: bool = False) -> Key:
        """Return what orders a job among all at this moment: claims inside a guarantee first, then the orders.

        `alone`: only jobs of its queue are compared, so that the queue's position does not matter.
        """
        key = (self.claim(cls) if self.queues.any_guarantee else 1, *waiting.key)
        return key if alone else self.placed_key(key, cls.spec.queue)

    def claim(self, cls: WaitClass) -> int:
        """Return 0 where jobs of a class claim what their queue is guaranteed, else 1; kept until use changes."""
        at = self.queues.stamp(cls.spec.queue)
        if cls.claim_at != at:
            if cls.need is None:
                cls.need = self.queues.least_of(cls.spec)
            cls.claim, cls.claim_at = 0 if self.queues.guaranteed(cls.spec.queue, cls.need) else 1, at
        return cls.claim

    def placed_key(self, key: Key, queue: str) -> Key:
        """Return a key with the queue's position where the order goes by queues."""
        rules = self.rules
        if not rules.by_queue:
            return key
        position = self.fairness.position(queue)
        if rules.mix is not None:
            return (key[0], rules.mix.key(key[1], position), *key[2:])
        return tuple([position if i - 1 in rules.by_queue else part for i, part in enumerate(key)])

    def weighed(self, one: Candidate, now_us: int) -> dict[str, int]:
        """Return what each order of the policy says of a job, with its weight, in thousandths; the smaller is first."""
        mix = self.rules.mix
        if mix is None:
            mix = Mix(tuple((1, order) for _, order in self.rules.job_orders), fair=len(self.rules.by_queue))
        return mix.parts(one, now_us, self.fairness.position(one.spec.queue))

    def standing_if_stopped(self, running: Running, now_us: int) -> Key:
        """Return what would order a running job if it were stopped now and waited again, by its own words alone."""
        one = running.candidate
        served = one.served_us + now_us - running.started_us
        since = waits_again(one.waiting_since_us, running.started_us, now_us, self.rules.ageing_us)
        again = one._replace(priority=running.priority, served_us=served, waiting_since_us=since)
        return self.inner_key(again, now_us)

    def importance(self, running: Running) -> int:
        """Return the priority that a running job counts for as a victim: with what it gained while it waited."""
        ageing = self.rules.ageing_us
        if ageing is None:
            return running.priority
        return running.priority + running.started_us // ageing - running.candidate.waiting_since_us // ageing

    def inner_key(self, one: Candidate, now_us: int) -> Key:
        """Return what orders a job among those of its queue: the queue's own orders where it has some."""
        orders = self.own_orders.get(one.spec.queue)
        if not orders:
            return self.key(one, now_us)
        return (*(order.key(one, now_us) for order in orders), one.submitted_us, one.job)

    def class_of(self, waiting: Waiting) -> ClassId:
        """Return the class that a job belongs to; a class seen for the first time gets the next number."""
        key = self.class_key(waiting)
        number = self.line.class_for(key)
        if number is None:
            number = self.line.next_class()
            places = [self.places_of(role.demand) for role in waiting.spec.roles]
            cls = WaitClass(number, waiting.spec, places, self.bound_of(waiting.spec))
            self.line.add_class(key, cls)
        return number

    def class_key(self, waiting: Waiting) -> ClassKey:
        """Return what makes jobs equal to the cycle; their user counts where a limit or a booking names users."""
        key, spec = class_key(waiting), waiting.spec
        if self.queues.any_per_user and self.queues.per_user(spec.queue):
            key = (*key, "user", spec.user)
        if self.bookings and (named := self.bookings.of_user(spec.user)):
            key = (*key, "booked", named)
        return key

    def misplaced(self) -> list[JobId]:
        """Return the waiting jobs that stand in another class than they would join now, in order of their numbers."""
        line = self.line
        return sorted(
            waiting.job
            for cls in line.classes.values()
            for waiting in cls.jobs.values()
            if self.class_key(waiting) != line.keys[cls.id]
        )

    def spec_of(self, job: JobId) -> JobSpec:
        """Return the words of a job that holds something; one that starts in this very cycle still stands in line."""
        running = self.running.get(job)
        return self.line.member(job).spec if running is None else running.spec

    # --- bookings ------------------------------------------------------------------------------

    def set_booking(self, booking: BookingSpec, places: Mapping[NodeId, int]) -> None:
        """Make or change a booking; what was promised on its nodes is looked at again."""
        self.bookings.set(booking, places)
        self.ledger.gained.update(places)
        self.promises_changed = True

    def remove_booking(self, name: str) -> None:
        """Forget a booking: whom it kept from starting has another chance."""
        self.ledger.gained.update(self.bookings.kept[name].places)
        self.bookings.remove(name)
        self.promises_changed = self.victims_changed = True

    def join(self, waiting: Waiting, now_us: int) -> ClassId:
        """Put a job into the line."""
        waiting.key = self.key(waiting.candidate, now_us)
        number = self.class_of(waiting)
        cls = self.line.classes[number]
        self.line.join(waiting, cls)
        first = cls.entries[0][1] == waiting.job or waiting.spec.queue in self.own_orders
        if self.rules.preempt and cls.mode in (Mode.NO_ROOM, Mode.LIMITED) and first:
            self.line.wake(cls)  # it may stop others whom the ones behind it may not
        self._ask(waiting.spec, 1)
        for role in waiting.spec.roles:
            self.ledger.asked.count(role.demand, role.tasks)
        if waiting.spec.queue in self.own_orders:
            self._unsorted.add(waiting.spec.queue)
        return number

    def _ask(self, spec: JobSpec, sign: int) -> None:
        self.queues.ask(spec, sign)
        if any(rule.by_wishes for rule in self.rules.preempt):
            self.victims_changed = True

    def change(self, waiting: Waiting, now_us: int) -> None:
        """Put a job that waits at another place in the order: something that orders it changed."""
        old = self.line.retell(waiting)
        self.line.rekey(old, self.key(old.candidate, now_us))
        if old.spec.queue in self.own_orders:
            self._unsorted.add(old.spec.queue)
        self.line.wake(self.line.classes[old.cls])

    def forget(self) -> None:
        """Forget classes that have long been empty, and candidates of demands that nobody has any more."""
        if self.line.forget():
            kept = {role.demand for cls in self.line.classes.values() for role in cls.spec.roles}
            kept |= {role.demand for job in self.elastic for role in self.running[job].spec.roles}
            self.places = {demand: places for demand, places in self.places.items() if demand in kept}

    def leave(self, job: JobId) -> None:
        """Take a job out of the line, if it is in it."""
        waiting = self.line.leave(job)
        if waiting is not None:
            if not waiting.started:
                self._ask(waiting.spec, -1)
            if waiting.spec.queue in self.own_orders:
                self._unsorted.add(waiting.spec.queue)
            self.forget()

    # --- running -------------------------------------------------------------------------------

    def start(self, job: JobId, spec: JobSpec, held: Sequence[Held], now_us: int) -> None:
        """Count an attempt's grants everywhere, unless the cycle that decided it did so already."""
        if job not in self.ledger.holdings:
            for one in held:
                self.ledger.take(one.grant, one.demand)
            self.count_start(job, spec, held, now_us)

    def count_start(self, job: JobId, spec: JobSpec, held: Sequence[Held], now_us: int) -> None:
        """Count grants that are taken in the books as a job's: its queues, shared limits and expected end."""
        self.ledger.register(job, held)
        waiting = self.line.find(job)
        if waiting is None:
            self.queues.count_held(spec, held, 1)
        else:
            waiting.started = True
            self.queues.start(spec, held)
        if spec.uses:
            self.queues.count_slots(spec.uses, 1)
        self.ends.add(job, held, now_us, self.forecasts.bound_us(job, spec))

    def run(self, running: Running) -> None:
        """Take note of a job that runs, for those who may ask it to stop."""
        self.running[running.job] = running
        self.running_in.setdefault(running.spec.queue, {})[running.job] = running
        if running.spec.preemptible:
            self.lowest.setdefault(running.spec.queue, SortedList()).add(running.priority)
        if any(role.min_tasks < role.tasks for role in running.spec.roles):
            self.elastic.add(running.job)
        self.victims_changed = True

    def reprioritise(self, job: JobId, priority: int) -> None:
        """Treat a running job by another priority from now on."""
        running = self.running[job]
        if running.spec.preemptible:
            self.lowest[running.spec.queue].remove(running.priority)
            self.lowest[running.spec.queue].add(priority)
        running.priority = priority
        self.victims_changed = True

    def taker(self, waiting: Waiting) -> Taker:
        """Return a waiting job as one who may stop others."""
        need = self.queues.least_of(waiting.spec)
        return Taker(waiting.job, waiting.spec.queue, waiting.candidate.priority, need)

    def shares(self) -> Shares:
        """Return what the causes of preemption look at."""
        rules = self.rules
        by_shares = bool(rules.by_queue) and rules.mix is None
        return Shares(self.queues, self.fairness, rules.time_slice_us, by_shares, self.lowest)

    def may_take(self, cls: WaitClass) -> bool:
        """Return whether some cause might let the first job of a class stop somebody."""
        taker, shares = self.taker(cls.jobs[cls.entries[0][1]]), self.shares()
        return any(not rule.refusal(taker, shares) for rule in self.rules.preempt)

    def more(self, job: JobId, spec: JobSpec, held: Sequence[Held]) -> None:
        """Count further grants of a running job, unless the cycle that decided it did so already."""
        mine = {(one.grant.role, one.grant.index) for one in self.ledger.holdings[job]}
        if not any((one.grant.role, one.grant.index) in mine for one in held):
            for one in held:
                self.ledger.take(one.grant, one.demand)
            self.count_more(job, spec, held)

    def count_more(self, job: JobId, spec: JobSpec, held: Sequence[Held]) -> None:
        """Count grants that are taken in the books as further ones of a running job."""
        self.ledger.register(job, held)
        self.queues.count_held(spec, held, 1)
        self.ends.rewrite(job)

    def free_task(self, job: JobId, spec: JobSpec, role: int, index: int) -> Held | None:
        """Free one task's grant; the last one gives back the slots of shared limits."""
        if (held := self.ledger.release(job, role, index)) is None:
            return None
        self.queues.count_held(spec, [held], -1)
        if self.queues.any_limit:
            self.changed_limits.update(self.queues.chain(spec.queue))
        if job not in self.ledger.holdings:
            if spec.uses:
                self.queues.count_slots(spec.uses, -1)
                self.changed_limits.update(spec.uses)
            self.ends.remove(job)
            gone = self.running.pop(job, None)
            if gone is not None and gone.spec.preemptible:
                self.lowest[gone.spec.queue].remove(gone.priority)
            if gone is not None:
                del self.running_in[gone.spec.queue][job]
            self.elastic.discard(job)
        else:
            self.ends.rewrite(job)
            running = self.running.get(job)
            if running is not None:
                running.leaving.discard((role, index))
        self.victims_changed = True
        return held
