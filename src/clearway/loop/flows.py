"""Workflows in the world: what people ask of them, and their steps entered as ordinary jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.flow.advance import Enter, advance
from clearway.flow.artifacts import with_data
from clearway.flow.track import ALONE
from clearway.loop import endings, sizing
from clearway.model import events as ev
from clearway.model import flow_events as fe
from clearway.model.asks import FlowView, StepView
from clearway.model.errors import ConflictError, InputError, NotFoundError
from clearway.model.flow import PartOf
from clearway.model.ids import FlowId, JobId
from clearway.model.reasons import Code, because
from clearway.model.states import State, StepState

MOST_AT_ONCE = 2000
"""What follows in workflows in one step of the world: others wait for that, also where a loop runs nothing."""

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.flow.track import FlowTrack, Instance, StepTrack
    from clearway.loop.flow_state import Part
    from clearway.loop.timers import Timer
    from clearway.loop.world import World
    from clearway.model import asks
    from clearway.model.flow import FlowSpec
    from clearway.model.job import JobSpec
    from clearway.model.reasons import Reason


# --- what people ask -----------------------------------------------------------------------------


def submit(world: World, spec: FlowSpec) -> FlowId:
    """Check a workflow, and have its first run begin."""
    check(world, spec)
    flow = FlowId(world.state.flows.next)
    world.emit(fe.FlowBegan(world.now_us, flow, spec))
    return flow


def check(world: World, spec: FlowSpec) -> None:
    """Check what only the world knows of the steps of a workflow."""
    for step, job in spec.jobs():
        check_job(world, job, f"workflow {spec.name}: step {step}")


def check_job(world: World, spec: JobSpec, place: str) -> None:
    """Check the queue and the shared limits of a job."""
    if spec.queue not in world.queues:
        raise InputError("queue", spec.queue, "a queue that exists: " + ", ".join(sorted(world.queues)[:20]), place)
    for name in spec.uses:
        if name not in world.limits:
            raise InputError("uses", name, "a shared limit that exists", place)


def _known(world: World, flow: FlowId) -> FlowTrack | None:
    """Return a workflow, None for one that succeeded or was forgotten; NotFoundError if there never was one."""
    track = world.state.flows.tracks.get(flow)
    if track is None and not 0 < flow < world.state.flows.next:
        raise NotFoundError(f"there is no workflow {flow}")
    return track


def cancel(world: World, ask: asks.CancelFlow) -> None:
    """Have no step of a workflow start any more, and stop those that run."""
    track = _known(world, ask.flow)
    if track is None or track.state is not None or _cancelled(track):
        return
    stop(world, track, State.CANCELLED, because(Code.CANCELLED, by=ask.by))


def _cancelled(track: FlowTrack) -> bool:
    return track.stopping is not None and track.stopping.state == State.CANCELLED


def stop(world: World, track: FlowTrack, state: State, reason: Reason) -> None:
    """Have no step of a run start any more, and stop those that run."""
    world.emit(fe.FlowStopping(world.now_us, track.id, state, reason))
    _stop_live(world, list(track.live()), reason)


def _stop_live(world: World, live: list[Instance], reason: Reason) -> None:
    """Stop what is not over, jobs in order of entry, then workflows."""
    for job in sorted(one.job for one in live if one.job is not None and one.flow is None):
        endings.cancel(world, world.jobs[job], reason)
    for flow in sorted(one.flow for one in live if one.flow is not None):
        inner = world.state.flows.tracks[flow]
        if not _cancelled(inner):
            stop(world, inner, State.CANCELLED, reason)


def skip(world: World, ask: asks.SkipStep) -> None:
    """Have a step left out that is not over; what runs of it is stopped."""
    track = _known(world, ask.flow)
    if track is None or track.state is not None:
        raise ConflictError(f"workflow {ask.flow} is over: run it again without the step")
    if ask.step not in track.steps:
        raise NotFoundError(f"workflow {track.spec.name} has no step {ask.step!r}")
    step = track.steps[ask.step]
    if step.over or step.skip is not None:
        raise ConflictError(f"step {ask.step} is {'being left out' if step.skip else step.state}")
    world.emit(fe.StepSkipped(world.now_us, track.id, ask.step, ask.by))
    _stop_live(world, list(track.live(ask.step)), because(Code.SKIPPED_BY, by=ask.by))


def look(world: World, ask: asks.LookFlows) -> tuple[FlowView, ...]:
    """Return how the workflows at hand stand; of one that is asked for, and of those inside it."""
    flows = world.state.flows
    tracks = [one for track in _named(world, ask.ref) for one in _with_inner(world, track)] if ask.ref else None
    return tuple(_view(one, flows.inner.get(one.id)) for one in (flows.tracks.values() if tracks is None else tracks))


def _named(world: World, ref: str) -> list[FlowTrack]:
    tracks = world.state.flows.tracks
    numbered = [track for track in tracks.values() if ref in (str(track.id), f"id:{track.id}")]
    return numbered or [track for track in reversed(tracks.values()) if track.spec.name == ref][:1]


def _with_inner(world: World, track: FlowTrack) -> Iterator[FlowTrack]:
    """Yield a workflow, and those that its steps are now or were at last, also deep inside."""
    yield track
    for step in track.steps.values():
        for one in step.instances.values() if step.spec.flow is not None else ():
            inner = None if one.flow is None else world.state.flows.tracks.get(one.flow)
            if inner is not None:
                yield from _with_inner(world, inner)


def _view(track: FlowTrack, part: Part | None) -> FlowView:
    steps = [*track.steps.values(), *track.tails()]
    state = ("pending" if track.gate else "running") if track.state is None else track.state.value
    views = tuple(_step_view(step, track.run) for step in steps)
    return FlowView(
        track.id, track.spec.name, state, track.run, track.began_us, views, track.reason, track.spec.words,
        track.spec.owners(), None if part is None else part.flow,
    )  # fmt: skip


def _step_view(step: StepTrack, run: int) -> StepView:
    jobs, spec, one = sum(one.turn for one in step.instances.values()), step.spec, _telling(step, run)
    job, inner = (None, None) if one is None else (one.job if one.flow is None else None, one.flow)
    return StepView(
        spec.name, step.state.value, spec.after, step.input, step.result, jobs, spec.until, step.reason,
        spec.pause if step.asks else "", step.size, step.ended, job, inner,
    )  # fmt: skip


def _telling(step: StepTrack, run: int) -> Instance | None:
    """Return the instance of a run that tells why a step is not over or did not succeed, if one does."""
    if step.state not in (StepState.RUNNING, StepState.FAILED, StepState.CANCELLED):
        return None
    found = {one.state: one for one in reversed(step.instances.values()) if one.run == run}
    return found.get(StepState.FAILED) or found.get(None) or found.get(StepState.CANCELLED)


def resume(world: World, ask: asks.ResumeFlow) -> None:
    """Take a person's answer for a step that waits for one."""
    track = _known(world, ask.flow)
    waiting = [] if track is None else [name for name, step in track.steps.items() if step.asks]
    if track is None or not waiting:
        raise ConflictError(f"no step of workflow {ask.flow} waits for a person")
    if ask.step and ask.step not in track.steps:
        raise NotFoundError(f"workflow {track.spec.name} has no step {ask.step!r}")
    if (ask.step and ask.step not in waiting) or (not ask.step and len(waiting) > 1):
        raise ConflictError(f"those that wait for a person are: {', '.join(waiting[:20])}; say which is meant")
    world.emit(fe.StepAnswered(world.now_us, track.id, ask.step or waiting[0], ask.value, ask.by))


