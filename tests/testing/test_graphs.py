"""The rule for workflows sees what is wrong, and nothing else."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from clearway.sim.run import simulate
from clearway.testing.judge import judge, timeline_of

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS: dict[str, Any] = {
    "fleet": {"nodes": [{"name": "n", "cpus": 4}]},
    "workflows": [
        {
            "name": "W",
            "steps": [
                {"name": "a", "cpus": 1, "runtime": 5, "returns": [1, 2]},
                {"name": "b", "after": ["a"], "cpus": 1, "runtime": 5, "returns": 3},
                {"name": "c", "each": "a", "cpus": 1, "runtime": 5},
                {"name": "d", "after": ["b"], "when": "b > 5", "cpus": 1, "runtime": 5},
            ],
        }
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(timeline_of(simulate(yaml.safe_dump(WORDS)))))
    assert judge(WORDS, found) == []
    return found


def step(timeline: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = timeline["workflows"]["W"]["steps"][name]
    return found


def later(timeline: dict[str, Any]) -> None:
    timeline["workflows"]["W"]["steps"]["b"]["input"] = 7


def early(timeline: dict[str, Any]) -> None:
    timeline["jobs"]["W.a"]["ended"] = 6.0


def skipped(timeline: dict[str, Any]) -> None:
    step(timeline, "b")["state"] = "skipped"


def nothing(timeline: dict[str, Any]) -> None:
    step(timeline, "d")["state"] = "succeeded"


def shorter(timeline: dict[str, Any]) -> None:
    step(timeline, "c")["result"] = [1]


def failed(timeline: dict[str, Any]) -> None:
    step(timeline, "d")["state"] = "failed"


def ended(timeline: dict[str, Any]) -> None:
    timeline["workflows"]["W"]["ended"] = 4.0


def unended(timeline: dict[str, Any]) -> None:
    step(timeline, "d")["state"] = "pending"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (later, "W.b was handed 7"), (early, "and a ends at"), (skipped, "W.b is skipped, and W.b ran"),
        (nothing, "W.d has succeeded, and nothing of it ran"), (shorter, "W.c has 2 items"),
        (failed, "its step d has failed"), (ended, "after W has ended at 4.0 s"), (unended, "its steps d are not"),
    ],
)  # fmt: skip
def test_a_fault_is_seen(good: dict[str, Any], fault: Callable[[dict[str, Any]], None], said: str) -> None:
    wrong = copy.deepcopy(good)
    fault(wrong)
    lines = [line for line in judge(WORDS, wrong) if line.startswith("graphs:")]
    assert any(said in line for line in lines), lines
