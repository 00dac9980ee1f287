"""What follows when budgets are used: it is told of, nothing starts any more, and a new period begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.flow.periods import begin_us, end_us
from clearway.loop import budget_state
from clearway.model import asks
from clearway.model import events as ev
from clearway.model.reasons import Code, because
from clearway.model.states import End

if TYPE_CHECKING:
    from clearway.loop.budget_state import BudgetTrack
    from clearway.loop.timers import Timer
    from clearway.loop.world import World
    from clearway.model.reasons import Reason


def due(world: World, timer: Timer) -> None:
    """Look at the budget with this number."""
    now_us, state = world.now_us, world.state
    track = next((one for one in state.budgets.tracks.values() if one.number == timer.number), None)
    if track is None:
        return
    if now_us + state.flows.schedules.offset_us >= track.until_us:
        world.emit(ev.BudgetBegan(now_us, track.spec.name))
        return
    if not track.noticed and track.reached(now_us, track.spec.notice) is not None:
        world.emit(ev.BudgetNoticed(now_us, track.spec.name))
    if not track.used_up and track.reached(now_us) is not None:
        _use_up(world, track)
    budget_state.arm(state, track, now_us)


def _use_up(world: World, track: BudgetTrack) -> None:
    state = world.state
    mine = [entry for entry in state.jobs.values() if track in budget_state.of(state, entry)]
    for entry in mine:
        if entry.id in state.view.reservations:
            world.emit(ev.Reserved(world.now_us, entry.id, 0, ()))
    world.emit(ev.BudgetUsedUp(world.now_us, track.spec.name))
    for entry in mine if track.spec.used_up == "stop" else ():
        if entry.held and entry.intent is None and entry.spec.preemptible and entry.id in state.budgets.adds:
            world.stop(entry, End.PREEMPTED, reason(world, track))


def reason(world: World, track: BudgetTrack) -> Reason:
    """Return that a budget is used up: of what, and until when."""
    spec = track.spec
    of = track.reached(world.now_us)
    bound = {"gpu_milli_hours": spec.gpu_milli_hours or 0} if of == 0 else {"cost": spec.cost_micros or 0}
    until_us = track.until_us - world.state.flows.schedules.offset_us
    return because(Code.BUDGET, budget=spec.name, period=spec.period, until_us=until_us, **bound)


def look(world: World, at_us: int) -> tuple[asks.BudgetStanding, ...]:
    """Return how each budget stands at a moment that is not before the last record."""
    offset_us = world.state.flows.schedules.offset_us
    tracks = sorted(world.state.budgets.tracks.values(), key=lambda one: one.spec.name)
    return tuple(_standing(track, at_us, offset_us) for track in tracks)


def _standing(track: BudgetTrack, at_us: int, offset_us: int) -> asks.BudgetStanding:
    period, wall_us = track.spec.period, at_us + offset_us
    until_us = end_us(period, wall_us) - offset_us
    if wall_us < track.until_us:
        return asks.BudgetStanding(track.spec, *track.used_by(at_us), until_us, used_up=track.used_up)
    past_us = at_us - max(track.since_us, begin_us(period, wall_us) - offset_us)  # its new period is not recorded yet
    gpus, cost = track.rate
    return asks.BudgetStanding(track.spec, gpus * past_us, cost * past_us, until_us, used_up=False)
