"""One cycle: who starts now, where, and what holds back the others.

Classes are taken in the order of their first jobs. What finds a place starts. The first job of each pool of nodes
that finds none is promised its earliest moment (backfill) or bars the nodes it could use (no backfill); later jobs
start only where that touches nothing promised. What starts is counted in the books at once, so that the rest of the
cycle sees it: whoever only wants to know what would happen asks about a copy.

Only classes that something changed for are tried; of the others the first of each pool is enough to know who is owed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.core import explain
from clearway.core.agenda import Agenda
from clearway.core.backfill import Promises
from clearway.core.draft import Draft
from clearway.core.grow import grow
from clearway.core.hopeless import hopeless
from clearway.core.line import BLOCKING, Key, Mode, pool_mask
from clearway.core.place import anywhere, either, place
from clearway.core.places import NONE
from clearway.core.preempt import Clearing, Search
from clearway.core.resources import GPUS
from clearway.core.rivals import Rivals
from clearway.core.waking import wake
from clearway.model.events import ClassWaits, Decided, Resized, Started, Stopping
from clearway.model.reasons import Code, Reason, because
from clearway.model.states import End

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from clearway.core.ledger import Held
    from clearway.core.line import WaitClass, Waiting
    from clearway.core.place import Allowed
    from clearway.core.places import Places
    from clearway.core.trace import Trace
    from clearway.core.view import View
    from clearway.model.ids import ClassId, JobId

MOST_PROMISES = 200  # conservative backfill looks so many blocked jobs ahead; those behind them wait their turn
SAYING = ("first", "queue", "limit", "user", "booking")
"""Facts that make another reason of the same code; amounts alone do not."""
SHOWN_NODES = 8  # a start's cause names so many nodes, then "..": the grants name them all


class Plan(NamedTuple):
    """What should happen now, as records. Its starts are counted in the view's books already.

    `next_us`: when to decide again even if nothing happens, because someone is protected no longer.
    """

    records: list[Decided]
    next_us: int | None = None


def decide(view: View, now_us: int, trace: Trace | None = None) -> Plan:
    """Return what should happen now. A trace is told what is considered; it changes nothing."""
    view.reach(now_us)
    return _Cycle(view, now_us, trace).run()


class _Cycle:
    def __init__(self, view: View, now_us: int, trace: Trace | None = None) -> None:
        self.view, self.now_us, self.trace = view, now_us, trace
        self.draft = Draft(view.ledger)
        self.plan: list[Decided] = []
        self.promises = Promises(view, self.draft, now_us)
        self.barred: NDArray[np.bool_] | None = None
        self.pools: set[int] = set()
        self.wanted: set[int] = set()
        self.first: Waiting | None = None
        self.started: set[JobId] = set()
        self.said: set[ClassId] = set()
        self.next_us: int | None = None
        self.agenda = Agenda(view, (), alone=True)
        self.full: set[Places] = set()  # candidates of which none is left
        self.rivals = Rivals(view)

    def run(self) -> Plan:
        wake(self.view)
        view = self.view
        view.order_queues(self.now_us)
        view.line.sort_into_pools(view.ledger)
        self._in_order()
        self._explain_new()
        self.plan += grow(view, self.draft, self.promises, self.barred, self.now_us)
        self.plan += self.promises.changes()
        view.ledger.trim()
        return Plan(self.plan, self.next_us)

    def _in_order(self) -> None:
        line = self.view.line
        over = line.turned_over()
        first, pools = [*line.awake, *over], list(line.blocking)
        if self.promises.everyone:
            # each sleeping class is owed something
            heads = [number for lanes in line.blocking.values() for one in lanes.values() for _, number in one.entries]
            first, pools = [*first, *(number for number in heads if number not in over)], []
        # positions are worked out only where queues are really compared
        queues = {line.classes[number].spec.queue for number in first}.union(*(line.blocking[pool] for pool in pools))
        alone = not self.promises.active and len(queues) == 1
        self.agenda = Agenda(self.view, first, pools, alone=alone)
        while (turn := self.agenda.next()) is not None:
            cls = line.classes[turn.cls]
            position = self._take_turn(cls, turn.position, turn.key)
            if position is not None and position < len(cls.entries):
                self.agenda.add(cls, position)
            if self.barred is not None and self.barred.all() and self.view.rules.backfill == "none":
                break
        line.wake_turned_over()

    def _another_chance(self) -> None:
        """Have those tried again whom a promise kept from starting that is over or has moved."""
        for cls in self.view.line.wake_passed_over():
            left = next((i for i in range(len(cls.entries)) if cls.entries[i][1] not in self.started), None)
            if left is not None:
                self.agenda.add(cls, left)

    def _take_turn(self, cls: WaitClass, position: int, key: Key) -> int | None:
        """Start the job whose turn it is, or see to what it is owed; return the class's next position in this cycle."""
        waiting = cls.jobs[cls.entries[position][1]]
        if waiting.job in self.started:
            return None  # a class that was given another chance may have two turns
        if self.trace is not None:
            self.trace.turn(cls, waiting, self._bar_for(cls))
        limit = self.view.queues.held_back(waiting.spec)
        line = self.view.line
        if cls.id in line.stirred or cls.id in line.hopeful:
            if limit is None and self._sleeps_on(cls, waiting, key):
                self._owe(cls, waiting, key)
                return None
            line.wake(cls)
        if limit is not None:
            if not self._clear_limit(cls, waiting, key, limit):
                self._limited(cls, limit)
            return None
        if cls.mode in BLOCKING:
            self._owe(cls, waiting, key)
            return None
        if cls.simple and self._is_full(cls.places[0]):
            return self._failed(cls, waiting, position, key)
        if self.rivals.any and self._rival_first(cls, waiting, position, key):
            return None
        held = self._place(cls, waiting, key)
        if held is not None:
            self._start(waiting, held)
            return position + 1
        if cls.simple:
            self._is_full(cls.places[0])
        return self._failed(cls, waiting, position, key)

    def _is_full(self, places: Places) -> bool:
        """Return whether no node has room for one more task like these, and note it for the rest of the cycle."""
        if places not in self.full:
            places.refresh()
            if places.best() != NONE:
                return False
            self.full.add(places)
        return True

    def _sleeps_on(self, cls: WaitClass, waiting: Waiting, key: Key) -> bool:
        """Return whether a class that got a turn in its sleep finds no room, and nobody whom it may stop."""
        line, hopeful = self.view.line, cls.id in self.view.line.hopeful
        if cls.id in line.stirred and cls.places[0] not in self.full:
            return False
        line.stirred.discard(cls.id)
        line.hopeful.discard(cls.id)
        if not hopeful:
            return self._as_before(cls, waiting)
        if self.promises.kept_for(waiting.job):
            return False
        search = Search(self.view, cls, waiting, self.now_us, self._allowed(waiting, key))
        if search.best() is not None:
            return False
        self._soonest(search.next_us)
        self._waits(cls, None, search)
        return True

    def _rival_first(self, cls: WaitClass, waiting: Waiting, position: int, key: Key) -> bool:
        """Give a job its turn later where another would stop it as soon as it ran; return whether there is one."""
        if self.rivals.passed_by(self.agenda, cls, waiting):
            self.agenda.postpone(cls, position)
            return True
        turn = self.rivals.before(self.agenda, cls, waiting, key)
        if turn is None:
            return False
        rival = self.view.line.classes[turn.cls]
        for one, at in ((cls, position), (rival, self._take_turn(rival, turn.position, turn.key))):
            if at is not None and at < len(one.entries):
                self.agenda.add(one, at)
        return True

    # --- starting ------------------------------------------------------------------------------

    def _place(self, cls: WaitClass, waiting: Waiting, key: Key) -> list[Held] | None:
        if not self.promises.leaves_limits(waiting, key):
            return None
        barred = self._bar_for(cls)
        if barred is not None and (mine := self.promises.booked.unbarred(waiting)):
            barred = barred.copy()
            barred[mine] = False
        barred = either(barred, self.promises.booked.shut(waiting))
        if not self.promises.binding(waiting, key):
            return place(self.view, cls, waiting, self.draft, barred, anywhere)
        barred = either(barred, self.promises.tight(cls, waiting, key))
        return place(self.view, cls, waiting, self.draft, barred, self.promises.guard(waiting, key))

    def _allowed(self, waiting: Waiting, key: Key) -> Allowed:
        """Return the check that a place touches nothing that is promised to others."""
        return self.promises.guard(waiting, key) if self.promises.binding(waiting, key) else anywhere

    def _bar_for(self, cls: WaitClass) -> NDArray[np.bool_] | None:
        """Return the nodes that are barred for a class.

        Where jobs may pass one another, what takes nothing that a barring job asks for cannot delay it and may pass.
        """
        if self.barred is None:
            return None
        if self.view.rules.backfill != "none" and self.wanted.isdisjoint(self._rows(cls)):
            return None
        return self.barred

    def _rows(self, cls: WaitClass) -> set[int]:
        """Return the rows of resources that a class asks for; any part of a device counts as devices."""
        ledger, demands = self.view.ledger, [role.demand for role in cls.spec.roles]
        rows = {row for demand in demands for row, _ in ledger.needs_of(demand)}
        return rows | ({GPUS} if any(demand.one_device or demand.colocate for demand in demands) else set())

    def _start(self, waiting: Waiting, held: list[Held]) -> None:
        if self.trace is not None:
            self.trace.started(waiting, held)
        booked = self.promises.booked.unbarred(waiting)
        self.draft.keep()
        weighed = self.view.weighed(waiting.candidate, self.now_us) if self.view.rules.mix is not None else {}
        self.view.count_start(waiting.job, waiting.spec, held, self.now_us)
        self.started.add(waiting.job)
        self.agenda.started()
        self.promises.started(waiting.job)
        if booked:
            self.promises.look_again()
        if waiting.job in self.view.reservations:
            # its promise is over: those whom it kept from starting have another chance
            self._another_chance()
        grants = tuple([one.grant for one in held])
        cause = self._cause(waiting, held, weighed)
        self.plan.append(Started(self.now_us, waiting.job, waiting.attempt + 1, grants, cause))

    def _cause(self, waiting: Waiting, held: list[Held], weighed: Mapping[str, int]) -> Reason:
        specs = self.view.ledger.specs
        if len(held) == 1:
            shown = specs[held[0].grant.node].name
        else:
            nodes = list(dict.fromkeys([specs[one.grant.node].name for one in held]))
            shown = ", ".join(nodes[:SHOWN_NODES]) + (", .." if len(nodes) > SHOWN_NODES else "")
        heir, passed = waiting.candidate, self.promises.passed()
        if not heir.heir_of and passed is None and not weighed:
            return Reason(Code.PLACED, (("nodes", shown),))
        parts = {f"part.{name}": part for name, part in weighed.items()}
        if heir.heir_of:
            return because(Code.INHERITED, nodes=shown, priority=heir.priority, first=heir.heir_of, **parts)
        if passed is None:
            return because(Code.PLACED, nodes=shown, **parts)
        return because(Code.BACKFILLED, nodes=shown, first=passed[0], start_us=passed[1], **parts)

    # --- holding back --------------------------------------------------------------------------

    def _clear_limit(self, cls: WaitClass, waiting: Waiting, key: Key, limit: Reason) -> bool:
        """Make room below a queue's limit by stopping others of the queue; return whether that was tried."""
        if limit.code != Code.QUEUE_LIMIT or not self.view.rules.preempt:
            return False
        if not self.promises.clearing(waiting.job):
            self.promises.give_up(waiting.job)
            search = Search(self.view, cls, waiting, self.now_us, self._allowed(waiting, key))
            clearing = search.best()
            self._soonest(search.next_us)
            if clearing is None:
                self._limited(cls, limit, search)
                return True
            self._order_clearing(waiting, clearing)
            self.promises.hold(cls, waiting, key, clearing.grants)
        self._limited(cls, because(Code.CLEARING))
        cls.limited_by = self.view.queues.chain(cls.spec.queue)
        return True

    def _limited(self, cls: WaitClass, limit: Reason, search: Search | None = None) -> None:
        self._waits(cls, limit, search)
        self.view.line.sleep(cls, Mode.LIMITED)
        cls.limited_by = (str(limit.get("queue") or limit.get("limit")),)

    def _failed(self, cls: WaitClass, waiting: Waiting, position: int, key: Key) -> int | None:
        """See why a job found no place: the fleet cannot hold it, there is no room, or others go first."""
        line = self.view.line
        if hopeless(self.view, cls):
            self._waits(cls, None, never=cls.never)
            line.sleep(cls, Mode.CANNOT)
            return None
        if self.promises.booked.touched(waiting) and self._only_booked(cls, waiting):
            return self._kept_away(cls, waiting, position, key)
        if not self._has_room(cls, waiting, key):
            self._no_room(cls, waiting, key)
            return self._everyone_after(position)
        promise = self.promises.in_the_way(waiting, key) if self.barred is None else None
        if promise is None:
            self._waits(cls, self._behind())
            self._owe(cls, waiting, key)
            return self._everyone_after(position)
        return self._passed_over(cls, waiting, position, key, promise)

    def _everyone_after(self, position: int) -> int | None:
        """Return the next position where every blocked job is promised something; where only the first is, none."""
        if not self.promises.everyone:
            return None
        if len(self.promises.active) < MOST_PROMISES:
            return position + 1
        self.barred = np.ones(self.view.ledger.count, np.bool_)
        self.wanted = set(range(len(self.view.ledger.free)))
        return None

    def _behind(self) -> Reason:
        return because(Code.BEHIND, first=self.first.spec.name if self.first else "")

    def _no_room(self, cls: WaitClass, waiting: Waiting, key: Key) -> None:
        """Make room by stopping others, where the policy allows; else the class sleeps until something comes free."""
        if self.promises.clearing(waiting.job):
            self._waits(cls, because(Code.CLEARING))
        elif not self.view.rules.preempt:
            self._waits(cls, None)
        else:
            self.promises.give_up(waiting.job)
            search = Search(self.view, cls, waiting, self.now_us, self._allowed(waiting, key))
            clearing = search.best()
            if clearing is not None:
                self._clear(cls, waiting, key, clearing)
                return
            self._soonest(search.next_us)
            self._waits(cls, None, search)
        if not self.promises.everyone:
            self.view.line.sleep(cls, Mode.NO_ROOM)
        self._owe(cls, waiting, key)

    def _as_before(self, cls: WaitClass, waiting: Waiting) -> bool:
        """Return whether a class that finds no room would only be told once more what it was told last."""
        if not cls.reasons or cls.reasons[0].code != Code.NO_CAPACITY:
            return False
        view = self.view
        if not view.rules.preempt:
            return len(cls.reasons) == 1
        if self.promises.kept_for(waiting.job):
            return False
        taker, shares = view.taker(waiting), view.shares()
        refusals = [f"{rule.name}: {why}" for rule in view.rules.preempt if (why := rule.refusal(taker, shares))]
        said = cls.reasons[1].get("why") if len(cls.reasons) > 1 else ""
        return len(refusals) == len(view.rules.preempt) and said == "; ".join(refusals)

    def _soonest(self, moment_us: int | None) -> None:
        if moment_us is not None:
            self.next_us = moment_us if self.next_us is None else min(self.next_us, moment_us)

    def _order_clearing(self, waiting: Waiting, clearing: Clearing) -> None:
        """Have those who stand on a place stop or shrink."""
        for unit in clearing.units:
            first, priority = waiting.spec.name, waiting.candidate.priority
            cause = because(
                Code.PREEMPTED, first=first, job=waiting.job, cause=unit.cause, priority=priority, lost=unit.lost
            )
            running = self.view.running[unit.job]
            if unit.whole:
                self.plan.append(Stopping(self.now_us, unit.job, running.attempt, End.PREEMPTED, cause))
                running.stopping = True
            else:
                less = tuple(one.grant for one in unit.held)
                self.plan.append(Resized(self.now_us, unit.job, running.attempt, cause, less=less))
                running.leaving.update((grant.role, grant.index) for grant in less)

    def _clear(self, cls: WaitClass, waiting: Waiting, key: Key, clearing: Clearing) -> None:
        """Order a place to be cleared, and keep it for the job."""
        self._order_clearing(waiting, clearing)
        self.promises.hold(cls, waiting, key, clearing.grants)
        self._waits(cls, because(Code.CLEARING))
        self.view.line.sleep(cls, Mode.NO_ROOM)

    def _passed_over(self, cls: WaitClass, waiting: Waiting, position: int, key: Key, promise: Reason) -> int | None:
        """See which shorter job of the class may still pass where a promise is in the way."""
        if cls.id not in self.said:
            self.said.add(cls.id)  # what holds for the first of those left is the class's reason
            self._waits(cls, promise)
        if not self.promises.yields(waiting, key):
            self._owe(cls, waiting, key)
        if self.promises.everyone:
            return self._everyone_after(position)
        shorter = cls.shorter(position + 1, waiting.estimate_us)
        if shorter is None:
            cls.too_long_us = waiting.estimate_us
            self.view.line.sleep(cls, Mode.PASSED_OVER)
        return shorter

    def _has_room(self, cls: WaitClass, waiting: Waiting, key: Key) -> bool:
        """Return whether a job that found no place would find one if nobody were owed anything."""
        if self.barred is None and not self.promises.binding(waiting, key):
            return False
        roles = cls.spec.roles
        if len(roles) == 1 and roles[0].min_tasks == 1 and waiting.spec.pin is None:
            cls.places[0].refresh()
            return cls.places[0].best() != NONE
        mark = self.draft.mark()
        held = place(self.view, cls, waiting, self.draft, None, anywhere)
        self.draft.undo(mark)
        return held is not None

    def _only_booked(self, cls: WaitClass, waiting: Waiting) -> bool:
        """Return whether a job would find room, promises aside, if nothing were booked for others, and only then."""
        mark = self.draft.mark()
        somewhere = place(self.view, cls, waiting, self.draft, None, anywhere)
        self.draft.undo(mark)
        if somewhere is None:
            return False
        guard = self.promises.guard_booked(waiting)
        left = place(self.view, cls, waiting, self.draft, self.promises.booked.shut(waiting), guard)
        self.draft.undo(mark)
        return left is None

    def _kept_away(self, cls: WaitClass, waiting: Waiting, position: int, key: Key) -> int | None:
        """Make room elsewhere for a job that a booking keeps away, where the policy allows; else it waits for that."""
        if self.promises.clearing(waiting.job):
            self._no_room(cls, waiting, key)
            return self._everyone_after(position)
        if self.view.rules.preempt:
            search = Search(self.view, cls, waiting, self.now_us, self._allowed(waiting, key))
            clearing = search.best()
            if clearing is not None:
                self._clear(cls, waiting, key, clearing)
                return self._everyone_after(position)
            self._soonest(search.next_us)
        reason = self.view.bookings.reason(waiting.spec, self.now_us, self.promises.end_us(waiting))
        return self._passed_over(cls, waiting, position, key, reason)

    def _owe(self, cls: WaitClass, waiting: Waiting, key: Key) -> None:
        """Keep for a blocked job what is its due: a promise, or the nodes it could use."""
        if (cls.pool in self.pools and not self.promises.everyone) or waiting.job in self.started:
            return
        self.pools.add(cls.pool)
        self.agenda.close(cls.pool)
        if self.first is None:
            self.first = waiting
        before = self.view.reservations.get(waiting.job)
        reserved = self.view.rules.backfill != "none" and self.promises.reserve(cls, waiting, key)
        if before is not None and self.promises.made_to(waiting.job) != before:
            self._another_chance()
        if not reserved:
            mask, shut = pool_mask(cls), self.promises.booked.shut(waiting)
            if shut is not None:
                mask &= ~shut  # what is booked for others it could not use: those may
            self.barred = mask if self.barred is None else self.barred | mask
            self.wanted |= self._rows(cls)

    # --- explaining ----------------------------------------------------------------------------

    def _waits(
        self, cls: WaitClass, reason: Reason | None, search: Search | None = None, *, never: bool = False
    ) -> None:
        """Record a class's reason if it is another than the last one; counts alone make no other reason.

        `search`: the one for victims that found no place.
        """
        code = reason.code if reason is not None else Code.NEVER_FITS if never else Code.NO_CAPACITY
        last = cls.reasons[0] if cls.reasons else None
        more = search.why_not(limited=reason is not None) if search is not None else ()
        alike = last is not None and last.code == code and cls.reasons[1:] == more
        if last is not None and alike and (reason is None or all(last.get(k) == reason.get(k) for k in SAYING)):
            return
        if reason is None:
            reason = explain.no_capacity(self.view, cls, never=never)
        self.plan.append(ClassWaits(self.now_us, cls.id, (reason, *more)))

    def _explain_new(self) -> None:
        """Give a reason to classes that the cycle did not come to, or that go on waiting with later jobs."""
        said = {record.cls for record in self.plan if isinstance(record, ClassWaits)}
        for number in sorted(self.view.line.new - said):
            cls = self.view.line.classes[number]
            if any(job not in self.started for job in cls.jobs):
                self._waits(cls, self._behind())
