"""The behaviour of every model of load, as a test class: derive one, say how yours is made, and pytest runs it.

class TestMine(LoadModelSuite):
    maker = "my_package.load:MyModel"  # called without arguments
"""

# ruff: noqa: S101  a published suite asserts as any test does

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from clearway.forecast.load.series import Series

if TYPE_CHECKING:
    from clearway.forecast.load.models import LoadModel
    from clearway.forecast.load.series import Floats

STEP_S = 1800
DAY = 48
HORIZONS = (1, 6, DAY)


def days(count: int, seed: int = 1) -> Floats:
    """Return a load with a daily season, a little trend and noise."""
    at = np.arange(count * DAY)
    noise = np.random.default_rng(seed).normal(0, 3, len(at))
    return np.maximum(60 + 30 * np.sin(2 * np.pi * at / DAY) + at / 50 + noise, 1.0)


class LoadModelSuite:
    """What every model does. `maker` is `module:callable`; the callable takes nothing."""

    maker: ClassVar[str]

    def made(self) -> LoadModel:
        """Make a model."""
        module, _, name = self.maker.partition(":")
        model: LoadModel = getattr(importlib.import_module(module), name)()
        return model

    def forecast(self, series: Series, learned: int | None = None) -> Floats:
        """Fit on the first so many steps, and forecast from each later one."""
        begin = len(series) // 2 if learned is None else learned
        fitted = self.made().fit(series.until(begin), HORIZONS)
        return fitted.points(series, np.arange(begin, len(series), dtype=np.int64))

    def test_it_has_a_name(self) -> None:
        """It has a name."""
        assert self.made().name

    @pytest.mark.parametrize("positive", [False, True])
    def test_a_row_for_each_origin_and_a_column_for_each_horizon(self, positive: bool) -> None:  # noqa: FBT001 - a case
        """Each origin has its row, and each horizon its column of finite numbers."""
        found = self.forecast(Series("load", days(6), STEP_S, positive=positive))
        assert found.shape == (3 * DAY, len(HORIZONS))
        assert np.isfinite(found).all()
        assert not positive or (found > 0).all()

    def test_the_same_past_gives_the_same_forecast(self) -> None:
        """The same past gives the same forecast."""
        series = Series("load", days(6), STEP_S)
        again = Series("load", days(6), STEP_S)
        assert np.array_equal(self.forecast(series), self.forecast(again))

    def test_nothing_after_an_origin_is_looked_at(self) -> None:
        """What comes after an origin changes nothing at it."""
        values = days(6)
        changed = values.copy()
        changed[5 * DAY :] = 1000.0
        before = self.forecast(Series("load", values, STEP_S))[: 2 * DAY]
        assert np.array_equal(before, self.forecast(Series("load", changed, STEP_S))[: 2 * DAY])

    @pytest.mark.parametrize("learned", [0, 1, 10, DAY + 1])
    def test_a_short_past_is_one_too(self, learned: int) -> None:
        """A past of a few steps is borne."""
        assert np.isfinite(self.forecast(Series("load", days(3), STEP_S), learned)).all()

    def test_gaps_are_borne(self) -> None:
        """Gaps are borne, also at the beginning."""
        values = days(6)
        values[::7] = np.nan
        values[:20] = np.nan
        values[100:140] = np.nan
        assert np.isfinite(self.forecast(Series("load", values, STEP_S))).all()

    @pytest.mark.parametrize("value", [0.0, 5.0])
    def test_what_never_moves_stays_where_it_is(self, value: float) -> None:
        """What never moved stays where it is."""
        found = self.forecast(Series("load", np.full(6 * DAY, value), STEP_S))
        assert np.allclose(found, value, atol=1e-6)

    def test_what_is_known_beside_is_borne(self) -> None:
        """Columns beside the values are borne."""
        series = Series("load", days(6), STEP_S)
        beside = np.stack([np.roll(series.values, 1), np.zeros(len(series))], axis=1)
        assert np.isfinite(self.forecast(replace(series, beside=beside))).all()
