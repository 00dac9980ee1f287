"""Turns the records of a run into results while they pass.

What is kept grows with the jobs that are alive, and by one small row (`columns.py`) for each that has ended. The
measured resource is the GPU; where no node has any, the CPU.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.core.turns import Occupied
from clearway.model import events as ev
from clearway.model.fleet import PLENTY
from clearway.model.job import WHOLE
from clearway.model.states import End, State
from clearway.sim.results.columns import Columns
from clearway.sim.results.curves import Curves
from clearway.sim.results.excerpt import Bar, Gantt
from clearway.sim.results.shortage import Shortage
from clearway.sim.results.totals import Integrals, Totals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from clearway.model.events import Grant, Record
    from clearway.model.fleet import NodeSpec
    from clearway.model.ids import JobId, NodeId
    from clearway.model.job import JobSpec
    from clearway.sim.truth import Truth
    from clearway.sim.workloads.trace import Arrival

GrantKey = tuple[int, int, int]
THOUSAND = 1000


class _Expected(NamedTuple):
    """What the trace knows of a job before it enters."""

    number: int = -1
    ideal_us: int = 0


@dataclass(slots=True)
class _Live:
    """What is kept of a job until it ends."""

    known: _Expected
    name: str
    queue: str
    per_task: tuple[int, ...]
    turns: tuple[bool, ...]
    milli: int
    submit_us: int
    crowd_us: float
    first_us: int | None = None
    last_us: int = 0
    run_us: int = 0


class Fold:
    """Give it the arrivals on their way in and the records on their way out; then ask for what it kept."""

    def __init__(self, *, by_gpu: bool, window: tuple[int, int] | None = None) -> None:
        """Measure GPUs (`by_gpu`) or CPUs, and keep who held what within a window of time (microseconds)."""
        self.by_gpu = by_gpu
        self.columns, self.curves, self.gantt = Columns(), Curves(), Gantt(window)
        self.queues: dict[str, int] = {}
        self.arrived = self.refused = self.preemptions = self.losses = 0
        self.first_us: int | None = None
        self.last_end_us = 0
        self.totals = Totals()
        self._at = Integrals()
        self._short = Shortage()
        self._waiting = 0
        self._expected: dict[str, deque[_Expected]] = {}
        self._jobs: dict[JobId, _Live] = {}
        self._arrays: dict[JobId, _Expected] = {}
        self._nodes: dict[NodeId, int] = {}
        self._away: set[NodeId] = set()
        self._grants: dict[GrantKey, tuple[Grant, int, str]] = {}
        self._occupied = Occupied()
        self._on: dict[type, Callable[[Any], None]] = {
            ev.Submitted: self._submitted, ev.Refused: self._job_refused, ev.Started: self._job_started,
            ev.TaskEnded: self._task_ended, ev.AttemptEnded: self._attempt_ended, ev.Ended: self._ended,
            ev.Joined: self._joined, ev.ClassWaits: self._class_waits, ev.JobWaits: self._job_waits,
            ev.Requeued: self._requeued, ev.NodeAdded: self._node_added, ev.NodeRemoved: self._node_gone,
            ev.NodeLost: self._node_gone, ev.NodeHeard: self._node_heard,
        }  # fmt: skip

    def expect(self, arrivals: Iterable[Arrival]) -> Iterator[Arrival]:
        """Pass arrivals on, and keep what the trace knows of each until it has entered."""
        for number, arrival in enumerate(arrivals):
            self.know(number, arrival.spec, arrival.truth)
            yield arrival

    def know(self, number: int, spec: JobSpec, truth: Truth) -> None:
        """Keep what the trace knows of a job that enters next; of equal names the first to be known enters first."""
        known = _Expected(number, (*truth.runtimes_us, 0)[0])
        self._expected.setdefault(spec.name, deque()).append(known)
        self.arrived += 1

    def _known(self, name: str) -> _Expected:
        line = self._expected.get(name)
        if line is None:
            return _Expected()
        known = line.popleft()
        if not line:
            del self._expected[name]
        return known

    def __call__(self, records: Sequence[Record]) -> None:
        """Take the next records."""
        handlers, at = self._on, self._at
        for record in records:
            handler = handlers.get(type(record))
            if handler is not None:
                if record.at_us > at.now_us:
                    at.move(record.at_us, short=self._short.count > 0)
                handler(record)

    def close(self) -> None:
        """Count what still runs or waits up to the last record."""
        self.curves.close(self.now_us)

    @property
    def now_us(self) -> int:
        """The moment of the last record."""
        return self._at.now_us

    @property
    def alive(self) -> int:
        """Jobs that have entered and not ended."""
        return len(self._jobs)

    # --- jobs ---

    def _submitted(self, r: ev.Submitted) -> None:
        if self.first_us is None:
            self.first_us = r.at_us
            self._at.begin(r.at_us)
        spec = r.spec
        per_task = self._per_task(spec)
        milli = sum(role.tasks * each for role, each in zip(spec.roles, per_task, strict=True))
        if spec.array is not None:  # its jobs count, and it is none itself
            self._arrays[r.job] = self._known(spec.name)
            return
        known = self._arrays[r.array] if r.array in self._arrays else self._known(spec.name)
        self.queues.setdefault(spec.queue, len(self.queues))
        turns = tuple(self.by_gpu and role.demand.colocate > 0 for role in spec.roles)
        since_us = r.since_us or r.at_us
        self._jobs[r.job] = _Live(known, spec.name, spec.queue, per_task, turns, milli, since_us, self._at.crowd_us)
        self._ask(spec.queue, milli)
        self._wait(1)

    def _per_task(self, spec: JobSpec) -> tuple[int, ...]:
        return tuple(r.demand.milli_gpus if self.by_gpu else r.demand.cpus for r in spec.roles)

    def _job_refused(self, r: ev.Refused) -> None:
        self._known(r.name)
        self.refused += 1

    def _job_started(self, r: ev.Started) -> None:
        job = self._jobs[r.job]
        self._short.leave(r.job)
        self._wait(-1)
        if job.first_us is None:
            job.first_us = r.at_us
        job.last_us = r.at_us
        for g in r.grants:
            milli, key = job.per_task[g.role], (r.job, g.role, g.index)
            self._grants[key] = (g, -1 if job.turns[g.role] else milli, job.queue)
            self._hold(*self._grants[key], 1)
            if self.gantt.shows(g.node):
                self.gantt.begin(key, g.node, Bar(0, g.devices, milli, r.at_us, r.at_us, job.queue, job.name))

    def _task_ended(self, r: ev.TaskEnded) -> None:
        self._free((r.task.job, r.task.role, r.task.index))

    def _attempt_ended(self, r: ev.AttemptEnded) -> None:
        job = self._jobs[r.job]
        job.run_us = r.at_us - job.last_us
        self.preemptions += r.end is End.PREEMPTED
        self.losses += r.end is End.LOST

    def _requeued(self, r: ev.Requeued) -> None:
        del r
        self._wait(1)

    def _ended(self, r: ev.Ended) -> None:
        if self._arrays.pop(r.job, None) is not None:
            return
        job = self._jobs.pop(r.job)
        self._short.leave(r.job)
        self._ask(job.queue, -job.milli)
        self.totals, self.last_end_us = self._at.total, r.at_us
        if job.first_us is None:
            self._wait(-1)
            return
        jct_us = r.at_us - job.submit_us
        crowd = round(THOUSAND * (self._at.crowd_us - job.crowd_us) / jct_us) if jct_us else THOUSAND
        self.columns.add(
            job.known.number, job.submit_us, job.first_us - job.submit_us, jct_us, job.run_us,
            job.known.ideal_us or job.run_us, job.milli, crowd, self.queues[job.queue], r.state is State.SUCCEEDED,
        )  # fmt: skip

    # --- amounts ---

    def _ask(self, queue: str, milli: int) -> None:
        self._at.asked += milli
        self.curves.change(f"asked/{queue}", milli, self.now_us)

    def _wait(self, by: int) -> None:
        self._waiting += by
        self.curves.change("waiting", by, self.now_us)

    def _hold(self, grant: Grant, milli: int, queue: str, sign: int) -> None:
        """Count a grant, or count it off; devices that jobs share count once, for whoever comes first or goes last."""
        milli = sign * milli if milli >= 0 else self._occupied.change(grant, 0, sign)[0]
        self._at.held += milli
        self.curves.change(f"held/{queue}", milli, self.now_us)

    def _free(self, key: GrantKey) -> None:
        found = self._grants.pop(key, None)
        if found is not None:
            self._hold(*found, -1)
            self.gantt.end(key, self.now_us)

    # --- who lacks capacity ---

    def _joined(self, r: ev.Joined) -> None:
        if self._jobs[r.job].milli:
            self._short.join(r.job, r.cls)

    def _class_waits(self, r: ev.ClassWaits) -> None:
        self._short.class_waits(r.cls, r.reasons)

    def _job_waits(self, r: ev.JobWaits) -> None:
        if r.job in self._jobs and self._jobs[r.job].milli:
            self._short.job_waits(r.job, r.reasons)

    # --- nodes ---

    def _node_added(self, r: ev.NodeAdded) -> None:
        self._out(r.node)
        size = self._nodes[r.node] = self._size(r.spec)
        self._in(r.node)
        self.gantt.add_node(r.node, r.spec.name, r.spec.gpus, size, pooled=not self.by_gpu)

    def _size(self, spec: NodeSpec) -> int:
        if self.by_gpu:
            return spec.gpus * WHOLE
        return spec.cpus if spec.cpus < PLENTY else 0

    def _node_gone(self, r: ev.NodeLost | ev.NodeRemoved) -> None:
        self._out(r.node)
        for key in [k for k, held in self._grants.items() if held[0].node == r.node]:
            self._free(key)

    def _node_heard(self, r: ev.NodeHeard) -> None:
        if r.node in self._away:
            self._in(r.node)

    def _in(self, node: NodeId) -> None:
        self._away.discard(node)
        self._at.there += self._nodes[node]

    def _out(self, node: NodeId) -> None:
        if node in self._nodes and node not in self._away:
            self._away.add(node)
            self._at.there -= self._nodes[node]
