"""A forecast is read at a level, and anew for what has run for a while."""

from __future__ import annotations

from clearway.model.forecast import LEVELS, Forecast

EVEN = Forecast(tuple(level * 1000 for level in LEVELS), 500_000, "fleet")


def test_between_two_levels_it_is_straight() -> None:
    assert (EVEN.at(500), EVEN.at(550), EVEN.at(1), EVEN.at(999)) == (500_000, 550_000, 25_000, 975_000)


def test_what_has_run_for_a_while_is_judged_by_what_is_left() -> None:
    assert EVEN.given(0, 500) == EVEN.at(500)
    assert EVEN.given(500_000, 500) == 750_000


def test_what_outlives_its_forecast_ends_later_than_now() -> None:
    assert all(EVEN.given(us, level) > us for us in range(0, 3_000_000, 7_919) for level in (100, 500, 900))


def test_equal_quantiles_are_no_trouble() -> None:
    sure = Forecast((60_000_000,) * len(LEVELS), 60_000_000, "user")
    assert (sure.at(900), sure.given(60_000_000, 500)) == (60_000_000, 66_000_000)