def rerun(world: World, ask: asks.RerunFlow) -> None:
    """Have the next run of a workflow begin that is over and did not succeed, or that has steps to run anew."""
    track = _known(world, ask.flow)
    if track is None or (track.state == State.SUCCEEDED and not ask.anew):
        raise ConflictError(f"workflow {ask.flow} succeeded, or is over for long: there is nothing to run again")
    if track.state is None:
        raise ConflictError(f"workflow {ask.flow} still runs: only one that is over can be run again")
    part = world.state.flows.inner.get(track.id)
    if part is not None:
        whole = world.state.flows.tracks[part.flow].spec.name
        raise ConflictError(f"workflow {track.spec.name} is a step of workflow {whole}: run that again")
    spec = ask.spec or track.spec
    check(world, spec)
    known = {step.name for step in spec.steps}
    for name in (*ask.anew, *ask.skip):
        if name not in known:
            raise NotFoundError(f"workflow {track.spec.name} has no step {name!r}")
    world.emit(fe.FlowRerun(world.now_us, track.id, track.run + 1, spec, anew=ask.anew, skip=ask.skip, by=ask.by))


def rerun_job(world: World, ask: asks.Rerun) -> None:
    """Have a job wait for its next attempt that is over and did not succeed."""
    entry = world.state.flows.again.get(ask.job)
    if entry is None:
        if ask.job in world.jobs:
            raise ConflictError(f"job {ask.job} is not over: only one that is over can be run again")
        if ask.job not in world.state.over:
            raise NotFoundError(f"there is no job {ask.job}")
        state = world.state.over[ask.job]
        raise ConflictError(f"job {ask.job} is {state}, and cannot be run again")
    if world.state.flows.of_job(ask.job) is not None:
        raise ConflictError(f"job {ask.job} is a step of a workflow: run the workflow again")
    world.emit(fe.Reopened(world.now_us, ask.job, sizing.asked(entry)))


