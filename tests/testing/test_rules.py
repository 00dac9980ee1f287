"""The rules that hold in every scenario, each broken in ways that the lies about good timelines do not tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clearway.testing.judge import RULES, judge
from tests.testing.stories import independent_judge, job, ran, task, timeline

if TYPE_CHECKING:
    from pathlib import Path

Raw = dict[str, Any]
GPU = {"name": "n1", "gpus": 2, "gpu_memory": "10GiB"}
CPU = {"name": "n1", "cpus": 4, "gpus": 0, "resources": {"npu": 1}, "disk": "1TB"}
NO_GPU: tuple[int, ...] = ()


def _scenario(*jobs: Raw, nodes: list[Raw], **more: Any) -> Raw:
    return {"policy": {"order": ["fifo"]}, "fleet": {"nodes": nodes}, "jobs": list(jobs), **more}


def _one(words: Raw, *tasks: Raw, nodes: list[Raw], **more: Any) -> tuple[Raw, Raw]:
    return _scenario({"name": "a", **words}, nodes=nodes, **more), timeline({"a": job(0, ran(*tasks))})


def _cpu(begin: float, end: float, node: str = "n1") -> Raw:
    return task(begin, end, node, NO_GPU)


def _failing(words: Raw, *attempts: Raw) -> tuple[Raw, Raw]:
    """A job that ends with code 3 each time; attempts that say no end have failed so."""
    for attempt in attempts:
        if attempt["end"] == "succeeded":
            attempt |= {"end": "failed", "cause": "exited with code 3"}
    scenario = _scenario({"name": "a", "runtime": 1, "exit_code": 3, **words}, nodes=[CPU])
    return scenario, timeline({"a": job(0, *attempts, state="failed")})


def _exchanging(times: int, why: str) -> tuple[Raw, Raw]:
    """A job that is stopped so often for one that fails each time, for a reason."""
    scenario = _scenario({"name": "a", "runtime": 100}, {"name": "b", "runtime": 5}, nodes=[CPU])
    scenario["policy"] = {"order": ["priority"], "preempt": ["priority"], "calm": 0}
    cause = f"makes room for b, {why}; 5 s of device time is lost by it"
    stopped = [ran(_cpu(i * 10, i * 10 + 5), end="preempted", cause=cause) for i in range(times)]
    shown = timeline({"a": job(0, *stopped, ran(_cpu(times * 10, times * 10 + 100))), "b": job(0, ran(_cpu(0, 5)))})
    shown["events"] += [
        {"at": i * 10 + 5, "kind": "stopping", "job": "a", "attempt": i + 1, "cause": cause} for i in range(times)
    ]
    return scenario, shown


@pytest.mark.parametrize(
    ("times", "why"), [(2, "which has a higher priority (9)"), (3, "whose turn it is after a time slice")]
)
def test_two_exchanges_and_turns_are_no_circle(times: int, why: str) -> None:
    assert judge(*_exchanging(times, why)) == []


def _in_turns(*friends: int, **words: Any) -> tuple[Raw, Raw]:
    """Jobs of one device each, all on device 0 at once, that put up with so many others."""
    names = "abcd"[: len(friends)]
    jobs = [{"name": name, "gpus": 1, "colocate": n, **words} for name, n in zip(names, friends, strict=True)]
    memory: Raw = {"gpu_memory": 6 * 2**30} if words else {}
    shown = timeline({name: job(0, ran(task(0, 2, **memory))) for name in names})
    return _scenario(*jobs, nodes=[GPU]), shown


def _memory(gib: int) -> Raw:
    return {"share": 0, "gpu_memory": gib * 2**30}


GB6 = _memory(6)
BROKEN: dict[str, tuple[str, tuple[Raw, Raw]]] = {
    "more CPUs than the node has": ("capacity", _one({"cpus": 5}, _cpu(0, 1), nodes=[CPU])),
    "more of a custom resource": (
        "capacity",
        _one({"tasks": 2, "resources": {"npu": 1}}, _cpu(0, 1), _cpu(0, 1), nodes=[CPU]),
    ),
    "a custom resource that is not there": ("capacity", _one({"resources": {"tpu": 1}}, _cpu(0, 1), nodes=[CPU])),
    "memory of a device": (
        "capacity",
        _one({"tasks": 2, "gpu_memory": "6GiB"}, task(0, 1, **GB6), task(0, 1, **GB6), nodes=[GPU]),
    ),
    "shares above one": (
        "capacity",
        _one({"tasks": 2, "gpus": 0.6}, task(0, 1, share=600), task(0, 1, share=600), nodes=[GPU]),
    ),
    "a whole device beside a memory share": (
        "capacity",
        (
            _scenario({"name": "a", "gpus": 1}, {"name": "b", "gpu_memory": "1GiB"}, nodes=[GPU]),
            timeline(
                {"a": job(0, ran(task(0, 2))), "b": job(0, ran(task(1, 3, share=0, gpu_memory=2**30)), why="why")}
            ),
        ),
    ),
    "more in turns than those on a device put up with": ("capacity", _in_turns(1, 1, 1)),
    "more in turns than the least patient puts up with": ("capacity", _in_turns(3, 3, 1)),
    "a job that shares with nobody among those in turns": ("capacity", _in_turns(2, 0)),
    "memory of those in turns": ("capacity", _in_turns(1, 1, gpu_memory="6GiB")),
    "two tasks of one job in turns": (
        "capacity",
        _one({"tasks": 2, "gpus": 1, "colocate": 3}, task(0, 1), task(0, 1), nodes=[GPU]),
    ),
    "a queue above the limit of its parent": (
        "capacity",
        _one(
            {"queue": "c", "gpus": 2},
            task(0, 1, devices=(0, 1)),
            nodes=[GPU],
            queues=[{"name": "p", "limit": {"gpus": 1}}, {"name": "c", "parent": "p"}],
        ),
    ),
    "a shared limit": (
        "capacity",
        (
            _scenario(
                {"name": "a", "uses": ["db"]},
                {"name": "b", "uses": "db"},
                nodes=[CPU],
                limits=[{"name": "db", "slots": 1}],
            ),
            timeline({"a": job(0, ran(_cpu(0, 2))), "b": job(0, ran(_cpu(1, 3)))}),
        ),
    ),
    "a start on a drained node": (
        "capacity",
        _one({}, _cpu(6, 7), nodes=[CPU], events=[{"at": 5, "drain": "n1"}, {"at": 8, "undrain": "n1"}]),
    ),
    "a start on a node that was lost": (
        "capacity",
        _one({}, _cpu(100, 101), nodes=[CPU], events=[{"at": 5, "node_lost": "n1"}]),
    ),
    "a start on broken devices": (
        "capacity",
        _one(
            {"gpus": 1},
            task(6, 7),
            nodes=[GPU],
            events=[{"at": 5, "devices_unhealthy": {"node": "n1", "devices": [0]}}],
        ),
    ),
    "a start on a node that is not yet there": (
        "capacity",
        _one({}, _cpu(1, 2, "n2"), nodes=[CPU], events=[{"at": 5, "add_node": {"name": "n2"}}]),
    ),
    "half a gang": (
        "gang",
        (
            _scenario({"name": "a", "tasks": 2}, nodes=[CPU]),
            timeline({"a": job(0, ran(_cpu(0, 5), _cpu(0, 9)))}),
        ),
    ),
    "a role below its minimum": (
        "gang",
        (
            _scenario({"name": "a", "roles": [{"name": "x", "tasks": 2, "min_tasks": 1}, {"name": "y"}]}, nodes=[CPU]),
            timeline({"a": job(0, ran(_cpu(0, 9) | {"role": "x"}, _cpu(0, 9) | {"role": "x"}))}),
        ),
    ),
    "survivors that stay for ever": (
        "gang",
        (
            _scenario({"name": "a", "tasks": 2}, nodes=[CPU], until=500),
            timeline({"a": job(0, ran(_cpu(0, 5), _cpu(0, 400), end="lost"), state="failed")}),
        ),
    ),
    "preempted though not preemptible": (
        "calm",
        (
            _scenario({"name": "a", "preemptible": False}, nodes=[CPU]) | {"policy": {"preempt": ["priority"]}},
            timeline({"a": job(0, ran(_cpu(0, 5), end="preempted"), ran(_cpu(9, 14)))}),
        ),
    ),
    "preempted twice within calm": (
        "calm",
        (
            _scenario({"name": "a"}, nodes=[CPU]) | {"policy": {"preempt": ["priority"], "calm": 60}},
            timeline(
                {"a": job(0, ran(_cpu(0, 5), end="preempted"), ran(_cpu(9, 64), end="preempted"), ran(_cpu(70, 80)))}
            ),
        ),
    ),
    "preempted within min_runtime": (
        "calm",
        (
            _scenario({"name": "a"}, nodes=[CPU]) | {"policy": {"preempt": ["priority"], "min_runtime": "10s"}},
            timeline({"a": job(0, ran(_cpu(0, 5), end="preempted"), ran(_cpu(9, 14)))}),
        ),
    ),
    "fewer devices than asked for": ("asked", _one({"gpus": 2}, task(0, 1), nodes=[GPU])),
    "another model": (
        "asked",
        _one({"gpus": 1, "gpu_model": ["A100"]}, task(0, 1), nodes=[GPU | {"gpu_model": "V100"}]),
    ),
    "another place than pinned to": (
        "asked",
        _one({"gpus": 1, "pin": {"node": "n1", "devices": [1]}}, task(0, 1), nodes=[GPU]),
    ),
    "another label": ("asked", _one({"nodes": {"team": "x"}}, _cpu(0, 1), nodes=[CPU | {"labels": {"team": "y"}}])),
    "a taint": ("asked", _one({"tolerates": ["t"]}, _cpu(0, 1), nodes=[CPU | {"taints": ["t", "u"]}])),
    "no spot node": ("asked", _one({"spot": "require"}, _cpu(0, 1), nodes=[CPU])),
    "too many tasks": ("asked", _one({}, _cpu(0, 1), _cpu(0, 1), nodes=[CPU])),
    "two tasks on one node": ("asked", _one({"tasks": 2, "one_per_node": True}, _cpu(0, 1), _cpu(0, 1), nodes=[CPU])),
    "two islands": (
        "asked",
        _one(
            {"gpus": 2, "topology": {"require": "nvlink"}},
            task(0, 1, devices=(0, 1)),
            nodes=[GPU | {"links": [[0], [1]]}],
        ),
    ),
    "two racks": (
        "asked",
        _one(
            {"tasks": 2, "gpus": 1, "topology": {"require": "rack"}},
            task(0, 1),
            task(0, 1, "n2"),
            nodes=[GPU | {"rack": "r1"}, GPU | {"name": "n2", "rack": "r2"}],
        ),
    ),
    "a retry too many": ("tries", _failing({"max_retries": 1}, ran(_cpu(0, 1)), ran(_cpu(3, 4)), ran(_cpu(8, 9)))),
    "a retry before its delay": ("tries", _failing({"max_retries": 1}, ran(_cpu(0, 1)), ran(_cpu(2, 3)))),
    "a second delay that did not double": (
        "tries",
        _failing({"max_retries": 2, "retry_backoff": 3}, ran(_cpu(0, 1)), ran(_cpu(4, 5)), ran(_cpu(8, 9))),
    ),
    "a retry of what retry_on does not name": (
        "tries",
        _failing({"max_retries": 1, "retry_on": ["exit 75", "oom"]}, ran(_cpu(0, 1)), ran(_cpu(3, 4))),
    ),
    "a retry that was not given": ("tries", _failing({"max_retries": 1}, ran(_cpu(0, 1)))),
    "a retry that was named and not given": (
        "tries",
        _failing({"max_retries": 1, "retry_on": "exit 1-9"}, ran(_cpu(0, 1))),
    ),
    "a time-out that is tried again": (
        "tries",
        _failing({"max_retries": 1, "time_limit": 1}, ran(_cpu(0, 1), end="timed_out"), ran(_cpu(3, 4))),
    ),
    "more cost than it may have": (
        "costs",
        _one({"gpus": 2, "max_cost": 10}, task(0, 11, devices=(0, 1)), nodes=[GPU | {"price": 3600}]),
    ),
    "an exchange too many": ("exchanges", _exchanging(3, "which has a higher priority (9)")),
    "a loss too many": (
        "tries",
        _failing({"max_losses": 0}, ran(_cpu(0, 1), end="lost"), ran(_cpu(3, 4))),
    ),
    "faster than its model": (
        "work",
        _one({"gpus": 1, "runtime": 10, "speed": {"H100": 2}}, task(0, 4), nodes=[GPU | {"gpu_model": "H100"}]),
    ),
    "faster than its links": (
        "work",
        _one({"gpus": 2, "runtime": 10, "slowdown": {"node": 2}}, task(0, 15, devices=(0, 1)), nodes=[GPU]),
    ),
    "without copying its input": (
        "work",
        _one({"runtime": 10, "inputs": [{"name": "d", "size": "1GB"}]}, _cpu(0, 10), nodes=[CPU | {"bandwidth": 8}]),
    ),
    "standing still counted as work": (
        "work",
        _one({"runtime": 50}, _cpu(0, 50), nodes=[CPU], events=[{"at": 10, "suspend": "a"}, {"at": 30, "resume": "a"}]),
    ),
    "work that no checkpoint held": (
        "work",
        (
            _scenario({"name": "a", "runtime": 100, "checkpoint": {"every": 30, "write_time": 10}}, nodes=[CPU]),
            timeline({"a": job(0, ran(_cpu(0, 69), end="lost"), ran(_cpu(80, 149)))}),
        ),
    ),
    "an elastic job with half its tasks": (
        "work",
        _one({"tasks": 2, "min_tasks": 1, "runtime": 10}, _cpu(0, 15), nodes=[CPU]),
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_breach_is_named_by_its_rule_and_seen_by_both(what: str, shared: Path) -> None:
    rule, (scenario, shown) = BROKEN[what]
    lines = judge(scenario, shown)
    assert lines, what
    assert {text.split(":")[0] for text in lines} == {rule}, lines
    if what not in STRICTER and rule not in ("tries", "costs", "exchanges"):
        assert independent_judge(shared)(scenario, shown)


STRICTER = (
    "a custom resource that is not there",  # absent is 0, never plentiful
    "a role below its minimum",  # with none of its tasks, while others run
    "more in turns than the least patient puts up with",
    "two tasks of one job in turns",
)
"""What the independent judge lets pass."""

FINE: dict[str, tuple[Raw, Raw]] = {
    "jobs that take turns": _in_turns(2, 3, 2),
    "two parts of one job where others took turns before": (
        _scenario(
            {"name": "a", "gpus": 1, "colocate": 1},
            {"name": "b", "tasks": 2, "gpu_memory": "2GiB"},
            nodes=[GPU | {"gpu_memory": "10GiB"}],
        ),
        timeline({"a": job(0, ran(task(0, 2))), "b": job(0, ran(*(task(2, 3, **_memory(2)) for _ in range(2))))}),
    ),
    "a device changes hands at one moment": (
        _scenario({"name": "a", "gpus": 1}, {"name": "b", "gpus": 1}, nodes=[GPU]),
        timeline({"a": job(0, ran(task(0, 2))), "b": job(0, ran(task(2, 3)))}),
    ),
    "plenty where a node says nothing": _one(
        {"cpus": 999, "memory": "9Ti"}, task(0, 1, "n", NO_GPU), nodes=[{"name": "n"}]
    ),
    "a drained node is open again": _one(
        {}, _cpu(8, 9), nodes=[CPU], events=[{"at": 5, "drain": "n1"}, {"at": 8, "undrain": "n1"}]
    ),
    "survivors stop within lease and stop time": (
        _scenario({"name": "a", "tasks": 2, "max_losses": 0}, nodes=[CPU]),
        timeline({"a": job(0, ran(_cpu(0, 5), _cpu(0, 40), end="lost"), state="failed")}),
    ),
    "a pin binds the first attempt only": (
        _scenario({"name": "a", "pin": "n1", "max_retries": 1}, nodes=[CPU, CPU | {"name": "n2"}]),
        timeline({"a": job(0, ran(_cpu(0, 5), end="failed"), ran(_cpu(7, 9, "n2")))}),
    ),
    "work that a checkpoint held": (
        _scenario({"name": "a", "runtime": 100, "checkpoint": {"every": 30, "write_time": 10}}, nodes=[CPU]),
        timeline({"a": job(0, ran(_cpu(0, 70), end="lost"), ran(_cpu(80, 120)))}),
    ),
    "an elastic job that grows": _one(
        {"tasks": 2, "min_tasks": 1, "runtime": 10}, _cpu(0, 15), _cpu(10, 15), nodes=[CPU]
    ),
    "copying takes its time": _one(
        {"runtime": 10, "inputs": [{"name": "d", "size": "1GB"}]}, _cpu(0, 11), nodes=[CPU | {"bandwidth": 8}]
    ),
    "defaults of the nearest queue": _one(
        {"queue": "c", "gpus": 1},
        task(0, 1),
        nodes=[GPU],
        queues=[{"name": "p", "defaults": {"gpus": 2}}, {"name": "c", "parent": "p", "defaults": {"uses": []}}],
    ),
}


@pytest.mark.parametrize("what", FINE)
def test_what_is_allowed_is_passed_by_both(what: str, shared: Path) -> None:
    scenario, shown = FINE[what]
    if what == "an elastic job that grows":
        shown["jobs"]["a"]["attempts"][0]["from"] = 0
        shown["jobs"]["a"]["waits"] = []
    assert judge(scenario, shown) == []
    assert independent_judge(shared)(scenario, shown) == []


def test_defaults_come_from_the_nearest_queue_that_states_the_word() -> None:
    scenario, shown = _one({"queue": "c"}, task(0, 1), nodes=[GPU])
    scenario["queues"] = [
        {"name": "p", "defaults": {"gpus": 1}},
        {"name": "c", "parent": "p", "defaults": {"priority": 3}},
    ]
    assert judge(scenario, shown) == []


def test_the_rules_are_those_of_the_words() -> None:
    always = ["capacity", "sums", "gang", "once", "calm", "why", "asked", "work", "tries", "costs", "exchanges"]
    assert list(RULES) == [*always, "graphs"]
