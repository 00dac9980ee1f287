"""How long jobs are forecast to run, and what the rules make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.model.events import Progressed
    from clearway.model.forecast import Forecast
    from clearway.model.ids import JobId
    from clearway.model.job import JobSpec


class Forecasts:
    """The forecasts of jobs that are not over, as they were before they ran, and what running attempts told since.

    `level` is the chance, in thousandths, with which a job is to be over when it is expected to be; 0 where the rules
    go by what users say. A job without a forecast goes by what its user says.
    """

    __slots__ = ("level", "progressed", "said")

    def __init__(self, level: int = 0) -> None:
        """Begin without any."""
        self.said: dict[JobId, Forecast] = {}
        self.progressed: dict[JobId, Progressed] = {}
        self.level = level

    def of(self, job: JobId) -> Forecast | None:
        """Return the forecast by which a job is decided about, None where it goes by what its user says."""
        return self.best(job) if self.level else None

    def best(self, job: JobId) -> Forecast | None:
        """Return the newest forecast of a job, whoever is believed: what its attempt has told included."""
        told = self.progressed.get(job)
        return self.said.get(job) if told is None else told.forecast

    def bound_us(self, job: JobId, spec: JobSpec) -> int | None:
        """Return how long a job runs at most, as far as plans count on it; None where nobody knows."""
        found = self.of(job)
        return spec.estimate_us if found is None else _within(found.at(self.level), spec)

    def mean_us(self, job: JobId, spec: JobSpec) -> int | None:
        """Return how long a job runs on average; None where nobody knows."""
        found = self.of(job)
        return spec.estimate_us if found is None else _within(found.mean_us, spec)

    def after(self, job: JobId, ran_us: int, now_ran_us: int) -> int | None:
        """Return how long a job runs that was expected to run `ran_us` and has run longer than that.

        Each time that it overruns, the same chance is taken anew, given how long it has run by then: so what is
        expected changes at few moments, and does not hang on who looked when. None where it has no forecast.
        """
        found = self.of(job)
        while found is not None and ran_us <= now_ran_us:
            ran_us = found.given(ran_us, self.level)
        return None if found is None else ran_us


def _within(us: int, spec: JobSpec) -> int:
    return us if spec.time_limit_us is None else min(us, spec.time_limit_us)
