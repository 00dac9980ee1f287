"""Timelines written by hand, shortly: who ran where and when. Waits and events follow."""

from __future__ import annotations

import copy
import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Raw = dict[str, Any]


def task(begin: float, end: float | None, node: str = "n1", devices: tuple[int, ...] = (0,), **more: Any) -> Raw:
    """One grant."""
    share = 1000 if devices else 0
    return {
        "role": "task",
        "index": 0,
        "node": node,
        "devices": list(devices),
        "share": share,
        "from": begin,
        "to": end,
        **more,
    }


def ran(*tasks: Raw, end: str | None = "succeeded", cause: str | None = None, to: float | None = None) -> Raw:
    """One attempt; its number is given by `job`."""
    for i, t in enumerate(tasks):
        t["index"] = i
    last = None if any(t["to"] is None for t in tasks) else max(t["to"] for t in tasks)
    cause = cause if end in (None, "succeeded") else cause or f"it {end} for a reason"
    return {
        "number": 0,
        "from": max(t["from"] for t in tasks),
        "to": to or last,
        "end": end,
        "cause": cause,
        "tasks": list(tasks),
    }


def job(submitted: float, *attempts: Raw, state: str = "succeeded", ended: float | None = None, why: str = "") -> Raw:
    """One job. Its waits are what lies between its attempts, with the reason `why`."""
    for n, a in enumerate(attempts, 1):
        a["number"] = n
    over = state not in ("pending", "running")
    if ended is None and over:
        ended = attempts[-1]["to"] if attempts else submitted
    edges = [submitted, *(t for a in attempts for t in (a["from"], a["to"])), ended]
    waits = [
        {"from": a, "to": b, "reasons": [{"code": "no-capacity", "text": why or "needs 1 GPU, 0 free on n1"}]}
        for a, b in zip(edges[::2], edges[1::2], strict=True)
        if a is not None and a != b and state != "refused"
    ]
    reason = {"code": "ended", "text": why or f"it {state} for a reason"} if over and state != "succeeded" else None
    return {
        "state": state,
        "submitted": submitted,
        "ended": ended,
        "reason": reason,
        "attempts": list(attempts),
        "waits": waits,
    }


def timeline(jobs: dict[str, Raw], **more: Any) -> Raw:
    """A timeline with the events that follow from the jobs."""
    events: list[Raw] = []
    for name, j in jobs.items():
        events.append({"at": j["submitted"], "kind": "submitted", "job": name})
        for a in j["attempts"]:
            cause = "was next in order and fits"
            events.append({"at": a["from"], "kind": "started", "job": name, "attempt": a["number"], "cause": cause})
        if j["ended"] is not None:
            events.append({"at": j["ended"], "kind": "ended", "job": name, "state": j["state"]})
    stops = sum(a["end"] == "preempted" for j in jobs.values() for a in j["attempts"])
    return {"jobs": jobs, "events": events, "summary": {"preemptions": stops}, **more}


def independent_judge(shared: Path) -> Callable[[Raw, Raw], list[str]]:
    """The judge of the shared folder, which was written apart from ours."""
    folder = str(shared / "checks")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    broken = importlib.import_module("check").broken
    return lambda scenario, shown: list(broken(copy.deepcopy(scenario), copy.deepcopy(shown)))


# --- good pairs, to be broken ------------------------------------------------------------------------


