"""How the state changes by the records of workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.flow.track import FlowTrack
from clearway.loop import budget_state
from clearway.loop.flow_state import Part
from clearway.loop.inherit import inherit
from clearway.loop.timers import Due, Timer
from clearway.model import flow_events as fe
from clearway.model.states import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.loop.state import WorldState
    from clearway.model.ids import FlowId


def _flow_began(state: WorldState, record: fe.FlowBegan) -> None:
    state.flows.add(FlowTrack(record.flow, record.spec, record.at_us), record.part)
    _limit(state, record.flow, record.at_us)


def _flow_rerun(state: WorldState, record: fe.FlowRerun) -> None:
    state.flows.tracks[record.flow].again(record)
    state.flows.flow_again(record.flow)
    state.flows.entered(record.flow, record.part)
    _limit(state, record.flow, record.at_us)


def _limit(state: WorldState, flow: FlowId, now_us: int) -> None:
    """Have the time limit of a run be due, counted from now; where it waits for an earlier run it is counted anew."""
    track = state.flows.tracks[flow]
    if track.spec.time_limit_us is not None:
        state.timers.add(Timer(now_us + track.spec.time_limit_us, Due.FLOW_LIMIT, flow, track.run))


def _step_began(state: WorldState, record: fe.StepBegan) -> None:
    state.flows.tracks[record.flow].step_began(record.step, record.input, record.items)


def _part_entered(state: WorldState, record: fe.PartEntered) -> None:
    track = state.flows.tracks[record.flow]
    track.part_entered(record)
    state.flows.parts[record.job] = Part(record.flow, record.step, record.item)
    entry = state.jobs[record.job]
    floor = _floor(state, track, record.step)
    if floor is not None and floor[0] > entry.spec.priority:
        entry.floor = floor
        inherit(state, record.job, record.at_us)


def _floor(state: WorldState, track: FlowTrack, step: str) -> tuple[int, str] | None:
    """Return the largest priority behind a step, also behind the workflow that it is in, and whose it is."""
    best: tuple[int, str] | None = None
    while True:
        behind = track.graph.heir_behind(step)
        if behind is not None and (best is None or behind[0] > best[0]):
            best = (behind[0], f"{track.spec.name}.{behind[1]}")
        part = state.flows.inner.get(track.id)
        if part is None:
            return best
        track, step = state.flows.tracks[part.flow], part.step


def _loop_ended(state: WorldState, record: fe.LoopEnded) -> None:
    state.flows.tracks[record.flow].loop_ended(record)


def _step_answered(state: WorldState, record: fe.StepAnswered) -> None:
    state.flows.tracks[record.flow].answered(record)
    state.flows.stirred[record.flow] = None


def _step_skipped(state: WorldState, record: fe.StepSkipped) -> None:
    state.flows.tracks[record.flow].skip(record.step, record.by)
    state.flows.stirred[record.flow] = None


def _step_ended(state: WorldState, record: fe.StepEnded) -> None:
    state.flows.tracks[record.flow].step_ended(record)


def _flow_stopping(state: WorldState, record: fe.FlowStopping) -> None:
    state.flows.tracks[record.flow].stop(record)
    state.flows.stirred[record.flow] = None


def _flow_ended(state: WorldState, record: fe.FlowEnded) -> None:
    state.flows.tracks[record.flow].end(record.state, record.reason)
    state.flows.flow_ended(record.flow)


def _reopened(state: WorldState, record: fe.Reopened) -> None:
    """Have a job wait again that was over, with fresh limits; its place in the line is that of its submit."""
    entry = state.flows.reopen(record.job)
    state.over.forget(record.job)
    state.jobs[record.job] = entry
    entry.spec, entry.state, entry.reason, entry.ended_us = record.spec, State.PENDING, None, None
    entry.retries = entry.losses = entry.not_before_us = 0
    entry.first_started_us = entry.preempted_us = None
    entry.swaps, entry.needs = (), ()
    entry.waiting_since_us = record.at_us
    entry.after, entry.reasons, entry.result, entry.gate = set(), (), "", ""
    state.names[record.spec.name] = record.job
    state.flows.schedules.job_is(record.job, None)
    inherit(state, record.job, record.at_us)
    state.ready[record.job] = None


def _clock_set(state: WorldState, record: fe.ClockSet) -> None:
    state.flows.schedules.clock_set(record.at_us, record.offset_us)
    budget_state.clock_set(state, record.at_us)


def _schedule_set(state: WorldState, record: fe.ScheduleSet) -> None:
    state.flows.schedules.add(record.spec, record.at_us)


def _schedule_removed(state: WorldState, record: fe.ScheduleRemoved) -> None:
    state.flows.schedules.remove(record.name)


def _schedule_paused(state: WorldState, record: fe.SchedulePaused) -> None:
    track = state.flows.schedules.tracks[record.name]
    track.paused = record.paused
    track.seen_us = max(track.seen_us, record.at_us + state.flows.schedules.offset_us - 1)
    state.flows.schedules.stirred[record.name] = None


def _ticked(state: WorldState, record: fe.Ticked) -> None:
    state.flows.schedules.ticked(record)
    if record.job is not None:
        state.jobs[record.job].gate = record.gate
    if record.flow is not None:
        state.flows.tracks[record.flow].gate = record.gate


def _ticks_missed(state: WorldState, record: fe.TicksMissed) -> None:
    track = state.flows.schedules.tracks[record.schedule]
    track.seen_us = max(track.seen_us, record.until_us)


def _run_freed(state: WorldState, record: fe.RunFreed) -> None:
    run = state.flows.schedules.tracks[record.schedule].runs[record.run]
    run.gate = ""
    if run.job is not None and run.job in state.jobs:
        state.jobs[run.job].gate = ""
        state.ready[run.job] = None
    if run.flow is not None and run.flow in state.flows.tracks:
        track = state.flows.tracks[run.flow]
        track.gate, track.began_us = "", record.at_us
        state.flows.stirred[run.flow] = None
        _limit(state, run.flow, record.at_us)


def _search_began(state: WorldState, record: fe.SearchBegan) -> None:
    state.flows.searches.began(record)


def _trial_entered(state: WorldState, record: fe.TrialEntered) -> None:
    state.flows.searches.entered(record)


def _trial_reported(state: WorldState, record: fe.TrialReported) -> None:
    state.flows.searches.reported(record)


def _search_stopping(state: WorldState, record: fe.SearchStopping) -> None:
    state.flows.searches.stopping(record)


def _search_ended(state: WorldState, record: fe.SearchEnded) -> None:
    state.flows.searches.ended(record)


APPLY: dict[type, Callable[[Any, Any], None]] = {
    fe.FlowBegan: _flow_began,
    fe.FlowRerun: _flow_rerun,
    fe.StepBegan: _step_began,
    fe.PartEntered: _part_entered,
    fe.LoopEnded: _loop_ended,
    fe.StepEnded: _step_ended,
    fe.StepSkipped: _step_skipped,
    fe.StepAnswered: _step_answered,
    fe.FlowStopping: _flow_stopping,
    fe.FlowEnded: _flow_ended,
    fe.Reopened: _reopened,
    fe.ClockSet: _clock_set,
    fe.ScheduleSet: _schedule_set,
    fe.ScheduleRemoved: _schedule_removed,
    fe.SchedulePaused: _schedule_paused,
    fe.Ticked: _ticked,
    fe.TicksMissed: _ticks_missed,
    fe.RunFreed: _run_freed,
    fe.SearchBegan: _search_began,
    fe.TrialEntered: _trial_entered,
    fe.TrialReported: _trial_reported,
    fe.SearchStopping: _search_stopping,
    fe.SearchEnded: _search_ended,
}
