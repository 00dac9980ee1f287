"""The world of a policy that decides without acting: what it starts runs as long as it really runs, or is forecast to.

A task ends when the real job has shown how long it runs, else at the median of its forecast, read anew where the real
one still runs by then. What is told to stop is gone at once.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from clearway.core.profile import NEVER
from clearway.model import events as ev
from clearway.model.states import State
from clearway.ports.engine import TaskIsGone
from clearway.whatif.shadow import events
from clearway.whatif.shadow.pairs import SHADOW
from clearway.whatif.twin import twin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.loop.entry import JobEntry
    from clearway.loop.forecasting import Forecasting
    from clearway.loop.world import World
    from clearway.model.asks import Ask
    from clearway.model.events import Record
    from clearway.model.fleet import PolicySpec
    from clearway.model.ids import JobId
    from clearway.ports.engine import Report
    from clearway.whatif.shadow.pairs import Pairs
    from clearway.whatif.shadow.reality import Reality


class ShadowWorld:
    """A twin of the world in charge from a moment on, under another policy."""

    def __init__(self, live: World, policy: PolicySpec, says: Forecasting, reality: Reality, pairs: Pairs) -> None:
        """Begin as the world in charge stands, between two turns of it. `pairs` is told what starts and ends.

        `says` learns from what really happens, and forecasts for jobs that enter the line here first.
        """
        self.world = twin(live)
        events.leave_alone(self.world)
        self.world.forecasting = says.aside()
        self.world.apply(ev.PolicyChanged(live.now_us, policy))
        self._live, self._reality, self._pairs = live, reality, pairs
        self._ends: list[tuple[int, JobId, int]] = []
        self._will: dict[JobId, int] = {}
        self._next_us: int | None = self.world.now_us
        for entry in self.world.jobs.values():
            if entry.held:
                self._plan(entry, self.world.now_us)

    def advance(self, to_us: int) -> None:
        """Have happen what happens before a moment."""
        while (moment_us := self._moment_us()) is not None and moment_us < to_us:
            self._step((), moment_us)

    def happen(self, records: Sequence[Record], at_us: int) -> None:
        """Have happen what came from outside at a moment; the world in charge has taken it in."""
        self.advance(at_us)
        world = self.world
        now_us = world.now_us = max(at_us, world.now_us)  # it may have looked ahead a little
        world.state.view.reach(now_us)
        world.step_records, world.step_actions = [], []
        for record in records:
            events.at_once(world, self._live, record)
        early = world.step_records
        wishes = [wish for record in records for wish in events.wishes(world, record)]
        self._take(early)
        self._step(wishes, now_us)

    def real_end(self, job: JobId) -> None:
        """Plan the end of a job anew of which it is known now how long it runs."""
        entry = self.world.jobs.get(job)
        runs = entry is not None and entry.held and entry.state in {State.STARTING, State.RUNNING}
        if entry is not None and runs and self._reality.own(entry) is not None:
            self._plan(entry, self.world.now_us)

    def _step(self, inputs: Sequence[Ask | Report], now_us: int) -> None:
        now_us = max(now_us, self.world.now_us)
        step = self.world.step([*self._gone(now_us), *inputs], now_us)
        self._next_us = step.next_us
        self._take(step.records)

    def _take(self, records: Sequence[Record]) -> None:
        """Look at what the world has recorded: who starts, who is to go, who is over."""
        jobs = self.world.jobs
        for record in records:
            match record:
                case ev.Submitted():
                    self._pairs.enter(record.job, record.spec, record.since_us or record.at_us)
                case ev.Started():
                    self._pairs.started(SHADOW, record.job, record.at_us)
                    self._runs(jobs[record.job], record)
                case ev.Requeued():
                    self._pairs.waits(SHADOW, record.job, record.at_us)
                case ev.Ended():
                    self._will.pop(record.job, None)
                    if self._pairs.over(SHADOW, record.job, record.at_us) and record.job not in self._live.jobs:
                        self._reality.forget(record.job)
                case ev.Stopping() | ev.Resized() if record.job in jobs:
                    heappush(self._ends, (record.at_us, record.job, record.attempt))
                case ev.Paused() if record.job in jobs:
                    self._plan(jobs[record.job], record.at_us)

    def _runs(self, entry: JobEntry, record: ev.Started) -> None:
        if entry.attempt != record.attempt:
            return
        for key in sorted(entry.held):
            self.world.apply(ev.TaskStarted(record.at_us, ev.TaskRef(entry.id, entry.attempt, *key)))
        self._plan(entry, record.at_us)

    def _plan(self, entry: JobEntry, now_us: int) -> None:
        """Plan when an attempt ends by itself; one that stands still does not."""
        self._will.pop(entry.id, None)
        if entry.state == State.STOPPING:
            heappush(self._ends, (now_us, entry.id, entry.attempt))
        elif entry.state != State.SUSPENDED:
            left_us = self._reality.left_us(self.world, entry, now_us)
            if left_us < NEVER:
                self._will[entry.id] = now_us + left_us
                heappush(self._ends, (now_us + left_us, entry.id, entry.attempt))

    def _moment_us(self) -> int | None:
        moments = (self._ends[0][0] if self._ends else None, self._next_us)
        return min((moment for moment in moments if moment is not None), default=None)

    def _gone(self, now_us: int) -> list[TaskIsGone]:
        """Return the ends that are due: of tasks that were told to go, and of attempts that end by themselves."""
        found: dict[ev.TaskRef, TaskIsGone] = {}
        while self._ends and self._ends[0][0] <= now_us:
            end_us, job, attempt = heappop(self._ends)
            entry = self.world.jobs.get(job)
            if entry is None or entry.attempt != attempt or not entry.held:
                continue
            for gone in self._of(entry, end_us, now_us):
                found[gone.task] = gone
        return list(found.values())

    def _of(self, entry: JobEntry, end_us: int, now_us: int) -> list[TaskIsGone]:
        code, oom, keys = 0, False, sorted(entry.leaving & entry.held.keys())
        if entry.state == State.STOPPING:
            keys = sorted(entry.held)
        elif self._will.get(entry.id) == end_us and entry.state != State.SUSPENDED:
            if self._reality.goes_on(self.world, entry, now_us):
                self._plan(entry, now_us)
            else:
                own, keys = self._reality.own(entry), sorted(entry.held)
                code, oom = (own.exit_code, own.oom) if own is not None else (0, False)
        return [TaskIsGone(ev.TaskRef(entry.id, entry.attempt, *key), code, oom=oom) for key in keys]
