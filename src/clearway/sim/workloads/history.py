"""A controller's journal as a workload: what was submitted, and what really happened to it.

Attempts that were stopped for another's sake or lost with their node are left out: a replay decides those anew. What a
person cancelled is cancelled again after the same time; what ran into its time limit runs until it is stopped. Jobs
that are not over are counted and left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.model import events as ev
from clearway.model.states import End, State
from clearway.model.values import SECOND_US
from clearway.sim.truth import Truth
from clearway.sim.workloads.fleet_words import limit_words, node_words, queue_words
from clearway.sim.workloads.trace import Arrival
from clearway.sim.workloads.writer import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from clearway.model.events import Record
    from clearway.model.fleet import LimitSpec, NodeSpec, QueueSpec
    from clearway.model.ids import JobId, NodeId


@dataclass(slots=True)
class _Life:
    """What happened to one job."""

    submitted_us: int
    started_us: int = 0
    paused_us: int | None = None
    stood_us: int = 0
    exit_code: int = 0
    runs: list[tuple[int, int]] = field(default_factory=list)
    end: State | None = None
    ended_us: int = 0


class History:
    """Reads a journal twice: once for what happened, once for the jobs in order of their submits."""

    def __init__(self, records: Callable[[], Iterable[Record]]) -> None:
        """Read what `records` yields, once here and once for each call of `arrivals`."""
        self._records = records
        self._lives: dict[JobId, _Life] = {}
        self._nodes: dict[NodeId, NodeSpec] = {}
        self._queues: dict[str, QueueSpec] = {}
        self._limits: dict[str, LimitSpec] = {}
        self.begin_us: int | None = None
        for record in records():
            self._take(record)

    @property
    def unfinished(self) -> int:
        """Jobs that are not over, and so not told of."""
        return sum(life.end is None for life in self._lives.values())

    @property
    def header(self) -> dict[str, Any]:
        """Return the header of the workload file: the clock at its beginning, machines, queues, limits."""
        words: dict[str, Any] = {}
        if self.begin_us is not None:
            words["clock"] = datetime.fromtimestamp(self.begin_us / SECOND_US, UTC).isoformat()
        words["fleet"] = {"nodes": [node_words(node) for node in self._nodes.values()]}
        words["queues"] = [queue_words(queue) for queue in self._queues.values()]
        words["limits"] = [limit_words(limit) for limit in self._limits.values()]
        return words

    def arrivals(self) -> Iterator[Arrival]:
        """Yield the jobs that are over, in order of their submits, the first submit at 0."""
        for record in self._records():
            if isinstance(record, ev.Submitted):
                life = self._lives.get(record.job)
                if life is not None and life.end is not None:
                    yield self._arrival(record, life)

    def _arrival(self, record: ev.Submitted, life: _Life) -> Arrival:
        begin_us = self.begin_us or 0
        spec = record.spec
        if spec.deadline_us is not None:
            spec = msgspec.structs.replace(spec, deadline_us=max(0, spec.deadline_us - begin_us))
        return Arrival((record.since_us or record.at_us) - begin_us, spec, _truth(life))

    def _take(self, record: Record) -> None:
        match record:
            case ev.NodeAdded(node=node, spec=spec):
                self._nodes[node] = spec
            case ev.NodeRemoved(node=node):
                self._nodes.pop(node, None)
            case ev.QueueChanged(queue=queue):
                self._queues[queue.name] = queue
            case ev.LimitChanged(limit=limit):
                self._limits[limit.name] = limit
            case ev.Submitted(at_us=at_us, job=job) if record.spec.array is None:  # of an array each job is told of
                self.begin_us = at_us if self.begin_us is None else self.begin_us
                self._lives[job] = _Life(at_us)
            case ev.TaskEnded(task=task, exit_code=code) if task.job in self._lives:
                self._lives[task.job].exit_code = self._lives[task.job].exit_code or code or 0
            case ev.Started() | ev.Paused() | ev.AttemptEnded() | ev.Ended() if record.job in self._lives:
                _live(self._lives[record.job], record)
            case _:
                pass


def _live(life: _Life, record: ev.Started | ev.Paused | ev.AttemptEnded | ev.Ended) -> None:
    match record:
        case ev.Started(at_us=at_us):
            life.started_us, life.paused_us, life.stood_us, life.exit_code = at_us, None, 0, 0
        case ev.Paused(at_us=at_us, paused=paused):
            if paused:
                life.paused_us = at_us
            elif life.paused_us is not None:
                life.stood_us += at_us - life.paused_us
                life.paused_us = None
        case ev.AttemptEnded(at_us=at_us, end=end):
            stood_us = life.stood_us + (at_us - life.paused_us if life.paused_us is not None else 0)
            if end in {End.SUCCEEDED, End.FAILED}:
                code = life.exit_code if end is End.SUCCEEDED else life.exit_code or 1
                life.runs.append((max(1, at_us - life.started_us - stood_us), code))
        case ev.Ended(at_us=at_us, state=state):
            life.end, life.ended_us = state, at_us


def _truth(life: _Life) -> Truth:
    cancelled = life.end is State.CANCELLED
    return Truth(
        runtimes_us=tuple(run_us for run_us, _ in life.runs),
        exit_codes=tuple(code for _, code in life.runs) or (0,),
        cancel_after_us=life.ended_us - life.submitted_us if cancelled else None,
        took_us=max(0, life.ended_us - life.submitted_us),
    )


def export(records: Callable[[], Iterable[Record]], file: Path) -> dict[str, int]:
    """Write the jobs that are over to a workload file; return how many they are, and how many are not over."""
    history, jobs = History(records), 0
    with written(file, {"title": "exported by clearway history", **history.header}) as write:
        for arrival in history.arrivals():
            write(arrival)
            jobs += 1
    return {"jobs": jobs, "unfinished": history.unfinished}
