"""The words of a job read into the same job again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clearway.api.asked import words_of
from clearway.model.words import read_job

FULL: dict[str, Any] = {
    "run": ["a", "b c"], "workdir": "/here", "queue": "lab", "priority": -3, "user": "u", "tenant": "t",
    "tasks": 3, "min_tasks": 2, "one_per_node": True, "gpus": 0.5, "gpu_model": ["A100"], "gpu_memory": "40GB",
    "cpus": 1.25, "memory": "1GiB", "disk": 7, "bandwidth": 0.001, "resources": {"npu": 2}, "nodes": {"zone": "a"},
    "tolerates": ["odd"], "spot": "avoid", "uses": ["licence"], "secrets": ["TOKEN"], "after": ["x", "y"],
    "time_limit": "0.000001s", "time_estimate": "1h30m", "start_deadline": 90,
    "deadline": "2026-12-01T08:00:00.000123+02:00",
    "on_deadline": "stop", "preemptible": False, "checkpoint": {"every": "10m", "signal": "SIGINT", "grace": 1.5},
    "max_retries": 2, "retry_backoff": 0.25, "retry_jitter": "full", "retry_window": "2d", "max_losses": 0,
    "idempotency_key": "k", "labels": {"a": "b"}, "max_cost": 12.5, "array": "0-9:3,20%4",
    "speedup": {1: 1, 2: 1.9, 4: 3.5}, "retry_on": ["exit 75", "timed_out"],
    "topology": {"require": "node", "prefer": "nvlink"}, "inputs": ["small", {"name": "large", "size": "1GiB"}],
    "outputs": ["rows", {"name": "model", "size": "1GiB"}],
}  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"run": "one line"},
        {"run": ["true"], "gpus": 4},
        {"run": "x", "slice": "2g.20gb", "tasks": 2},
        {"run": "x", "colocate": 3, "roles": [{"name": "a"}, {"name": "b", "gpus": 1, "gpu_memory": "1GiB"}]},
        FULL,
        {"roles": [{"name": "task", "tasks": 2, "min_tasks": 0}], "run": "x"},
        {"roles": [{"name": "a", "gpus": 1}, {"name": "b", "tasks": 4, "cpus": 2}], "run": "x"},
    ],
)
def test_words_that_were_shown_make_the_same_job(words: dict[str, Any]) -> None:
    spec = read_job({"name": "job", **words})
    assert read_job(json.loads(json.dumps(words_of(spec)))) == spec


def test_the_environment_is_not_shown() -> None:
    assert "hidden" not in json.dumps(words_of(read_job({"name": "job", "env": {"TOKEN": "hidden"}})))
