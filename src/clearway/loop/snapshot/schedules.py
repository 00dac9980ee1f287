"""Schedules and searches in a snapshot: their forms, how they are taken down and built again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clearway.flow.search import SearchTrack
from clearway.loop.schedule_state import RunTrack, ScheduleTrack
from clearway.model.flow import ScheduleSpec, SearchSpec
from clearway.model.ids import FlowId, JobId
from clearway.model.reasons import Reason
from clearway.model.states import State

if TYPE_CHECKING:
    from clearway.loop.flow_state import Flows


class RunKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A `loop.schedule_state.RunTrack`, slot by slot."""

    name: str
    job: JobId | None = None
    flow: FlowId | None = None
    gate: str = ""
    state: State | None = None


class ScheduleKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A `loop.schedule_state.ScheduleTrack`, slot by slot."""

    number: int
    spec: ScheduleSpec
    seen_us: int
    paused: bool = False
    runs: tuple[RunKept, ...] = ()
    taken: tuple[int, ...] = ()
    gone: bool = False
    forgotten_us: int = -1


class TrialKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A `flow.search.Trial`, slot by slot."""

    job: JobId
    point: str
    place: int
    state: State | None = None
    value: str = ""
    reports: tuple[tuple[int, str], ...] = ()
    stopped: bool = False


class SearchKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A `flow.search.SearchTrack`: what follows from its trials is not kept."""

    spec: SearchSpec
    trials: tuple[TrialKept, ...] = ()
    order: tuple[int, ...] = ()
    stopping: Reason | None = None
    state: State | None = None
    reason: Reason | None = None


class SchedulesKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """All schedules and searches. The runs and trials that live jobs and workflows are follow from them."""

    offset_us: int = 0
    fires_from_us: int = 0
    next: int = 1
    schedules: tuple[ScheduleKept, ...] = ()
    searches: tuple[SearchKept, ...] = ()
    stirred: tuple[str, ...] = ()
    stirred_searches: tuple[str, ...] = ()


def take_schedules(flows: Flows) -> SchedulesKept:
    """Return what is known of schedules and searches."""
    known = flows.schedules
    return SchedulesKept(
        known.offset_us,
        known.fires_from_us,
        known.next,
        tuple(_schedule(track) for track in known.tracks.values()),
        tuple(_search(track) for track in flows.searches.tracks.values()),
        tuple(known.stirred),
        tuple(flows.searches.stirred),
    )


def _schedule(track: ScheduleTrack) -> ScheduleKept:
    runs = tuple(RunKept(run.name, run.job, run.flow, run.gate, run.state) for run in track.runs.values())
    taken, gone, forgotten_us = tuple(track.taken), track.gone, track.forgotten_us
    return ScheduleKept(track.number, track.spec, track.seen_us, track.paused, runs, taken, gone, forgotten_us)


def _search(track: SearchTrack) -> SearchKept:
    trials = tuple(
        TrialKept(one.job, one.point, one.place, one.state, one.value, tuple(one.reports), one.stopped)
        for one in track.trials
    )
    return SearchKept(track.spec, trials, tuple(track.order), track.stopping, track.state, track.reason)


def restore_schedules(flows: Flows, kept: SchedulesKept) -> None:
    """Have schedules and searches stand as they were kept."""
    known, searches = flows.schedules, flows.searches
    known.offset_us, known.fires_from_us, known.next = kept.offset_us, kept.fires_from_us, kept.next
    for one in kept.schedules:
        known.put_back(_schedule_again(one))
    for search in kept.searches:
        searches.put_back(_search_again(search))
    known.stirred, searches.stirred = dict.fromkeys(kept.stirred), dict.fromkeys(kept.stirred_searches)


def _schedule_again(kept: ScheduleKept) -> ScheduleTrack:
    track = ScheduleTrack(kept.number, kept.spec, kept.seen_us)
    track.paused, track.taken, track.gone = kept.paused, dict.fromkeys(kept.taken), kept.gone
    track.forgotten_us = kept.forgotten_us
    for one in kept.runs:
        run = RunTrack(one.name, one.job, one.flow, one.gate)
        run.state = one.state
        track.runs[one.name] = run
    return track


def _search_again(kept: SearchKept) -> SearchTrack:
    track = SearchTrack(kept.spec)
    for one in kept.trials:
        trial = track.entered(one.job, one.point, one.place)
        track.job_is(one.job, one.state, stopped=one.stopped)
        trial.value = one.value
        for step, value in one.reports:
            track.reported(trial.number, step, value)
    track.order = list(kept.order)
    track.stopping, track.state, track.reason = kept.stopping, kept.state, kept.reason
    return track
