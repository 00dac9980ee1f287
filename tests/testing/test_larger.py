"""Keys about workflows, schedules, machines, services and searches: what holds is passed, what does not is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clearway.testing.judge import judge
from tests.testing.stories import independent_judge, job, ran, task, timeline

if TYPE_CHECKING:
    from pathlib import Path

TICKS = ["2026-01-05T12:00:00Z", "2026-01-05T12:05:00Z", "2026-01-05T12:10:00Z"]
P = "S@2026-01-05T12:00:00Z"


def _asked() -> Any:
    return {
        "policy": {"order": ["fifo"]},
        "fleet": {
            "nodes": [{"name": "n1", "cpus": 8, "gpus": 0}],
            "types": [{"name": "T", "gpus": 1, "max": 2}],
        },
        "jobs": [{"name": "j", "submit": 0, "count": 2, "gpus": 1, "runtime": 10}],
        "workflows": [
            {
                "name": "W",
                "steps": [{"name": "a", "runtime": 5}, {"name": "b", "after": ["a"], "each": [1, 2], "runtime": 5}],
            },
            {"name": "L", "steps": [{"name": "s", "runtime": 1, "until": "pass >= 2"}]},
        ],
        "schedules": [{"name": "S", "cron": "*/5 * * * *", "job": {"cpus": 1, "runtime": 5}}],
        "services": [{"name": "V", "cpus": 1}],
        "searches": [{"name": "X", "trials": 2, "job": {"cpus": 1, "runtime": 5}}],
        "until": 100,
    }


def _jobs() -> Any:
    cpu = ("n1", ())
    return {
        "j-1": job(0, ran(task(20, 30, "T-1"))),
        "j-2": job(0, ran(task(25, 35, "T-2"))),
        "W.a": job(0, ran(task(0, 5, *cpu))),
        "W.b[0]": job(5, ran(task(5, 10, *cpu))),
        "W.b[1]": job(5, ran(task(6, 11, *cpu))),
        "L.s": job(0, ran(task(0, 1, *cpu))),
        "L.s@2": job(1, ran(task(1, 2, *cpu))),
        P: job(15, ran(task(15, 20, *cpu))),
        "X.1": job(0, ran(task(0, 5, *cpu))),
        "X.2": job(0, ran(task(5, 10, *cpu))),
    }


def _flow(end: float, *steps: str, **values: Any) -> Any:
    run = {"number": 1, "from": 0, "to": end, "end": "succeeded"}
    rows = {s: {"state": "succeeded", "input": None, "result": None} for s in steps} | values
    return {"state": "succeeded", "submitted": 0, "ended": end, "reason": None, "runs": [run], "steps": rows}


def world() -> tuple[Any, Any]:
    shown = timeline(
        _jobs(),
        workflows={
            "W": _flow(11, "a", b={"state": "succeeded", "input": None, "result": [1, 2]}),
            "L": _flow(2, s={"state": "succeeded", "input": [True], "result": 2}),
        },
        schedules={
            "S": [
                {"tick": TICKS[0], "at": 15.0, "run": P, "skipped": None},
                {"tick": TICKS[1], "at": 315.0, "run": None, "skipped": "overlap: the last run is still running"},
            ]
        },
        machines={
            "T-1": {"type": "T", "ordered": 0, "ready": 20, "gone": 60},
            "T-2": {"type": "T", "ordered": 5, "ready": 25, "gone": None},
        },
        services={
            "V": {
                "replicas": [
                    {"number": 1, "started": 10, "ready": 20, "gone": 50},
                    {"number": 2, "started": 30, "ready": 40, "gone": 45},
                    {"number": 3, "started": 60, "ready": None, "gone": None},
                ],
                "requests": [
                    {"arrived": 10, "begun": 20, "answered": 21, "lost": False},
                    {"arrived": 11, "begun": 21, "answered": 22, "lost": False},
                    {"arrived": 90, "begun": None, "answered": None, "lost": True},
                ],
            }
        },
        searches={
            "X": {
                "state": "succeeded", "submitted": 0, "ended": 10, "reason": None,
                "trials": [
                    {"number": 1, "point": {"x": 5, "y": 1}, "job": "X.1", "state": "succeeded"},
                    {"number": 2, "point": {"y": 1, "x": 5}, "job": "X.2", "state": "succeeded"},
                ],
            }
        },
    )  # fmt: skip
    return _asked(), shown


def _row(**more: Any) -> list[Any]:
    return [{"from": 0, "to": 100, **more}]


CASES: list[tuple[str, Any, Any]] = [
    ("starts", {"W": [0, 0], "W.b": [5, 5], "W.b[1]": [6, 6], "L.s@2": [1, 1]}, {"W.b[1]": [5, 5]}),
    ("starts", {P: [15, 15], "X.2": [5, 5]}, {P: [16, 17]}),
    ("ends", {"W#1": [11, 11], "W.b": [11, 11], "X": [10, 10]}, {"W#1": [0, 10]}),
    ("final", {"all": "succeeded", "W.b": "succeeded", "X": "succeeded"}, {"W.b": "skipped"}),
    ("runs", {"W.b": 2, "L.s": 2, "X": 2, "S": 1}, {"W.b": 1}),
    ("attempts", {"W.b[0]": 1}, {"W.b": 1}),
    ("running", [{"at": 7, "jobs": ["W.*"], "count": 3}], [{"at": 12, "jobs": ["W.*"], "count": 1}]),
    ("after", [{"job": "W.b", "after": "W.a", "within": 0}], [{"job": "W.a", "after": "W.b"}]),
    ("results", {"W.b": [1, 2], "L.s": 2}, {"W.b": [2, 1]}),
    ("inputs", {"L.s": [True], "W.a": None}, {"W.a": []}),
    ("fires", {"S": [TICKS[0]]}, {"S": []}),
    ("fires", {"S": [[TICKS[2], TICKS[0]], [TICKS[1], None]]}, {"S": TICKS[:2]}),
    (
        "skips",
        {"S": {"ticks": [TICKS[1]], "mentions": [["overlap", "x"]]}},
        {"S": {"ticks": [TICKS[1]], "mentions": ["late"]}},
    ),
    ("skips", {"S": {"ticks": [TICKS[1]]}}, {"S": {"ticks": []}}),
    ("machines", _row(type="T", ordered={"eq": 2}), _row(type="T", ordered={"eq": 3})),
    ("machines", _row(type="T", alive={"max": 2}), _row(type="T", alive={"min": 2})),
    ("replicas", _row(service="V", started=3, spread=2, alive={"max": 2}), _row(service="V", alive={"max": 1})),
    ("replicas", _row(service="V", turns={"max": 2}), _row(service="V", turns={"max": 1})),
    ("replicas", _row(service="V", ready={"max": 2}), _row(service="V", ready={"min": 1})),
    ("requests", _row(service="V", answered=2, lost=1, wait_p95={"max": 10}), _row(service="V", lost=0)),
    ("requests", [{"service": "V", "from": 0, "to": 20, "answered_by": 22}], _row(service="V", answered_by=99)),
    ("trials", {"X": {"completed": 2, "running": 0, "completed_per_point": 2}}, {"X": {"completed_per_point": 1}}),
]


@pytest.mark.parametrize(("key", "holds", "breaks"), CASES)
def test_a_key_holds_or_is_named(key: str, holds: object, breaks: object, shared: Path) -> None:
    scenario, shown = world()
    theirs = independent_judge(shared)
    good, bad = {**scenario, "expect": {key: holds}}, {**scenario, "expect": {key: breaks}}
    assert judge(good, shown) == []
    assert theirs(good, shown) == []
    lines = judge(bad, shown)
    assert lines
    assert all(text.startswith(f"expect.{key}: ") for text in lines)
    assert theirs(bad, shown)


def test_true_is_not_one() -> None:
    scenario, shown = world()
    assert judge({**scenario, "expect": {"inputs": {"L.s": [1]}}}, shown)


def test_more_machines_than_a_type_may_have() -> None:
    scenario, shown = world()
    scenario["fleet"]["types"][0]["max"] = 1
    assert judge(scenario, shown) == ["capacity: machines of type T holds 2 alive at 5 s and has 1"]


def test_a_start_before_its_machine_is_ready() -> None:
    scenario, shown = world()
    shown["machines"]["T-1"]["ready"] = 21
    assert judge(scenario, shown) == ["capacity: j-1 starts on T-1 at 20 s, before it is there"]
