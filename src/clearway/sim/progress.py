"""How far an attempt has come: its speed, the work done, and what its checkpoints hold of it.

Work is counted in microseconds of running time times UNIT (times the number of tasks where a job is elastic), so that
everything stays a whole number and is the same on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.model.job import LEVELS
from clearway.model.speedup import speed
from clearway.sim.truth import FULL

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from clearway.model.events import Grant
    from clearway.model.fleet import NodeSpec
    from clearway.model.job import Checkpoint, JobSpec
    from clearway.sim.truth import Truth

UNIT = FULL * FULL
"""Work of one undisturbed microsecond: fine enough that no division by a speed shows in a moment."""

FULL_TIME = 1000
"""A device's time in thousandths."""

Place = tuple["NodeSpec", "Grant", int]
"""Where a task is, and how much of the busiest of its devices all who share that one want, at least FULL_TIME."""


def elastic(spec: JobSpec) -> bool:
    """Whether its work is shared by however many of its tasks hold grants."""
    return len(spec.roles) == 1 and spec.roles[0].min_tasks < spec.roles[0].tasks


def work_of(spec: JobSpec, runtime_us: int) -> int:
    """Return the work of so much undisturbed running time."""
    return runtime_us * UNIT * speed(spec.speedup, spec.roles[0].tasks) // FULL if elastic(spec) else runtime_us * UNIT


def rate(spec: JobSpec, truth: Truth, places: Collection[Place]) -> int:
    """Return the work per microsecond of an attempt that holds these places.

    A rigid job goes as fast as its slowest task; an elastic one as the sum of its tasks, or as its `speedup` says.
    Where tasks that share a device's time want more than there is of it, each gets the same part of what it wants.
    """
    if not places:
        return UNIT
    speeds = dict(truth.speed)
    each = [speeds.get(node.gpu_model, FULL) * FULL_TIME * FULL // crowd for node, _, crowd in places]
    if elastic(spec) and spec.speedup:
        whole = sum(each) * speed(spec.speedup, len(each)) // (len(each) * FULL)
    else:
        whole = sum(each) if elastic(spec) else min(each)
    return max(whole * UNIT // (_slowdown(truth, places) * FULL), 1)


def _slowdown(truth: Truth, places: Collection[Place]) -> int:
    """Return the factor of the smallest domain that holds all devices; of the widest one stated if none does."""
    factors = dict(truth.slowdown)
    devices = {(node.name, d) for node, grant, _ in places for d in grant.devices}
    if not factors or len(devices) <= 1:
        return FULL
    level = _nearest([node for node, grant, _ in places if grant.devices], devices)
    return factors.get(level, FULL) if level else max(factors.values())


def _nearest(nodes: Sequence[NodeSpec], devices: set[tuple[str, int]]) -> str:
    if len({node.name for node in nodes}) > 1:
        domains = {"rack": {node.rack for node in nodes}, "zone": {node.zone for node in nodes}}
        return next((level for level in ("rack", "zone") if len(domains[level]) == 1 and "" not in domains[level]), "")
    node, numbers = nodes[0], {d for _, d in devices}
    islands = dict(zip(LEVELS, (node.links, node.pcie, node.numa), strict=False))
    return next((level for level, found in islands.items() if any(numbers <= set(i) for i in found)), "node")


class _Stretch(NamedTuple):
    """From `run_us` of running time on, work grew from `work` at `rate`."""

    run_us: int
    work: int
    rate: int


class Progress:
    """The running time and work of one attempt. `work` starts with what earlier attempts saved."""

    __slots__ = ("_remembers", "_since_us", "_stretches", "rate", "run_us", "work")

    def __init__(self, saved: int, *, remembers: bool) -> None:
        """`remembers`: keep what is needed to say what periodic checkpoints hold."""
        self.work = saved
        self.rate = 0
        self.run_us = 0
        self._since_us = 0
        self._remembers = remembers
        self._stretches: list[_Stretch] = []

    def settle(self, now_us: int) -> None:
        """Count the time up to now."""
        if self.rate:
            passed_us = now_us - self._since_us
            self.run_us += passed_us
            self.work += passed_us * self.rate
        self._since_us = now_us

    def go(self, rate: int, now_us: int) -> None:
        """Go on at this speed from now; 0 stands still."""
        self.settle(now_us)
        self.rate = rate
        if rate and self._remembers:
            self._stretches.append(_Stretch(self.run_us, self.work, rate))

    def end_us(self, work: int) -> int:
        """Return when so much work will be done at the present speed, to the nearest microsecond."""
        return self._since_us + max((work - self.work + self.rate // 2) // self.rate, 0)

    def kept(self, points: Checkpoint) -> int | None:
        """Return the work that the newest completed periodic checkpoint holds; None if none is complete."""
        if not points.every_us or not self._stretches:
            return None
        done = (self.run_us - points.write_time_us) // points.every_us
        if done < 1:
            return None
        mark_us = done * points.every_us
        held = next(s for s in reversed(self._stretches) if s.run_us <= mark_us)
        return held.work + (mark_us - held.run_us) * held.rate


def whole(spec: JobSpec, counts: Sequence[int]) -> bool:
    """Whether every role has the tasks without which nothing runs."""
    return any(counts) and all(n >= role.min_tasks for n, role in zip(counts, spec.roles, strict=True))
