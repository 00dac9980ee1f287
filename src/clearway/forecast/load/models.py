"""The protocol of models of load, and the models that need nothing but NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from clearway.forecast.load.linear import Linear
from clearway.forecast.load.naive import Persistence, SameTimeYesterday
from clearway.forecast.load.profile import DailyProfile
from clearway.forecast.load.seasonal_ar import SeasonalAr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.forecast.load.series import Floats, Ints, Series


class Fitted(Protocol):
    """What a model has learned of one series."""

    def points(self, series: Series, origins: Ints) -> Floats:
        """Return a row for each origin, with the middle (median) of the value at each horizon that it was fitted for.

        An origin is the number of the last step that is known: a row may depend on what came up to it, and on nothing
        after it, though `series` goes on. Every point is a finite number.
        """
        ...


class LoadModel(Protocol):
    """A model of load. Its own intervals are not asked for: they come from its errors in the past.

    - The same past gives the same model, in every process: chance has a fixed seed.
    - Gaps (NaN), a series that never moves, and one that is only a few steps long are series too. Where there is too
      little to learn from, it predicts that things stay as they are.
    """

    @property
    def name(self) -> str:
        """How it is called where it is chosen."""
        ...

    def fit(self, past: Series, horizons: Sequence[int]) -> Fitted:
        """Learn from a past, to predict so many steps ahead."""
        ...


MODELS: tuple[LoadModel, ...] = (Persistence(), SameTimeYesterday(), DailyProfile(), SeasonalAr(), Linear())
"""Always there. The first two are what the others have to beat."""
