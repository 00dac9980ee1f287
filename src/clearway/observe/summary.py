"""The figures of a run, kept while records pass: memory grows with what is alive (and one number a job for p95).

All integrals run from the first submit to the last end.

- `gpu_use` held milli-GPU-seconds over those of the nodes that were there (a lost node is not); `gpu_busy` the same
  with what is held weighted by the part that the job really uses. A device whose time jobs share counts as held once,
  and as used by all of them together, at most whole.
- `mean_wait`, `p95_wait` first start minus submit, of jobs that started; `mean_jct`, `p95_jct` end minus submit, of
  jobs that ended. p95 is the nearest rank.
- `mean_bounded_slowdown` of jobs that started and ended: max(1, (end - submit) / max(last attempt's length, 10 s)),
  after Feitelson and Rudolph, "Metrics and benchmarking for parallel job scheduling" (1998).
- `fragmented` the part of those milli-GPU-seconds that was free while a job that wants GPUs lacked capacity.
- `cost` price of the nodes that were there, of ordered machines from the order on. A figure without anything to
  compute it from is null.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clearway.core.turns import Occupied
from clearway.model import events as ev
from clearway.model.flow_events import Reopened
from clearway.model.job import WHOLE
from clearway.model.reasons import Code
from clearway.model.states import End
from clearway.model.values import MICROS, SECOND_US

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clearway.model.events import Grant, Record
    from clearway.model.ids import ClassId, JobId, NodeId
    from clearway.model.reasons import Reason

BOUND_US = 10 * SECOND_US  # shorter runs count as this long in the bounded slowdown, so that they do not rule the mean
HOUR_US = 3600 * SECOND_US
P95 = 0.95


@dataclass(slots=True)
class _Live:
    """What is kept of a job until it ends."""

    submitted_us: int
    wants_gpus: bool
    busy: int
    turns: tuple[bool, ...] = ()
    first_us: int | None = None
    last_us: int | None = None
    run_us: int = 0
    cls: ClassId | None = None
    short: bool = False


@dataclass(slots=True)
class _Line:
    """The members of a class that want GPUs, and whether they lack capacity."""

    members: int = 0
    short: bool = False


class _Integral:
    """The sum over time of an amount that changes in steps."""

    __slots__ = ("rate", "total")

    def __init__(self) -> None:
        self.rate = 0
        self.total = 0


class _Numbers:
    """A mean and a percentile of numbers that come one by one."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen = array("d")

    def add(self, value: float) -> None:
        self._seen.append(value)

    def mean(self) -> float | None:
        return math.fsum(self._seen) / len(self._seen) if self._seen else None

    def p95(self) -> float | None:
        return sorted(self._seen)[math.ceil(P95 * len(self._seen)) - 1] if self._seen else None


