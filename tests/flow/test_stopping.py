"""Which trials are stopped early: by the median of others, at rungs, in brackets."""

from __future__ import annotations

from typing import Any

import pytest

from clearway.flow.search import SearchTrack
from clearway.flow.search_words import read_search
from clearway.flow.stopping import stops
from clearway.model.errors import InputError
from clearway.model.ids import JobId
from clearway.model.states import State


def search(stop: Any, **words: Any) -> SearchTrack:
    known = {"name": "X", "trials": 99, "space": {"x": {"from": 1, "to": 99}}, "job": {"run": "true"}, "stop": stop}
    return SearchTrack(read_search({**known, **words}))


def trial(track: SearchTrack, *values: float, first: int = 1) -> bool:
    """Enter a trial that reports values until it is stopped; return whether it was."""
    number = len(track.trials) + 1
    one = track.entered(JobId(number), "{}", number)
    for step, value in enumerate(values, first):
        track.reported(number, step, str(value))
        if stops(track, one):
            track.job_is(JobId(number), State.CANCELLED, stopped=True)
            return True
    track.job_is(JobId(number), State.SUCCEEDED)
    return False


def test_the_median_of_the_best_so_far_decides() -> None:
    track = search({"rule": "median", "min_trials": 3, "min_step": 2})
    assert not any(trial(track, *values) for values in ((5, 3, 1), (6, 4, 2), (9, 5, 3)))
    assert not trial(track, 99, 4, 2), "as good as the median of step 2; nobody looks before"
    assert trial(track, 1, 9, 9) is False, "its best so far is from step 1"
    assert trial(track, 7, 6, 0)
    assert (track.completed, track.stopped, track.failed) == (5, 1, 0)


def test_the_largest_may_be_wanted() -> None:
    track = search({"rule": "median", "min_trials": 1}, direction="maximize")
    assert not trial(track, 5)
    assert trial(track, 4)
    assert not trial(track, 6)


def test_at_each_rung_the_best_part_goes_on() -> None:
    track = search({"rule": "halving", "min_step": 1, "reduction": 3})
    assert not trial(track, *[5] * 9)
    assert trial(track, 6)
    assert not trial(track, 4, 6, 4, 9, 9, 9, 9, 9, 4), "steps between rungs are not looked at"
    assert trial(track, 3, 3, 4.5), "at the second rung one of two goes on"


def test_a_rung_that_was_passed_counts_at_the_next_report() -> None:
    track = search({"rule": "halving", "min_step": 4, "reduction": 2})
    assert not trial(track, 1, 1, first=5)
    assert trial(track, 2, first=7)


def test_brackets_begin_at_later_and_later_rungs() -> None:
    track = search({"rule": "hyperband", "max_step": 9}, trials=400, space={"x": {"from": 1, "to": 999}})
    stopped_at = {1: 0, 3: 0, 9: 0}
    for _ in range(200):
        number = len(track.trials) + 1
        if trial(track, *[number] * 9):  # each is worse than those before
            stopped_at[track.trials[-1].reports[-1][0]] += 1
    assert stopped_at[1] > stopped_at[3] > stopped_at[9] > 10


@pytest.mark.parametrize(
    ("stop", "said"),
    [
        ("mean", "one of median"), ({}, "stop"), ({"rule": "hyperband"}, "max_step"),
        ({"rule": "halving", "reduction": 1}, "reduction"),
        ({"rule": "median", "min_steps": 1}, "min_step"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(stop: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        search(stop)


def test_the_share_that_goes_on_counts_who_comes_last_too() -> None:
    track = search({"rule": "halving", "reduction": 3})
    for number, value in enumerate((9, 8, 7, 6, 1), 1):
        one = track.entered(JobId(number), "{}", number)
        track.reported(number, 1, str(value))
        track.job_is(one.job, State.SUCCEEDED)
    assert not trial(track, 2), "of six two go on, and it is the second"
    assert trial(track, 3)


def test_more_than_allowed_must_fail_before_a_search_does() -> None:
    track = search(None, max_failed=1)
    for number, failed in ((1, False), (2, True)):
        track.entered(JobId(number), "{}", number)
        track.job_is(JobId(number), State.FAILED)
        assert track.too_many_failed is failed
        assert track.wants_more() is not failed
