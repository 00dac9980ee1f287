"""Small towns by chance for questions about the future: nodes, queues, jobs that run and jobs that wait."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from clearway.model.asks import SetQueue
from clearway.model.fleet import NodeSpec, PolicySpec, QueueSpec
from clearway.model.job import JobSpec, Topology
from clearway.model.values import SECOND_US
from clearway.testing.builders import GIB, Bench, node, role

NODES: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.builds(
        dict, gpus=st.sampled_from([2, 4]), gpu_model=st.sampled_from(["A100", "T4"]),
        links=st.sampled_from([(), ((0, 1),)]), rack=st.sampled_from(["", "r1", "r2"]),
        taints=st.sampled_from([(), (), ("kept",)]),
    ),
    min_size=1, max_size=4,
)  # fmt: skip
DEMANDS = st.sampled_from([
    {"gpus": 1}, {"gpus": 2}, {"gpus": 4}, {"gpus": 2, "gpu_models": ("A100",)}, {"gpus": 1, "cpus": 9_000},
    {"share": 600}, {"gpus": 1, "gpu_models": ("T4",)}, {"gpu_memory": 50 * GIB}, {"gpus": 8},
])  # fmt: skip
JOBS: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.builds(
        dict, demand=DEMANDS, tasks=st.sampled_from([1, 1, 2, 3]), level=st.sampled_from(["", "", "nvlink", "rack"]),
        run_s=st.integers(5, 60), priority=st.integers(0, 2), queue=st.sampled_from(["default", "small", "wide"]),
    ),
    min_size=2, max_size=9,
)  # fmt: skip
POLICIES = st.sampled_from([
    PolicySpec(), PolicySpec(backfill="none"), PolicySpec(backfill="conservative"),
    PolicySpec(order=("fair", "priority", "fifo")),
])  # fmt: skip
QUEUES = (QueueSpec("small", limit=(("gpus", 3_000),)), QueueSpec("wide", weight=2))


def town(nodes: list[dict[str, Any]], jobs: list[dict[str, Any]], policy: PolicySpec) -> Bench:
    """Return a town in which all jobs have been submitted, one second after the other."""
    bench = Bench(*(node(f"n{i}", **words) for i, words in enumerate(nodes)), policy=policy)
    bench.step(*map(SetQueue, QUEUES))
    for number, words in enumerate(jobs):
        bench.at(1 + number)
        bench.submit(spec(f"j{number}", **words))
    return bench


def spec(name: str, demand: dict[str, Any], tasks: int, level: str, **words: Any) -> JobSpec:
    roles = (role(tasks=tasks, **demand),)
    limit_us = words["run_s"] * SECOND_US
    return JobSpec(name, roles, words["queue"], words["priority"], time_limit_us=limit_us, topology=Topology(level))


def changed(one: JobSpec, word: str, after: Any) -> JobSpec:
    """Return a job with a word as a Change says it, read by this test's own eyes."""
    (first,) = one.roles
    replace = msgspec.structs.replace
    if word == "topology":
        return replace(one, topology=Topology(after or "", one.topology.require))
    if word in ("queue", "time_limit", "time_estimate"):
        return replace(one, **{word if word == "queue" else f"{word}_us": after})
    if word == "priority":
        return replace(one, priority=after)
    if word == "nodes":
        after = tuple(tuple(text.split("=", 1)) for text in after)
    if word == "tasks":
        return replace(one, roles=(replace(first, tasks=after, min_tasks=after),))
    if word == "min_tasks":
        return replace(one, roles=(replace(first, min_tasks=after),))
    if word == "gpus":
        part = {"share": after, "gpus": 0} if after < 1000 else {"gpus": after // 1000}
        return replace(one, roles=(replace(first, demand=replace(first.demand, **part)),))
    field = {"gpu_model": "gpu_models"}.get(word, word)
    return replace(one, roles=(replace(first, demand=replace(first.demand, **{field: after})),))


def nodes_of(bench: Bench) -> list[NodeSpec]:
    return [one for one in bench.world.ledger.specs if one.name]
