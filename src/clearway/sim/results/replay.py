"""One workload under one policy: the real loop, a pretended engine, and results kept while it runs."""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from clearway.loop.world import World
from clearway.model.asks import SetLimit, SetQueue
from clearway.model.fleet import PLENTY
from clearway.sim.arrivals import AfterThought
from clearway.sim.engine import SimEngine
from clearway.sim.forecasting import forecasting_for
from clearway.sim.heap import VirtualClock
from clearway.sim.results import figures
from clearway.sim.results.fold import Fold
from clearway.sim.results.outcome import Outcome
from clearway.sim.run import drive
from clearway.sim.workloads import open_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from clearway.model.asks import Ask
    from clearway.model.events import Record
    from clearway.model.fleet import NodeSpec, PolicySpec
    from clearway.sim.thinking import Thinking
    from clearway.sim.workloads.fleets import Fleet
    from clearway.sim.workloads.trace import Arrival

KIB = 1024
MILLI = 1000
LOOK_EVERY_S = 0.2  # how often progress is told and an interruption noticed


class Plan(NamedTuple):
    """What is to be replayed. Where the policy's `estimate` is oracle, each job states its real run time.

    `window` is the span of time (microseconds) of which it is kept who held what; None keeps nothing of it. With
    `thinking` jobs that hung on the end of others enter after these. Figures are of the jobs from place `first` on.
    """

    workload: Path
    fleet: Fleet
    label: str
    policy: PolicySpec
    seed: int = 0
    load: float = 1.0
    window: tuple[int, int] | None = None
    thinking: Thinking | None = None
    first: int = 0


class Interrupted(Exception):  # noqa: N818 - no error: somebody asked to stop
    """A run is given up in its middle; what it has shown so far stays."""


def units(nodes: tuple[NodeSpec, ...]) -> tuple[str, float]:
    """Return what a fleet is measured in, and how much of it there is."""
    devices = sum(node.gpus for node in nodes)
    if devices:
        return "gpus", devices
    return "cpus", sum(node.cpus for node in nodes if node.cpus < PLENTY) / MILLI


def replay(plan: Plan, told: Callable[[int], bool] = lambda _: True) -> Outcome:
    """Run one policy to the end of the workload.

    `told` is given the number of finished jobs now and then; when it returns False the run ends there and its outcome
    is not complete. Errors: those of reading the workload.
    """
    unit, capacity = units(plan.fleet.nodes)
    fold = Fold(by_gpu=unit == "gpus", window=plan.window)
    begun_s = time.monotonic()
    complete = _run(plan, fold, told)
    fold.close()
    jobs = fold.columns.jobs()
    early = jobs.where(jobs.number < plan.first) if plan.first else None
    jobs = jobs.where(jobs.number >= plan.first) if plan.first else jobs
    return Outcome(
        plan.label, plan.seed, unit, capacity, figures.of_run(fold, jobs), jobs, fold.curves.width_us,
        fold.curves.means(fold.now_us), fold.gantt.excerpt(fold.now_us), complete, fold.now_us,
        time.monotonic() - begun_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB, early,
    )  # fmt: skip


def _run(plan: Plan, fold: Fold, told: Callable[[int], bool]) -> bool:
    world = forecasting_for(World(plan.policy, plan.seed))
    engine = SimEngine(VirtualClock(), plan.fleet.nodes, plan.policy.lease_us)
    listed = _exact(open_workload(plan.workload).arrivals(plan.load), really=plan.policy.estimate == "oracle")
    arrivals = fold.expect(listed) if plan.thinking is None else AfterThought(listed, plan.thinking, fold.know)
    set_up: list[Ask] = [*map(SetLimit, plan.fleet.limits), *map(SetQueue, plan.fleet.queues)]
    try:
        drive(world, engine, arrivals, _watched(fold, told), set_up=set_up)
    except Interrupted:
        return False
    return True


def _watched(fold: Fold, told: Callable[[int], bool]) -> Callable[[list[Record]], None]:
    due_s = time.monotonic() + LOOK_EVERY_S

    def sink(records: list[Record]) -> None:
        nonlocal due_s
        fold(records)
        now_s = time.monotonic()
        if now_s >= due_s:
            due_s = now_s + LOOK_EVERY_S
            if not told(len(fold.columns)):
                raise Interrupted

    return sink


def _exact(arrivals: Iterator[Arrival], *, really: bool) -> Iterator[Arrival]:
    if not really:
        return arrivals
    return (a._replace(spec=msgspec.structs.replace(a.spec, time_estimate_us=a.truth.runtime_us(1))) for a in arrivals)
