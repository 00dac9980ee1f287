"""What a job asked for, as people see it."""

from __future__ import annotations

from typing import Any

import pytest

from clearway.api.asked import words_of
from clearway.cli.asks import asked
from clearway.model.words import read_job

ONE_GANG: dict[str, Any] = {
    "tasks": 4, "min_tasks": 2, "gpus": 2, "gpu_model": ["A100", "H100"], "gpu_memory": "40GB", "cpus": 1,
    "memory": "10GiB", "resources": {"npu": 3}, "nodes": {"zone": "a"}, "after": ["prepare"], "uses": ["licence"],
    "time_limit": "1h30m", "time_estimate": 90, "max_retries": 2,
}  # fmt: skip


def told(**words: object) -> dict[str, str]:
    spec = read_job({"name": "x", "run": "true", **words})
    return {name: text for name, text in asked(words_of(spec)) if text}


def test_all_that_was_asked_for_is_told() -> None:
    assert told(**ONE_GANG) == {
        "asks for": "4 tasks (at least 2), each with 2 GPUs of model A100 or H100 with 40 GB of GPU memory each, "
        "1 CPU, 10 GiB of memory, 3 npu",
        "on nodes with": "zone=a",
        "time limit": "1 h 30 min",
        "estimate": "1 min 30 s",
        "retries": "2, after 2 s and then twice as long each time, up to 5 min",
        "after": "prepare",
        "uses": "licence",
    }


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({}, "1 task with no needs stated"),
        ({"gpus": 0.5}, "1 task with 0.5 of one GPU"),
        ({"gpus": 1, "gpu_memory": "1GiB"}, "1 task with 1 GPU with 1 GiB of GPU memory"),
        ({"gpu_memory": 5, "cpus": 0.25}, "1 task with 5 bytes of GPU memory on one device, 0.25 CPUs"),
        ({"slice": "1g.10gb"}, "1 task with 1 slice 1g.10gb"),
        ({"tasks": 2, "one_per_node": True, "disk": "1TB"}, "2 tasks, at most one on a node, each with 1 TB of disk"),
    ],
)
def test_needs_are_worded_exactly(words: dict[str, object], text: str) -> None:
    assert told(**words) == {"asks for": text}


def test_turns_are_told() -> None:
    assert told(gpus=1, colocate=2) == {"asks for": "1 task with 1 GPU", "takes turns with": "2 other jobs"}


def test_each_role_is_told() -> None:
    roles = [{"name": "lead", "gpus": 1}, {"name": "hands", "tasks": 3, "cpus": 2}]
    assert told(roles=roles) == {"role lead": "1 task with 1 GPU", "role hands": "3 tasks, each with 2 CPUs"}
