"""Who forecasts run times: told of every run that ended, asked about every job that enters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from clearway.model.forecast import Forecast
from clearway.model.needs import Took

if TYPE_CHECKING:
    from clearway.model.job import JobSpec


class Known(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What is known of a job before it runs.

    `milli_gpus` and `milli_cpus` are of the whole job, `limit_us` is the longest that an attempt may run, `asked_us`
    how long the user says it runs, `at_us` when it entered. `command` is one text.
    """

    user: str
    queue: str
    name: str
    command: str
    milli_gpus: int
    tasks: int
    limit_us: int | None
    asked_us: int | None
    at_us: int
    milli_cpus: int = 0


class Run(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A run that is over. `whole` is False where it was broken off: it would have run longer than `ran_us`.

    `said` is what had been forecast of it, if anything was; `at_us` when it ended. `took`: what its tasks took, by
    role, where anything measured it; `good`: it succeeded. It was the how manieth job to come, its `number`, of how
    many by its end.
    """

    known: Known
    ran_us: int
    at_us: int
    whole: bool = True
    said: Forecast | None = None
    took: tuple[Took, ...] = ()
    good: bool = False
    number: int = 1
    of: int = 1


class Forecaster(Protocol):
    """Forecasts run times, learning from one run after another.

    Deterministic in the order of calls, and far below a millisecond each. What it has learnt is not kept: whoever
    starts it anew teaches it the runs that it still knows, in their order.
    """

    def forecast(self, known: Known) -> Forecast:
        """Return how long a job will run from its start."""
        ...

    def learn(self, run: Run) -> None:
        """Take in a run that is over."""
        ...


def known_of(spec: JobSpec, at_us: int) -> Known:
    """Return what a job's words say of its run time."""
    tasks = sum(role.tasks for role in spec.roles)
    milli_cpus = sum(role.tasks * role.demand.cpus for role in spec.roles)
    return Known(
        spec.user, spec.queue, spec.name, " ".join(spec.run), spec.milli_gpus, tasks,
        spec.time_limit_us, spec.time_estimate_us, at_us, milli_cpus,
    )  # fmt: skip
