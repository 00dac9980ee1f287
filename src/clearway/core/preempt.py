"""Whom to stop so that a waiting job can start: the place first, then the fewest and least important who stand on it.

The search (laws in docs/policies/preemption.md): a place is known before anyone is stopped, or nobody is. Of the
places where stopping works the one is taken whose most important victim is least important, then where the least
work is lost, then with the fewest victims. A rigid gang is stopped whole; a job that can shrink gives back single
tasks before anyone is stopped whole. Afterwards everyone who turns out not to be needed is spared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.core.devices import fits, pick
from clearway.core.draft import Draft
from clearway.core.place import Allowed, grant_of
from clearway.core.protocols import UNKNOWN_US, Remembers, Victim
from clearway.core.resources import GPUS
from clearway.core.swaps import frozen_until
from clearway.core.turns import apart
from clearway.model.ids import NodeId
from clearway.model.reasons import Code, Reason, because

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from clearway.core.ledger import Held
    from clearway.core.line import WaitClass, Waiting
    from clearway.core.protocols import Taking
    from clearway.core.queues import Amounts
    from clearway.core.view import Running, View
    from clearway.model.events import Grant
    from clearway.model.ids import JobId
    from clearway.model.job import Demand

Rank = tuple[int, int]
"""Importance of a unit: the job's priority with what age gave it; then 0 for a task given back, 1 for all of it."""

MOST_SPARED = 64  # of a large clearing so many are looked at, the most important first, whether they can be spared
LOOKS = 16  # where only past use is in the way it is looked at again so often in a half-life
SECOND_US = 1_000_000
PLACES_TRIED = 64  # so many of the places that look best are worked out in full


class Unit(NamedTuple):
    """What can be taken at once: a whole job, or one task that it can spare.

    `turn` counts the tasks that a job could spare on one node, so that they are taken from all its nodes in turn.
    """

    rank: Rank
    lost: int
    job: JobId
    whole: bool
    held: tuple[Held, ...]
    cause: str
    turn: int = 0


class Clearing(NamedTuple):
    """A place for the waiting job and what must be taken for it."""

    grants: tuple[Grant, ...]
    units: tuple[Unit, ...]


