"""Points: every one at most once, the same from the same seed, spread over the space."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.flow.json_text import value_of
from clearway.flow.search import AHEAD, SearchTrack, count, next_point, worth
from clearway.flow.search_words import read_search
from clearway.model.errors import InputError, NotYetError
from clearway.model.ids import JobId
from clearway.model.states import State
from clearway.sim.search_words import read_entry


def search(**words: Any) -> SearchTrack:
    return SearchTrack(read_search({"name": "X", "trials": 5, "space": {"x": [1, 2]}, "job": {"run": "true"}, **words}))


def points(track: SearchTrack, many: int) -> list[Any]:
    found = []
    for n in range(many):
        point = next_point(track)
        track.entered(JobId(n + 1), *point)
        found.append(value_of(point.text))
    return found


def test_a_grid_goes_through_every_point_in_order() -> None:
    track = search(sampler="grid", space={"x": ["a", "b"], "y": {"from": 1, "to": 3}})
    assert points(track, 6) == [{"x": x, "y": y} for x in "ab" for y in (1, 2, 3)]
    assert track.exhausted


@given(st.integers(0, 2**53), st.integers(1, 30), st.integers(1, 4))
def test_random_takes_each_point_once_until_there_is_none(seed: int, size: int, other: int) -> None:
    track = search(seed=seed, space={"x": {"from": 1, "to": size}, "y": list(range(other))})
    found = points(track, size * other)
    assert len({(p["x"], p["y"]) for p in found}) == size * other == count(track.spec)
    assert track.exhausted
    again = search(seed=seed, space={"x": {"from": 1, "to": size}, "y": list(range(other))})
    assert points(again, size * other) == found


def test_random_spreads_over_the_space() -> None:
    found = [p["x"] for p in points(search(seed=3, space={"x": {"from": 0, "to": 999}}), 200)]
    assert {x // 100 for x in found} == set(range(10))
    real = [p["x"] for p in points(search(seed=3, space={"x": {"from": 0.0, "to": 1.0}}), 200)]
    assert all(0 <= x < 1 for x in real)
    assert {int(x * 10) for x in real} == set(range(10))


def test_never_more_trials_than_are_wanted() -> None:
    track = search(trials=3, parallel=2, space={"x": {"from": 1, "to": 9}})
    track.entered(JobId(1), "{}", 0)
    track.entered(JobId(2), "{}", 1)
    assert not track.wants_more()
    track.job_is(JobId(1), State.SUCCEEDED)
    assert track.wants_more()
    track.entered(JobId(3), "{}", 2)
    track.job_is(JobId(2), State.SUCCEEDED)
    assert not track.wants_more()
    assert track.came_to() is None
    track.job_is(JobId(3), State.FAILED)
    assert track.wants_more()


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({"trials": 0}, "trials"), ({"parallel": 0}, "parallel"), ({"space": {}}, "space"),
        ({"space": {"x": []}}, "space.x"),
        ({"space": {"x": {"from": 2, "to": 1}}}, "space.x"), ({"space": {"x": 3}}, "space.x"),
        ({"sampler": "guess"}, "sampler"), ({"sampler": "grid", "space": {"x": {"from": 0.5, "to": 1}}}, "sampler"),
        ({"space": {"x": {"from": True, "to": 1}}}, "from"), ({"job": 3}, "job"),
    ],
)  # fmt: skip
def test_what_is_refused(words: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        search(**words)
    assert caught.value.field == field


def test_brute_force_tries_every_point_once_in_an_order_of_its_seed() -> None:
    space = {"x": {"from": 1, "to": 9}}
    found = [[p["x"] for p in points(search(sampler="bruteforce", seed=seed, space=space), 9)] for seed in (1, 2)]
    assert [sorted(one) for one in found] == [list(range(1, 10))] * 2
    assert found[0] != found[1]
    with pytest.raises(InputError, match="bruteforce"):
        search(sampler="bruteforce", space={"x": {"from": 0.5, "to": 1}})


def test_a_scenario_has_no_samplers_that_learn() -> None:
    with pytest.raises(NotYetError, match="sampler"):
        read_entry({"name": "X", "trials": 5, "space": {"x": [1, 2]}, "job": {}, "sampler": "tpe"}, lambda _: {})


@pytest.mark.parametrize(
    ("result", "value"),
    [("5", "5"), ("1e308", "1e308"), ("9" * 500, ""), ("-" + "9" * 500, ""), ("true", ""), ('"1"', ""), ("null", "")],
)
def test_only_a_number_that_can_be_reckoned_with_is_worth_anything(result: str, value: str) -> None:
    assert worth(search().spec, result) == value


def test_no_more_trials_are_jobs_at_once_than_a_controller_bears() -> None:
    track = search(trials=100_000, parallel=100_000, space={"x": {"from": 1, "to": 1_000_000}})
    while track.wants_more():
        track.entered(JobId(len(track.trials) + 1), "{}", len(track.trials))
    assert len(track.live) == AHEAD
