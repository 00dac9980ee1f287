"""Promises to waiting jobs, and who may pass them.

The first job of each pool that finds no place is promised the earliest moment at which it would, by the expected
ends of what runs. A later job may start where it ends before that moment, or where the promised grants still find
room beside it (EASY; Lifka 1995, "The ANL/IBM SP scheduling system").
"""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.core.booked import Booked
from clearway.core.devices import pick
from clearway.core.headroom import Headroom, still_clearing
from clearway.core.line import pool_mask
from clearway.core.place import Allowed, grant_of
from clearway.core.profile import NEVER, Table
from clearway.core.turns import apart
from clearway.core.view import Reservation
from clearway.model.events import Reserved
from clearway.model.ids import NodeId
from clearway.model.reasons import Code, Reason, because

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from clearway.core.draft import Draft
    from clearway.core.line import Key, WaitClass, Waiting
    from clearway.core.resources import Needs
    from clearway.core.view import View
    from clearway.model.events import Grant
    from clearway.model.ids import JobId
    from clearway.model.job import JobSpec


FIRST_LOOK, LOOK_FURTHER = 32, 8  # most promises fall on one of the next ends: look there first, then further


class Active(NamedTuple):
    """A promise of this cycle, the job it is made to, and that job's place in the order."""

    promise: Reservation
    cls: WaitClass
    waiting: Waiting
    key: Key


