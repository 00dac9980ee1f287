"""Scores of forecasts, worked out by hand, and the rivals beside which they stand."""

from __future__ import annotations

import math

import pytest

from clearway.forecast.rivals import UNKNOWN_US, Rivals
from clearway.forecast.scores import MONTH_US, scores
from clearway.model.forecast import LEVELS
from clearway.ports.forecaster import Known

EVEN = tuple(level * 10 for level in LEVELS)  # as likely to be anywhere from 0 to 10,000
SHARP = (1000,) * len(LEVELS)


def known(user: str = "ada", gpus: int = 1, asked_us: int | None = None) -> Known:
    return Known(user, "q", "n", "c", gpus * 1000, 1, None, asked_us, 0)


def test_runs_are_counted_inside_the_ends_of_each_interval() -> None:
    ran = [100, 999, 1000, 9000, 9001, 9750, 9751, 249]
    found = scores([EVEN] * len(ran), ran, [0] * len(ran))
    assert found.jobs == 8
    assert found.coverage == {"80": 25.0, "95": 62.5}
    assert found.below[LEVELS.index(100)] == pytest.approx(100 * 4 / 8)
    assert found.below[LEVELS.index(975)] == pytest.approx(100 * 7 / 8)
    assert found.width == pytest.approx(math.log(9))


def test_a_single_number_loses_half_its_distance() -> None:
    found = scores([SHARP, SHARP], [2000, 500], [0, 0])
    assert found.log_error == pytest.approx(math.log(2))
    assert found.pinball == pytest.approx(math.log(2) / 2, rel=0.01)
    assert (found.width, found.coverage["95"]) == (0, 0)


def test_months_with_many_runs_are_told_apart() -> None:
    ran, at = [1000] * 100 + [1001] * 100, [0] * 100 + [MONTH_US] * 100
    assert scores([SHARP] * 200, ran, at).months["80"] == (0, 100)


def test_rivals_say_what_was_over_when_they_were_asked() -> None:
    rivals = Rivals()
    assert set(rivals.say(known()).values()) == {(UNKNOWN_US,) * len(LEVELS)}
    for us in (10, 20, 60):
        rivals.learn(known(), us)
    rivals.learn(known("bob", gpus=2), 500)
    said = rivals.say(known(asked_us=99))
    assert {name: quantiles[0] for name, quantiles in said.items()} == {
        "last": 60, "median": 20, "group": 10, "estimate": 99,
    }  # fmt: skip
    assert said["group"][-1] == 60
    assert rivals.say(known("eve"))["last"][0] == 60, "the median of all where nothing is known of them"