def line() -> tuple[Raw, Raw]:
    """Two jobs one after the other on one device, and others beside them, of which one fails."""
    scenario = {
        "policy": {"order": ["fifo"], "backfill": "none", "preempt": []},
        "fleet": {"nodes": [{"name": "n1", "gpus": 2, "gpu_memory": "10GiB", "cpus": 8, "memory": "64GiB"}]},
        "queues": [{"name": "q", "limit": {"gpus": 1}}],
        "jobs": [
            {"name": "a", "submit": 0, "gpus": 1, "queue": "q", "runtime": 100},
            {"name": "b", "submit": 5, "gpus": 1, "queue": "q", "runtime": 50},
            {"name": "c", "submit": 5, "gpus": 1, "cpus": 2, "memory": "8GiB", "runtime": 20},
            {"name": "f", "submit": 30, "cpus": 1, "runtime": 10, "exit_code": 3},
        ],
        "expect": {
            "starts": {"a": [0, 5], "b": [100, 105], "c": [5, 10]},
            "ends": {"a": [100, 101], "b": [150, 151], "a#1": [100, 100]},
            "order": ["a", "c", "b"],
            "after": [{"job": "b", "after": "a", "within": 5}],
            "final": {"a": "succeeded", "b": ["succeeded", "failed"], "c": "succeeded", "f": "failed"},
            "preempted": {"exactly": []},
            "attempts": {"*": 1},
            "placed": {"a": ["n1"]},
            "devices": {"a": [0], "c": [1]},
            "distinct_devices": {"a": 1, "f": 0},
            "running": [{"at": 10, "jobs": ["a", "b", "c"], "count": 2}],
            "use": [
                {"queue": "q", "from": 0, "to": 149, "gpus": {"eq": 1}},
                {"node": "n1", "from": 6, "to": 24, "gpus": {"eq": 2}, "cpus": {"max": 8}, "memory": {"eq": "8GiB"}},
            ],
            "reason": {"b": {"at": 50, "mentions": ["limit", ["q", "queue"]]}},
        },
    }
    shown = timeline(
        {
            "a": job(0, ran(task(0, 100))),
            "b": job(5, ran(task(100, 150)), why="queue q is at its limit"),
            "c": job(5, ran(task(5, 25, devices=(1,)))),
            "f": job(30, ran(task(30, 40, devices=()), end="failed", cause="exited with code 3"), state="failed"),
        }
    )
    return scenario, shown


def stops() -> tuple[Raw, Raw]:
    """A job that is preempted, one that fails and is retried, one that is refused, one that uses a limit."""
    scenario = {
        "policy": {"order": ["priority", "fifo"], "preempt": ["priority"]},
        "fleet": {"nodes": [{"name": "n1", "gpus": 1}, {"name": "n2", "cpus": 4, "gpus": 0}]},
        "limits": [{"name": "db", "slots": 1}],
        "jobs": [
            {"name": "low", "submit": 0, "gpus": 1, "runtime": 100},
            {"name": "high", "submit": 10, "gpus": 1, "priority": 9, "runtime": 30},
            {
                "name": "flaky",
                "submit": 0,
                "cpus": 1,
                "uses": ["db"],
                "runtime": [5, 10],
                "exit_code": [1, 0],
                "max_retries": 1,
            },
            {"name": "bad", "submit": 1, "gpus": 1.5, "runtime": 5},
            {"name": "never", "submit": 2, "cpus": 64, "runtime": 5},
        ],
        "until": 200,
        "expect": {
            "starts": {"high": [10, 15], "low#2": [40, 45], "flaky#2": [7, 8]},
            "preempted": {
                "exactly": ["low"],
                "never": ["high"],
                "count": 1,
                "of": ["low", "high"],
                "max_each": 1,
                "total_max": 1,
            },
            "attempts": {"low": 2, "flaky": [2, 3]},
            "refused": ["bad"],
            "never_starts": ["bad", "never"],
            "reason": {"bad": ["gpus", "1.5"], "high": {"start": 1, "mentions": ["next"]}},
            "use": [{"limit": "db", "from": 0, "to": 4, "slots": {"eq": 1}}],
            "final": {"bad": "refused", "never": ["pending", "failed"], "low": "succeeded"},
            "runs": {"flaky": 2},
        },
    }
    shown = timeline(
        {
            "low": job(0, ran(task(0, 10), end="preempted"), ran(task(40, 140))),
            "high": job(10, ran(task(10, 40))),
            "flaky": job(0, ran(task(0, 5, "n2", ()), end="failed"), ran(task(7, 17, "n2", ()))),
            "bad": job(1, state="refused", why="gpus: 1.5 is refused: a whole number or a fraction below 1"),
            "never": job(2, state="pending"),
        }
    )
    return scenario, shown


