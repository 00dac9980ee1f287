"""A small place with real jobs of every kind, for looking at: a training that writes, a line, a workflow, a search."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.sdk.client import Client

FLEET = {
    "nodes": [
        {
            "name": "gpu-1", "gpus": 8, "gpu_model": "A100", "gpu_memory": "80GiB", "cpus": 64, "memory": "512GiB",
            "links": [[0, 1, 2, 3], [4, 5, 6, 7]], "price": 12.5,
        }
    ]
}  # fmt: skip
"""One node: the engine of this machine has no more. Its devices are only counted."""
BUDGETS = [
    {"name": "vision-month", "queue": "research/vision", "gpu_hours": 500, "cost": 900},
    {"name": "students-month", "queue": "students", "cost": 0.0001},
]
SETTINGS = {"fleet": FLEET, "budgets": BUDGETS}
TRAIN = 'for e in $(seq 1 20000); do echo "epoch $e  loss 0.$((9000 / (e + 10)))  412 samples/s"; sleep 0.4; done'
STEPS = """
name: nightly
steps:
  - {name: fetch, run: 'echo "[3, 5, 8]" > $CLEARWAY_RESULT'}
  - {name: clean, each: fetch, run: 'cp $CLEARWAY_INPUT $CLEARWAY_RESULT'}
  - {name: features, after: [clean], run: 'sleep 1'}
  - {name: train-small, after: [features], gpus: 1, run: 'sleep 6000'}
  - {name: train-large, after: [features], gpus: 8, run: 'sleep 6000'}
  - {name: audit, after: [clean], when: clean.0 > 5, run: 'true'}
  - {name: compare, after: [train-small, train-large], run: 'true'}
  - {name: publish, after: [compare], run: 'true'}
"""
SEARCH = """
name: learning-rate
trials: 24
parallel: 6
space: {rate: {from: 1, to: 60}, depth: [2, 4, 8]}
sampler: random
seed: 4
metric: loss
job:
  run: 'echo "{\\"loss\\": $(( (CLEARWAY_POINT_rate - 23) * (CLEARWAY_POINT_rate - 23) / 10 + 7 * CLEARWAY_POINT_depth ))}" > $CLEARWAY_RESULT'
"""  # noqa: E501  one command
LONG_S, PATIENCE_S = 7200, 60.0


def enter(client: Client) -> dict[str, int]:
    """Enter all of it, and return the numbers of the jobs that pages are about, by name."""
    import yaml  # noqa: PLC0415  only here

    for queue in (
        {"name": "research", "guarantee": {"gpus": 4}, "weight": 2},
        {"name": "research/vision", "parent": "research"},
        {"name": "products", "guarantee": {"gpus": 2}, "limit": {"gpus": 6}},
        {"name": "students"},
    ):
        client.set_queue(queue)
    client.run_search(yaml.safe_load(SEARCH))
    _until(client, lambda: client.search("learning-rate")["state"] == "succeeded")
    client.submit([{"name": "coursework", "run": "sleep 2", "gpus": 1, "queue": "students"}])
    _until(client, lambda: client.job("coursework")["ended"])
    jobs: list[dict[str, object]] = [
        {
            "name": "finetune-llama",
            "run": TRAIN,
            "gpus": 4,
            "queue": "research/vision",
            "topology": {"require": "nvlink"},
        },
        {"name": "embed-docs", "run": "sleep 6000", "gpus": 0.5, "gpu_memory": "20GiB", "queue": "products"},
        {"name": "serve-reranker", "run": "sleep 6000", "gpus": 0.5, "gpu_memory": "30GiB", "queue": "products"},
        {"name": "eval-suite", "run": "sleep 6000", "gpus": 1, "queue": "products", "priority": 5},
        {"name": "unlucky", "run": "echo no data >&2; exit 3", "queue": "products"},
    ]
    for job in jobs:
        job["time_estimate"] = LONG_S
    rows = client.submit(jobs)
    _until(client, lambda: client.job("unlucky")["ended"] and client.job("finetune-llama")["state"] == "running")
    client.run_flow(yaml.safe_load(STEPS))
    rows += client.submit(
        [
            {"name": "pretrain-7b", "run": "true", "gpus": 8, "queue": "research", "time_estimate": LONG_S},
            {"name": "distill", "run": "true", "gpus": 4, "queue": "products", "priority": 3, "time_estimate": LONG_S},
            *({"name": f"sweep-{n}", "run": "true", "gpus": 2, "queue": "research/vision"} for n in range(6)),
        ]
    )
    client.set_schedule({"name": "report", "cron": "0 6 * * *", "timezone": "Europe/Berlin", "job": {"run": "true"}})
    return {row["name"]: row["id"] for row in rows}


def _until(client: Client, holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(client.status())
        time.sleep(0.05)
