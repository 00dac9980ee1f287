"""Random scenarios with faults, from a seed: jobs of all shapes, crashes, lost nodes, messages that come twice."""

from __future__ import annotations

from random import Random
from typing import Any

HEALED_AT = 300
"""When every node and the controller are back for good, so that all that can end does."""

Words = dict[str, Any]


def scenario(seed: int) -> Words:
    rng = Random(seed)
    nodes: list[Words] = [{"name": f"n{i}", "gpus": rng.choice([1, 2, 4]), "cpus": 8} for i in range(rng.randint(1, 4))]
    jobs = [_job(rng, i) for i in range(rng.randint(1, 10))]
    return {
        "policy": {
            "order": rng.choice([["fifo"], ["priority", "fifo"]]),
            "backfill": rng.choice(["none", "easy"]),
            "preempt": [],
            "lease": rng.choice([9, 30]),
        },
        "fleet": {"nodes": nodes},
        "limits": [{"name": "db", "slots": 1}],
        "jobs": jobs,
        "events": _events(rng, [n["name"] for n in nodes], [j["name"] for j in jobs if "count" not in j]),
    }


def _job(rng: Random, i: int) -> Words:
    job: Words = {
        "name": f"j{i}", "submit": rng.randint(0, 100), "cpus": 1, "gpus": rng.choice([0, 0.5, 1, 1, 2]),
        "runtime": rng.choice([0, 0.5, 1, 10, 50, 100, [5, 30]]), "tasks": rng.choice([1, 1, 1, 2, 3]),
    }  # fmt: skip
    if i and rng.random() < 0.15:
        job.update(after=[f"j{rng.randrange(i)}"], submit=101)
    for words in _SOMETIMES:
        if rng.random() < words[0]:
            job.update({k: rng.choice(v) for k, v in words[1].items()})
    if job["tasks"] == 1:
        job.pop("min_tasks", None)
    return job


_SOMETIMES: list[tuple[float, dict[str, list[Any]]]] = [
    (0.2, {"min_tasks": [1]}),
    (0.2, {"priority": [-2, 0, 5]}),
    (0.4, {"max_retries": [0, 1, 3], "retry_backoff": [0, 1, 20]}),
    (0.3, {"exit_code": [1, [1, 0], 0]}),
    (0.3, {"stop_time": [0, 1, 5]}),
    (0.3, {"checkpoint": [{"every": 5}, {"every": 10, "write_time": 3}, {"on_stop": True}]}),
    (0.1, {"checkpoint": [{"on_stop": True, "grace": 3}]}),
    (0.2, {"time_limit": [5, 30, 60]}),
    (0.3, {"time_estimate": [5, 30, 60, 100]}),
    (0.15, {"cancel_after": [0, 3, 20, 70]}),
    (0.1, {"deadline": [5, 60, 150], "on_deadline": ["stop"]}),
    (0.1, {"start_deadline": [0, 10, 30]}),
    (0.2, {"max_losses": [0, 1]}),
    (0.1, {"count": [3], "every": [0, 5]}),
    (0.1, {"uses": [["db"]]}),
]


def _events(rng: Random, nodes: list[str], jobs: list[str]) -> list[Words]:
    found: list[Words] = []
    for at in (rng.randint(0, 160) for _ in range(rng.choice([0, 1, 3, 8]))):
        found += _event(rng, at, rng.choice(nodes), rng.choice(jobs or [""]))
    found.sort(key=lambda e: float(e["at"]))
    healed: list[Words] = [{"start_controller": True}]
    healed += [{kind: node} for kind in ("restore_network", "node_ready", "undrain") for node in nodes]
    return found + [{"at": HEALED_AT, **e} for e in healed]


_KINDS = ["node", "node", "node", "spot", "kill_controller", "kill_all", "cancel", "suspend", "again", "sick", "step"]


def _event(rng: Random, at: int, node: str, job: str) -> list[Words]:
    kind = rng.choice(_KINDS)
    if kind == "node":
        faults = ["node_lost", "node_ready", "cut_network", "restore_network", "drain", "undrain"]
        return [{"at": at, rng.choice(faults): node}]
    if kind in ("kill_controller", "kill_all"):
        return [{"at": at, kind: "hard"}, {"at": at + rng.choice([0.5, 2, 50]), "start_controller": True}]
    if kind == "spot":
        return [{"at": at, "spot_notice": {"node": node, "in": rng.choice([0, 10, 30])}}]
    if kind == "sick":
        return [{"at": at, "devices_unhealthy": {"node": node, "devices": [0]}}]
    if kind == "step" or not job:
        return [{"at": at, "wall_clock_step": rng.choice([-3600, 3600])}]
    if kind == "again":
        return [{"at": at, "redeliver_end": job + rng.choice(["", "#1"])}]
    if kind == "suspend":
        return [{"at": at, "suspend": job}, {"at": at + rng.choice([1, 7, 30]), "resume": job}]
    return [{"at": at, kind: job}]
