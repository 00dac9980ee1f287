"""The simulated machines and what runs on them."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from clearway.core.copies import Copies
from clearway.ports.engine import NodeIsUp
from clearway.sim.progress import FULL_TIME, Place, Progress, elastic, rate, whole, work_of

if TYPE_CHECKING:
    from clearway.model.actions import Action, Launch
    from clearway.model.events import Grant, TaskRef
    from clearway.model.fleet import NodeSpec
    from clearway.ports.engine import Report
    from clearway.sim.truth import Truth


class Reach(Enum):
    """Whether a machine lives, and can be reached."""

    UP = "up"
    CUT = "cut"  # its processes go on, unheard
    DEAD = "dead"


class Machine:
    """One machine. While it is cut off, its reports and the orders to it wait for the network."""

    __slots__ = ("copies", "orders", "reach", "reports", "runs", "spec", "taken_us", "turns", "unhealthy", "version")

    def __init__(self, spec: NodeSpec) -> None:
        self.spec = spec
        self.reach = Reach.UP
        self.runs: dict[TaskRef, Run] = {}
        self.reports: list[Report] = []
        self.orders: list[Action] = []
        self.unhealthy: tuple[int, ...] = ()
        self.taken_us: list[int] = []  # when its provider takes it away, as it has said
        self.version = 0
        self.copies = Copies()
        self.turns: dict[int, dict[TaskRef, Run]] = {}  # by device, the tasks that share its time

    def crowd(self, device: int) -> int:
        """Return how much of a device those want together who share its time, in thousandths.

        Who stands still (paused, told to stop, copying its inputs, waiting for the rest of its gang) wants nothing.
        """
        return sum(run.truth.busy for task, run in self.turns.get(device, {}).items() if run.wants(task))

    def hello(self) -> NodeIsUp:
        """Return what it says of itself."""
        return NodeIsUp(self.spec, tuple(self.runs), self.unhealthy)


class Held(NamedTuple):
    """Where one task of an attempt is."""

    machine: Machine
    grant: Grant


class Run:
    """One attempt of a job: tasks that work together and end together."""

    __slots__ = (
        "attempt", "broken", "copied_us", "counts", "held", "job", "paused", "progress", "shares", "spec", "stopping",
        "told", "truth", "version", "was_whole", "work", "works", "written_off",
    )  # fmt: skip

    def __init__(self, order: Launch, truth: Truth, saved: int) -> None:
        self.job, self.attempt = order.task.job, order.task.attempt
        self.spec, self.truth = order.spec, truth
        self.held: dict[TaskRef, Held] = {}
        self.counts = [0] * len(order.spec.roles)
        self.paused: set[TaskRef] = set()
        self.stopping: set[TaskRef] = set()
        self.progress = Progress(saved, remembers=order.spec.checkpoint.every_us > 0)
        runtime_us = truth.runtime_us(self.attempt)
        self.work = None if runtime_us is None else work_of(order.spec, runtime_us)
        self.told = sum(self.report_work(i) <= saved for i in range(truth.tellings))
        self.written_off = False
        self.copied_us = 0  # when all its tasks have their inputs
        self.broken = False  # a task died without a word, and the others wait for it
        self.was_whole = False
        self.works = False  # as it was last looked at
        self.shares = any(role.demand.colocate for role in order.spec.roles)
        self.version = 0

    def report_work(self, number: int) -> int:
        """Return the work that is done when it tells its report of this number, from 0."""
        return (self.work or 0) * (number + 1) // self.truth.tellings

    def add(self, task: TaskRef, held: Held, now_us: int) -> None:
        """Note that a task of it runs, and copies first what its machine does not hold."""
        inputs = self.spec.roles[task.role].demand.inputs
        if inputs:
            ready_us = held.machine.copies.begin(held.machine.spec, task, inputs, now_us)
            self.copied_us = max(self.copied_us, ready_us)
        self.held[task] = held
        self.counts[task.role] += 1
        held.machine.runs[task] = self
        for device in self._shared(task, held):
            held.machine.turns.setdefault(device, {})[task] = self

    def stop(self, task: TaskRef) -> None:
        """Note that a task of it was told to stop: it works no more."""
        self.stopping.add(task)
        self.counts[task.role] -= 1

    def remove(self, task: TaskRef, now_us: int) -> Held:
        """Note that a task of it is gone."""
        if task not in self.stopping:
            self.counts[task.role] -= 1
        self.stopping.discard(task)
        self.paused.discard(task)
        held = self.held.pop(task)
        del held.machine.runs[task]
        for device in self._shared(task, held):
            del held.machine.turns[device][task]
        if self.spec.roles[task.role].demand.inputs:
            held.machine.copies.end(held.machine.spec, task, now_us)
        return held

    @property
    def shrinks(self) -> bool:
        """Whether it goes on without some of its tasks."""
        return any(role.min_tasks < role.tasks for role in self.spec.roles)

    @property
    def is_whole(self) -> bool:
        """Whether enough of its tasks work for any to get on."""
        return not self.broken and whole(self.spec, self.counts)

    def _shared(self, task: TaskRef, held: Held) -> tuple[int, ...]:
        """Return the devices whose time one of its tasks shares with other jobs."""
        return held.grant.devices if self.spec.roles[task.role].demand.colocate else ()

    def neighbours(self) -> list[Run]:
        """Return the attempts that share a device's time with this one, this one included if it shares any."""
        found: dict[int, Run] = {}
        for task, held in self.held.items():
            for device in self._shared(task, held):
                found |= {id(run): run for run in held.machine.turns[device].values()}
        return list(found.values())

    def wants(self, task: TaskRef) -> bool:
        """Whether one of its tasks is at work."""
        return self.works and task not in self.stopping

    def speed(self, now_us: int) -> int:
        """Return the work that it does per microsecond as it stands."""
        self.works = not self.paused and self.is_whole and now_us >= self.copied_us
        if not self.works:
            return 0
        if not (self.truth.speed or self.truth.slowdown or elastic(self.spec) or self.shares):
            return rate(self.spec, self.truth, ())
        return rate(self.spec, self.truth, self._working())

    def _working(self) -> list[Place]:
        return [
            (
                held.machine.spec,
                held.grant,
                max([FULL_TIME, *(held.machine.crowd(d) for d in self._shared(task, held))]),
            )
            for task, held in self.held.items()
            if task not in self.stopping
        ]

    def stop_us(self) -> int | None:
        """Return how long one of its tasks takes to stop; None for ever. Writing a last checkpoint takes its time."""
        points, stop_us = self.spec.checkpoint, self.truth.stop_us
        if stop_us is None or not points.on_stop:
            return stop_us
        return max(stop_us, min(points.write_time_us, points.grace_us))

    def saves_on_stop(self) -> bool:
        """Whether it writes a last checkpoint when told to stop, and is given the time to finish it."""
        points = self.spec.checkpoint
        return points.on_stop and points.write_time_us <= points.grace_us
