"""Own failures, losses, and what comes after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clearway.model import events as ev
from clearway.model.asks import Cancel
from clearway.model.reasons import Code, Reason
from clearway.model.states import End, State
from clearway.model.values import SECOND_US
from clearway.observe.words import sentence
from clearway.ports.engine import TaskIsGone
from clearway.testing.builders import Bench, job, node

if TYPE_CHECKING:
    from clearway.model.ids import JobId
    from clearway.model.job import JobSpec


def failing(**words: Any) -> tuple[Bench, JobId]:
    bench = Bench(node())
    (number,) = bench.submit(job(**words))
    return bench, number


def starts_s(bench: Bench) -> list[float]:
    return [r.at_us / SECOND_US for r in bench.journal if isinstance(r, ev.Started)]


def last_end(bench: Bench) -> tuple[State, Reason]:
    end = bench.last(ev.Ended)
    assert end.reason is not None
    return end.state, end.reason


def fail_again_and_again(bench: Bench, number: JobId, exit_code: int | None = 1) -> None:
    while number in bench.world.jobs:
        if bench.entry(number).held:
            bench.end(number, exit_code)
        elif bench.next_us is not None:
            bench.at(bench.next_us / SECOND_US)


def test_without_retries_the_first_failure_is_the_end() -> None:
    bench, number = failing()
    bench.end(number, 3)
    assert last_end(bench)[0] == State.FAILED
    assert last_end(bench)[1].code == Code.RETRIES_USED_UP
    assert last_end(bench)[1].get("exit_code") == 3


def test_delays_double_up_to_their_cap() -> None:
    bench, number = failing(max_retries=4, retry_backoff_us=2 * SECOND_US, retry_backoff_max_us=7 * SECOND_US)
    fail_again_and_again(bench, number)
    assert starts_s(bench) == [0, 2, 6, 13, 20]


def test_a_retry_that_waits_says_until_when_and_how_often() -> None:
    bench, number = failing(max_retries=2)
    bench.end(number, 1)
    (why,) = bench.waits(number)
    assert (why.code, why.get("until_us"), why.get("tries"), why.get("max_retries")) == (
        Code.RETRY_DELAY,
        2 * SECOND_US,
        1,
        2,
    )


def test_nothing_starts_before_its_delay_is_over() -> None:
    bench, number = failing(max_retries=1)
    bench.end(number, 1)
    bench.at(1.999999)
    assert bench.entry(number).state == State.PENDING
    bench.at(2)
    assert bench.entry(number).attempt == 2


def test_without_a_delay_it_starts_again_at_once() -> None:
    bench, number = failing(max_retries=1, retry_backoff_us=0)
    bench.end(number, 1)
    assert bench.entry(number).attempt == 2


def test_jitter_comes_from_the_seed_and_stays_within_the_delay() -> None:
    def second_start(seed: int) -> int:
        bench = Bench(node(), seed=seed)
        (number,) = bench.submit(job(max_retries=1, retry_jitter="full", retry_backoff_us=100 * SECOND_US))
        bench.end(number, 1)
        return bench.entry(number).not_before_us

    delays = [second_start(seed) for seed in range(20)]
    assert delays == [second_start(seed) for seed in range(20)]
    assert all(0 <= delay <= 100 * SECOND_US for delay in delays)
    assert len(set(delays)) == 20


def test_no_attempt_starts_after_the_window() -> None:
    bench, number = failing(max_retries=9, retry_backoff_us=4 * SECOND_US, retry_window_us=10 * SECOND_US)
    fail_again_and_again(bench, number)
    assert starts_s(bench) == [0, 4]  # the next delay of 8 s would end after the window
    assert last_end(bench)[1].code == Code.RETRY_WINDOW


def test_an_attempt_may_start_at_the_very_end_of_the_window() -> None:
    bench, number = failing(max_retries=1, retry_backoff_us=4 * SECOND_US, retry_window_us=4 * SECOND_US)
    fail_again_and_again(bench, number)
    assert starts_s(bench) == [0, 4]


def test_a_job_that_waits_for_room_fails_when_the_window_closes() -> None:
    bench = Bench(node(gpus=1))
    (number,) = bench.submit(job(max_retries=1, retry_window_us=10 * SECOND_US))
    bench.submit(job("other"))
    bench.end(number, 1)
    bench.at(10)
    assert bench.last(ev.Ended).at_us == 10 * SECOND_US
    assert last_end(bench)[1].code == Code.RETRY_WINDOW


def test_losses_are_no_failures() -> None:
    bench = Bench(node("a", 1), node("b", 1))
    (number,) = bench.submit(job())
    bench.up(number)
    bench.end(number, None)
    assert bench.entry(number).attempt == 2
    assert bench.entry(number).retries == 0
    assert bench.entry(number).losses == 1
    ended = [r for r in bench.journal if isinstance(r, ev.AttemptEnded)]
    assert [(r.end, r.cause.code) for r in ended] == [(End.LOST, Code.EXIT_UNKNOWN)]


@pytest.mark.parametrize("most", [0, 1, 3])
def test_so_many_losses_are_survived(most: int) -> None:
    bench, number = failing(max_losses=most)
    fail_again_and_again(bench, number, None)
    assert len(starts_s(bench)) == most + 1
    assert last_end(bench)[1].code == Code.LOSSES_USED_UP


def test_what_could_not_start_is_not_tried_again() -> None:
    bench, number = failing(max_retries=5)
    bench.end(number, None, error="no such program: trian.py")
    assert last_end(bench)[0] == State.FAILED
    assert last_end(bench)[1].code == Code.START_FAILED
    assert "trian.py" in str(last_end(bench)[1].get("error"))


def test_a_retry_keeps_its_place_in_the_line() -> None:
    bench = Bench(node(gpus=1))
    (first,) = bench.submit(job("first", max_retries=1))
    bench.at(1)
    (second,) = bench.submit(job("second"))
    bench.at(1.5)
    (third,) = bench.submit(job("third"))
    bench.end(first, 1)
    assert bench.entry(second).held
    bench.at(4)
    bench.end(second)
    assert bench.entry(first).held, "it was submitted before the third"
    assert not bench.entry(third).held


def test_delays_beyond_any_clock_are_capped() -> None:
    spec: JobSpec = job(max_retries=200, retry_backoff_us=SECOND_US, retry_backoff_max_us=2 * SECOND_US)
    bench = Bench(node())
    (number,) = bench.submit(spec)
    fail_again_and_again(bench, number)
    assert len(starts_s(bench)) == 201


def ends_by_time_out(bench: Bench, number: JobId) -> None:
    bench.up(number)
    bench.pass_s(10)
    bench.end(number, 143)


def test_a_time_out_is_tried_again_only_where_it_is_named() -> None:
    bench, number = failing(max_retries=5, time_limit_us=10 * SECOND_US)
    ends_by_time_out(bench, number)
    assert last_end(bench)[1].code == Code.TIME_LIMIT

    bench, number = failing(max_retries=1, time_limit_us=10 * SECOND_US, retry_on=("timed_out",))
    ends_by_time_out(bench, number)
    assert [r.end for r in bench.all(ev.AttemptEnded)] == [End.TIMED_OUT]
    assert bench.entry(number).not_before_us == 12 * SECOND_US
    bench.at(12)
    ends_by_time_out(bench, number)
    assert last_end(bench)[1].code == Code.RETRIES_USED_UP
    assert last_end(bench)[1].get("limit_us") == 10 * SECOND_US


@pytest.mark.parametrize(
    ("retry_on", "exit_code", "tries"),
    [
        (("exit 75",), 75, 2),
        (("exit 75",), 76, 1),
        (("exit 64-78",), 78, 2),
        (("exit 64-78",), 63, 1),
        (("failed",), 137, 2),
        (("oom",), 137, 2),
        (("oom",), -9, 2),
        (("exit 137",), -9, 2),
        (("oom",), 1, 1),
        (("lost",), 1, 1),
        (("timed_out", "exit 1"), 1, 2),
    ],
)
def test_what_is_named_is_tried_again_and_nothing_else(retry_on: tuple[str, ...], exit_code: int, tries: int) -> None:
    bench, number = failing(max_retries=2, retry_on=retry_on)
    bench.end(number, exit_code)
    bench.pass_s(10)
    assert len(starts_s(bench)) == tries
    if tries == 1:
        assert last_end(bench)[1].code == Code.NOT_RETRIED
        assert last_end(bench)[1].get("exit_code") == exit_code


def test_a_start_that_failed_is_tried_again_where_it_is_named() -> None:
    bench, number = failing(max_retries=1, retry_on=("start_failed",))
    for _ in range(2):
        bench.end(number, None, error="no such image")
        bench.pass_s(10)
    assert last_end(bench)[1].code == Code.RETRIES_USED_UP
    assert last_end(bench)[1].get("error") == "no such image"


def test_a_cancel_ends_a_job_whose_time_out_would_be_tried_again() -> None:
    bench, number = failing(max_retries=3, time_limit_us=10 * SECOND_US, retry_on=("timed_out",))
    bench.up(number)
    bench.at(10)
    bench.step(Cancel(number))
    bench.end(number, 143)
    assert last_end(bench)[0] == State.CANCELLED


def test_a_cancel_changes_nothing_of_a_last_time_out() -> None:
    bench, number = failing(max_retries=0, time_limit_us=10 * SECOND_US, retry_on=("timed_out",))
    bench.up(number)
    bench.at(10)
    bench.step(Cancel(number))
    bench.end(number, 143)
    assert last_end(bench)[0] == State.FAILED


def test_an_end_for_lack_of_memory_is_told_by_the_engine_and_not_by_the_exit_code() -> None:
    bench, number = failing(max_retries=1, retry_on=("oom",), retry_backoff_us=0)
    bench.step(*(TaskIsGone(task, 1, oom=True) for task in bench.tasks(number)))
    assert len(starts_s(bench)) == 2
    bench.step(*(TaskIsGone(task, 1, oom=True) for task in bench.tasks(number)))
    assert last_end(bench)[1].code == Code.RETRIES_USED_UP
    assert "ran out of memory" in sentence(last_end(bench)[1])


def test_memory_that_ran_out_in_one_attempt_says_nothing_of_the_next() -> None:
    bench, number = failing(max_retries=2, retry_on=("oom",), retry_backoff_us=0)
    bench.step(*(TaskIsGone(task, 1, oom=True) for task in bench.tasks(number)))
    bench.end(number, 1)
    assert last_end(bench)[1].code == Code.NOT_RETRIED
