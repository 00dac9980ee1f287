"""Schedules as the world knows them: which ticks were taken, and what became of their runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model.states import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearway.model.flow import ScheduleSpec
    from clearway.model.flow_events import Ticked
    from clearway.model.ids import FlowId, JobId

KEPT_RUNS = 100
"""Runs of a schedule that are over and remembered, for those that wait for them."""
KEPT_TICKS = 10_000
"""Ticks of a schedule that are remembered as taken; where the clock is set back, none before these comes again."""

TICK_WORDS = ("cron", "timezone", "from_us", "to_us", "skipped", "repeated", "exclude", "jitter_us")
"""What says when a schedule ticks."""


class RunTrack:
    """One run of a schedule; `state` None: it waits or runs."""

    __slots__ = ("flow", "gate", "job", "name", "state")

    def __init__(self, name: str, job: JobId | None, flow: FlowId | None, gate: str) -> None:
        """Begin; `gate` is the run that it waits for."""
        self.name, self.job, self.flow, self.gate = name, job, flow, gate
        self.state: State | None = None


class ScheduleTrack:
    """One schedule. `seen_us`: ticks up to this moment of the wall clock are taken.

    `gone`: it was removed and ticks no more, but is there until its runs are over, some of which wait for others.
    `taken` are the newest ticks that were; up to `forgotten_us` nobody knows any more, and none comes again.
    """

    __slots__ = ("forgotten_us", "gone", "number", "paused", "runs", "seen_us", "spec", "taken")

    def __init__(self, number: int, spec: ScheduleSpec, seen_us: int) -> None:
        """Begin with no tick taken."""
        self.number, self.spec, self.seen_us = number, spec, seen_us
        self.paused = self.gone = False
        self.forgotten_us = -1
        self.runs: dict[str, RunTrack] = {}
        self.taken: dict[int, None] = {}

    def active(self) -> list[RunTrack]:
        """Return the runs that are not over, oldest first."""
        return [run for run in self.runs.values() if run.state is None]

    def last(self) -> RunTrack | None:
        """Return the newest run."""
        return next(reversed(self.runs.values()), None)

    def freed(self) -> RunTrack | None:
        """Return the run that need not wait any more, if one does: all before it are over, however these end."""
        first = next((run for run in self.runs.values() if run.state is None), None)
        if first is None or not first.gate:
            return None
        before = self.runs.get(first.gate)
        needs = self.spec.after_previous and before is not None and before.state != State.SUCCEEDED
        return None if needs else first

    def ticked(self, record: Ticked) -> list[RunTrack]:
        """Take in a tick, and return the runs that are too old to be remembered."""
        self.seen_us = max(self.seen_us, record.tick_us)
        self.taken[record.tick_us] = None
        if len(self.taken) > KEPT_TICKS:
            oldest = next(iter(self.taken))
            del self.taken[oldest]
            self.forgotten_us = max(self.forgotten_us, oldest)
        if record.run:
            self.runs[record.run] = RunTrack(record.run, record.job, record.flow, record.gate)
        over = [name for name, run in self.runs.items() if run.state is not None]
        return [self.runs.pop(name) for name in over[:-KEPT_RUNS]]


class Schedules:
    """All schedules. `offset_us`: how far the wall clock is ahead; ticks before `fires_from_us` of it were missed."""

    def __init__(self) -> None:
        """Begin without any."""
        self.tracks: dict[str, ScheduleTrack] = {}
        self.offset_us = self.fires_from_us = 0
        self.stirred: dict[str, None] = {}
        self._numbers: dict[int, str] = {}
        self._of_job: dict[JobId, tuple[str, str]] = {}
        self._of_flow: dict[FlowId, tuple[str, str]] = {}
        self.next = 1

    def stir_all(self) -> None:
        """Have all schedules looked at."""
        self.stirred.update(dict.fromkeys(self.tracks))

    def due(self, number: int) -> None:
        """Have the schedule of a number looked at."""
        name = self._numbers.get(number)
        if name in self.tracks:
            self.stirred[name] = None

    def add(self, spec: ScheduleSpec, now_us: int) -> None:
        """Take in a schedule, or other words for one."""
        known = self.tracks.get(spec.name)
        if known is not None:
            if known.gone or not _same_ticks(known.spec, spec):  # else what is late on purpose is still to come
                known.seen_us = max(known.seen_us, now_us + self.offset_us - 1)
            known.paused = known.paused and not known.gone
            known.spec, known.gone = spec, False
        else:
            self.tracks[spec.name] = ScheduleTrack(self.next, spec, now_us + self.offset_us - 1)
            self._numbers[self.next] = spec.name
            self.next += 1
        self.stirred[spec.name] = None

    def remove(self, name: str) -> None:
        """Have a schedule tick no more; it is forgotten when its runs are over."""
        self.tracks[name].gone = True
        self._forget_gone(name)

    def _forget_gone(self, name: str) -> None:
        if self.tracks[name].active():
            return
        track = self.tracks.pop(name)
        del self._numbers[track.number]
        self._forget(track.runs.values())

    def _forget(self, runs: Iterable[RunTrack]) -> None:
        for run in runs:
            if run.job is not None:
                self._of_job.pop(run.job, None)
            if run.flow is not None:
                self._of_flow.pop(run.flow, None)

    def put_back(self, track: ScheduleTrack) -> None:
        """Take in a schedule as it was kept."""
        self.tracks[track.spec.name] = track
        self._numbers[track.number] = track.spec.name
        for run in track.runs.values():
            if run.job is not None:
                self._of_job[run.job] = (track.spec.name, run.name)
            if run.flow is not None:
                self._of_flow[run.flow] = (track.spec.name, run.name)

    def ticked(self, record: Ticked) -> None:
        """Take in a tick."""
        self._forget(self.tracks[record.schedule].ticked(record))
        if record.job is not None:
            self._of_job[record.job] = (record.schedule, record.run)
        if record.flow is not None:
            self._of_flow[record.flow] = (record.schedule, record.run)

    def clock_set(self, at_us: int, offset_us: int) -> None:
        """Take in how far the wall clock is ahead; where it was set back, ticks come again that were not taken."""
        self.offset_us, self.fires_from_us = offset_us, at_us + offset_us
        for track in self.tracks.values():
            track.seen_us = max(min(track.seen_us, self.fires_from_us - 1), track.forgotten_us)
        self.stir_all()

    def needs_success(self, job: JobId) -> bool:
        """Return whether a run waits for the one before it to succeed, not only to be over."""
        track = self.tracks.get(self._of_job.get(job, ("", ""))[0])
        return track is not None and track.spec.after_previous

    def job_is(self, job: JobId, state: State | None) -> None:
        """Take in that the job of a run is over, or runs again (None)."""
        self._run_is(self._of_job.get(job), state)

    def flow_is(self, flow: FlowId, state: State | None) -> None:
        """Take in that the workflow of a run is over, or runs again (None)."""
        self._run_is(self._of_flow.get(flow), state)

    def _run_is(self, whose: tuple[str, str] | None, state: State | None) -> None:
        if whose is None or whose[0] not in self.tracks:
            return
        run = self.tracks[whose[0]].runs.get(whose[1])
        if run is not None:
            run.state = state
            run.gate = run.gate if state is not None else ""  # who has it run again has it wait for nobody
            self.stirred[whose[0]] = None
            if self.tracks[whose[0]].gone:
                self._forget_gone(whose[0])


def _same_ticks(one: ScheduleSpec, other: ScheduleSpec) -> bool:
    """Return whether two schedules tick at the same moments."""
    return all(getattr(one, word) == getattr(other, word) for word in TICK_WORDS)
