"""Jobs that hung on the end of others enter after these: as long after as their users thought then."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearway.model.ids import JobId
from clearway.model.job import JobSpec
from clearway.sim.arrivals import AfterThought, Arrivals
from clearway.sim.thinking import NOBODY, Thinking, thinking
from clearway.sim.truth import Truth

MINUTE = 60_000_000
MOST = 20 * MINUTE
Job = tuple[int, int, int]
"""User, submit and how long it took, in minutes."""


def thought(jobs: list[Job]) -> Thinking:
    users, at, took = (np.array(column, dtype=np.int64) for column in zip(*jobs, strict=True))
    return thinking(users, at * MINUTE, (at + took) * MINUTE, MOST)


def played(jobs: list[Job], takes: list[int | None]) -> list[int | None]:
    """Return when each job enters, in minutes, where each ends `takes` after that; None: it is refused."""
    entered: list[int | None] = [None] * len(jobs)
    order: list[int] = []
    listed = [(at * MINUTE, JobSpec(f"{i}"), Truth()) for i, (_, at, _) in enumerate(jobs)]
    source = AfterThought(listed, thought(jobs), lambda place, _spec, _truth: order.append(place))
    ends: list[tuple[int, int]] = []
    while True:
        next_us = source.next_us()
        moments = [at for at in (next_us, min(ends)[0] if ends else None) if at is not None]
        if not moments:
            return entered
        now_us = min(moments)
        for at, place in sorted(e for e in ends if e[0] <= now_us):
            ends.remove((at, place))
            source.ended(JobId(place), now_us)
        before = len(order)
        taken = source.take(now_us)
        for place in order[before:]:
            entered[place] = now_us // MINUTE
            lasts = takes[place]
            source.entered(None if lasts is None else JobId(place), now_us)
            if lasts is not None:
                ends.append((now_us + lasts * MINUTE, place))
        assert len(taken) == len(order) - before


def test_what_follows_an_end_within_the_time_of_thought_hangs_on_it() -> None:
    jobs = [(0, 0, 60), (0, 65, 10), (0, 100, 5), (1, 66, 5), (NOBODY, 67, 1)]
    found = thought(jobs)
    assert found.jobs == 1, "25 minutes after the second had ended its user had gone away"
    assert played(jobs, [60, 10, 5, 5, 1]) == [0, 65, 100, 66, 67]


@pytest.mark.parametrize(("first", "second"), [(10, 15), (60, 65), (200, 205)])
def test_a_shorter_or_a_longer_wait_moves_what_hangs_on_it(first: int, second: int) -> None:
    assert played([(0, 0, 60), (0, 65, 10)], [first, 10]) == [0, second]


def test_a_batch_moves_as_a_whole_and_waits_for_all_of_the_one_before() -> None:
    jobs = [(0, 0, 60), (0, 1, 40), (0, 70, 30), (0, 72, 5)]
    assert played(jobs, [5, 90, 1, 1]) == [0, 1, 101, 103]
    assert played(jobs, [5, 9, 1, 1]) == [0, 1, 20, 22], "read ahead of the list's own time"


def test_who_comes_back_while_something_runs_waited_for_nothing() -> None:
    jobs = [(0, 0, 500), (0, 100, 10)]
    assert thought(jobs).jobs == 0
    assert played(jobs, [1, 10]) == [0, 100]


def test_who_was_away_longer_comes_as_they_came() -> None:
    assert played([(0, 0, 60), (0, 81, 10)], [600, 10]) == [0, 81]


def test_a_refused_job_is_over_at_once_and_one_that_never_ends_holds_what_hangs_on_it() -> None:
    assert played([(0, 10, 60), (0, 75, 10)], [None, 10]) == [10, 15]
    source = AfterThought(
        [(0, JobSpec("a"), Truth()), (65 * MINUTE, JobSpec("b"), Truth())], thought([(0, 0, 60), (0, 65, 1)]), _quiet
    )
    source.take(0)
    source.entered(JobId(1), 0)
    assert source.next_us() is None


def _quiet(_place: int, _spec: JobSpec, _truth: Truth) -> None:
    pass


def test_a_list_as_it_is() -> None:
    source = Arrivals([(5, JobSpec("a"), Truth()), (5, JobSpec("b"), Truth()), (9, JobSpec("c"), Truth())])
    assert source.next_us() == 5
    assert [getattr(what, "name", "") for what, _ in source.take(8)] == ["a", "b"]
    assert source.next_us() == 9


JOBS = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 300), st.integers(0, 90)), min_size=1, max_size=25).map(
    lambda jobs: sorted(jobs, key=lambda job: job[1])
)


@settings(max_examples=150, deadline=None)
@given(JOBS)
def test_as_things_were_everything_enters_when_it_did(jobs: list[Job]) -> None:
    assert played(jobs, [took for _, _, took in jobs]) == [at for _, at, _ in jobs]


@settings(max_examples=150, deadline=None)
@given(JOBS, st.data())
def test_everything_enters_once_and_what_hangs_on_something_after_it(jobs: list[Job], data: st.DataObject) -> None:
    takes = data.draw(st.lists(st.integers(0, 200), min_size=len(jobs), max_size=len(jobs)))
    entered, found = played(jobs, list(takes)), thought(jobs)
    assert None not in entered
    for place in range(len(jobs)):
        batch = int(found.batches[place])
        on = int(found.after[batch])
        at = entered[place] or 0
        if on < 0:
            assert at == jobs[place][1]
            continue
        ends = [(entered[i] or 0) + takes[i] for i in range(len(jobs)) if found.batches[i] == on]
        behind = jobs[place][1] - int(found.begin_us[batch]) // MINUTE
        assert at == max(ends) + int(found.think_us[batch]) // MINUTE + behind