class Search:
    """The search for one waiting job in one cycle. `next_us`: when someone is first protected no longer."""

    def __init__(self, view: View, cls: WaitClass, waiting: Waiting, now_us: int, allowed: Allowed) -> None:
        """Find out what could be taken. `allowed` says whether a place touches what is promised to others."""
        self.view, self.cls, self.waiting, self.now_us, self.allowed = view, cls, waiting, now_us, allowed
        self.next_us: int | None = None
        self.refusals: list[str] = []
        self.frozen: tuple[int, JobId, str] | None = None
        """Who was stopped for the job too often to be stopped again: until when, its number and its name."""
        self.taker, self.shares = view.taker(waiting), view.shares()
        self.draft = Draft(view.ledger)
        self.spare: dict[tuple[JobId, int], int] = {}
        self.waiting = waiting
        end_us = now_us + waiting.estimate_us
        self.shut = view.bookings.shut(waiting.spec, now_us, end_us) if view.bookings else None
        self.units = self._units()
        self.at: dict[int, list[Unit]] = {}
        for unit in self.units:
            for node in dict.fromkeys(one.grant.node for one in unit.held):
                self.at.setdefault(node, []).append(unit)

    # --- who -----------------------------------------------------------------------------------

    def _units(self) -> list[Unit]:
        causes = []
        for rule in self.view.rules.preempt:
            refusal = rule.refusal(self.taker, self.shares)
            if refusal:
                self.refusals.append(f"{rule.name}: {refusal}")
            else:
                causes.append(rule)
        found: list[Unit] = []
        if causes:
            for queue in sorted(self.view.running_in):
                reaching = [rule for rule in causes if rule.reaches(self.taker, queue, self.shares)]
                for running in self.view.running_in[queue].values() if reaching else ():
                    found += self._of(running, reaching)
        if causes and not found:
            self.refusals += [f"{rule.name}: {self._nobody(rule.name)}" for rule in causes]
        return sorted(found, key=lambda unit: (unit.rank, unit.lost, unit.turn, -unit.job, not unit.whole))

    def _nobody(self, cause: str) -> str:
        if self.next_us is not None:
            return "those who could be stopped are protected by min_runtime or calm for now"
        mine = f"queue {self.taker.queue}"
        return {
            "priority": f"nobody of lower priority than {self.taker.priority} and behind it runs in {mine}",
            "reclaim": "no queue holds more than its guarantee",
            "fair": f"no queue would keep a larger share than {mine}",
        }.get(cause, "nobody has run for a time slice")

    def why_not(self, *, limited: bool) -> tuple[Reason, ...]:
        """Return the reasons why nobody is stopped; a job that a limit holds back is told of frozen pairs only."""
        said = () if limited or not self.refusals else (because(Code.NO_VICTIM, why="; ".join(self.refusals)),)
        if self.frozen is None:
            return said
        until_us, job, name = self.frozen
        return (*said, because(Code.FROZEN, first=name, job=job, until_us=until_us))

    def _of(self, running: Running, causes: list[Taking]) -> list[Unit]:
        """Return what a running job can give: tasks that it can spare, and itself, each with its cause."""
        spec = running.spec
        if running.stopping or not spec.preemptible or running.job == self.taker.job:
            return []
        held = tuple(self.view.ledger.holdings[running.job])
        spare = self._spare(running, held)
        parts = [(False, (one,)) for one in spare] + [(True, held)]
        units, on_node = [], Counter[int]()
        for whole, part in parts:
            cause = self._cause(running, part, causes, {})
            if cause is not None:
                rank, lost = (self.view.importance(running), int(whole)), self._lost(running, held) if whole else 0
                turn = 0 if whole else on_node[part[0].grant.node]
                on_node[part[0].grant.node] += 1
                units.append(Unit(rank, lost, running.job, whole=whole, held=part, cause=cause, turn=turn))
        if not units:
            self._later(running)
        free_from = max(running.started_us + self.view.rules.min_runtime_us, running.calm_until_us)
        if free_from > self.now_us and any(unit.whole for unit in units):
            self._soon(free_from)
            units = [unit for unit in units if not unit.whole]
        return units

    def _cause(
        self, running: Running, part: tuple[Held, ...], causes: list[Taking], gone: dict[str, Amounts]
    ) -> str | None:
        """Return the first cause that allows taking a part of a job, None if none does."""
        point, run_us = running.spec.checkpoint, self.now_us - running.started_us
        saves = bool(point.every_us or point.on_stop)
        victim = Victim(running.spec.queue, running.priority, run_us, saves, self._gives(part))
        for rule in causes:
            if rule.allows(self.taker, victim, self.shares, gone):
                if not self._goes_first(running, rule.name):
                    self._grows_older(running)
                elif rule.name == "time_slice" or not self._is_frozen(running):
                    return rule.name
            else:
                self._past_fades(rule, victim, gone)
        return None

    def _is_frozen(self, running: Running) -> bool:
        """Return whether a job was stopped for the taker too often already, and note until when it is left alone."""
        until = frozen_until(running.swaps, self.taker.job, self.now_us) if running.swaps else None
        if until is None:
            return False
        self._soon(until)
        pair = (until, running.job, running.spec.name)
        self.frozen = pair if self.frozen is None else min(self.frozen, pair)
        return True

    def _past_fades(self, rule: Taking, victim: Victim, gone: dict[str, Amounts]) -> None:
        """Note when to look again where only past use is in the way."""
        memory = self.view.queues.memory
        if memory is None or not isinstance(rule, Remembers):
            return
        if rule.allows_now(self.taker, victim, self.shares, gone):
            self._soon(self.now_us + max(memory.half_life_us // LOOKS, SECOND_US))

    def _grows_older(self, running: Running) -> None:
        """Note the next tick of ageing where a job that waits long enough would go before a running one."""
        ageing = self.view.rules.ageing_us
        if ageing is None or running.spec.queue != self.taker.queue:
            return
        oldest = self.waiting.candidate._replace(waiting_since_us=-UNKNOWN_US)
        if self.view.inner_key(oldest, self.now_us) < self.view.standing_if_stopped(running, self.now_us):
            self._soon((self.now_us // ageing + 1) * ageing)

    def _goes_first(self, running: Running, cause: str) -> bool:
        """Return whether the taker would still go before a job that was stopped for it: else they would take turns.

        A claim inside a guarantee always does. Between queues the shares decide, which the cause compared; the job
        for which the taker itself was stopped is left alone.
        """
        if cause == "reclaim":
            return True
        if running.spec.queue != self.taker.queue:
            return self.waiting.candidate.yielded_to != running.job
        mine = self.view.inner_key(self.waiting.candidate, self.now_us)
        return mine < self.view.standing_if_stopped(running, self.now_us)

    def _later(self, running: Running) -> None:
        """Note when a time slice that is not over yet will be."""
        quantum = self.view.rules.time_slice_us
        alike = running.spec.queue == self.taker.queue and running.priority == self.taker.priority
        if quantum and alike and any(rule.name == "time_slice" for rule in self.view.rules.preempt):
            self._soon(running.started_us + quantum)

    def _soon(self, moment_us: int) -> None:
        if moment_us > self.now_us:
            self.next_us = moment_us if self.next_us is None else min(self.next_us, moment_us)

    def _gives(self, held: tuple[Held, ...]) -> Amounts:
        total: Amounts = {}
        for one in held:
            for resource, amount in self.view.queues.use(one.demand).items():
                total[resource] = total.get(resource, 0) + amount
        return total

    def _spare(self, running: Running, held: tuple[Held, ...]) -> list[Held]:
        """Return the tasks of which a job can give back some and go on, last ones first; note how many of each role."""
        spare: list[Held] = []
        for number, role in enumerate(running.spec.roles):
            mine = [
                one for one in held if one.grant.role == number and (number, one.grant.index) not in running.leaving
            ]
            most = min(len(mine) - role.min_tasks, len(held) - 1)
            if most > 0:
                self.spare[running.job, number] = most
                spare += sorted(mine, key=lambda one: -one.grant.index)
        return spare

    def _lost(self, running: Running, held: tuple[Held, ...]) -> int:
        """Return the work that a stop now loses: devices (or CPUs) times the time since the last checkpoint."""
        ran, point = self.now_us - running.started_us, running.spec.checkpoint
        since = 0 if point.on_stop else ran % point.every_us if point.every_us else ran
        size = sum(one.demand.milli_gpus for one in held) or sum(one.demand.cpus for one in held)
        return size * since

    # --- where ---------------------------------------------------------------------------------

    def best(self) -> Clearing | None:
        """Return the best place that can be cleared, None if there is none."""
        pinned = self.waiting.spec.pin is not None and self.waiting.attempt == 0
        if not self.units or pinned:
            return None
        roles, bound = self.cls.spec.roles, self.cls.bound
        single = len(roles) == 1 and roles[0].min_tasks == 1
        sets: list[tuple[int, ...]]
        if single:
            sets = [(node,) for node in self._promising()]
        elif bound is None or not bound.required:
            sets = [self._together(None)]
        else:
            empty = [bound.room(number, empty=True) for number in range(len(roles))]
            sets = [self._together(site) for site in bound.sites(empty) if any(site[node] for node in self.at)]
        found = [clearing for nodes in sets if nodes and (clearing := self._clear(nodes)) is not None]
        return min(found, key=_cost, default=None)

    def _promising(self) -> list[int]:
        """Return the nodes that could be cleared for one task, the best ones first, by adding up what units give."""
        places, demand = self.cls.places[0], self.cls.spec.roles[0].demand
        places.refresh()
        found = []
        for node, units in self.at.items():
            if places.may[node] and self._open(node):
                reached = self._reach(node, units, demand)
                if reached is not None:
                    found.append((*reached, node))
        return [node for *_, node in sorted(found)[:PLACES_TRIED]]

    def _reach(self, node: int, units: list[Unit], demand: Demand) -> tuple[Rank, int] | None:
        """Return how important the units are that must go until a node could have room, and the work they lose."""
        ledger = self.view.ledger
        short = {row: amount - int(ledger.free[row][node]) for row, amount in ledger.needs_of(demand)}
        if demand.colocate:
            short[GPUS] = demand.gpus - int(self.cls.places[0].sharable(np.array([node]))[0])
        share = demand.share or (1 if demand.one_device else 0)
        lost = 0
        for unit in units:
            if all(amount <= 0 for amount in short.values()) and share <= 0:
                return unit.rank, lost
            lost += unit.lost
            for one in unit.held:
                if one.grant.node == node:
                    share -= one.demand.milli_gpus + one.grant.gpu_memory
                    for row, amount in ledger.needs_of(one.demand):
                        if row in short:
                            short[row] -= amount
                    if GPUS in short and (one.demand.one_device or one.demand.colocate):
                        short[GPUS] -= len(one.grant.devices)
        return (units[-1].rank, lost) if all(amount <= 0 for amount in short.values()) else None

    def _open(self, node: int) -> bool:
        """Return whether no booking for others keeps a node whole from the job."""
        return self.shut is None or not self.shut[node]

    def _leaves_booked(self, node: NodeId) -> bool:
        """Return whether the bookings for others find their devices idle on a node as it is drafted."""
        view, end_us = self.view, self.now_us + self.waiting.estimate_us
        idle = int(view.ledger.free[GPUS][node])
        return all(
            idle >= view.bookings.still_needs(kept, node, kept.booking.from_us, view.ends, view.spec_of)
            for kept in view.bookings.counted(self.waiting.spec, node, self.now_us, end_us)
        )

    def _together(self, site: NDArray[np.bool_] | None) -> tuple[int, ...]:
        """Return nodes on which a gang could stand: those with room now, then those that are cleared most cheaply.

        `site`: the nodes of one domain, on which all tasks must be that the job's topology binds.
        """
        ranked = sorted(self.at, key=lambda node: (self.at[node][-1].rank, sum(u.lost for u in self.at[node]), node))
        with_room = set()
        for places in self.cls.places:
            places.refresh()
            with_room |= set((places.key >= 0).nonzero()[0].tolist())
        usable = [n for n in ranked if n not in with_room and any(p.may[n] for p in self.cls.places)]
        nodes = [n for n in (*sorted(with_room), *usable) if self._open(n) and (site is None or site[n])]
        many = _fewest(len(nodes), lambda n: self._clear(tuple(nodes[:n]), trim=False) is not None)
        return tuple(nodes[:many]) if many is not None else ()

    def _clear(self, nodes: tuple[int, ...], *, trim: bool = True) -> Clearing | None:
        """Take units on these nodes, least important first, until the job fits; then spare who is not needed."""
        at_all = self._in_turn(nodes)
        many = _fewest(len(at_all), lambda n: self._fit(nodes, _resolved(at_all[:n])) is not None)
        if many is None:
            return None
        taken = _resolved(at_all[:many])
        grants = self._fit(nodes, taken) or ()
        for unit in sorted(taken, key=lambda u: (u.rank, u.lost), reverse=True)[:MOST_SPARED] if trim else ():
            fewer = [one for one in taken if one is not unit]
            spared = self._fit(nodes, fewer)
            if spared is not None:
                taken, grants = fewer, spared
        return Clearing(grants, tuple(taken))

    def _in_turn(self, nodes: tuple[int, ...]) -> list[Unit]:
        """Return the units on some nodes in the order in which they are taken, each allowed after those before it."""
        wanted, taken = set(nodes), []
        gone: dict[str, Amounts] = {}
        spared: Counter[tuple[JobId, int]] = Counter()
        given: defaultdict[JobId, set[Grant]] = defaultdict(set)
        for unit in self.at.get(nodes[0], ()) if len(nodes) == 1 else self.units:
            if all(one.grant.node not in wanted for one in unit.held):
                continue
            role = (unit.job, unit.held[0].grant.role)
            if not unit.whole and (spared[role] >= self.spare[role] or not self._leaves_some(unit, given)):
                continue
            if self._still_allowed(unit, gone):
                taken.append(unit)
                spared[role] += not unit.whole
                for one in unit.held:
                    if one.grant not in given[unit.job]:
                        given[unit.job].add(one.grant)
                        self._add(gone, unit.job, one)
        return taken

    def _leaves_some(self, unit: Unit, given: Mapping[JobId, set[Grant]]) -> bool:
        """Return whether a job that gives back one more task still holds another: nothing runs with none."""
        return len(given[unit.job]) + 1 < len(self.view.ledger.holdings[unit.job])

    def _still_allowed(self, unit: Unit, gone: dict[str, Amounts]) -> bool:
        """Return whether a unit may be taken after what is gone already, say from a queue above its guarantee."""
        rules = [rule for rule in self.view.rules.preempt if not rule.refusal(self.taker, self.shares)]
        return self._cause(self.view.running[unit.job], unit.held, rules, gone) is not None

    def _add(self, gone: dict[str, Amounts], job: JobId, one: Held) -> None:
        """Count what a grant gives back to the queues of its job."""
        for name in self.view.queues.chain(self.view.running[job].spec.queue):
            mine = gone.setdefault(name, {})
            for resource, amount in self.view.queues.use(one.demand).items():
                mine[resource] = mine.get(resource, 0) + amount

    def _fit(self, nodes: tuple[int, ...], taken: list[Unit]) -> tuple[Grant, ...] | None:
        """Return places for the job's least tasks on these nodes once units are gone, None if it does not fit."""
        given: set[tuple[JobId, int, int]] = set()
        gone: dict[str, Amounts] = {}
        for unit in taken:
            for one in unit.held:
                key = (unit.job, one.grant.role, one.grant.index)
                if key not in given:
                    given.add(key)
                    self.draft.give(one.grant, one.demand)
                    self._add(gone, unit.job, one)
        self.view.lifted = given
        grants = None if self.view.queues.held_back(self.waiting.spec, gone) else self._stand(nodes)
        self.view.lifted = set()
        self.draft.undo()
        return grants

    def _stand(self, nodes: tuple[int, ...]) -> tuple[Grant, ...] | None:
        """Return places for the least tasks as the books are drafted, inside one domain where one is required."""
        bound = self.cls.bound
        choices = [None] if bound is None or not nodes else bound.choices(nodes[0])
        for within in choices:
            mark = self.draft.mark()
            grants = self._stand_in(nodes, within)
            if grants is not None:
                return grants
            self.draft.undo(mark)
        return None

    def _stand_in(self, nodes: tuple[int, ...], within: frozenset[int] | None) -> tuple[Grant, ...] | None:
        grants: list[Grant] = []
        for number, role in enumerate(self.cls.spec.roles):
            left, index = role.min_tasks, 0
            for node in nodes:
                while left and (grant := self._drafted(number, index, NodeId(node), within, grants)) is not None:
                    grants.append(grant)
                    left, index = left - 1, index + 1
                    if role.one_per_node:
                        break
            if left:
                return None
        if self.view.bookings and not all(self._leaves_booked(NodeId(node)) for node in nodes):
            return None
        return tuple(grants)

    def _drafted(
        self, number: int, index: int, node: NodeId, within: frozenset[int] | None, mine: list[Grant]
    ) -> Grant | None:
        """Draft one task on a node beside others of its job; None where it has no room or may not stay."""
        demand, ledger = self.cls.spec.roles[number].demand, self.view.ledger
        within = within if demand.gpus or demand.one_device else None
        within = apart(ledger, node, within, mine) if demand.colocate else within
        if not self.cls.places[number].may[node] or not fits(ledger, node, demand, within):
            return None
        devices = pick(ledger, node, demand, within=within) or ()
        grant = grant_of(ledger, number, index, node, devices, demand)
        mark = self.draft.mark()
        self.draft.take(grant, demand)
        if self.allowed(node):
            return grant
        self.draft.undo(mark)
        return None


def _cost(clearing: Clearing) -> tuple[Rank, int, int, int]:
    """Return what a clearing costs, to be compared: importance, lost work, victims, then the first node."""
    worst = max((unit.rank for unit in clearing.units), default=(0, 0))
    lost = sum(unit.lost for unit in clearing.units)
    return worst, lost, len(clearing.units), clearing.grants[0].node


def _resolved(units: list[Unit]) -> list[Unit]:
    """Return units without the single tasks of jobs that are taken whole."""
    whole = {unit.job for unit in units if unit.whole}
    return [unit for unit in units if unit.whole or unit.job not in whole]


def _fewest(most: int, enough: Callable[[int], bool]) -> int | None:
    """Return the smallest number up to `most` that is enough, None if none is; a larger one is never less enough."""
    low, high, found = 0, most, None
    while low <= high:
        middle = (low + high) // 2
        if enough(middle):
            found, high = middle, middle - 1
        else:
            low = middle + 1
    return found
