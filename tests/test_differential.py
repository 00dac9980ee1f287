"""One workload through the simulator and through the live controller: the same journal, record by record.

Both drivers only wait and call the same step. Here the controller has a virtual clock, an engine that pretends and a
journal in memory; everything else of it is what runs live.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from clearway.loop.world import World
from clearway.model import events as ev
from clearway.model.asks import SetLimit, SetQueue
from clearway.model.fleet import LimitSpec, NodeSpec, PolicySpec, QueueSpec
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.values import SECOND_US
from clearway.sim.engine import SimEngine
from clearway.sim.run import drive
from clearway.sim.truth import Truth
from clearway.store.memory import MemoryJournal
from clearway.store.sqlite import SqliteJournal
from clearway.testing.clocks import VirtualClock
from clearway.testing.virtual import run_virtual

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.ports.journal import Journal
    from clearway.testing.virtual import Arrival

GIB = 2**30
JOBS = 150
NODES = [
    *(
        NodeSpec(f"a-{i}", cpus=64_000, memory=512 * GIB, gpus=8, gpu_model="A100", gpu_memory=80 * GIB)
        for i in range(3)
    ),
    *(NodeSpec(f"t-{i}", cpus=32_000, memory=128 * GIB, gpus=4, gpu_model="T4", gpu_memory=16 * GIB) for i in range(2)),
]
SETTINGS = (SetLimit(LimitSpec("db", 2)), SetQueue(QueueSpec("small", limit=(("gpus", 6000),))))
POLICIES = [PolicySpec(), PolicySpec(order=("fifo",), backfill="none")]


def workload(seed: int) -> list[Arrival]:
    """Return jobs of many kinds: gangs, shares, roles, retries, limits, dependencies, cancellations."""
    rng = random.Random(seed)
    at_us, made = 0, list["Arrival"]()
    for number in range(JOBS):
        at_us += rng.choice((0, 0, rng.randrange(40 * SECOND_US)))
        made.append((at_us, _job(rng, number), _truth(rng)))
    return made


def _job(rng: random.Random, number: int) -> JobSpec:
    demand = rng.choice((
        Demand(gpus=rng.randrange(1, 9), cpus=rng.randrange(16_000)), Demand(gpus=2, gpu_models=("T4",)),
        Demand(share=rng.choice((250, 500))), Demand(gpu_memory=5 * GIB), Demand(cpus=4000, memory=GIB),
    ))  # fmt: skip
    tasks = rng.choice((1, 1, 1, 2, 3))
    roles = [Role(tasks=tasks, min_tasks=tasks, demand=demand, one_per_node=rng.random() < 0.2)]
    if rng.random() < 0.1:
        roles.append(Role("helper", demand=Demand(cpus=1000)))
    return JobSpec(
        name=f"j{number}",
        roles=tuple(roles),
        queue=rng.choice(("default", "default", "small")),
        priority=rng.randrange(3),
        uses=("db",) if rng.random() < 0.1 else (),
        after=(f"j{rng.randrange(number)}",) if number and rng.random() < 0.1 else (),
        time_limit_us=rng.choice((None, 30 * SECOND_US, 300 * SECOND_US)),
        time_estimate_us=rng.choice((None, 60 * SECOND_US)),
        start_deadline_us=rng.choice((None, None, 200 * SECOND_US)),
        max_retries=rng.randrange(3),
        retry_on=rng.choice(((), ("timed_out",), ("exit 1-9", "timed_out"))),
        retry_jitter=rng.choice(("none", "full")),
    )


def _truth(rng: random.Random) -> Truth:
    return Truth(
        runtimes_us=(rng.randrange(1, 120 * SECOND_US),),
        exit_codes=rng.choice(((0,), (0,), (1, 0), (137,))),
        stop_us=rng.choice((0, 3 * SECOND_US)),
        cancel_after_us=rng.choice((None, None, None, rng.randrange(100 * SECOND_US))),
    )


def machines(clock: VirtualClock, policy: PolicySpec) -> SimEngine:
    """Return an engine of which one node will be taken away while jobs run."""
    engine = SimEngine(clock, NODES, policy.lease_us)
    engine.notice("a-1", 700 * SECOND_US)
    return engine


def simulated(seed: int, policy: PolicySpec) -> list[ev.Record]:
    journal: list[ev.Record] = []
    clock = VirtualClock()
    drive(World(policy, seed), machines(clock, policy), workload(seed), journal.extend, set_up=SETTINGS)
    return journal


def lived(seed: int, policy: PolicySpec, journal: Journal) -> list[ev.Record]:
    clock = VirtualClock()
    run_virtual(World(policy, seed), clock, machines(clock, policy), journal, workload(seed), first=SETTINGS)
    return [entry.record for entry in journal.read()]


@pytest.mark.parametrize("policy", POLICIES, ids=["easy", "fifo"])
@pytest.mark.parametrize("seed", range(3))
def test_the_same_journal(seed: int, policy: PolicySpec) -> None:
    live = lived(seed, policy, MemoryJournal())
    assert live == simulated(seed, policy)
    kinds = {type(record) for record in live}
    assert kinds >= {ev.Started, ev.Stopping, ev.Requeued, ev.ClassWaits, ev.JobWaits, ev.CancelAsked, ev.Ended}
    assert sum(isinstance(record, ev.Ended) for record in live) > 0.9 * JOBS  # some never fit


def test_the_same_journal_in_a_database(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "journal.db", synchronous="normal")
    live = lived(5, PolicySpec(), journal)
    journal.close()
    assert live == simulated(5, PolicySpec())
