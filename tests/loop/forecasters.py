"""Forecasters that know what a test tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model.forecast import LEVELS, Forecast
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from clearway.ports.forecaster import Known, Run


def sure(seconds: int) -> Forecast:
    """Return a forecast that knows exactly."""
    return Forecast((seconds * SECOND_US,) * len(LEVELS), seconds * SECOND_US, "told")


def even(seconds: int) -> Forecast:
    """Return a forecast in which every run time from 0 on is as likely as any other; the median is `seconds`."""
    return Forecast(tuple(level * seconds * SECOND_US // 500 for level in LEVELS), seconds * SECOND_US, "told")


class Told:
    """Forecasts by the name of a job; what nothing is told of runs a minute."""

    def __init__(self, **said: Forecast) -> None:
        """Know these."""
        self.said = said
        self.asked: list[Known] = []
        self.learnt: list[Run] = []

    def forecast(self, known: Known) -> Forecast:
        """Return what it was told."""
        self.asked.append(known)
        return self.said.get(known.name, sure(60))

    def learn(self, run: Run) -> None:
        """Remember it."""
        self.learnt.append(run)
