"""Budgets as the world knows them: what of each is used in its period, counted as grants come and go.

Amounts are whole numbers: milli-GPU times microseconds; and millionths of money per hour, times millionths of a node,
times microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.flow.periods import end_us
from clearway.loop import costs
from clearway.loop.inherit import lend_anew
from clearway.loop.timers import Due, Timer
from clearway.model import events as ev
from clearway.model.job import WHOLE
from clearway.model.states import State
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clearway.loop.entry import JobEntry
    from clearway.loop.state import WorldState
    from clearway.model.budgets import BudgetSpec
    from clearway.model.ids import JobId

HOUR_US = 3600 * SECOND_US
MILLION = 10**6
Pair = tuple[int, int]
"""Of GPUs, and of money."""


class BudgetTrack:
    """One budget in its present period, which is over at `until_us` of the wall clock."""

    __slots__ = ("armed_us", "noticed", "number", "rate", "since_us", "spec", "until_us", "used", "used_up")

    def __init__(self, number: int, spec: BudgetSpec, now_us: int) -> None:
        """Begin with nothing used."""
        self.number, self.spec, self.since_us, self.until_us = number, spec, now_us, 0
        self.armed_us = 0
        self.used: Pair = (0, 0)
        self.rate: Pair = (0, 0)
        self.noticed = self.used_up = False

    def used_by(self, now_us: int) -> Pair:
        """Return what is used by now."""
        past = now_us - self.since_us
        return self.used[0] + self.rate[0] * past, self.used[1] + self.rate[1] * past

    def settle(self, now_us: int) -> None:
        """Count up to now."""
        self.used, self.since_us = self.used_by(now_us), now_us

    def bounds(self, part: int = WHOLE) -> tuple[int | None, int | None]:
        """Return so many thousandths of what may be used."""
        gpus, cost = self.spec.gpu_milli_hours, self.spec.cost_micros
        return (
            None if gpus is None else gpus * HOUR_US * part // WHOLE,
            None if cost is None else cost * HOUR_US * MILLION * part // WHOLE,
        )

    def reached(self, now_us: int, part: int = WHOLE) -> int | None:
        """Return which bound (0: of GPUs, 1: of money) is reached; None: neither."""
        used = self.used_by(now_us)
        pairs = enumerate(zip(used, self.bounds(part), strict=True))
        return next((at for at, (amount, bound) in pairs if bound is not None and amount >= bound), None)

    def next_us(self, now_us: int) -> int | None:
        """Return when, as things stand, the next bound is reached; None: never."""
        part = WHOLE if self.noticed else self.spec.notice
        triples = zip(self.used_by(now_us), self.rate, self.bounds(part), strict=True)
        found = [now_us - (used - bound) // rate for used, rate, bound in triples if rate and bound is not None]
        return None if self.used_up or not found else max(now_us, min(found))


class Budgets:
    """All budgets, and what each job that holds something adds to those that it counts for, a microsecond."""

    def __init__(self) -> None:
        """Begin with none."""
        self.tracks: dict[str, BudgetTrack] = {}
        self.adds: dict[JobId, Pair] = {}


def of(state: WorldState, entry: JobEntry) -> Iterator[BudgetTrack]:
    """Yield the budgets for which a job counts."""
    chain = state.view.queues.chain(entry.spec.queue)
    for track in state.budgets.tracks.values():
        spec = track.spec
        if (spec.tenant and spec.tenant == entry.spec.tenant) or (spec.queue and spec.queue in chain):
            yield track


def blocks(state: WorldState, entry: JobEntry) -> BudgetTrack | None:
    """Return the budget that is used up, so that a job does not start; None: there is none."""
    if not state.budgets.tracks:
        return None
    gpus = any(role.demand.milli_gpus or role.demand.one_device for role in entry.spec.roles)
    return next((t for t in of(state, entry) if t.used_up and (gpus or t.spec.cost_micros is not None)), None)


def count(state: WorldState, entry: JobEntry, now_us: int) -> None:
    """Count what a job has cost and used so far, and from now on what it holds now."""
    costs.count(state, entry, now_us)
    if not state.budgets.tracks:
        return
    before, now = state.budgets.adds.pop(entry.id, (0, 0)), _adds(state, entry)
    if now != (0, 0):
        state.budgets.adds[entry.id] = now
    for track in of(state, entry) if now != before else ():
        track.settle(now_us)
        if track.until_us <= now_us + state.flows.schedules.offset_us:  # nothing was used in the periods between
            track.used, track.noticed = (0, 0), False
            begin(state, track, now_us)
        idle = track.rate == track.used == (0, 0)
        track.rate = (track.rate[0] + now[0] - before[0], track.rate[1] + now[1] - before[1])
        if idle:
            _arm_end(state, track)
        arm(state, track, now_us)


def arm(state: WorldState, track: BudgetTrack, now_us: int) -> None:
    """Have it looked at a budget when its next bound is reached, as things stand."""
    due_us = track.next_us(now_us)
    if due_us is not None and not now_us < track.armed_us <= due_us:
        track.armed_us = due_us
        state.timers.add(Timer(due_us, Due.BUDGET, track.number))


def _adds(state: WorldState, entry: JobEntry) -> Pair:
    gpus = money = 0
    for grant in entry.held.values():
        spec, demand = state.view.ledger.specs[grant.node], entry.spec.roles[grant.role].demand
        milli = grant.share
        if not milli and grant.gpu_memory and spec.gpu_memory:
            milli = grant.gpu_memory * WHOLE // spec.gpu_memory
        gpus += milli * len(grant.devices)
        money += spec.price_micros * costs.part(spec, grant, demand) if spec.price_micros else 0
    return gpus, money


def put_back(state: WorldState, track: BudgetTrack) -> None:
    """Know a budget as it was kept; what jobs add to it follows from what they hold."""
    state.budgets.tracks[track.spec.name] = track
    for entry in state.jobs.values():
        if entry.held and (adds := _adds(state, entry)) != (0, 0):
            state.budgets.adds[entry.id] = adds


def _let_go(state: WorldState) -> None:
    """Have those look again whether they may join the line that wait outside of it."""
    for entry in state.jobs.values():
        if entry.state is State.PENDING and entry.cls is None and not entry.after and entry.holder is None:
            state.ready[entry.id] = None


def _set(state: WorldState, record: ev.BudgetChanged) -> None:
    known = state.budgets.tracks.get(record.budget.name)
    track = BudgetTrack(len(state.budgets.tracks) if known is None else known.number, record.budget, record.at_us)
    state.budgets.tracks[record.budget.name] = track
    for entry in state.jobs.values():
        if not entry.held:
            continue
        adds = state.budgets.adds[entry.id] = _adds(state, entry)
        if track in of(state, entry):
            track.rate = (track.rate[0] + adds[0], track.rate[1] + adds[1])
    if known is not None:
        track.used = known.used_by(record.at_us)
    begin(state, track, record.at_us)
    _let_go(state)


def begin(state: WorldState, track: BudgetTrack, now_us: int) -> None:
    """Know when the present period is over, and look then; not where nothing is used, which could go on for ever."""
    track.until_us = end_us(track.spec.period, now_us + state.flows.schedules.offset_us)
    if track.rate != (0, 0) or track.used != (0, 0):
        _arm_end(state, track)
    arm(state, track, now_us)


def _arm_end(state: WorldState, track: BudgetTrack) -> None:
    state.timers.add(Timer(track.until_us - state.flows.schedules.offset_us, Due.BUDGET, track.number))


def clock_set(state: WorldState, now_us: int) -> None:
    """Look at every budget when its period is over by a wall clock that was set."""
    for track in state.budgets.tracks.values():
        due_us = max(now_us, track.until_us - state.flows.schedules.offset_us)
        state.timers.add(Timer(due_us, Due.BUDGET, track.number))


def _began(state: WorldState, record: ev.BudgetBegan) -> None:
    track = state.budgets.tracks[record.name]
    track.used, track.since_us, track.noticed, track.used_up = (0, 0), record.at_us, False, False
    begin(state, track, record.at_us)
    _let_go(state)


def _noticed(state: WorldState, record: ev.BudgetNoticed) -> None:
    track = state.budgets.tracks[record.name]
    track.noticed = True
    arm(state, track, record.at_us)


def _used_up(state: WorldState, record: ev.BudgetUsedUp) -> None:
    track = state.budgets.tracks[record.name]
    track.noticed = track.used_up = True
    for entry in list(state.jobs.values()):
        if entry.cls is not None and blocks(state, entry) is not None:
            state.leave_line(entry)
            lend_anew(state, entry, record.at_us)
            state.view.promises_changed = True
            state.ready[entry.id] = None


APPLY: dict[type, Callable[[Any, Any], None]] = {
    ev.BudgetChanged: _set,
    ev.BudgetBegan: _began,
    ev.BudgetNoticed: _noticed,
    ev.BudgetUsedUp: _used_up,
}