class Promises:
    """The reservations of one cycle, in the order of their jobs."""

    def __init__(self, view: View, draft: Draft, now_us: int) -> None:
        """Begin a cycle with what is being cleared for jobs; other promises are taken up as their jobs are come to."""
        self.view, self.draft, self.now_us = view, draft, now_us
        self.active: list[Active] = []
        for promise in view.reservations.values():
            if promise.held:
                waiting = view.line.member(promise.job)
                cls = view.line.classes[waiting.cls]
                self.active.append(Active(promise, cls, waiting, view.turn_key(cls, waiting)))
        self._owned: NDArray[np.bool_] = np.zeros(view.ledger.count, np.bool_)
        self._table: Table | None = None
        self._any_started = False
        self._moved = view.promises_changed
        """Others are promised something else than before: a promise may no longer stand, or could be an earlier one."""
        self._left: dict[tuple[JobId, NodeId], list[int]] = {}
        self._headroom = Headroom(view)
        self._gained = sorted(view.ledger.gained)
        self.everyone = view.rules.backfill == "conservative"
        self.booked = Booked(view, now_us)

    # --- passing -------------------------------------------------------------------------------

    def end_us(self, waiting: Waiting) -> int:
        """Return when a job is expected to end that starts now."""
        return min(self.now_us + waiting.estimate_us, NEVER)

    def clearing(self, job: JobId) -> bool:
        """Return whether a place is still being cleared for a job."""
        return any(
            one.promise.job == job and one.promise.held and still_clearing(self.view, one.promise)
            for one in self.active
        )

    def kept_for(self, job: JobId) -> bool:
        """Return whether a place is kept that was cleared for a job."""
        return any(one.promise.job == job and one.promise.held for one in self.active)

    def made_to(self, job: JobId) -> Reservation | None:
        """Return what a job is promised in this cycle."""
        return next((one.promise for one in self.active if one.promise.job == job), None)

    def give_up(self, job: JobId) -> None:
        """Keep nothing for a job any more that was cleared for it and did not do."""
        left = [one for one in self.active if not (one.promise.job == job and one.promise.held)]
        self._moved = self._moved or len(left) < len(self.active)
        self.active = left
        self._forget_left()

    def hold(self, cls: WaitClass, waiting: Waiting, key: Key, grants: tuple[Grant, ...]) -> None:
        """Keep a place for a job while those who stand there are stopped."""
        self.active.insert(0, Active(Reservation(waiting.job, self.now_us, grants, held=True), cls, waiting, key))
        self._moved = True
        self._forget_left()

    def _due(self, waiting: Waiting, key: Key) -> list[Active]:
        """Return the promises that a job must not touch: due before its end, and not made to a weaker job."""
        end = self.end_us(waiting)
        return [
            one
            for one in self.active
            if one.promise.start_us < end and one.waiting is not waiting and not self._stronger(waiting, key, one)
        ]

    def _stronger(self, waiting: Waiting, key: Key, one: Active) -> bool:
        """Return whether a job may take a place that is cleared for another: it goes first, and did not yield it."""
        # of another queue it needs a claim that the other has not: by the order alone it could have stopped nobody
        mine = waiting.spec.queue == one.waiting.spec.queue
        before = key < one.key if mine else key[0] < one.key[0]
        return one.promise.held and before and waiting.candidate.yielded_to != one.promise.job

    def leaves_limits(self, waiting: Waiting, key: Key) -> bool:
        """Return whether a job leaves below the limits of queues what those need whose places are being cleared."""
        if not (self.active and self.view.queues.any_limit):
            return True
        return self._headroom.leaves(waiting, [o.waiting for o in self._due(waiting, key) if o.promise.held])

    def _forget_left(self) -> None:
        """Forget what was worked out about room beside promises: something was promised, given up or started."""
        self._left.clear()
        self._headroom.forget()

    def yields(self, waiting: Waiting, key: Key) -> bool:
        """Return whether a job waits because a place is kept that was cleared for another: it is owed nothing."""
        return any(one.promise.held for one in self._due(waiting, key))

    def binding(self, waiting: Waiting, key: Key) -> bool:
        """Return whether a job, started now, would still run when a promise falls due or a booking begins."""
        return (bool(self.active) and bool(self._due(waiting, key))) or self.booked.touched(waiting)

    def guard(self, waiting: Waiting, key: Key) -> Allowed:
        """Return the check that a task drafted on a node leaves room for what is promised there."""
        due = self._due(waiting, key)

        def allowed(node: NodeId) -> bool:
            self.booked.asking = waiting.spec
            mine = self.booked.own(waiting, node)
            stand = all(self.booked.overrides(mine, one.waiting.spec) or self._beside(one, node) for one in due)
            return stand and self._leaves_booked(node, self.end_us(waiting))

        return allowed

    def tight(self, cls: WaitClass, waiting: Waiting, key: Key) -> NDArray[np.bool_] | None:
        """Return the nodes where promises leave too little for any task of a job, None where there are none.

        It saves looking closely at places that the guard would refuse. What is left on a node is worked out once and
        kept until something starts. Bookings may override promises: then the guard alone decides.
        """
        if self.booked:
            return None
        needs = [self.view.ledger.needs_of(role.demand) for role in cls.spec.roles]
        full = [
            node
            for one in self._due(waiting, key)
            for node in dict.fromkeys(grant.node for grant in one.promise.grants)
            if all(self._too_little(one, node, need) for need in needs)
        ]
        if not full:
            return None
        mask = np.zeros(self.view.ledger.count, np.bool_)
        mask[full] = True
        return mask

    def _too_little(self, one: Active, node: NodeId, needs: Needs) -> bool:
        left = self._left.get((one.promise.job, node))
        if left is None:
            left = self._left[one.promise.job, node] = self._left_at(node, one.promise.start_us)
        return any(left[row] < amount for row, amount in needs)

    def _left_at(self, node: NodeId, moment_us: int) -> list[int]:
        """Return what is free of each resource of a node at a moment beside all that is promised there then."""
        mark = self.draft.mark()
        self._free_until(node, moment_us)
        for one in self.active:
            if one.promise.start_us <= moment_us < one.promise.start_us + one.waiting.estimate_us:
                for grant in one.promise.grants:
                    if grant.node == node:
                        self._take_again(node, one.cls, (grant.role,))
        left = [int(free[node]) for free in self.view.ledger.free]
        self.draft.undo(mark)
        return left

    def guard_booked(self, waiting: Waiting) -> Allowed:
        """Return the check that a task drafted on a node leaves what is booked there, whatever is promised."""

        def allowed(node: NodeId) -> bool:
            self.booked.asking = waiting.spec
            return self._leaves_booked(node, self.end_us(waiting))

        return allowed

    def _leaves_booked(self, node: NodeId, end_us: int) -> bool:
        """Return whether bookings of devices find theirs on a node as it is drafted now, when they begin or go on."""
        return all(self._stands(node, (), moment, moment + 1) for moment in self.booked.moments(node, end_us))

    def guard_all(self, spec: JobSpec) -> Allowed:
        """Return the check that a task of a job that may stay for ever leaves room for every promise and booking."""

        def allowed(node: NodeId) -> bool:
            self.booked.asking = spec
            return all(self._beside(one, node) for one in self.active) and self._leaves_booked(node, NEVER)

        return allowed

    def _beside(self, one: Active, node: NodeId) -> bool:
        """Return whether a promise can be kept on a node as it is drafted now, with the others that hold there then."""
        if all(grant.node != node for grant in one.promise.grants):
            return True
        return self._stands(node, (), one.promise.start_us, one.promise.start_us + 1)

    def _stands(self, node: NodeId, tasks: tuple[tuple[WaitClass, int], ...], start_us: int, end_us: int) -> bool:
        """Return whether tasks find room on a node from `start_us` to `end_us`, beside everything promised there.

        Looked at are the start and every moment in between at which a promise falls due: in between room only grows.
        """
        here = [one for one in self.active if any(grant.node == node for grant in one.promise.grants)]
        inner = {p for one in here if start_us < (p := one.promise.start_us) < end_us}
        inner.update(
            one.booking.from_us for one in self.booked.kept_on(node, start_us, end_us) if one.booking.from_us > start_us
        )
        points = [start_us, *sorted(inner)]
        return all(self._at_once(node, tasks, here, moment) for moment in points)

    def _at_once(
        self, node: NodeId, tasks: tuple[tuple[WaitClass, int], ...], here: list[Active], moment_us: int
    ) -> bool:
        """Return whether tasks and all promises that hold on a node at one moment find room there together."""
        mark = self.draft.mark()
        self._free_until(node, moment_us)
        standing = [
            (one.cls, [grant.role for grant in one.promise.grants if grant.node == node])
            for one in here
            if one.promise.start_us <= moment_us < one.promise.start_us + one.waiting.estimate_us
        ]
        mine = [(tasks[0][0], [role for _, role in tasks])] if tasks else []
        fits = all(self._take_again(node, cls, roles) for cls, roles in (*standing, *mine))
        fits = fits and self.booked.find_theirs(node, moment_us, [(cls, r) for cls, roles in standing for r in roles])
        self.draft.undo(mark)
        return fits

    def _take_again(self, node: NodeId, cls: WaitClass, roles: Sequence[int]) -> bool:
        """Draft tasks of one job on a node, inside one island where it requires that; False if they do not fit."""
        choices = cls.bound.choices(node) if cls.bound is not None else [None]
        mark = self.draft.mark()
        for within in choices:
            mine: list[Grant] = []
            if all(self._take_one(node, cls, role, within, mine) for role in roles):
                return True
            self.draft.undo(mark)
        return False

    def _take_one(
        self, node: NodeId, cls: WaitClass, role: int, within: frozenset[int] | None, mine: list[Grant]
    ) -> bool:
        """Draft one task on a node beside `mine`, others of its job, and add it to those."""
        demand = cls.spec.roles[role].demand
        ledger = self.view.ledger
        if any(ledger.free[row][node] < amount for row, amount in ledger.needs_of(demand)):
            return False
        within = within if demand.gpus or demand.one_device else None
        within = apart(ledger, node, within, mine) if demand.colocate else within
        devices = pick(ledger, node, demand, within=within)
        if devices is None:
            return False
        mine.append(grant_of(ledger, role, 0, node, devices, demand))
        self.draft.take(mine[-1], demand)
        return True

    def _free_until(self, node: NodeId, moment_us: int) -> None:
        """Draft the release of everything on a node that is expected to end by a moment."""
        view = self.view
        for job in sorted(view.ledger.on_node[node]):
            expected = view.ends.jobs.get(job)
            over = expected is not None and expected.end_us <= moment_us
            leaving = view.running[job].leaving if job in view.running else ()
            for one in view.ledger.holdings[job] if over or leaving else ():
                task = (one.grant.role, one.grant.index)
                if one.grant.node == node and (over or task in leaving) and (job, *task) not in view.lifted:
                    self.draft.give(one.grant, one.demand)

    def started(self, job: JobId) -> None:
        """Take note of a start in this cycle: what was worked out about later moments no longer holds."""
        self._table = None
        self._forget_left()
        self._any_started = True
        if self.active:
            self.active = [one for one in self.active if one.promise.job != job]

    def look_again(self) -> None:
        """Make anew the promises that the start of a job in its own booking has broken."""
        before, self.active, self._moved = self.active, [], True
        for one in before:
            self.booked.asking = one.waiting.spec
            promise: Reservation | None = one.promise
            if not one.promise.held and not self._holds(one.promise, one.cls, one.waiting):
                promise = self._earliest(one.cls, one.waiting)
            if promise is not None:
                self.active.append(one._replace(promise=promise))

    def passed(self) -> tuple[str, int] | None:
        """Return whom a job that starts now passes, and when that one is promised to start."""
        if not self.active:
            return None
        first = self.active[0]
        return first.waiting.spec.name, first.promise.start_us

    def in_the_way(self, waiting: Waiting, key: Key) -> Reason | None:
        """Return the promise that keeps a job with room now from starting."""
        for one in self._due(waiting, key):
            node = self.view.ledger.specs[one.promise.grants[0].node].name
            return because(Code.RESERVATION, first=one.waiting.spec.name, start_us=one.promise.start_us, node=node)
        return None

    # --- promising -----------------------------------------------------------------------------

    def reserve(self, cls: WaitClass, waiting: Waiting, key: Key) -> bool:
        """See that a blocked job is protected: by a promise of its own, or because others before it hold its pool.

        False: no moment can be promised (nobody knows when capacity comes back), so its nodes must be barred.
        Conservative backfill promises every job its moment; the plain one the first of each pool.
        """
        if self.clearing(waiting.job):
            return True
        self.booked.asking = waiting.spec
        pool = pool_mask(cls)
        if not self.everyone and not (pool & ~self._owned).any():
            return True
        self._owned |= pool
        promise = self._keep_or_make(cls, waiting)
        self._moved = self._moved or promise != self.view.reservations.get(waiting.job)
        if promise is None:
            return False
        self.active.append(Active(promise, cls, waiting, key))
        self._forget_left()
        return True

    def _keep_or_make(self, cls: WaitClass, waiting: Waiting) -> Reservation | None:
        """Keep the last cycle's promise while it can be kept and nothing earlier came up."""
        old = self.view.reservations.get(waiting.job)
        if old is not None and old.held:
            old = None
        still = not self._gained and not self._any_started and not self._moved
        if old is not None and still and old.start_us > self.now_us:
            return old
        if old is None or not self._holds(old, cls, waiting):
            return self._earliest(cls, waiting)
        if old.start_us <= self.now_us:
            timeout = self.view.rules.reservation_timeout_us
            late = timeout is not None and self.now_us >= old.start_us + timeout
            return (self._earliest(cls, waiting) or old) if late else old
        if not self._sooner_on(cls, old.start_us):
            return old
        new = self._earliest(cls, waiting)
        return new if new is not None and new.start_us < old.start_us else old

    def _sooner_on(self, cls: WaitClass, start_us: int) -> bool:
        """Return whether what came free since the last cycle may let a job start before its promise.

        A job that needs one place only can start sooner on just those nodes where something came free, unless
        others that are promised something move as well.
        """
        if self._moved:
            return True
        if not self._gained and not self.everyone:
            return False
        role = cls.spec.roles[0]
        if len(cls.spec.roles) > 1 or role.min_tasks > 1 or self.everyone:
            return True
        return any(cls.places[0].may[node] and self._fits_before(cls, NodeId(node), start_us) for node in self._gained)

    def _fits_before(self, cls: WaitClass, node: NodeId, start_us: int) -> bool:
        mark = self.draft.mark()
        self._free_until(node, start_us - 1)
        fits = self._take_again(node, cls, (0,))
        self.draft.undo(mark)
        return fits

    def _holds(self, promise: Reservation, cls: WaitClass, waiting: Waiting) -> bool:
        """Return whether a promise of an earlier cycle can still be kept beside those before it."""
        by_node: dict[NodeId, list[tuple[WaitClass, int]]] = {}
        for grant in promise.grants:
            by_node.setdefault(grant.node, []).append((cls, grant.role))
        ledger, start = self.view.ledger, promise.start_us
        shut = self.booked.shut(waiting, start)
        return all(
            ledger.open[node] and not ledger.drained[node] and not (shut is not None and shut[node])
            and self._stands(node, tuple(tasks), start, start + waiting.estimate_us)
            for node, tasks in by_node.items()
        )  # fmt: skip

    def _earliest(self, cls: WaitClass, waiting: Waiting) -> Reservation | None:
        """Return the first moment at which a job finds a place, with that place; None if none is known."""
        if self._table is None:
            self._table = Table(self.view.ledger, self.view.ends, self.now_us)
        table = self._table
        moments = table.moments
        low, high = 0, FIRST_LOOK
        while high < len(moments) and not self._enough(table, cls, moments[high][0]):
            low, high = high + 1, high * LOOK_FURTHER
        high = min(high, len(moments))
        while low < high:
            middle = (low + high) // 2
            if self._enough(table, cls, moments[middle][0]):
                high = middle
            else:
                low = middle + 1
        first = moments[low][0] if low < len(moments) else NEVER
        for moment in self._from(moments, low, first, self._booked_until(table, cls, first)):
            grants = self._at(table, cls, waiting, moment)
            if grants is not None:
                return Reservation(waiting.job, moment, grants)
        return None

    def _booked_until(self, table: Table, cls: WaitClass, first: int) -> list[int]:
        """Return the ends of bookings at which a class may find room; before `first` only those with enough of it."""
        return [moment for moment in self.booked.ends() if moment >= first or self._enough(table, cls, moment)]

    def _from(self, moments: Sequence[tuple[int, JobId]], low: int, first: int, booked: Sequence[int]) -> Iterator[int]:
        """Yield the moments at which room may come: expected ends, and the ends of promises and bookings."""
        after = {e for one in self.active if first < (e := one.promise.start_us + one.waiting.estimate_us) < NEVER}
        after.update(booked)
        ends = (moment for moment, _ in itertools.islice(moments, low, None))
        last = None
        for moment in heapq.merge(ends, sorted(after)):
            if moment != last:
                yield moment
            last = moment

    def _enough(self, table: Table, cls: WaitClass, moment_us: int) -> bool:
        if cls.bound is not None and cls.bound.required and not cls.bound.enough(table.by_role(cls, moment_us)).any():
            return False
        return all(
            int(table.slots(places, role, moment_us).sum()) >= role.min_tasks
            for places, role in zip(cls.places, cls.spec.roles, strict=True)
        )

    def _at(self, table: Table, cls: WaitClass, waiting: Waiting, moment_us: int) -> tuple[Grant, ...] | None:
        """Return the grants of a job's least tasks from a moment on, on few nodes; None if they do not fit."""
        many = table.by_role(cls, moment_us)
        shut = self.booked.shut(waiting, moment_us)
        if shut is not None:
            many = [np.where(shut, 0, one) for one in many]
        bound = cls.bound
        if bound is None or not bound.required:
            return self._on(cls, waiting, moment_us, many)
        for site in bound.sites(many):
            inside = [one * site if i in bound.roles else one for i, one in enumerate(many)]
            grants = self._on(cls, waiting, moment_us, inside)
            if grants is not None:
                return grants
        return None

    def _on(
        self, cls: WaitClass, waiting: Waiting, moment_us: int, many: Sequence[NDArray[np.int64]]
    ) -> tuple[Grant, ...] | None:
        """Return grants on nodes that have room for so many tasks of each role at a moment; None if they do not fit."""
        end_us = min(moment_us + waiting.estimate_us, NEVER)
        standing: dict[int, tuple[tuple[WaitClass, int], ...]] = {}
        grants: list[Grant] = []
        for number, role in enumerate(cls.spec.roles):
            left = role.min_tasks
            for node in np.argsort(-many[number], kind="stable").tolist():
                if not left or not many[number][node]:
                    break
                for _ in range(min(left, int(many[number][node]))):
                    tasks = (*standing.get(node, ()), (cls, number))
                    if not self._stands(NodeId(node), tasks, moment_us, end_us):
                        break
                    standing[node] = tasks
                    left -= 1
                    grants.append(grant_of(self.view.ledger, number, len(grants), NodeId(node), (), role.demand))
            if left:
                return None
        return tuple(grants)

    # --- result --------------------------------------------------------------------------------

    def changes(self) -> list[Reserved]:
        """Return the promises that are new, other than before, or over."""
        now: dict[JobId, Reservation] = {one.promise.job: one.promise for one in self.active}
        before = self.view.reservations
        over = [Reserved(self.now_us, job, 0, ()) for job in sorted(before.keys() - now.keys())]
        return over + [
            Reserved(self.now_us, p.job, p.start_us, p.grants, p.held) for p in now.values() if before.get(p.job) != p
        ]