def _shares_asked() -> Raw:
    return {
        "policy": {"order": ["fifo"], "lease": 30},
        "fleet": {
            "nodes": [
                {"name": "n1", "gpus": 2, "gpu_memory": "10GiB", "gpu_model": "A100", "links": [[0, 1]], "rack": "r1"},
                {
                    "name": "n2",
                    "gpus": 2,
                    "gpu_memory": "10GiB",
                    "gpu_model": "H100",
                    "taints": ["t"],
                    "labels": {"x": "y"},
                },
            ]
        },
        "jobs": [
            {"name": "s", "submit": 0, "count": 2, "gpus": 0.5, "gpu_model": ["A100"], "runtime": 10},
            {"name": "m", "submit": 0, "gpu_memory": "6GiB", "runtime": 10, "pin": {"node": "n1", "devices": [1]}},
            {"name": "late", "submit": 0, "gpu_memory": "6GiB", "runtime": 5, "gpu_model": "A100"},
            {
                "name": "g",
                "submit": 0,
                "runtime": 10,
                "gpu_model": "H100",
                "nodes": {"x": "y"},
                "tolerates": ["t"],
                "roles": [{"name": "lead", "gpus": 0.2}, {"name": "worker", "tasks": 2, "gpus": 0.4}],
            },
            {
                "name": "link",
                "submit": 0,
                "gpus": 2,
                "topology": {"require": "nvlink"},
                "after": ["late"],
                "runtime": 5,
            },
        ],
        "expect": {
            "use": [
                {"node": "n1", "from": 1, "to": 9, "gpus": {"eq": 1}, "gpu_memory": {"eq": "6GiB"}},
                {"node": "n2", "from": 1, "to": 9, "gpus": {"eq": 1}},
            ],
            "running": [{"at": 5, "jobs": ["s-*", "m", "late", "g"], "count": {"min": 4, "max": 4}}],
            "distinct_devices": {"g": 1, "link": 2},
            "devices": {"link": [1, 0]},
            "after": [{"job": "link", "after": "late", "within": 1}],
            "final": {"*": "succeeded"},
        },
    }


def shares() -> tuple[Raw, Raw]:
    """Shares of a device, memory shares, and a gang with roles."""
    half: Raw = {"share": 500}
    memory: Raw = {"share": 0, "gpu_memory": 6 * 2**30}
    shown = timeline(
        {
            "s-1": job(0, ran(task(0, 10, **half))),
            "s-2": job(0, ran(task(0, 10, **half))),
            "m": job(0, ran(task(0, 10, devices=(1,), **memory))),
            "late": job(0, ran(task(10, 15, devices=(1,), **memory))),
            "g": job(
                0,
                ran(
                    task(0, 10, "n2", role="lead", share=200),
                    task(0, 10, "n2", role="worker", share=400),
                    task(0, 10, "n2", role="worker", share=400),
                ),
            ),
            "link": job(0, ran(task(15, 20, devices=(0, 1))), why="waits for late to succeed"),
        }
    )
    return _shares_asked(), shown


def losses() -> tuple[Raw, Raw]:
    """A gang that loses a node and goes on from its checkpoint, and a job that is suspended and resumed."""
    scenario = {
        "policy": {"order": ["fifo"], "lease": 30},
        "fleet": {
            "nodes": [{"name": "n1", "gpus": 1}, {"name": "n2", "gpus": 1}, {"name": "n3", "gpus": 0, "cpus": 1}]
        },
        "jobs": [
            {
                "name": "g",
                "submit": 0,
                "tasks": 2,
                "gpus": 1,
                "one_per_node": True,
                "runtime": 100,
                "checkpoint": {"every": 20},
            },
            {"name": "z", "submit": 0, "cpus": 1, "runtime": 50, "pin": "n3"},
        ],
        "events": [
            {"at": 50, "node_lost": "n2"},
            {"at": 100, "node_ready": "n2"},
            {"at": 10, "suspend": "z"},
            {"at": 40, "resume": "z"},
        ],
        "expect": {
            "starts": {"g": [0, 1], "g#2": [100, 101]},
            "ends": {"g#1": [50, 90], "g": [160, 161], "z": [80, 81]},
            "attempts": {"g": 2},
            "placed": {"g": ["n1", "n2"]},
        },
    }
    lost = ran(task(0, 80), task(0, 80, "n2"), end="lost", cause="node n2 was lost")
    shown = timeline(
        {
            "g": job(0, lost, ran(task(100, 160), task(100, 160, "n2"))),
            "z": job(0, ran(task(0, 80, "n3", ()))),
        }
    )
    return scenario, shown


GOOD: dict[str, Callable[[], tuple[Raw, Raw]]] = {"line": line, "stops": stops, "shares": shares, "losses": losses}