# --- what follows --------------------------------------------------------------------------------


def go_on(world: World) -> None:
    """Let every workflow of which something changed go on as far as it can now, or as far as one step goes."""
    flows, left = world.state.flows, MOST_AT_ONCE
    while flows.stirred and left > 0:
        flow = next(iter(flows.stirred))
        del flows.stirred[flow]
        track = flows.tracks.get(flow)
        if track is not None and track.state is None:
            left = _advance(world, track, left)


def _advance(world: World, track: FlowTrack, left: int) -> int:
    """Let one workflow go on, and return how much more this step may do; what is left comes with the next one."""
    for wish in advance(track, world.now_us):
        if isinstance(wish, Enter):
            _enter(world, track, wish)
        else:
            world.emit(wish)
        left -= 1
        if left <= 0 and isinstance(wish, Enter | fe.StepBegan | fe.StepEnded | fe.LoopEnded):
            track.todo[wish.step] = None
            world.state.flows.stirred[track.id] = None
            break
    return left


def _enter(world: World, track: FlowTrack, wish: Enter) -> None:
    inner = track.track(wish.step).spec.flow
    if inner is not None:
        _enter_flow(world, track, wish, inner)
        return
    job, spec = None if wish.again is None else JobId(wish.again), _spec(track, wish)
    if job is not None:
        world.emit(fe.Reopened(world.now_us, job, spec))
    else:
        job = JobId(world.state.next_job)
        world.emit(ev.Submitted(world.now_us, job, spec))
    world.emit(fe.PartEntered(world.now_us, track.id, wish.step, wish.item, wish.turn, job, wish.input))


def _enter_flow(world: World, track: FlowTrack, wish: Enter, spec: FlowSpec) -> None:
    """Have a pass of a step begin that is a workflow; one that did not succeed before goes on from where it was."""
    part = PartOf(track.id, wish.step, wish.item, wish.turn)
    named = replace(spec, name=part_name(track.spec.name, wish.step, wish.item, wish.turn), input=wish.input)
    known = None if wish.again is None else world.state.flows.tracks.get(FlowId(wish.again))
    if known is None:
        world.emit(fe.FlowBegan(world.now_us, FlowId(world.state.flows.next), named, part))
    else:
        world.emit(fe.FlowRerun(world.now_us, known.id, known.run + 1, named, part))


def _spec(track: FlowTrack, wish: Enter) -> JobSpec:
    job = track.track(wish.step).spec.job
    if job is None:
        raise ConflictError(f"step {wish.step} has no job")
    job = with_data(track, track.track(wish.step), wish.item, job)
    return replace(job, name=part_name(track.spec.name, wish.step, wish.item, wish.turn), input=wish.input)


def part_name(flow: str, step: str, item: int, turn: int) -> str:
    """Return the name of the job of a pass: W.s, W.s[0], W.s@2."""
    return f"{flow}.{step}{f'[{item}]' if item != ALONE else ''}{f'@{turn}' if turn > 1 else ''}"


def limit_due(world: World, timer: Timer) -> None:
    """Have a run fail whose time is over; what ended by now is taken in first, for a controller may have been away."""
    go_on(world)
    track = world.state.flows.tracks.get(FlowId(timer.number))
    if track is None or track.run != timer.attempt or track.state is not None or track.stopping is not None:
        return
    limit_us = track.spec.time_limit_us or 0
    if track.left and not track.gate and world.now_us >= track.began_us + limit_us:
        stop(world, track, State.FAILED, because(Code.TIME_LIMIT, limit_us=limit_us))
