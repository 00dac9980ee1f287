"""Points by Optuna: in the space, the same from the same Draw, and better than chance."""

from __future__ import annotations

import math
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from clearway.flow.json_text import text_of, value_of
from clearway.flow.search import DRAWN, SearchTrack, draw_of, next_point
from clearway.flow.search_words import read_search
from clearway.learn.optuna_sampler import OptunaSampler
from clearway.model.errors import InputError
from clearway.model.ids import JobId
from clearway.model.states import State

if TYPE_CHECKING:
    from collections.abc import Callable

SPACE = {"x": {"from": -5.0, "to": 5.0}, "n": {"from": -20, "to": 20}, "kind": ["a", 1, None]}


def search(sampler: str, **words: Any) -> SearchTrack:
    known = {"name": "X", "trials": 40, "space": SPACE, "sampler": sampler, "job": {"run": "true"}}
    return SearchTrack(read_search({**known, **words}))


def loss(point: dict[str, Any]) -> float:
    return float((point["x"] - 1) ** 2 + (point["n"] / 4 - 1) ** 2 + (point["kind"] != "a"))


def run(track: SearchTrack, many: int, draw: Callable[[SearchTrack], str], side_by_side: int = 1) -> list[float]:
    """Run trials, so many at a time, of which every seventh fails; return what they are worth."""
    found = []
    for n in range(1, many + 1):
        point = draw(track)
        track.entered(JobId(n), point, -1)
        if len(track.live) >= side_by_side:
            job, trial = next(iter(track.live.items()))
            found.append(loss(value_of(trial.point)))
            state = State.FAILED if job % 7 == 0 else State.SUCCEEDED
            track.job_is(job, state, text_of("loss", found[-1]))
    return found


def drawn(track: SearchTrack) -> str:
    return OptunaSampler().draw(draw_of(track))


def test_a_gaussian_process_names_what_it_needs() -> None:
    assert OptunaSampler().lacks("gp") == ("" if find_spec("torch") else "torch")
    assert not any(OptunaSampler().lacks(sampler) for sampler in DRAWN if sampler != "gp")


NEEDS_TORCH = pytest.mark.skipif(not find_spec("torch"), reason="torch is not installed")


@pytest.mark.parametrize("sampler", [pytest.param(one, marks=NEEDS_TORCH if one == "gp" else ()) for one in DRAWN])
def test_points_lie_in_the_space_and_follow_from_what_was_told(sampler: str) -> None:
    track = search(sampler, seed=5)
    run(track, 20, drawn, side_by_side=3)
    points = [value_of(trial.point) for trial in track.trials]
    for point in points:
        assert list(point) == sorted(SPACE)
        assert -5 <= point["x"] <= 5
        assert isinstance(point["n"], int)
        assert -20 <= point["n"] <= 20
        assert point["kind"] in ("a", 1, None)
    again = search(sampler, seed=5)
    run(again, 20, drawn, side_by_side=3)
    assert [trial.point for trial in again.trials] == [trial.point for trial in track.trials]
    other = search(sampler, seed=6)
    run(other, 3, drawn)
    assert [trial.point for trial in other.trials] != [trial.point for trial in track.trials[:3]]


@pytest.mark.parametrize("sampler", ["tpe", "cmaes"])
def test_it_comes_nearer_than_chance(sampler: str) -> None:
    better = 0
    for seed in range(5):
        learned = min(run(search(sampler, seed=seed), 40, drawn))
        chance = min(run(search("random", seed=seed), 40, lambda track: next_point(track).text))
        better += learned < chance
    assert better >= 4


def test_the_largest_can_be_wanted() -> None:
    track = search("tpe", seed=1, direction="maximize", space={"x": {"from": 0.0, "to": 1.0}})
    for n in range(1, 31):
        track.entered(JobId(n), drawn(track), -1)
        x = value_of(track.trials[-1].point)["x"]
        track.job_is(JobId(n), State.SUCCEEDED, text_of("x", math.sin(3 * x)))
    late = [value_of(trial.point)["x"] for trial in track.trials[20:]]
    assert sum(abs(x - math.pi / 6) < 0.2 for x in late) >= 6


def test_cmaes_needs_two_ranges() -> None:
    with pytest.raises(InputError, match="at least two ranges"):
        search("cmaes", space={"x": {"from": 0, "to": 1}, "y": [1, 2]})


def test_qmc_goes_evenly_over_the_space() -> None:
    track = search("qmc", seed=3, space={"x": {"from": 0.0, "to": 1.0}})
    for n in range(1, 17):
        track.entered(JobId(n), drawn(track), -1)
        track.job_is(JobId(n), State.SUCCEEDED, "1")
    found = sorted(value_of(trial.point)["x"] for trial in track.trials)
    assert max(b - a for a, b in pairwise(found)) < 0.2
