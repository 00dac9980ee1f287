"""What will happen if nothing else comes and everything runs as long as it is estimated to."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from clearway.core.profile import NEVER
from clearway.model.events import Resized, Started, Stopping, TaskRef
from clearway.model.states import State
from clearway.ports.engine import TaskIsGone
from clearway.whatif.twin import twin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clearway.loop.world import Step, World
    from clearway.model.asks import Ask
    from clearway.model.ids import JobId
    from clearway.ports.engine import Report

MOST_STEPS = 2000
"""So many moments are looked ahead: a question is to be answered in seconds, whatever waits."""
FARTHEST_US = 30 * 86_400 * 10**6
"""So far is looked ahead: a schedule goes on for ever, and a start in years is no answer."""


def _always() -> bool:
    return True


class Begins(NamedTuple):
    """When a job will start, and on which nodes."""

    start_us: int
    nodes: tuple[str, ...]


def ahead(world: World, jobs: Sequence[JobId], now_us: int, first: Sequence[Ask] = ()) -> dict[JobId, Begins]:
    """Return when waiting jobs will start by the estimates; those of which that is not known are left out.

    `first` is asked at once. What has overrun its estimate ends as a cycle expects it to. The world stays as it is.
    """
    return Ahead(twin(world), frozenset(jobs), now_us).run(first)


def look_ahead(
    world: World, jobs: Sequence[JobId], now_us: int, goes_on: Callable[[], bool]
) -> tuple[dict[JobId, Begins], int | None]:
    """Return when jobs will start, as far as that is known; and if looking was cut short, up to when it was.

    `goes_on` is asked before each moment that is looked at, and before the world is copied for that.
    """
    if not jobs:
        return {}, None
    if not goes_on():
        return {}, now_us
    looking = Ahead(twin(world), frozenset(jobs), now_us)
    return looking.run((), goes_on), looking.now_us if looking.cut else None


class Ahead:
    """A world to which the ends come that its jobs are estimated to have."""

    def __init__(self, world: World, wanted: frozenset[JobId], now_us: int) -> None:
        self.world, self.wanted, self.now_us = world, wanted, max(now_us, world.now_us)
        self.found: dict[JobId, Begins] = {}
        self.cut = False  # whether looking ended before it was known
        self._ends: list[tuple[int, JobId, int]] = []
        self._will: dict[JobId, int] = {}  # when each ends by itself
        for entry in world.jobs.values():
            if entry.held:
                self._expect(entry.id)

    def run(self, first: Sequence[Ask], goes_on: Callable[[], bool] = _always) -> dict[JobId, Begins]:
        """Ask `first` at once, and look ahead until all wanted jobs have started or `goes_on` says no."""
        farthest_us = self.now_us + FARTHEST_US
        step = self._step(list(first))
        for steps in count():
            if self.wanted <= self.found.keys() or (moment_us := self._next_us(step)) is None:
                break
            if steps == MOST_STEPS or moment_us > farthest_us or not goes_on():
                self.cut = True
                break
            self.now_us = max(moment_us, self.now_us)
            step = self._step([*self._gone(), *self.come()])
        return self.found

    def _step(self, inputs: list[Ask | Report]) -> Step:
        step = self.world.step(inputs, self.now_us)
        for record in step.records:
            if isinstance(record, Started):
                self._started(record)
            elif isinstance(record, Stopping | Resized) and record.job in self.world.jobs:
                heappush(self._ends, (self.now_us, record.job, record.attempt))
        return step

    def _started(self, record: Started) -> None:
        if record.job in self.wanted:
            nodes = tuple(sorted({self.world.node_name(grant.node) for grant in record.grants}))
            self.found.setdefault(record.job, Begins(record.at_us, nodes))
        self._expect(record.job)

    def _expect(self, job: JobId) -> None:
        """Expect the end of a job that holds something; one of which nobody knows when it ends holds it for ever."""
        entry, ends = self.world.jobs[job], self.world.state.view.ends
        if entry.state == State.STOPPING:
            end_us = self.now_us
        else:
            drawn_us = self.end_us(job, ends.jobs[job].start_us)
            end_us = ends.end_of(job, self.now_us) if drawn_us is None else max(drawn_us, self.now_us + 1)
        if end_us < NEVER and entry.state != State.SUSPENDED:
            self._will[job] = end_us
            heappush(self._ends, (end_us, job, entry.attempt))

    def end_us(self, job: JobId, started_us: int) -> int | None:  # noqa: ARG002 - whoever draws ends looks at both
        """Return when a job ends that started at a moment, None: when a cycle expects it to."""
        return None

    def comes_us(self) -> int | None:
        """Return when the next job comes; None: nothing does."""
        return None

    def come(self) -> list[Ask]:
        """Return the jobs that come now."""
        return []

    def _next_us(self, step: Step) -> int | None:
        ends = self._ends[0][0] if self._ends else None
        moments = (ends, step.next_us, self.comes_us())
        return min((moment for moment in moments if moment is not None), default=None)

    def _gone(self) -> list[TaskIsGone]:
        """Return the reports that are due: tasks at their end, and those that were told to go."""
        found: dict[TaskRef, None] = {}
        while self._ends and self._ends[0][0] <= self.now_us:
            end_us, job, attempt = heappop(self._ends)
            entry = self.world.jobs.get(job)
            if entry is None or entry.attempt != attempt or not entry.held:
                continue  # it is over, or waits for its next attempt
            over = entry.state == State.STOPPING or end_us >= self._will.get(job, NEVER)
            keys = sorted(entry.held) if over else sorted(entry.leaving & entry.held.keys())
            found.update(dict.fromkeys(TaskRef(job, attempt, *key) for key in keys))
        return [TaskIsGone(task, 0) for task in found]
