"""Workflows as the world knows them, and which of its jobs belong to which step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.loop.schedule_state import Schedules
from clearway.loop.search_state import Searches
from clearway.model.flow import NULL
from clearway.model.reasons import Code
from clearway.model.states import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearway.flow.track import FlowTrack
    from clearway.loop.entry import JobEntry
    from clearway.model.flow import PartOf
    from clearway.model.ids import FlowId, JobId

KEPT = 1000
"""Jobs, and workflows, that ended otherwise than well and can be run again: so many of the newest."""


class Part(NamedTuple):
    """What a job is of a workflow."""

    flow: FlowId
    step: str
    item: int


class Flows:
    """All workflows that run, and those that may be run again."""

    def __init__(self) -> None:
        """Begin without any."""
        self.tracks: dict[FlowId, FlowTrack] = {}
        self.names: dict[str, FlowId] = {}
        self.next = 1
        self.schedules = Schedules()
        self.searches = Searches()
        self.parts: dict[JobId, Part] = {}
        self.inner: dict[FlowId, Part] = {}
        """What a workflow is of another one."""
        self.stirred: dict[FlowId, None] = {}
        """Workflows of which something has changed since they were looked at."""
        self.again: dict[JobId, JobEntry] = {}
        """Jobs that are over and can be run again."""
        self._loose: dict[JobId, None] = {}
        self._over: dict[FlowId, None] = {}

    def taken(self) -> tuple[tuple[JobId, ...], tuple[FlowId, ...]]:
        """Return the jobs of no workflow and the workflows that may be run again, oldest first."""
        return tuple(self._loose), tuple(self._over)

    def put_back(self, loose: Iterable[JobId], over: Iterable[FlowId]) -> None:
        """Be as `taken` said."""
        self._loose, self._over = dict.fromkeys(loose), dict.fromkeys(over)

    def of_job(self, job: JobId) -> FlowTrack | None:
        """Return the workflow that a job is a part of."""
        part = self.parts.get(job)
        return None if part is None else self.tracks.get(part.flow)

    def needs_success(self, job: JobId) -> bool:
        """Return whether a run of a schedule waits for the one before it to succeed, not only to be over."""
        return self.schedules.needs_success(job)

    def add(self, track: FlowTrack, part: PartOf | None = None) -> None:
        """Take in a workflow; `part`: what it is of another one."""
        self.tracks[track.id] = track
        self.entered(track.id, part)
        self.names[track.spec.name] = track.id
        self.next = max(self.next, track.id + 1)
        self.stirred[track.id] = None

    def entered(self, flow: FlowId, part: PartOf | None) -> None:
        """Take in that a workflow runs as a part of another one, if it is one."""
        if part is not None:
            self.inner[flow] = Part(part.flow, part.step, part.item)
            self.tracks[part.flow].flow_entered(part, flow)

    def job_ended(self, entry: JobEntry) -> None:
        """Take in that a job is over: its workflow goes on from there; what did not succeed can be run again."""
        part = self.parts.get(entry.id)
        if entry.state != State.SUCCEEDED and entry.spec.array is None and entry.array is None:
            self.again[entry.id] = entry
            if part is None:
                self._loose[entry.id] = None
                if len(self._loose) > KEPT:
                    oldest = next(iter(self._loose))
                    del self._loose[oldest], self.again[oldest]
        self.schedules.job_is(entry.id, entry.state)
        early = entry.reason is not None and entry.reason.code == Code.STOPPED_EARLY
        self.searches.job_is(entry.id, entry.state, entry.result, stopped=early)
        if part is not None:
            self.tracks[part.flow].part_ended(part.step, part.item, entry.state, entry.result)
            self.stirred[part.flow] = None

    def reopen(self, job: JobId) -> JobEntry:
        """Give back a job that is over; KeyError if it is not kept."""
        self._loose.pop(job, None)
        return self.again.pop(job)

    def flow_ended(self, flow: FlowId) -> None:
        """Take in that a run is over; the newest that are over stay at hand."""
        track = self.tracks[flow]
        self.schedules.flow_is(flow, track.state)
        if flow in self.inner and track.state is not None:
            part = self.inner[flow]
            given = track.outcome() if track.state == State.SUCCEEDED else NULL
            self.tracks[part.flow].part_ended(part.step, part.item, track.state, given)
            self.stirred[part.flow] = None
        self._over[flow] = None
        if len(self._over) > KEPT:
            self._forget(next(iter(self._over)))

    def flow_again(self, flow: FlowId) -> None:
        """Take in that a workflow runs again."""
        self._over.pop(flow, None)
        self.schedules.flow_is(flow, None)
        self.stirred[flow] = None

    def _forget(self, flow: FlowId) -> None:
        self._over.pop(flow, None)
        self.inner.pop(flow, None)
        track = self.tracks.pop(flow)
        if self.names.get(track.spec.name) == flow:
            del self.names[track.spec.name]
        for job in track.jobs:
            self.parts.pop(job, None)
            self.again.pop(job, None)
