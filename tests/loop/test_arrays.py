"""Arrays: which of their jobs are made when, and how the whole ends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.loop.arrays import MOST_IN_LINE
from clearway.model import asks
from clearway.model import events as ev
from clearway.model.array import Array
from clearway.model.errors import ConflictError, NotFoundError
from clearway.model.fleet import PolicySpec
from clearway.model.ids import JobId
from clearway.model.reasons import Code
from clearway.model.states import End, State
from clearway.model.values import SECOND_US
from clearway.testing.builders import Bench, job, node


def array(many: int, at_once: int = 0, **words: Any) -> Any:
    return job("a", array=Array(((0, many - 1, 1),), at_once), **words)


def running(bench: Bench) -> list[int]:
    return sorted(number for number, entry in bench.world.jobs.items() if entry.held)


def test_as_many_run_as_fit_and_few_more_are_made() -> None:
    bench = Bench(node(gpus=4))
    (number,) = bench.submit(array(100_000))
    assert running(bench) == [number + 1, number + 2, number + 3, number + 4]
    assert len(bench.world.jobs) <= 1 + 4 + 4 + MOST_IN_LINE
    assert bench.entry(number).state == State.RUNNING


def test_the_next_takes_the_place_of_one_that_ended() -> None:
    bench = Bench(node(gpus=1))
    (number,) = bench.submit(array(3))
    for done in range(1, 4):
        assert running(bench) == [number + done]
        bench.end(JobId(number + done))
    assert [(r.job, r.state) for r in bench.all(ev.Ended)][-1] == (number, State.SUCCEEDED)


def test_numbers_behind_an_array_are_its_own() -> None:
    bench = Bench(node())
    first, second, third = bench.submit(job("x"), array(5), job("y"))
    assert (second - first, third - second) == (1, 6)
    assert bench.submit(job("z")) == (third + 1,)


def test_a_job_of_an_array_stands_before_what_was_submitted_after_it() -> None:
    bench = Bench(node(gpus=1), policy=PolicySpec(order=("fifo",)))
    (number,) = bench.submit(array(300))
    bench.at(1)
    (later,) = bench.submit(job("later"))
    for done in range(1, 301):
        assert later not in running(bench)
        bench.end(JobId(number + done))
    assert running(bench) == [later]


def test_a_place_for_each_is_taken_before_what_comes_later_may_have_it() -> None:
    bench = Bench(node(gpus=600), policy=PolicySpec(order=("fifo",)))
    number, *others = bench.submit(array(500), *(job(f"b{i}") for i in range(200)))
    assert len([one for one in running(bench) if number < one <= number + 500]) == 500
    assert len([one for one in running(bench) if one in others]) == 100


def test_so_many_at_once_and_no_more() -> None:
    bench = Bench(node(gpus=4))
    (number,) = bench.submit(array(5, 2))
    assert running(bench) == [number + 1, number + 2]
    bench.end(JobId(number + 2))
    assert running(bench) == [number + 1, number + 3]


def test_an_array_waits_for_what_it_comes_after() -> None:
    bench = Bench(node(gpus=4))
    first, number = bench.submit(job("first", gpus=4), array(2, after=("first",)))
    assert bench.waits(number)[0].code == Code.AFTER
    bench.end(first)
    assert running(bench) == [number + 1, number + 2]


def test_an_array_says_what_it_is_and_its_jobs_what_they_wait_for() -> None:
    bench = Bench(node(gpus=1))
    (number,) = bench.submit(array(2))
    assert bench.waits(number)[0].code == Code.ARRAY
    assert bench.waits(JobId(number + 2))[0].code == Code.NO_CAPACITY


def test_indices_that_failed_are_named_and_the_others_run_on() -> None:
    bench = Bench(node(gpus=4))
    (number,) = bench.submit(array(3))
    bench.end(JobId(number + 2), 1)
    assert running(bench) == [number + 1, number + 3]
    bench.end(JobId(number + 1))
    bench.end(JobId(number + 3))
    last = bench.last(ev.Ended)
    assert (last.job, last.state) == (number, State.FAILED)
    assert last.reason is not None
    assert (last.reason.code, last.reason.get("failed"), last.reason.get("named")) == (Code.INDICES, 1, "1")


def test_each_index_is_tried_again_by_itself() -> None:
    bench = Bench(node(gpus=4))
    (number,) = bench.submit(array(2, max_retries=1, retry_backoff_us=0))
    bench.end(JobId(number + 1), 1)
    assert bench.entry(JobId(number + 1)).attempt == 2
    assert bench.entry(JobId(number + 2)).attempt == 1


def test_a_cancelled_array_starts_nothing_more() -> None:
    bench = Bench(node(gpus=1))
    (number,) = bench.submit(array(1000))
    bench.step(asks.Cancel(number))
    bench.end(JobId(number + 1), 143)
    assert not bench.world.jobs
    assert bench.last(ev.Ended).job == number
    assert {bench.world.state.over.get(JobId(number + i)) for i in range(1001)} == {State.CANCELLED}
    assert bench.step(asks.Cancel(JobId(number + 900))).answers == [None]


def test_an_array_that_waits_is_cancelled_at_once() -> None:
    bench = Bench(node(gpus=1))
    bench.submit(job("first"))
    (number,) = bench.submit(array(10))
    bench.step(asks.Cancel(number))
    assert bench.last(ev.Ended).job == number
    assert bench.last(ev.Ended).state == State.CANCELLED


@pytest.mark.parametrize("position", [1, 2, 600])
def test_one_index_is_cancelled_whether_its_turn_has_come_or_not(position: int) -> None:
    bench = Bench(node(gpus=1))
    (number,) = bench.submit(array(600))
    bench.step(asks.Cancel(JobId(number + position)))
    for one in range(1, 601):
        if JobId(number + one) in bench.world.jobs:
            bench.end(JobId(number + one), 143 if one == position else 0)
    assert bench.world.state.over[JobId(number + position)] == State.CANCELLED
    assert (bench.last(ev.Ended).job, bench.last(ev.Ended).state) == (number, State.CANCELLED)


def test_a_held_array_lets_nothing_in_until_it_is_released() -> None:
    bench = Bench(node(gpus=1))
    (number,) = bench.submit(array(3))
    bench.step(asks.Hold(number, "ann"))
    bench.end(JobId(number + 1))
    assert running(bench) == []
    bench.step(asks.Release(number))
    assert running(bench) == [number + 2]
    assert isinstance(bench.step(asks.Release(number)).answers[0], ConflictError)


def test_what_is_asked_of_an_array_is_done_to_each_of_its_jobs() -> None:
    bench = Bench(node(gpus=2))
    (number,) = bench.submit(array(4))
    bench.up(JobId(number + 1))
    bench.up(JobId(number + 2))
    bench.step(asks.Change(number, ("priority",), priority=7))
    assert {bench.entry(JobId(number + i)).spec.priority for i in range(5)} == {7}
    bench.step(asks.Suspend(number))
    assert bench.entry(JobId(number + 1)).state == State.SUSPENDED
    bench.step(asks.Resume(number))
    bench.step(asks.Requeue(number, hold=True))
    assert {bench.entry(JobId(number + i)).state for i in (1, 2)} == {State.STOPPING}


def test_what_can_be_done_to_none_of_its_jobs_is_refused() -> None:
    bench = Bench(node(gpus=1))
    bench.submit(job("first"))
    (number,) = bench.submit(array(4))
    for ask in (asks.Suspend(number), asks.Resume(number), asks.Requeue(number)):
        assert isinstance(bench.step(ask).answers[0], ConflictError)
    assert isinstance(bench.step(asks.Cancel(JobId(number + 5))).answers[0], NotFoundError)


def test_a_deadline_ends_all_that_is_left() -> None:
    bench = Bench(node(gpus=1))
    (number,) = bench.submit(array(4, deadline_us=10 * SECOND_US, on_deadline="stop"))
    bench.end(JobId(number + 1))
    bench.at(10)
    assert [r.end for r in bench.of(JobId(number + 2), ev.Stopping)] == [End.TIMED_OUT]
    bench.end(JobId(number + 2), 143)
    assert (bench.last(ev.Ended).job, bench.last(ev.Ended).state) == (number, State.FAILED)


def test_a_start_deadline_is_met_by_the_first() -> None:
    bench = Bench(node(gpus=1))
    (number,) = bench.submit(array(4, start_deadline_us=10 * SECOND_US))
    bench.at(11)
    assert running(bench) == [number + 1]
    (late,) = bench.submit(array(2, start_deadline_us=10 * SECOND_US))
    bench.at(30)
    assert bench.world.state.over[late] == State.FAILED


@given(st.lists(st.sampled_from(["end", "fail", "cancel", "hold", "release", "whole"]), max_size=40), st.randoms())
def test_an_array_ends_with_its_last_job_and_a_journal_leads_to_the_same(steps: list[str], rng: Any) -> None:
    bench = Bench(node(gpus=3))
    (number,) = bench.submit(array(12, rng.choice([0, 2]), max_retries=rng.choice([0, 1]), retry_backoff_us=SECOND_US))
    for step in steps:
        one = JobId(number + 1 + rng.randrange(12))
        if step in ("end", "fail") and (held := running(bench)):
            bench.end(JobId(rng.choice(held)), int(step == "fail"))
        elif step == "whole" and rng.randrange(4) == 0:
            bench.step(asks.Cancel(number))
        elif step in ("cancel", "hold", "release"):
            ask: Any = {"cancel": asks.Cancel, "hold": asks.Hold, "release": asks.Release}[step]
            bench.step(ask(rng.choice([one, number]) if step != "cancel" else one))
        bench.pass_s(1)
        twin = bench.rebuilt()
        assert twin.jobs.keys() == bench.world.jobs.keys()
        assert all(twin.jobs[k].state == entry.state for k, entry in bench.world.jobs.items())
    for entry in list(bench.world.jobs.values()):
        if entry.holder is not None:
            bench.step(asks.Release(entry.id))
    while held := running(bench):
        bench.end(JobId(held[0]))
        bench.pass_s(2)
    assert not bench.world.jobs
    assert number in bench.world.state.over
