"""What is left of a running job."""

from __future__ import annotations

from clearway.forecast import remaining, remaining_us
from clearway.model.forecast import LEVELS, Forecast

MINUTE_US = 60 * 10**6
SAID = Forecast(tuple(level * MINUTE_US // 10 for level in LEVELS), 50 * MINUTE_US, "all runs")  # 0 to 100 minutes


def test_without_progress_it_is_the_forecast_for_what_has_run_so_long() -> None:
    assert remaining_us(SAID, 50 * MINUTE_US, 500) == 25 * MINUTE_US


def test_the_pace_speaks_the_more_the_further_it_is() -> None:
    """After 10 minutes; the forecast leaves 45, the pace 990, 90, 10 and nothing."""
    left = [remaining_us(SAID, 10 * MINUTE_US, 500, step, 100) // MINUTE_US for step in (1, 10, 50, 99, 100)]
    assert left == [54, 49, 27, 0, 0]
    assert remaining_us(SAID, 10 * MINUTE_US, 500, 100, 100) == 1


def test_the_interval_closes_as_the_end_comes() -> None:
    def width(step: int) -> int:
        return remaining_us(SAID, step * MINUTE_US, 900, step, 100) - remaining_us(
            SAID, step * MINUTE_US, 100, step, 100
        )

    assert width(10) > width(50) > width(90) > 0


def test_a_job_that_outlived_its_forecast_goes_by_its_pace() -> None:
    assert 90 * MINUTE_US < remaining_us(SAID, 500 * MINUTE_US, 500, 80, 100) < 125 * MINUTE_US


def test_it_never_falls_with_the_level_and_odd_progress_is_none() -> None:
    for step, total in ((0, 0), (3, 10), (10, 10), (11, 10), (-1, 10), (5, 0)):
        found = remaining(SAID, 30 * MINUTE_US, step, total)
        assert list(found) == sorted(found)
        assert found[0] >= 1
    assert remaining_us(SAID, MINUTE_US, 500, 11, 10) == remaining_us(SAID, MINUTE_US, 500)
