from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from clearway.forecast.load.models import MODELS
from clearway.forecast.load.series import Series
from clearway.model.errors import InputError
from clearway.testing.load_models import DAY, STEP_S, LoadModelSuite, days


class TestPersistence(LoadModelSuite):
    maker = "clearway.forecast.load.naive:Persistence"


class TestSameTimeYesterday(LoadModelSuite):
    maker = "clearway.forecast.load.naive:SameTimeYesterday"


class TestDailyProfile(LoadModelSuite):
    maker = "clearway.forecast.load.profile:DailyProfile"


class TestSeasonalAr(LoadModelSuite):
    maker = "clearway.forecast.load.seasonal_ar:SeasonalAr"


class TestLinear(LoadModelSuite):
    maker = "clearway.forecast.load.linear:Linear"


class TestBoosted(LoadModelSuite):
    maker = "clearway.learn.load_boosted:Boosted"


if importlib.util.find_spec("torch") is not None:  # large, and so not among what tests bring

    class TestLstm(LoadModelSuite):
        maker = "clearway.learn.load_networks:lstm"

    class TestTransformer(LoadModelSuite):
        maker = "clearway.learn.load_networks:transformer"


def test_yesterday_is_the_value_a_day_before_what_is_forecast() -> None:
    series = Series("load", np.arange(4.0 * DAY), STEP_S)
    (yesterday,) = [model for model in MODELS if model.name == "yesterday"]
    found = yesterday.fit(series, (6, DAY, DAY + 6)).points(series, np.array([3 * DAY]))
    assert found.tolist() == [[2 * DAY + 6, 3 * DAY, 2 * DAY + 6]]


@pytest.mark.parametrize("name", ["profile", "seasonal-ar", "ridge"])
def test_a_season_is_learned(name: str) -> None:
    series = Series("load", days(10), STEP_S)
    (model,) = [model for model in MODELS if model.name == name]
    origins = np.arange(7 * DAY, 10 * DAY - 12)
    found = model.fit(series.until(7 * DAY), (12,)).points(series, origins)[:, 0]
    came, stays = series.values[origins + 12], series.values[origins]
    assert np.abs(found - came).mean() < 0.3 * np.abs(stays - came).mean()


def test_a_rate_has_no_zeros() -> None:
    with pytest.raises(InputError, match="above 0"):
        Series("load", np.array([1.0, 0.0]), 60, positive=True)


def test_a_row_beside_for_each_step() -> None:
    with pytest.raises(InputError, match="a row for each of the 3 steps"):
        Series("load", np.ones(3), 60, beside=np.ones((2, 1)))


def test_a_horizon_below_a_step_has_no_steps() -> None:
    series = Series("load", np.ones(10), 600)
    assert [series.steps(s) for s in (300, 600, 1800, 86_400)] == [None, 1, 3, 144]
