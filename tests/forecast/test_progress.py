"""What is left of a running job, by its forecast and by how far it says that it is."""

from __future__ import annotations

from clearway.forecast import Told, informed, remaining
from clearway.model.forecast import HALF, LEVELS, Forecast

MINUTE_US = 60 * 10**6
SAID = Forecast(tuple(level * MINUTE_US // 10 for level in LEVELS), 50 * MINUTE_US, "test")
"""Evenly between nothing and a hundred minutes."""
MEDIAN, LOW, HIGH = LEVELS.index(HALF), LEVELS.index(100), LEVELS.index(900)


def test_without_progress_it_is_the_forecast_of_what_has_run_so_long() -> None:
    assert remaining(SAID, Told(0, 0, 50 * MINUTE_US))[MEDIAN] == 25 * MINUTE_US
    assert remaining(SAID, Told(11, 10, MINUTE_US)) == remaining(SAID, Told(0, 0, MINUTE_US)), "more than all"
    assert remaining(None, Told(0, 10, MINUTE_US)) == ()


def test_a_pace_counts_more_than_a_wide_forecast_and_less_than_a_narrow_one() -> None:
    narrow = Forecast(tuple((59 * 1000 + level * 2) * MINUTE_US // 1000 for level in LEVELS), 60 * MINUTE_US, "test")
    told = Told(20, 100, 40 * MINUTE_US)  # by its pace 160 minutes are left
    assert 40 * MINUTE_US < remaining(SAID, told)[MEDIAN] < 60 * MINUTE_US, "by the forecast 30"
    assert remaining(narrow, told)[MEDIAN] < 22 * MINUTE_US
    assert remaining(None, told)[MEDIAN] == 160 * MINUTE_US


def test_the_interval_closes_as_the_work_gets_done() -> None:
    def width(step: int) -> int:
        found = remaining(SAID, Told(step, 100, step * MINUTE_US))
        return found[HIGH] - found[LOW]

    assert width(10) > width(50) > width(90) > 0
    assert remaining(SAID, Told(100, 100, 10 * MINUTE_US))[MEDIAN] < MINUTE_US


def test_the_pace_is_that_since_it_went_on() -> None:
    """A job that goes on at step 500 of 1000 has not done 500 steps in a minute."""
    told = Told(510, 1000, 11 * MINUTE_US, 500, MINUTE_US)
    assert remaining(None, told)[MEDIAN] == 490 * MINUTE_US
    assert not Told(500, 1000, MINUTE_US, 500, MINUTE_US).says


def test_it_rises_and_is_at_least_a_microsecond() -> None:
    for step, total in ((0, 0), (1, 100), (50, 100), (100, 100)):
        found = remaining(SAID, Told(step, total, 30 * MINUTE_US))
        assert found[0] >= 1
        assert sorted(found) == list(found)


def test_as_a_forecast_it_holds_nothing_shorter_than_what_has_passed() -> None:
    found = informed(SAID, Told(50, 100, 30 * MINUTE_US), 45 * MINUTE_US)
    assert found.quantiles[0] > 45 * MINUTE_US
    assert abs(found.given(45 * MINUTE_US, HALF) - found.at(HALF)) < MINUTE_US
