"""Two machines with an engine on them, and short ways to say what happens there."""

from __future__ import annotations

from typing import Any

from clearway.model.actions import Halt, Launch, Pause
from clearway.model.events import Grant, TaskRef
from clearway.model.fleet import NodeSpec
from clearway.model.ids import JobId, NodeId
from clearway.model.job import Checkpoint, Demand, JobSpec, Role
from clearway.ports.engine import Report, TaskIsGone
from clearway.sim.engine import SimEngine
from clearway.sim.heap import VirtualClock
from clearway.sim.truth import Truth

SECOND = 1_000_000
JOB = JobId(1)
LEASE = 30 * SECOND


class Lab:
    """Machines n1 and n2 with an engine, and what it has told so far."""

    def __init__(self, *nodes: NodeSpec) -> None:
        self.clock = VirtualClock()
        self.engine = SimEngine(self.clock, nodes or (NodeSpec("n1", gpus=4), NodeSpec("n2", gpus=4)), LEASE)
        self.engine.open()
        self.engine.reports()

    def launch(
        self, spec: JobSpec, truth: Truth, *places: str, attempt: int = 1, devices: tuple[int, ...] = ()
    ) -> None:
        self.engine.know(JOB, truth)
        orders = []
        for i, node in enumerate(places):
            grant = Grant(0, i, NodeId(0), devices or (i,), 1000)
            orders.append(Launch(TaskRef(JOB, attempt, 0, i), spec, grant, node, i, len(places)))
        self.engine.carry_out(orders)

    def halt(self, *tasks: tuple[int, str], attempt: int = 1) -> None:
        self.engine.carry_out([Halt(TaskRef(JOB, attempt, 0, i), node, "SIGTERM", 10 * SECOND) for i, node in tasks])

    def pause(self, *tasks: tuple[int, str], paused: bool) -> None:
        self.engine.carry_out([Pause(TaskRef(JOB, 1, 0, i), node, paused) for i, node in tasks])

    def until(self, second: float) -> list[tuple[float, Report]]:
        """Go on to a moment; return what was reported on the way, with its time."""
        found: list[tuple[float, Report]] = []
        end = round(second * SECOND)
        while True:
            self.engine.advance()
            found += [(self.clock.now_us() / SECOND, r) for r in self.engine.reports()]
            ahead = self.engine.ahead_us()
            if ahead is None or ahead > end:
                self.clock.move(end)
                return found
            self.clock.move(ahead)

    def ends(self, second: float) -> list[tuple[float, int, int | None]]:
        return [(at, r.task.index, r.exit_code) for at, r in self.until(second) if isinstance(r, TaskIsGone)]


def job(tasks: int = 1, least: int | None = None, **words: Any) -> JobSpec:
    role = Role(tasks=tasks, min_tasks=tasks if least is None else least, demand=Demand(gpus=1))
    return JobSpec("J", (role,), **words)


def every(seconds: int, write: int = 0, *, on_stop: bool = False, grace: int = 10) -> Checkpoint:
    return Checkpoint(every_us=seconds * SECOND, write_time_us=write * SECOND, on_stop=on_stop, grace_us=grace * SECOND)


def runs(*seconds: int, **truth: Any) -> Truth:
    return Truth(tuple(s * SECOND for s in seconds), **truth)
