"""Jobs whose devices do nothing: who counts as idle, when it is told, and who gives way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clearway.loop.idle import RULE
from clearway.loop.snapshot import restore, take
from clearway.model import events as ev
from clearway.model.actions import Halt
from clearway.model.asks import ControllerUp, Release, SetPolicy, Suspend
from clearway.model.events import TaskRef
from clearway.model.fleet import PolicySpec
from clearway.model.reasons import Code
from clearway.model.states import End, State
from clearway.model.values import SECOND_US
from clearway.ports.engine import NodeIsUp, TaskIsIdle
from clearway.testing.builders import Bench, job, node, role

if TYPE_CHECKING:
    from clearway.model.ids import JobId

MINUTE_US = 60 * SECOND_US
WARN_S, RELEASE_S = 600, 3600
POLICY = PolicySpec(idle_warn_us=WARN_S * SECOND_US, idle_release_us=RELEASE_S * SECOND_US)


def idle(bench: Bench, number: JobId, for_us: int | None = MINUTE_US, index: int = 0, part: int = 0) -> TaskIsIdle:
    return TaskIsIdle(TaskRef(number, bench.entry(number).attempt, part, index), for_us)


def running(policy: PolicySpec = POLICY, **words: Any) -> tuple[Bench, JobId]:
    bench = Bench(node(gpus=2), policy=policy)
    (number,) = bench.submit(job(gpus=1, **words))
    bench.up(number)
    return bench, number


def line(bench: Bench) -> JobId:
    """Have somebody wait for both devices."""
    (number,) = bench.submit(job("waits", gpus=2))
    return number


def warnings(bench: Bench) -> list[int]:
    return [r.at_us // SECOND_US for r in bench.all(ev.IdleWarned)]


def test_it_is_told_once_and_again_when_it_worked_between() -> None:
    bench, number = running()
    bench.at(60, idle(bench, number))
    bench.at(WARN_S)
    assert warnings(bench) == [WARN_S]
    assert bench.last(ev.IdleWarned).since_us == 0
    bench.at(WARN_S + 50, idle(bench, number))  # said twice
    bench.at(2000, idle(bench, number, None))
    bench.at(3000, idle(bench, number))
    bench.at(2940 + WARN_S)
    assert warnings(bench) == [WARN_S, 2940 + WARN_S]


def test_who_works_again_in_time_is_not_told_of() -> None:
    bench, number = running()
    line(bench)
    bench.at(60, idle(bench, number))
    bench.at(WARN_S - 1, idle(bench, number, None))
    bench.at(10_000)
    assert (warnings(bench), bench.all(ev.Stopping)) == ([], [])


def test_who_gives_way_is_stopped_with_its_grace_held_and_let_go_by_a_person() -> None:
    bench, number = running()
    waiting = line(bench)
    bench.at(60, idle(bench, number))
    bench.at(RELEASE_S)
    stop = bench.last(ev.Stopping)
    assert (stop.job, stop.end, stop.cause.code) == (number, End.PREEMPTED, Code.IDLE_GPUS)
    assert dict(stop.cause.facts) == {"idle_us": RELEASE_S * SECOND_US, "limit_us": RELEASE_S * SECOND_US}
    assert any(isinstance(order, Halt) and order.task.job == number for order in bench.orders)
    bench.end(number, -15)
    assert bench.entry(number).state is State.PENDING
    assert [reason.get("by") for reason in bench.entry(number).reasons] == [RULE]
    assert bench.entry(waiting).state is State.STARTING
    entry = bench.entry(number)
    assert (entry.retries, entry.losses) == (0, 0)
    bench.up(waiting)
    bench.end(waiting)
    bench.step(Release(number))
    assert bench.entry(number).state is State.STARTING
    assert bench.entry(number).idle == {}


def test_nobody_is_stopped_for_nobody() -> None:
    bench, number = running()
    bench.at(60, idle(bench, number))
    bench.at(RELEASE_S + 100)
    assert bench.all(ev.Stopping) == []
    line(bench)
    bench.at(RELEASE_S + 200)
    assert [r.job for r in bench.all(ev.Stopping)] == [number]


@pytest.mark.parametrize("policy", [PolicySpec(), PolicySpec(idle_warn_us=SECOND_US)])
def test_without_the_word_nobody_is_stopped(policy: PolicySpec) -> None:
    bench, number = running(policy)
    line(bench)
    bench.at(60, idle(bench, number))
    bench.at(100_000)
    assert bench.all(ev.Stopping) == []


def test_a_suspended_one_and_one_that_must_not_be_stopped_stay() -> None:
    bench, number = running(preemptible=False)
    (other,) = bench.submit(job("other", gpus=1))
    bench.up(other)
    line(bench)
    bench.at(50, Suspend(other))
    bench.at(60, idle(bench, number), idle(bench, other))
    bench.at(10_000)
    assert bench.all(ev.Stopping) == []
    assert [r.job for r in bench.all(ev.IdleWarned)] == [number]


def test_every_task_that_holds_devices_must_be_idle_and_those_without_any_do_not_count() -> None:
    bench = Bench(node(gpus=2), policy=POLICY)
    parts = (role("worker", 2, gpus=1), role("head", 1, cpus=100))
    (number,) = bench.submit(job("gang", roles=parts))
    bench.up(number)
    line(bench)
    bench.at(60, idle(bench, number), idle(bench, number, part=1))
    bench.at(5000)
    assert warnings(bench) == []
    bench.at(5060, idle(bench, number, index=1))
    bench.at(5000 + WARN_S)
    assert bench.last(ev.IdleWarned).since_us == 5000 * SECOND_US


def test_a_report_of_an_earlier_attempt_or_of_nobody_changes_nothing() -> None:
    bench, number = running()
    bench.step(TaskIsIdle(TaskRef(number, 7, 0, 0), 0), idle(bench, number, None))
    assert bench.all(ev.TaskIdle) == []


def test_a_policy_that_comes_later_holds_for_who_is_idle_already() -> None:
    bench, number = running(PolicySpec())
    bench.at(60, idle(bench, number))
    bench.at(1000, SetPolicy(POLICY))
    assert warnings(bench) == [1000]


def test_a_new_controller_counts_anew() -> None:
    bench, number = running()
    line(bench)
    bench.at(60, idle(bench, number))
    bench.at(3000, ControllerUp(), NodeIsUp(node(gpus=2), (TaskRef(number, 1, 0, 0),)))
    bench.at(RELEASE_S + 10)
    assert bench.all(ev.Stopping) == []
    bench.at(RELEASE_S + 60, idle(bench, number))
    bench.at(2 * RELEASE_S)
    assert [r.job for r in bench.all(ev.Stopping)] == [number]


def test_it_is_known_across_a_snapshot() -> None:
    bench, number = running()
    bench.at(60, idle(bench, number))
    bench.at(WARN_S)
    again = restore(take(bench.world))
    entry = again.jobs[number]
    assert (entry.idle, entry.warned) == ({(0, 0): 0}, True)
