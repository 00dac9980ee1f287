"""Time limits, deadlines and start deadlines, also while a job stands still or is being stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.model import events as ev
from clearway.model.actions import Halt, Pause
from clearway.model.asks import Cancel, Resume, Suspend
from clearway.model.reasons import Code
from clearway.model.states import End, State
from clearway.model.values import SECOND_US
from clearway.ports.engine import NodeIsQuiet, TaskIsGone
from clearway.testing.builders import Bench, job, node

if TYPE_CHECKING:
    from clearway.model.ids import JobId

MINUTE_US = 60 * SECOND_US


def running(**words: Any) -> tuple[Bench, JobId]:
    bench = Bench(node())
    (number,) = bench.submit(job(**words))
    bench.up(number)
    return bench, number


def ended(bench: Bench) -> tuple[State, Code | None]:
    end = bench.last(ev.Ended)
    return end.state, end.reason.code if end.reason else None


def stoppings(bench: Bench) -> list[tuple[float, End]]:
    return [(r.at_us / SECOND_US, r.end) for r in bench.journal if isinstance(r, ev.Stopping)]


def test_at_its_time_limit_a_job_is_stopped_and_fails_for_good() -> None:
    bench, number = running(time_limit_us=MINUTE_US, max_retries=5)
    bench.at(60)
    assert bench.entry(number).state == State.STOPPING
    assert any(isinstance(order, Halt) for order in bench.orders)
    bench.at(63)
    bench.end(number, -15)
    assert ended(bench) == (State.FAILED, Code.TIME_LIMIT)


def test_an_end_at_the_very_moment_of_the_limit_counts() -> None:
    bench, number = running(time_limit_us=MINUTE_US)
    bench.now_us = MINUTE_US
    bench.end(number)
    assert ended(bench)[0] == State.SUCCEEDED


def test_time_standing_still_is_no_running_time() -> None:
    bench, number = running(time_limit_us=MINUTE_US)
    bench.at(50, Suspend(number))
    bench.at(100)
    assert bench.entry(number).state == State.SUSPENDED
    bench.at(500, Resume(number))
    bench.at(509.9)
    assert bench.entry(number).state == State.RUNNING
    bench.at(510)
    assert stoppings(bench) == [(510, End.TIMED_OUT)]


def test_a_limit_is_per_attempt() -> None:
    bench, number = running(time_limit_us=MINUTE_US, max_retries=1, retry_backoff_us=0)
    bench.at(50)
    bench.end(number, 1)
    bench.at(60)
    assert bench.entry(number).state == State.STARTING
    bench.at(110)
    assert bench.entry(number).state == State.STOPPING


def test_what_ends_while_it_is_stopped_for_time_has_timed_out_whatever_its_exit_code() -> None:
    bench, number = running(time_limit_us=MINUTE_US)
    bench.at(60)
    bench.end(number, 0)
    assert ended(bench)[0] == State.FAILED


def test_a_deadline_is_only_reported_unless_it_shall_stop() -> None:
    bench, number = running(deadline_us=MINUTE_US)
    bench.at(100)
    assert bench.entry(number).state == State.RUNNING


def test_a_deadline_stops_a_running_job() -> None:
    bench, number = running(deadline_us=MINUTE_US, on_deadline="stop", max_retries=3)
    bench.at(60)
    bench.end(number, -15)
    assert ended(bench) == (State.FAILED, Code.DEADLINE)


def test_a_deadline_ends_a_waiting_job() -> None:
    bench = Bench(node(gpus=1))
    _, second = bench.submit(job("a"), job("b", deadline_us=MINUTE_US, on_deadline="stop"))
    bench.at(60)
    assert second not in bench.world.jobs
    assert ended(bench)[1] == Code.DEADLINE


def test_a_deadline_stops_a_job_that_stands_still() -> None:
    bench, number = running(deadline_us=MINUTE_US, on_deadline="stop")
    bench.at(10, Suspend(number))
    bench.at(60)
    assert bench.entry(number).state == State.STOPPING


def test_a_deadline_during_a_stop_that_would_be_tried_again_is_final() -> None:
    bench = Bench(node(gpus=2))
    (number,) = bench.submit(job(tasks=2, deadline_us=MINUTE_US, on_deadline="stop", max_retries=3))
    bench.at(59)
    first, second = bench.tasks(number)
    bench.step(_gone(first, 1))
    bench.at(60)
    bench.step(_gone(second, -15))
    assert ended(bench) == (State.FAILED, Code.DEADLINE)


def _gone(task: ev.TaskRef, code: int) -> TaskIsGone:
    return TaskIsGone(task, code)


def test_a_deadline_that_is_past_at_the_submit_ends_the_job_at_once() -> None:
    bench = Bench(node())
    bench.at(100)
    (number,) = bench.submit(job(deadline_us=MINUTE_US, on_deadline="stop"))
    assert number not in bench.world.jobs


def test_what_has_not_started_by_its_start_deadline_fails() -> None:
    bench = Bench(node(gpus=1))
    first, second = bench.submit(job("a"), job("b", start_deadline_us=MINUTE_US))
    bench.at(60)
    assert first in bench.world.jobs
    assert second not in bench.world.jobs
    assert ended(bench)[1] == Code.START_DEADLINE


def test_what_starts_at_the_very_moment_has_met_its_start_deadline() -> None:
    bench = Bench(node(gpus=1))
    first, second = bench.submit(job("a"), job("b", start_deadline_us=MINUTE_US))
    bench.now_us = MINUTE_US
    bench.end(first)
    assert bench.entry(second).held


def test_a_job_that_may_not_wait_at_all_starts_at_once_or_fails() -> None:
    bench = Bench(node(gpus=1))
    first, second = bench.submit(job("a", start_deadline_us=0), job("b", start_deadline_us=0))
    assert bench.entry(first).held
    assert second not in bench.world.jobs


def test_a_start_deadline_ends_with_the_first_start() -> None:
    bench = Bench(node("n", 1))
    (number,) = bench.submit(job(start_deadline_us=MINUTE_US, max_retries=1, retry_backoff_us=100 * SECOND_US))
    bench.end(number, 1)
    bench.at(99)
    assert bench.entry(number).state == State.PENDING


def test_those_behind_a_job_that_ran_out_of_time_start_at_that_moment() -> None:
    bench = Bench(node(gpus=2))
    first, big, small = bench.submit(
        job("a", 1, time_estimate_us=100 * SECOND_US),
        job("big", 2, start_deadline_us=MINUTE_US),
        job("small", 1, time_estimate_us=1000 * SECOND_US),
    )
    assert not bench.entry(small).held
    bench.at(60)
    assert big not in bench.world.jobs
    assert bench.entry(small).held
    assert bench.entry(first).held


def test_standing_still_and_going_on_is_told_to_every_task() -> None:
    bench = Bench(node(gpus=2))
    (number,) = bench.submit(job(tasks=2))
    bench.step(Suspend(number))
    bench.step(Resume(number))
    assert [(o.task.index, o.paused) for o in bench.orders if isinstance(o, Pause)] == [
        (0, True),
        (1, True),
        (0, False),
        (1, False),
    ]


def test_a_job_that_stands_still_can_be_cancelled_and_lost() -> None:
    bench, number = running()
    bench.step(Suspend(number))
    bench.step(Cancel(number))
    assert bench.entry(number).state == State.STOPPING
    other, lost = running()
    other.step(Suspend(lost))
    other.step(NodeIsQuiet("n"))
    other.at(31)
    assert other.entry(lost).state == State.PENDING