class Summary:
    """A fold over records; see the module for what each figure means. Times are in seconds."""

    def __init__(self, busy: Mapping[str, int] | None = None) -> None:
        """Start with nothing; `busy` as in Timeline."""
        self._busy_of = busy or {}
        self._jobs: dict[JobId, _Live] = {}
        self._lines: dict[ClassId, _Line] = {}
        self._grants: dict[tuple[JobId, int, int], tuple[Grant, int, bool]] = {}
        self._occupied = Occupied()
        self._nodes: dict[NodeId, tuple[int, int]] = {}
        self._away: set[NodeId] = set()
        self._types: dict[str, int] = {}
        self._short = 0
        self._now_us = 0
        self._held, self._used, self._there = _Integral(), _Integral(), _Integral()
        self._waste, self._price = _Integral(), _Integral()
        self._first_us: int | None = None
        self._ended: tuple[int, tuple[int, ...]] | None = None
        self._wait, self._jct, self._slowdown = _Numbers(), _Numbers(), _Numbers()
        self.preemptions = 0
        self._on: dict[type, Callable[[Any], None]] = {
            ev.Submitted: self._submitted, Reopened: self._submitted, ev.Started: self._started,
            ev.Resized: self._resized, ev.TaskEnded: self._task_ended,
            ev.AttemptEnded: self._attempt_ended, ev.Ended: self._job_ended, ev.Joined: self._joined,
            ev.ClassWaits: self._class_waits, ev.JobWaits: self._job_waits, ev.NodeAdded: self._node_added,
            ev.MachineOrdered: self._machine_ordered, ev.MachineGone: self._node_gone,
            ev.MachineTypeChanged: self._type_changed,
            ev.NodeRemoved: self._node_gone, ev.NodeLost: self._node_gone, ev.NodeHeard: self._node_heard,
        }  # fmt: skip

    def apply(self, record: Record) -> None:
        """Take the next record."""
        handler = self._on.get(type(record))
        if handler:
            if record.at_us > self._now_us:
                self._pass(record.at_us)
            handler(record)

    def as_dict(self) -> dict[str, float | int | None]:
        """Return the summary (docs/timeline.md) of all records so far."""
        end_us, (held, used, there, waste, price) = self._ended or (None, (0,) * 5)
        return {
            "makespan": None if end_us is None else (end_us - (self._first_us or 0)) / SECOND_US,
            "gpu_use": held / there if there else None,
            "gpu_busy": used / WHOLE / there if there else None,
            "mean_wait": self._wait.mean(),
            "p95_wait": self._wait.p95(),
            "mean_jct": self._jct.mean(),
            "p95_jct": self._jct.p95(),
            "mean_bounded_slowdown": self._slowdown.mean(),
            "fragmented": waste / there if there else None,
            "cost": price / MICROS / HOUR_US,
            "preemptions": self.preemptions,
        }

    # --- time passes ---

    def _pass(self, now_us: int) -> None:
        if self._first_us is not None:
            past = now_us - self._now_us
            self._waste.rate = self._there.rate - self._held.rate if self._short else 0
            for amount in (self._held, self._used, self._there, self._waste, self._price):
                amount.total += amount.rate * past
        self._now_us = now_us

    def _hold(self, job: JobId, grant: Grant) -> None:
        live = self._jobs[job]
        found = (grant, live.busy, live.turns[grant.role])
        self._grants[job, grant.role, grant.index] = found
        self._count(*found, 1)

    def _free(self, key: tuple[JobId, int, int]) -> None:
        found = self._grants.pop(key, None)
        if found is not None:
            self._count(*found, -1)

    def _count(self, grant: Grant, busy: int, in_turn: bool, sign: int) -> None:  # noqa: FBT001 - it comes from a tuple
        if in_turn:
            held, used = self._occupied.change(grant, busy, sign)
        else:
            held = sign * grant.share * len(grant.devices)
            used = held * busy
        self._held.rate += held
        self._used.rate += used

    # --- jobs ---

    def _submitted(self, r: ev.Submitted | Reopened) -> None:
        if self._first_us is None:
            self._first_us = self._now_us = r.at_us
        if r.spec.array is not None:
            return  # its jobs count, and it is none itself
        wants = any(x.demand.milli_gpus or x.demand.one_device for x in r.spec.roles)
        turns = tuple(x.demand.colocate > 0 for x in r.spec.roles)
        since_us = r.since_us if isinstance(r, ev.Submitted) and r.array else r.at_us
        busy = self._busy_of.get(r.spec.name, WHOLE)
        self._jobs[r.job] = _Live(since_us, wants, busy, turns)

    def _started(self, r: ev.Started) -> None:
        job = self._jobs[r.job]
        self._leave_line(job)
        if job.first_us is None:
            job.first_us = r.at_us
            self._wait.add((r.at_us - job.submitted_us) / SECOND_US)
        job.last_us = r.at_us
        for g in r.grants:
            self._hold(r.job, g)

    def _resized(self, r: ev.Resized) -> None:
        for g in r.more:
            self._hold(r.job, g)

    def _task_ended(self, r: ev.TaskEnded) -> None:
        self._free((r.task.job, r.task.role, r.task.index))

    def _attempt_ended(self, r: ev.AttemptEnded) -> None:
        job = self._jobs[r.job]
        job.run_us = r.at_us - (r.at_us if job.last_us is None else job.last_us)
        self.preemptions += r.end is End.PREEMPTED

    def _job_ended(self, r: ev.Ended) -> None:
        job = self._jobs.pop(r.job, None)
        if job is None:
            return
        self._leave_line(job)
        jct_us = r.at_us - job.submitted_us
        self._jct.add(jct_us / SECOND_US)
        if job.first_us is not None:
            self._slowdown.add(max(1, jct_us / max(job.run_us, BOUND_US)))
        self._ended = r.at_us, tuple(x.total for x in (self._held, self._used, self._there, self._waste, self._price))

    # --- who lacks capacity ---

    def _joined(self, r: ev.Joined) -> None:
        job = self._jobs[r.job]
        self._leave_line(job)
        if job.wants_gpus:
            job.cls = r.cls
            line = self._lines.setdefault(r.cls, _Line())
            line.members += 1
            self._short += line.short

    def _leave_line(self, job: _Live) -> None:
        if job.cls is not None:
            line = self._lines[job.cls]
            line.members -= 1
            self._short -= line.short
            job.cls = None
        self._short -= job.short
        job.short = False

    def _class_waits(self, r: ev.ClassWaits) -> None:
        line = self._lines.setdefault(r.cls, _Line())
        short = _lacks_capacity(r.reasons)
        self._short += line.members * (short - line.short)
        line.short = short

    def _job_waits(self, r: ev.JobWaits) -> None:
        job = self._jobs.get(r.job)
        if job is None:
            return
        self._leave_line(job)
        job.short = job.wants_gpus and _lacks_capacity(r.reasons)
        self._short += job.short

    # --- nodes ---

    def _node_added(self, r: ev.NodeAdded) -> None:
        self._out(r.node)
        self._nodes[r.node] = (r.spec.gpus * WHOLE, r.spec.price_micros)
        self._in(r.node)

    def _type_changed(self, r: ev.MachineTypeChanged) -> None:
        self._types[r.kind.name] = r.kind.node.price_micros

    def _machine_ordered(self, r: ev.MachineOrdered) -> None:
        """Pay for a machine from its order on; what it has counts when it is there."""
        self._nodes[r.node] = (0, self._types[r.kind])
        self._in(r.node)

    def _node_gone(self, r: ev.NodeLost | ev.NodeRemoved | ev.MachineGone) -> None:
        self._out(r.node)
        for key in [k for k, held in self._grants.items() if held[0].node == r.node]:
            self._free(key)

    def _node_heard(self, r: ev.NodeHeard) -> None:
        if r.node in self._away:
            self._in(r.node)

    def _in(self, node: NodeId) -> None:
        milli, price = self._nodes[node]
        self._away.discard(node)
        self._there.rate += milli
        self._price.rate += price

    def _out(self, node: NodeId) -> None:
        if node in self._nodes and node not in self._away:
            self._away.add(node)
            self._there.rate -= self._nodes[node][0]
            self._price.rate -= self._nodes[node][1]


def _lacks_capacity(reasons: tuple[Reason, ...]) -> bool:
    return any(r.code is Code.NO_CAPACITY for r in reasons)
