"""What a large place is made of: nodes, queues, and jobs drawn from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from clearway.model.fleet import NodeSpec
from clearway.model.machine_words import read_queue
from clearway.model.values import MILLI
from clearway.model.words import read_job

if TYPE_CHECKING:
    import random

    from clearway.model.fleet import QueueSpec
    from clearway.model.job import JobSpec

GIB = 2**30
ISLANDS = {"H100": ((0, 1, 2, 3, 4, 5, 6, 7),), "A100": ((0, 1, 2, 3), (4, 5, 6, 7)), "L40S": ()}
MEMORY_GIB = {"H100": 80, "A100": 80, "L40S": 48}
RACK, DEVICES = 20, 8
TEAMS = {
    "research": ("vision", "language", "speech"),
    "products": ("search", "ranking", "ads"),
    "science": ("climate",),
}
PRICES = {"A100": 2, "H100": 4, "L40S": 1}
"""Of an hour of one device."""
USERS = ("ada", "bo", "chen", "dara", "emil", "fay", "goro", "hana")
BUDGETS = [
    {"name": "research-month", "tenant": "research", "gpu_hours": 3_000_000, "cost": 6_000_000},
    {"name": "ads-day", "queue": "products/ads", "cost": 40_000, "period": "day"},
]
KINDS = ("train", "finetune", "eval", "embed", "sweep", "distill", "batch", "probe")
GPUS = (1, 1, 1, 1, 2, 2, 4, 8, 8)
SHORTEST_S, LONGEST_S = 1800, 72 * 3600


class Size(NamedTuple):
    """How large a place is."""

    nodes: int = 1000
    waiting: int = 10_000
    past: int = 100_000


def fleet(many: int) -> list[NodeSpec]:
    """Return nodes of eight devices, three models in turn, each rack of one model."""
    models = tuple(ISLANDS)
    found = []
    for number in range(many):
        rack = number // RACK
        model = models[rack % len(models)]
        spec = NodeSpec(
            f"{model.lower()}-{number:04d}", cpus=128 * MILLI, memory=1024 * GIB, gpus=DEVICES, gpu_model=model,
            gpu_memory=MEMORY_GIB[model] * GIB, price_micros=PRICES[model] * DEVICES * 10**6,
            links=ISLANDS[model], rack=f"r{rack:02d}", zone=f"z{rack % 3}",
        )  # fmt: skip
        found.append(spec)
    return found


def queues(gpus: int) -> list[QueueSpec]:
    """Return a tree of queues: three departments with guarantees, their teams with weights and some limits."""
    rows: list[dict[str, Any]] = []
    for at, (parent, teams) in enumerate(TEAMS.items()):
        rows.append({"name": parent, "guarantee": {"gpus": gpus // 4}, "weight": 3 - at})
        rows += [
            {"name": f"{parent}/{team}", "parent": parent, "guarantee": {"gpus": gpus // 16}, "weight": 1 + n % 2}
            for n, team in enumerate(teams)
        ]
    rows[-1]["limit"] = {"gpus": max(8, gpus // 16)}
    return [read_queue(row) for row in rows]


def leaves() -> list[str]:
    """Return the queues that jobs go to."""
    return [f"{parent}/{team}" for parent, teams in TEAMS.items() for team in teams]


class Draw:
    """Jobs from a seed, each kind read once."""

    def __init__(self, chance: random.Random) -> None:
        """Draw from this chance."""
        self._chance, self._queues = chance, leaves()
        self._read: dict[tuple[int, int, str], JobSpec] = {}

    def one(self, number: int) -> JobSpec:
        """Return a job of a common shape: one device to eight, a part of one, or a gang of nodes."""
        chance = self._chance
        gpus, tasks = chance.choice(GPUS), 1
        if gpus == DEVICES and chance.random() < 0.3:  # noqa: PLR2004  three in ten of the large are gangs
            tasks = chance.choice((2, 4))
        share = chance.random() < 0.08 and gpus == 1  # noqa: PLR2004  one in twelve of the small takes half a device
        queue = chance.choice(self._queues)
        spec = self._words(500 if share else gpus * MILLI, tasks, queue)
        return self._named(spec, number, time_estimate_us=self.length_s() * 1_000_000)

    def pair(self, number: int) -> JobSpec:
        """Return a job of two devices."""
        return self._named(self._words(2 * MILLI, 1, self._chance.choice(self._queues)), number)

    def _named(self, spec: JobSpec, number: int, **words: object) -> JobSpec:
        chance, tenant = self._chance, spec.queue.partition("/")[0]
        name, priority = f"{chance.choice(KINDS)}-{number}", chance.choice((0, 0, 0, 0, 5, 10))
        return msgspec.structs.replace(
            spec, name=name, priority=priority, user=chance.choice(USERS), tenant=tenant, **words
        )

    def length_s(self) -> int:
        """Return how long a job takes: many short ones, few long ones."""
        return int(SHORTEST_S * (LONGEST_S / SHORTEST_S) ** (self._chance.random() ** 2))

    def _words(self, milli: int, tasks: int, queue: str) -> JobSpec:
        key = (milli, tasks, queue)
        if key not in self._read:
            words: dict[str, Any] = {
                "name": "x", "run": "python train.py", "queue": queue, "tasks": tasks, "workdir": "/srv/x",
                "gpus": milli / MILLI if milli < MILLI else milli // MILLI, "cpus": 4, "memory": "16GiB",
                "checkpoint": {"every": "10m"},
            }  # fmt: skip
            if milli < MILLI:
                words["gpu_memory"] = "20GiB"
            if milli == 4 * MILLI:
                words["topology"] = {"require": "nvlink"}
            self._read[key] = read_job(words)
        return self._read[key]
