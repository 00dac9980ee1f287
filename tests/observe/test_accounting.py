"""Accounts of times that begin and end in the middle of things."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clearway.loop.world import World
from clearway.model.fleet import PolicySpec
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.use import Used, over_asked
from clearway.model.values import MICROS
from clearway.observe.accounting import HOUR_US, accounts
from clearway.ports.engine import TaskIsGone
from clearway.testing.builders import GIB, Bench, job, node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.model.events import Record
    from clearway.model.ids import JobId

PRICE = 8  # money per hour, for 4 devices


def bench() -> Bench:
    return Bench(node(price_micros=PRICE * MICROS), policy=PolicySpec(preempt=("priority",), calm_us=0))


def number(b: Bench, name: str) -> JobId:
    found = b.world.job_named(name)
    assert found is not None
    return found


def up(b: Bench, name: str) -> None:
    b.up(number(b, name))


def end(b: Bench, name: str, exit_code: int = 0) -> None:
    b.end(number(b, name), exit_code)


def world_at(records: Sequence[Record], moment_us: int) -> World:
    world = World(PolicySpec())
    for record in records:
        if record.at_us <= moment_us:
            world.apply(record)
    return world


def told(b: Bench, from_h: float, to_h: float, by: str = "user") -> dict[str, dict[str, Any]]:
    from_us, to_us = round(from_h * HOUR_US), round(to_h * HOUR_US)
    later = [record for record in b.journal if record.at_us > from_us]
    return {row["name"]: row for row in accounts(world_at(b.journal, from_us), later, by, from_us, to_us)}


def test_hours_money_waits_and_ends_are_those_of_each_user() -> None:
    b = bench()
    b.submit(job("a", gpus=2, user="ann", tenant="red"), job("b", gpus=4, user="bob", tenant="red"))
    up(b, "a")
    b.pass_s(3600)
    end(b, "a")
    up(b, "b")
    b.pass_s(1800)
    end(b, "b", 1)
    found = told(b, -1, 10)
    assert found["ann"] == {
        "name": "ann", "gpu_hours": 2, "lost_gpu_hours": 0, "measured_gpu_hours": 0, "used_gpu_hours": None,
        "over_asked_gpu_hours": None, "over_asked_cost": None,
        "cost": PRICE * 0.5, "starts": 1, "mean_wait": 0, "succeeded": 1, "failed": 0, "cancelled": 0,
    }  # fmt: skip
    bob = found["bob"]
    assert (bob["gpu_hours"], bob["lost_gpu_hours"], bob["cost"], bob["mean_wait"]) == (2, 2, PRICE * 0.5, 3600)
    assert (bob["succeeded"], bob["failed"]) == (0, 1)
    whole = told(b, -1, 10, "tenant")
    assert list(whole) == ["red"]
    assert (whole["red"]["gpu_hours"], whole["red"]["starts"], whole["red"]["mean_wait"]) == (4, 2, 1800)


@pytest.mark.parametrize(("from_h", "to_h", "hours"), [(0.25, 0.75, 1), (0.5, 9, 1), (0, 0.25, 0.5), (2, 3, None)])
def test_only_what_lies_within_the_time_counts(from_h: float, to_h: float, hours: float | None) -> None:
    b = bench()
    b.submit(job("a", gpus=2, user="ann"))
    up(b, "a")
    b.pass_s(3600)
    end(b, "a")
    found = told(b, from_h, to_h)
    assert found.get("ann", {"gpu_hours": None})["gpu_hours"] == hours


def test_parts_of_a_time_add_up_to_it() -> None:
    b = bench()
    b.submit(*(job(f"j{i}", gpus=1 + i % 3, user=("ann", "bob")[i % 2]) for i in range(9)))
    for _ in range(9):
        live = [entry.spec.name for entry in b.world.jobs.values() if entry.held]
        for name in live:
            up(b, name)
        b.pass_s(700)
        end(b, live[0])
    end_h = b.now_us / HOUR_US
    whole, first, second = told(b, 0, end_h), told(b, 0, end_h / 2), told(b, end_h / 2, end_h)
    for key in ("gpu_hours", "cost", "succeeded", "starts"):
        for user in ("ann", "bob"):
            assert first[user][key] + second[user][key] == pytest.approx(whole[user][key], abs=1e-5)
    held = sum(row["gpu_hours"] for row in whole.values())
    assert 0 < held <= 4 * end_h


def test_who_is_stopped_for_another_has_lost_what_it_held() -> None:
    b = bench()
    b.submit(job("small", gpus=4, user="ann"))
    up(b, "small")
    b.pass_s(1800)
    b.submit(job("urgent", gpus=4, priority=9, user="bob"))
    end(b, "small", 143)
    up(b, "urgent")
    b.pass_s(900)
    end(b, "urgent")
    ann = told(b, -1, 5)["ann"]
    assert (ann["lost_gpu_hours"], ann["starts"]) == (2, 2)
    assert ann["gpu_hours"] > 2, "it runs again, and holds still"


def test_what_was_really_used_counts_of_the_hours_in_which_it_was_measured() -> None:
    b = bench()
    b.submit(job("measured", gpus=2, user="ann"), job("untold", gpus=1, user="ann"))
    up(b, "measured")
    up(b, "untold")
    b.pass_s(3600)
    b.step(TaskIsGone(b.task(number(b, "measured")), 0, used=Used(busy=250)))
    end(b, "untold")
    ann = told(b, -1, 5)["ann"]
    assert (ann["gpu_hours"], ann["measured_gpu_hours"], ann["used_gpu_hours"]) == (3, 2, 0.5)
    assert ann["over_asked_gpu_hours"] is None, "nobody told which devices worked"


def test_what_a_task_had_no_use_for_at_all_is_over_asked_and_a_part_of_what_idled() -> None:
    b = bench()
    share = JobSpec("share", (Role(demand=Demand(gpu_memory=40 * GIB)),), user="bob")
    b.submit(job("half", gpus=2, user="ann"), share)
    up(b, "half")
    up(b, "share")
    b.pass_s(3600)
    b.step(TaskIsGone(b.task(number(b, "half")), 0, used=Used(busy=400, worked=1)))
    b.step(TaskIsGone(b.task(number(b, "share")), 0, used=Used(busy=900, peak_gpu_memory=10 * GIB, worked=1)))
    found = told(b, -1, 5)
    assert (found["ann"]["over_asked_gpu_hours"], found["ann"]["over_asked_cost"]) == (1, PRICE / 4)
    assert found["ann"]["measured_gpu_hours"] - found["ann"]["used_gpu_hours"] == 1.2
    assert found["bob"]["over_asked_gpu_hours"] == 0.375, "three quarters of half a device"
    assert told(b, 0.5, 5)["ann"]["over_asked_gpu_hours"] == 0.5, "of a time that begins in the middle only its part"


@pytest.mark.parametrize(
    ("used", "devices", "gpu_memory", "part"),
    [
        (Used(), 2, 0, None),
        (Used(worked=2), 2, 0, 0),
        (Used(worked=3), 2, 0, 0),
        (Used(worked=0), 2, 0, 1000),
        (Used(worked=0), 0, 0, None),
        (Used(worked=1), 1, 100, None),
        (Used(peak_gpu_memory=130), 1, 100, 0),
        (Used(peak_gpu_memory=25), 1, 100, 750),
    ],
)
def test_the_part_that_is_over_asked(used: Used, devices: int, gpu_memory: int, part: int | None) -> None:
    assert over_asked(used, devices, gpu_memory) == part
