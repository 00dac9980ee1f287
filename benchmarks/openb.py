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
SEEDS = tuple(range(42, 52))  # those of the published runs
LEVELS = (100, 130)  # per cent of capacity that has been asked for
PODS = "openb_pod_list_default"
RULES = {
    "random": ("01-Random", PolicySpec(order=("fifo",), backfill="none", score=(("random", 1),))),
    "best_fit": ("05-BestFit", PolicySpec(order=("fifo",), backfill="none", score=(("best_fit", 1),))),
    "tightest": ("", PolicySpec(order=("fifo",), backfill="none", score=(("tightest", 1),))),
    "default": ("06-FGD", PolicySpec(order=("fifo",), backfill="none")),
}
KEYS: dict[str, str] = {"seconds_default": "s for one run of the default rules, to 130 %"}
LISTS = (
    "cpu050", "cpu100", "cpu200", "cpu250", "gpushare40", "gpushare60", "gpushare80", "gpushare100", "gpuspec10",
    "gpuspec20", "gpuspec25", "gpuspec33", "multigpu20", "multigpu30", "multigpu40", "multigpu50",
)  # fmt: skip
"""The other pod lists that have published figures: the default rules are run on each."""
ONLY = (*RULES, *LISTS)
KEYS["pods_per_second"] = "pods a second in it"
for _rule in RULES:
    for _level in LEVELS:
        KEYS[f"{_rule}_{_level}"] = f"% of GPUs allocated when {_level} % is asked for, mean of {len(SEEDS)} seeds"
        KEYS[f"{_rule}_{_level}_published"] = "% published, mean of 10 seeds" + (" (FGD)" if _rule == "default" else "")
for _list in LISTS:
    for _level in LEVELS:
        KEYS[f"{_list}_{_level}"] = "% with the default rules on that list of pods"
        KEYS[f"{_list}_{_level}_published"] = "% published for FGD"


def run(args: Namespace) -> dict[str, Any]:
    """Run every rule with every seed."""
    folder = args.data / "fgd-openb"
    published = json.loads((folder / "published.json").read_text())["results"]
    found: dict[str, Any] = {}
    for rule, (name, policy) in RULES.items():
        if args.only and rule not in args.only:
            continue
        wall, count = _measure(found, rule, folder, PODS, policy, published[PODS].get(name))
        if rule == "default":
            found["seconds_default"] = wall / len(SEEDS)
            found["pods_per_second"] = count / wall
    fgd, default = RULES["default"]
    for part in LISTS:
        if not args.only or part in args.only:
            pods = f"openb_pod_list_{part}"
            _measure(found, part, folder, pods, default, published[pods][fgd])
    return found


def _measure(
    found: dict[str, Any], key: str, folder: Path, name: str, policy: PolicySpec, published: dict[str, Any] | None
) -> tuple[float, int]:
    """Run a policy with every seed and enter the means; return the seconds it took and how many pods there were."""
    nodes = openb_nodes(folder / "openb_node_list_gpu_node.csv.gz")
    pods = read_pods(folder / f"{name}.csv.gz")
    lists = [inflated(pods, nodes, seed) for seed in SEEDS]
    begun = time.perf_counter()
    runs = [pack(nodes, pods, policy, seed) for pods, seed in zip(lists, SEEDS, strict=True)]
    wall = time.perf_counter() - begun
    for i, level in enumerate(LEVELS):
        found[f"{key}_{level}"] = statistics.mean(r[i] for r in runs)
        if published is not None:
            found[f"{key}_{level}_published"] = published[str(level)]["mean"]
    return wall, sum(map(len, lists))


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
