"""Schedules in the world: ticks that are due get a run, are skipped, or are made up for."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.flow import ticks
from clearway.loop import endings, flows, verbs
from clearway.loop.timers import Due, Timer
from clearway.model import events as ev
from clearway.model import flow_events as fe
from clearway.model.asks import ScheduleView
from clearway.model.errors import NotFoundError
from clearway.model.ids import FlowId, JobId
from clearway.model.reasons import Code, because
from clearway.model.states import State

if TYPE_CHECKING:
    from clearway.flow.ticks import Tick
    from clearway.loop.schedule_state import RunTrack, ScheduleTrack
    from clearway.loop.world import World
    from clearway.model import asks
    from clearway.model.flow import ScheduleSpec

MOST_AHEAD = 1000
"""So many ticks are looked through for the next one that runs."""
MOST_LATE = 1000
"""Runs that make up for missed ticks at once; older ones are dropped."""


# --- what people ask -----------------------------------------------------------------------------


def set_clock(world: World, ask: asks.SetClock) -> None:
    """Learn how far the wall clock is ahead."""
    if ask.offset_us != world.state.flows.schedules.offset_us:
        world.emit(fe.ClockSet(world.now_us, ask.offset_us))


def set_schedule(world: World, ask: asks.SetSchedule) -> None:
    """Check a schedule, and have it tick from now on."""
    spec = ask.spec
    if spec.job is not None:
        flows.check_job(world, spec.job, f"schedule {spec.name}")
    if spec.flow is not None:
        flows.check(world, spec.flow)
    _fire_what_is_due(world, spec.name)
    world.emit(fe.ScheduleSet(world.now_us, spec))


def pause(world: World, ask: asks.PauseSchedule) -> None:
    """Have a schedule let its ticks pass, or fire again."""
    if _named(world, ask.name).paused != ask.paused:
        _fire_what_is_due(world, ask.name)
        world.emit(fe.SchedulePaused(world.now_us, ask.name, ask.paused))


def remove(world: World, ask: asks.RemoveSchedule) -> None:
    """Have a schedule no longer tick."""
    _named(world, ask.name)
    _fire_what_is_due(world, ask.name)
    world.emit(fe.ScheduleRemoved(world.now_us, ask.name))


def _fire_what_is_due(world: World, name: str) -> None:
    """Take the ticks that came before a change of a schedule, however shortly: they go by the words it had."""
    track = world.state.flows.schedules.tracks.get(name)
    if track is not None:
        _fire(world, track)


def look(world: World, ask: asks.LookSchedules) -> tuple[ScheduleView, ...]:
    """Return how the schedules stand, by name."""
    tracks = world.state.flows.schedules.tracks
    names = [ask.name] if ask.name in tracks else [] if ask.name else sorted(tracks)
    return tuple(_view(world, tracks[name], ask.ahead) for name in names if not tracks[name].gone)


def _view(world: World, track: ScheduleTrack, many: int) -> ScheduleView:
    spec, last, after_us = track.spec, track.last(), track.seen_us
    if track.paused:  # what passes meanwhile is not to come
        after_us = max(after_us, world.now_us + world.state.flows.schedules.offset_us)
    ahead = islice(ticks.ticks(spec, after_us), MOST_AHEAD)
    tick = next((t for t in ahead if t.at_us not in track.taken and not t.excluded), None)
    active = tuple(run.name for run in track.active())
    next_us = None if tick is None else tick.due_us
    job, flow = spec.job, spec.flow
    owners = ((job.user, job.tenant),) if job is not None else () if flow is None else flow.owners()
    return ScheduleView(
        spec.name, spec.cron, spec.timezone, track.paused, next_us, active, last.name if last is not None else "",
        owners, ticks.next_ones(spec, after_us, many, track.taken),
    )  # fmt: skip


def _named(world: World, name: str) -> ScheduleTrack:
    track = world.state.flows.schedules.tracks.get(name)
    if track is None or track.gone:
        raise NotFoundError(f"there is no schedule {name!r}")
    return track


# --- what follows --------------------------------------------------------------------------------


def go_on(world: World) -> None:
    """Let every schedule go on of which something changed, or a tick is due."""
    schedules = world.state.flows.schedules
    while schedules.stirred:
        name = next(iter(schedules.stirred))
        del schedules.stirred[name]
        track = schedules.tracks.get(name)
        if track is not None:
            _free(world, track)
            _fire(world, track)
            _wake(world, track)


def _free(world: World, track: ScheduleTrack) -> None:
    run = track.freed()
    if run is not None:
        world.emit(fe.RunFreed(world.now_us, track.spec.name, run.name))


def _fire(world: World, track: ScheduleTrack) -> None:
    """Take every tick that is due by now; those at which nothing could fire are made up for as the schedule says."""
    spec, schedules = track.spec, world.state.flows.schedules
    wall_us = world.now_us + schedules.offset_us
    if track.paused or track.gone:
        return
    if _first(track, schedules.fires_from_us - 1) is not None:
        most = {"none": 0, "latest": 1, "all": MOST_LATE}[spec.catchup]
        missed_us = _missed_us(track, schedules.fires_from_us - 1)
        late = ticks.latest(spec, track.seen_us, schedules.fires_from_us - 1, most) if most else []
        for tick in late:
            _take(world, track, tick, late=True)
        world.emit(fe.TicksMissed(world.now_us, spec.name, missed_us))
    while (due := _first(track, wall_us)) is not None:
        _take(world, track, due, late=False)


def _missed_us(track: ScheduleTrack, until_us: int) -> int:
    """Return the moment up to which ticks were missed that were due by another one."""
    after_us = max(track.seen_us, until_us - track.spec.jitter_us)
    due = (tick.at_us for tick in ticks.ticks(track.spec, after_us) if tick.due_us > until_us)
    return min(until_us, next(due, until_us + 1) - 1) if track.spec.jitter_us else until_us


def _first(track: ScheduleTrack, until_us: int) -> Tick | None:
    """Return the next tick that was not taken, None if it is due later than a moment."""
    if track.seen_us >= until_us:
        return None
    for tick in ticks.ticks(track.spec, track.seen_us):
        if tick.due_us > until_us:
            return None
        if tick.at_us not in track.taken:
            return tick
    return None


def _wake(world: World, track: ScheduleTrack) -> None:
    tick = next((t for t in ticks.ticks(track.spec, track.seen_us) if t.at_us not in track.taken), None)
    if tick is not None and not (track.paused or track.gone):
        due_us = tick.due_us - world.state.flows.schedules.offset_us
        world.state.timers.add(Timer(max(due_us, world.now_us), Due.SCHEDULE, track.number))


def _take(world: World, track: ScheduleTrack, tick: Tick, *, late: bool) -> None:
    spec, active = track.spec, track.active()
    queued = late and spec.catchup == "all"
    if tick.at_us in track.taken:
        return
    if tick.excluded:
        reason = because(Code.EXCLUDED, timezone=spec.timezone)
        world.emit(fe.Ticked(world.now_us, spec.name, tick.at_us, skipped=reason))
    elif tick.skipped:
        reason = because(Code.CLOCK_CHANGE, timezone=spec.timezone)
        world.emit(fe.Ticked(world.now_us, spec.name, tick.at_us, skipped=reason))
    elif active and spec.overlap == "skip" and not queued:
        reason = because(Code.OVERLAP, run=active[0].name, state=_standing(world, active[0]))
        world.emit(fe.Ticked(world.now_us, spec.name, tick.at_us, skipped=reason))
    else:
        if spec.overlap == "replace" and not queued:
            for run in active:
                _stop(world, run, _name(spec, tick))
        _run(world, track, tick, _gate(track, active, queued=queued))


def _standing(world: World, run: RunTrack) -> str:
    entry = None if run.job is None else world.jobs.get(run.job)
    waiting = run.gate or (entry is not None and entry.state == State.PENDING)
    return "waiting" if waiting else "running"


def _gate(track: ScheduleTrack, active: list[RunTrack], *, queued: bool) -> str:
    """Return the run that the next one waits for, if any."""
    last = track.last()
    if track.spec.after_previous and last is not None and last.state != State.SUCCEEDED:
        return last.name
    waits = track.spec.overlap in ("queue", "replace") or (queued and track.spec.overlap == "skip")
    return active[-1].name if active and waits else ""


def _name(spec: ScheduleSpec, tick: Tick) -> str:
    return f"{spec.name}@{ticks.shown(tick.at_us)}"


def _run(world: World, track: ScheduleTrack, tick: Tick, gate: str) -> None:
    """Have a tick run its job or workflow."""
    spec, now_us = track.spec, world.now_us
    name = _name(spec, tick)
    if spec.job is not None:
        job = JobId(world.state.next_job)
        world.emit(ev.Submitted(now_us, job, replace(spec.job, name=name)))
        world.emit(fe.Ticked(now_us, spec.name, tick.at_us, name, job=job, gate=gate))
        if gate:
            verbs.say_why(world, world.jobs[job])
    elif spec.flow is not None:
        flow = FlowId(world.state.flows.next)
        world.emit(fe.FlowBegan(now_us, flow, replace(spec.flow, name=name)))
        world.emit(fe.Ticked(now_us, spec.name, tick.at_us, name, flow=flow, gate=gate))


def _stop(world: World, run: RunTrack, by: str) -> None:
    cause = because(Code.CANCELLED, by=by)
    entry = None if run.job is None else world.jobs.get(run.job)
    if entry is not None:
        endings.cancel(world, entry, cause)
    track = None if run.flow is None else world.state.flows.tracks.get(run.flow)
    if track is not None and track.state is None:
        flows.stop(world, track, State.CANCELLED, cause)
