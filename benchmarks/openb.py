"""Packing of Alibaba's GPU sharing cluster, by the protocol of "Beware of Fragmentation" (Weng et al., ATC 2023).

GPU nodes only. Pods are sorted by name, shuffled with the seed, and random copies are appended until the GPUs they ask
for are 1.3 times what the cluster has. They are submitted one after another and never end; one that does not fit is
lost. Allocation is what started over capacity, read when the pods that have come ask for 100 % and 130 % of it.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from typing import TYPE_CHECKING, Any

from clearway.loop.world import World
from clearway.model.asks import Cancel, ControllerUp, SetQueue, Submit
from clearway.model.events import Started
from clearway.model.fleet import PolicySpec, QueueSpec
from clearway.model.job import WHOLE
from clearway.ports.engine import NodeIsUp
from clearway.sim.workloads.node_lists import openb_nodes
from clearway.sim.workloads.openb import pod_spec
from clearway.sim.workloads.textfile import csv_lines
from clearway.sim.workloads.trace import Damage

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from pathlib import Path

    from clearway.model.fleet import NodeSpec
    from clearway.model.job import JobSpec

TITLE = "allocated GPUs of Alibaba's sharing cluster when more is asked for than there is"
SEEDS = (42, 43, 44, 45, 46)
LEVELS = (100, 130)  # per cent of capacity that has been asked for
PODS = "openb_pod_list_default"
RULES = {
    "random": ("01-Random", PolicySpec(order=("fifo",), backfill="none", score=(("random", 1),))),
    "best_fit": ("05-BestFit", PolicySpec(order=("fifo",), backfill="none", score=(("best_fit", 1),))),
    "default": ("", PolicySpec(order=("fifo",), backfill="none")),
}
KEYS: dict[str, str] = {"seconds_default": "s for one run of the default rules, to 130 %"}
KEYS["pods_per_second"] = "pods a second in it"
for _rule in RULES:
    for _level in LEVELS:
        KEYS[f"{_rule}_{_level}"] = f"% of GPUs allocated when {_level} % is asked for, mean of {len(SEEDS)} seeds"
        KEYS[f"{_rule}_{_level}_published"] = "% published, mean of 10 seeds"


def run(args: Namespace) -> dict[str, Any]:
    """Run every rule with every seed."""
    folder = args.data / "fgd-openb"
    nodes = openb_nodes(folder / "openb_node_list_gpu_node.csv.gz")
    pods = read_pods(folder / f"{PODS}.csv.gz")
    published = json.loads((folder / "published.json").read_text())["results"][PODS]
    found: dict[str, Any] = {}
    for rule, (name, policy) in RULES.items():
        if args.only and rule not in args.only:
            continue
        begun = time.perf_counter()
        runs = [pack(nodes, inflated(pods, nodes, seed), policy, seed) for seed in SEEDS]
        wall = time.perf_counter() - begun
        for i, level in enumerate(LEVELS):
            found[f"{rule}_{level}"] = statistics.mean(r[i] for r in runs)
            if name in published:
                found[f"{rule}_{level}_published"] = published[name][str(level)]["mean"]
        if rule == "default":
            found["seconds_default"] = wall / len(SEEDS)
            found["pods_per_second"] = len(inflated(pods, nodes, SEEDS[0])) * len(SEEDS) / wall
    return found


def read_pods(path: Path) -> list[JobSpec]:
    """Read the pods, sorted by name."""
    rows = csv_lines(path, Damage(), lambda _: 0)
    return sorted((pod_spec(row.fields) for row in rows), key=lambda spec: spec.name)


def inflated(pods: Sequence[JobSpec], nodes: Sequence[NodeSpec], seed: int) -> list[JobSpec]:
    """Shuffle, then append random copies until 130 % of the capacity is asked for."""
    chance = random.Random(seed)
    found = list(pods)
    chance.shuffle(found)
    wanted = sum(node.gpus for node in nodes) * WHOLE * LEVELS[-1] // 100
    asked = sum(pod.milli_gpus for pod in found)
    while asked < wanted:
        found.append(chance.choice(pods))
        asked += found[-1].milli_gpus
    return found


def pack(nodes: Sequence[NodeSpec], pods: Sequence[JobSpec], policy: PolicySpec, seed: int) -> list[float]:
    """Submit pods one after another, and return the allocation in per cent at each level."""
    world = World(policy, seed)
    queues = [SetQueue(QueueSpec(name)) for name in sorted({pod.queue for pod in pods})]
    world.step([ControllerUp(), *(NodeIsUp(node) for node in nodes), *queues], 0)
    capacity = sum(node.gpus for node in nodes) * WHOLE
    asked = held = 0
    read: list[float] = []
    for at_us, pod in enumerate(pods, 1):
        asked += pod.milli_gpus
        step = world.step([Submit((pod,))], at_us)
        if any(isinstance(record, Started) for record in step.records):
            held += pod.milli_gpus
        else:
            answer = step.answers[0]
            if not isinstance(answer, tuple):
                raise TypeError(f"{pod.name} was refused: {answer}")
            world.step([Cancel(answer[0])], at_us)
        if len(read) < len(LEVELS) and asked * 100 >= LEVELS[len(read)] * capacity:
            read.append(100 * held / capacity)
    return read + [100 * held / capacity] * (len(LEVELS) - len(read))
