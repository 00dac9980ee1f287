"""What a storm is made of, drawn from its seed: machines, work, mishaps, and what really becomes of each task."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from clearway.engines.fake import Faults, Life
from clearway.model.fleet import LimitSpec, NodeSpec, PolicySpec, QueueSpec
from clearway.model.job import Checkpoint, Demand, JobSpec, Role
from clearway.model.values import SECOND_US

GIB = 2**30
END_S = 200
"""All mishaps are over by then; what can end does so afterwards."""

POLICIES = (
    PolicySpec(lease_us=10 * SECOND_US),
    PolicySpec(order=("fifo",), backfill="none", lease_us=5 * SECOND_US),
    PolicySpec(preempt=("priority",), priority_inheritance=True, calm_us=5 * SECOND_US, lease_us=20 * SECOND_US),
    PolicySpec(order=("fair", "priority", "fifo"), preempt=("reclaim",), calm_us=0, lease_us=10 * SECOND_US),
)
QUEUES = (QueueSpec("lab", limit=(("gpus", 4000),)), QueueSpec("small", guarantee=(("gpus", 2000),)))
LIMITS = (LimitSpec("db", 1),)
KINDS = (
    "lose",
    "cut",
    "back",
    "back",
    "sick",
    "well",
    "drain",
    "undrain",
    "cancel",
    "suspend",
    "resume",
    "again",
    "kill",
    "vanish",
    "intrude",
    "spoil",
    "audit",
    "fail",
)


class Mishap(NamedTuple):
    """Something that happens at a moment: its kind, and numbers that choose whom and what."""

    at_us: int
    kind: str
    number: int
    other: int


class Weather(NamedTuple):
    """All of it."""

    policy: PolicySpec
    nodes: tuple[NodeSpec, ...]
    jobs: tuple[tuple[int, JobSpec], ...]
    lives: dict[str, tuple[Life, ...]]
    """What becomes of the tasks of each attempt, by the job's name; the last one repeats."""
    mishaps: tuple[Mishap, ...]
    faults: Faults
    refuses_one_in: int


def weather(seed: int, most_jobs: int = 12) -> Weather:
    """Draw a storm."""
    chance = Random(seed)
    nodes = tuple(_node(chance, i) for i in range(chance.randint(1, 4)))
    jobs = sorted((_moment(chance, 100), i) for i in range(chance.randint(2, most_jobs)))
    specs = tuple((at_us, _job(chance, number)) for number, (at_us, _) in enumerate(jobs))
    lives = {spec.name: tuple(_life(chance) for _ in range(2)) for _, spec in specs}
    mishaps = sorted(
        Mishap(_moment(chance, END_S), chance.choice(KINDS), chance.randrange(8), chance.randrange(8))
        for _ in range(chance.choice((0, 2, 5, 10)))
    )
    often = chance.choice((0, 0, 100, 300))
    faults = Faults(lost=often // 2, late=often, doubled=often, late_us=3 * SECOND_US, again_us=8 * SECOND_US)
    return Weather(chance.choice(POLICIES), nodes, specs, lives, tuple(mishaps), faults, chance.choice((0, 0, 20)))


def _moment(chance: Random, most_s: int) -> int:
    return chance.randrange(most_s) * SECOND_US + chance.choice((0, 0, 500_000))


def _node(chance: Random, number: int) -> NodeSpec:
    gpus = chance.choice((1, 2, 4))
    return NodeSpec(f"n{number}", cpus=8000, memory=32 * GIB, gpus=gpus, gpu_model="T4", gpu_memory=16 * GIB)


def _job(chance: Random, number: int) -> JobSpec:
    demand = chance.choice((
        Demand(gpus=1, cpus=1000), Demand(gpus=2), Demand(share=500), Demand(gpu_memory=6 * GIB), Demand(cpus=2000),
    ))  # fmt: skip
    tasks = chance.choice((1, 1, 1, 2, 3))
    return JobSpec(
        f"j{number}",
        (Role("task", tasks, chance.choice((tasks, 1)), demand),),
        queue=chance.choice(("default", "default", "lab", "small")),
        priority=chance.randrange(3),
        uses=("db",) if chance.randrange(5) == 0 else (),
        after=(f"j{chance.randrange(number)}",) if number and chance.randrange(5) == 0 else (),
        time_limit_us=chance.choice((None, None, 30 * SECOND_US)),
        time_estimate_us=chance.choice((None, 20 * SECOND_US)),
        start_deadline_us=120 * SECOND_US if chance.randrange(10) == 0 else None,
        checkpoint=chance.choice((Checkpoint(), Checkpoint(5 * SECOND_US), Checkpoint(on_stop=True))),
        max_retries=chance.randrange(3),
        retry_jitter=chance.choice(("none", "full")),
        max_losses=chance.choice((1, 10)),
        idempotency_key=f"key-{number}",
    )


def _life(chance: Random) -> Life:
    run_us = chance.choice((0, 1, 5, 20, 60)) * SECOND_US
    stop_us = chance.choice((0, 0, 3 * SECOND_US, None))
    error = "no such program" if chance.randrange(20) == 0 else ""
    return Life(run_us, chance.choice((0, 0, 0, 1, 137)), stop_us, error=error)
