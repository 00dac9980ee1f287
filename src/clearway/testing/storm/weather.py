"""What a storm is made of, drawn from its seed: machines, work, mishaps, and what really becomes of each task."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from clearway.engines.fake import Faults, Life
from clearway.flow.schedule_words import CATCHUPS, OVERLAPS, read_schedule
from clearway.flow.words import read_flow
from clearway.model.array import read_array
from clearway.model.fleet import LimitSpec, NodeSpec, PolicySpec, QueueSpec
from clearway.model.job import Checkpoint, Demand, JobSpec, Role
from clearway.model.values import SECOND_US
from clearway.testing.storm.clocks import WALL_US

if TYPE_CHECKING:
    from clearway.model.actions import Launch
    from clearway.model.flow import FlowSpec, ScheduleSpec

GIB = 2**30
FLOW, SCHEDULE = "flow", "tick"
SCHEDULE_S = 240
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
    "suspend",
    "resume",
    "resume",
    "resume",
    "resume",
    "again",
    "kill",
    "vanish",
    "intrude",
    "spoil",
    "smear",
    "audit",
    "fail",
    "step",
    "restart",
)
LIES = ("lost", "late", "doubled", "reordered", "phantom", "wrong", "refused", "slow")
"""What goes wrong between a controller and its engine; `slow`: an answer that comes later than a lease is long."""
WORK = ("gang", "array", "workflow", "tick", "retry")
NEEDED = (*sorted(set(KINDS)), *LIES, *WORK)
"""What must really have happened where many storms are to say something: mishaps, and kinds of work that really ran."""


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
    flow: FlowSpec | None
    schedule: ScheduleSpec | None


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
    return Weather(
        chance.choice(POLICIES), nodes, specs, lives, tuple(mishaps), _faults(chance), chance.choice((0, 0, 3)),
        chance.choice((None, _flow(chance))), chance.choice((None, _schedule(chance))),
    )  # fmt: skip


def life_of(found: Weather, seed: int, launch: Launch) -> Life:
    """Return what becomes of a task."""
    name = launch.spec.name
    lives = found.lives.get(name) or (_life(Random(f"{seed} {name}")),)
    return lives[min(launch.task.attempt, len(lives)) - 1]


def _flow(chance: Random) -> FlowSpec:
    step = {"run": "true", "max_retries": chance.randrange(2)}
    rule = chance.choice(("all_done", "all_succeeded", "one_failed"))
    found = {
        "name": FLOW,
        "steps": [
            {"name": "first", "gpus": 1, **step},
            {"name": "left", "after": ["first"], **step},
            {"name": "right", "after": ["first"], "rule": rule, "cpus": 2, **step},
            {"name": "last", "after": ["left", "right"], "rule": "all_done", **step},
        ],
    }
    return read_flow(found)


def _schedule(chance: Random) -> ScheduleSpec:
    """Return a schedule of one tick a minute, for some minutes."""
    found = {
        "name": SCHEDULE,
        "cron": "* * * * *",
        "from": _iso(WALL_US),
        "to": _iso(WALL_US + SCHEDULE_S * SECOND_US),
        "catchup": chance.choice(CATCHUPS),
        "overlap": chance.choice(OVERLAPS),
        "job": {"run": "true", "cpus": 1},
    }
    return read_schedule(found, {})


def _iso(moment_us: int) -> str:
    return datetime.fromtimestamp(moment_us // SECOND_US, UTC).isoformat()


def _faults(chance: Random) -> Faults:
    often, lies = chance.choice((0, 0, 100, 300)), chance.choice((0, 0, 50, 200))
    late_us = chance.choice((3, 3, 60)) * SECOND_US
    return Faults(
        lost=often // 2, late=often, doubled=often, late_us=late_us, again_us=8 * SECOND_US, reordered=2 * often,
        phantom=lies, wrong=lies,
    )  # fmt: skip


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
        array=read_array("array", "0-4%2") if chance.randrange(8) == 0 else None,
        idempotency_key=f"key-{number}",
    )


def _life(chance: Random) -> Life:
    run_us = chance.choice((0, 1, 5, 20, 60)) * SECOND_US
    stop_us = chance.choice((0, 0, 3 * SECOND_US, None))
    error = "no such program" if chance.randrange(20) == 0 else ""
    return Life(run_us, chance.choice((0, 0, 0, 1, 137)), stop_us, error=error)
