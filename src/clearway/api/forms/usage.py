"""What was held and used: the timeline, waste, budgets, accounts."""

from __future__ import annotations

from typing import Annotated

from clearway.api.forms.base import Form, Moment, says
from clearway.api.forms.work import Booking  # noqa: TC001  msgspec reads the annotations while the program runs


class Tables(Form):
    """Texts that the numbers in `bars` stand for."""

    names: Annotated[list[str], says("names of jobs")]
    queues: Annotated[list[str], says("names of queues")]
    nodes: Annotated[list[str], says("names of nodes")]
    devices: Annotated[list[list[int]], says("numbers of devices")]
    ends: Annotated[list[str], says("how attempts ended")]
    causes: Annotated[list[str], says("codes of reasons")]


class Columns(Form):
    """One entry a bar in each column; a bar is a task."""

    job: Annotated[list[int], says("the job's number")]
    name: Annotated[list[int], says("place in `names`")]
    queue: Annotated[list[int], says("place in `queues`")]
    attempt: Annotated[list[int], says("number of the attempt")]
    node: Annotated[list[int], says("place in `nodes`")]
    devices: Annotated[list[int], says("place in `devices`")]
    share: Annotated[list[int], says("thousandths of each device")]
    from_: Annotated[list[int], says("milliseconds since 1970")]
    to: Annotated[list[int], says("milliseconds since 1970; -1: it goes on")]
    end: Annotated[list[int], says("place in `ends`; -1: none")]
    cause: Annotated[list[int], says("place in `causes`; -1: none")]


class Promise(Form):
    """A reservation: what is promised to a job that waits."""

    job: Annotated[int, says("its number")]
    name: Annotated[str, says("its name")]
    queue: Annotated[str, says("the queue it is in")]
    node: Annotated[str, says("where it is to start")]
    devices: Annotated[list[int], says("numbers of the devices")]
    share: Annotated[int, says("thousandths of each device")]
    from_: Annotated[int, says("when at the latest, in milliseconds since 1970")]


class Timeline(Form):
    """Who held what, in columns."""

    from_: Annotated[int, says("milliseconds since 1970")]
    to: Annotated[int, says("milliseconds since 1970")]
    now: Annotated[int, says("the controller's clock, in milliseconds since 1970")]
    since: Annotated[int, says("before this moment bars may be missing; milliseconds since 1970")]
    left_out: Annotated[int, says("so many bars, the shortest, are left out")]
    tables: Annotated[Tables, says("texts that the numbers stand for")]
    bars: Annotated[Columns, says("who held what")]
    reservations: Annotated[list[Promise], says("what is promised, the first one first")]
    bookings: Annotated[list[Booking], says("what is booked")]


class Held(Form):
    """What a tenant held in a queue."""

    tenant: Annotated[str, says("the tenant; empty: none")]
    queue: Annotated[str, says("the queue")]
    gpu_hours: Annotated[float, says("GPU-hours that were held")]
    measured_gpu_hours: Annotated[float, says("GPU-hours of these of which the real use is known")]
    used_gpu_hours: Annotated[float | None, says("GPU-hours of these in which the devices worked")]
    idle_gpu_hours: Annotated[float | None, says("GPU-hours of these in which they did not")]
    over_asked_gpu_hours: Annotated[float | None, says("GPU-hours of devices on which a task never worked at all")]
    over_asked_cost: Annotated[float | None, says("money for these")]
    cost: Annotated[float | None, says("money for what was held; null where no node has a price")]
    idle_cost: Annotated[float | None, says("money for what was held and idle")]


class FreeNow(Form):
    """What is free now."""

    free_gpus: Annotated[float, says("GPUs that may be given away")]
    fragmented_gpus: Annotated[float, says("GPUs of these that are of no use to those who wait for GPUs")]
    lacking_jobs: Annotated[int, says("how many jobs wait for GPUs")]


class IdleJob(Form):
    """A job whose devices all do nothing."""

    job: Annotated[int, says("its number")]
    name: Annotated[str, says("its name")]
    queue: Annotated[str, says("the queue it is in")]
    tenant: Annotated[str, says("its tenant; empty: none")]
    user: Annotated[str, says("whose it is")]
    gpus: Annotated[float, says("GPUs that it holds")]
    since: Annotated[Moment, says("since when they do nothing")]
    idle_gpu_hours: Annotated[float, says("GPU-hours since then")]
    cost: Annotated[float | None, says("money for these; null where no node has a price")]
    gives_way_at: Annotated[Moment | None, says("when the policy has it give way; null: never")]


class Budget(Form):
    """How a budget stands in its present period."""

    name: Annotated[str, says("its name")]
    tenant: Annotated[str | None, says("the tenant whose work it counts")]
    queue: Annotated[str | None, says("the queue whose work it counts")]
    period: Annotated[str, says("day, week or month")]
    until: Annotated[Moment, says("when the next period begins")]
    gpu_hours: Annotated[float, says("GPU-hours that were held in it")]
    most_gpu_hours: Annotated[float | None, says("GPU-hours that it allows; null: any")]
    cost: Annotated[float, says("money that was spent in it")]
    most_cost: Annotated[float | None, says("money that it allows; null: any")]
    used_up: Annotated[bool, says("nothing more starts on it")]


class Budgets(Form):
    """All budgets."""

    budgets: Annotated[list[Budget], says("by name")]


class Waste(Form):
    """What was held, what of it idled, and what is free though jobs lack it."""

    from_: Annotated[Moment, says("the time begins")]
    to: Annotated[Moment, says("the time ends")]
    since: Annotated[Moment, says("before this moment something may be missing")]
    measured: Annotated[bool, says("of some of it the real use is known")]
    why_not: Annotated[str | None, says("why it is not measured, as a sentence")]
    held: Annotated[list[Held], says("by tenant and queue")]
    now: Annotated[FreeNow, says("what is free now")]
    idle: Annotated[list[IdleJob], says("jobs whose devices do nothing, those that waste most first")]
    budgets: Annotated[list[Budget], says("how each budget stands")]


class Account(Form):
    """What one tenant, user or queue came to in a time."""

    name: Annotated[str, says("its name")]
    gpu_hours: Annotated[float, says("GPU-hours that were held")]
    lost_gpu_hours: Annotated[float, says("GPU-hours of attempts that did not succeed")]
    measured_gpu_hours: Annotated[float, says("GPU-hours of which the real use is known")]
    used_gpu_hours: Annotated[float | None, says("GPU-hours of these in which the devices worked")]
    over_asked_gpu_hours: Annotated[float | None, says("GPU-hours for which a task had no use at all")]
    over_asked_cost: Annotated[float | None, says("money for these")]
    cost: Annotated[float, says("money, by the prices of the nodes")]
    starts: Annotated[int, says("how many attempts started")]
    mean_wait: Annotated[float | None, says("seconds that they waited, in the mean")]
    succeeded: Annotated[int, says("jobs that succeeded")]
    failed: Annotated[int, says("jobs that failed")]
    cancelled: Annotated[int, says("jobs that were cancelled")]


class Report(Form):
    """Accounts of a time."""

    from_: Annotated[Moment, says("the time begins")]
    to: Annotated[Moment, says("the time ends")]
    by: Annotated[str, says("tenant, user or queue")]
    accounts: Annotated[list[Account], says("the one that held most first")]
    budgets: Annotated[list[Budget], says("how each budget stood at the end of the time")]


class Ahead(Form):
    """A forecast for one horizon."""

    horizon: Annotated[float, says("so many seconds ahead")]
    middle: Annotated[float, says("as likely to be more as to be less")]
    within_80: Annotated[list[float] | None, says("holds 80 % of what comes: from, to; null: too little past")]
    within_95: Annotated[list[float] | None, says("holds 95 %: from, to; null: too little past")]
    model: Annotated[str, says("which model says so")]
    error: Annotated[float | None, says("its mean error on the past; null: too little past")]
    persistence_error: Annotated[float | None, says("what staying as it is would have erred by")]
    judged: Annotated[int, says("by so many forecasts of the past")]


class Break(Form):
    """A time in which the load was beyond what had been forecast."""

    side: Annotated[str, says("above or below")]
    from_: Annotated[Moment, says("it begins")]
    to: Annotated[Moment, says("it ends, or had not ended yet")]
    beyond: Annotated[float, says("how far outside the interval of 95 % it was at most")]


class LoadSeries(Form):
    """Arrivals or GPUs in use."""

    name: Annotated[str, says("arrivals: jobs in a step; gpus: in use in a step, in the mean")]
    steps: Annotated[int, says("of the past, looked at")]
    now: Annotated[float | None, says("in the last step")]
    ahead: Annotated[list[Ahead], says("the nearest first")]
    breaks: Annotated[list[Break], says("the latest of them, in their order")]


class Load(Form):
    """What load is to come."""

    from_: Annotated[Moment, says("the past that was looked at begins")]
    to: Annotated[Moment, says("it ends")]
    queue: Annotated[str | None, says("of this queue; null: of all")]
    step: Annotated[int, says("seconds of a step")]
    series: Annotated[list[LoadSeries], says("arrivals, then gpus")]


class Foreseen(Form):
    """How good the forecasts of some runs were. Factors: 1.5 is half as long again, or two thirds; null: no runs."""

    name: Annotated[str, says("whose runs, or which; (all): all of them")]
    runs: Annotated[int, says("runs that are judged")]
    within_80: Annotated[float | None, says("per cent of them inside the interval that is to hold 80")]
    within_95: Annotated[float | None, says("per cent inside that which is to hold 95")]
    error: Annotated[float | None, says("factor between the median of the forecast and the run time, median")]
    width: Annotated[float | None, says("factor between the ends of the interval of 80, geometric mean: its sharpness")]
    pinball: Annotated[float | None, says("quantile loss of the logarithm of the run time, mean over 13 levels")]
    estimate_error: Annotated[float | None, says("factor of the users' estimates; null: nobody stated one")]
    last_error: Annotated[float | None, says("factor of the last run of the same user")]
    median_error: Annotated[float | None, says("factor of the median of runs of this user, queue and size")]
    rival_pinball: Annotated[float | None, says("the loss of the best of these and of the quantiles of the like")]
    below: Annotated[list[float] | None, says("per cent of the runs not longer than each level stated")]


class ForeseenMonth(Form):
    """The same of the runs that ended in a month."""

    month: Annotated[str, says("year and month")]
    runs: Annotated[int, says("runs that are judged")]
    within_80: Annotated[float | None, says("per cent of them inside the interval of 80")]
    within_95: Annotated[float | None, says("per cent inside the interval of 95")]
    error: Annotated[float | None, says("factor between median and run time, median")]


class StartsForeseen(Form):
    """How good it was what would have been said of starts, at moments of the past, by what was known then."""

    moments: Annotated[int, says("moments at which it was asked about those who waited")]
    judged: Annotated[int, says("answers that are judged")]
    within_80: Annotated[float | None, says("per cent of the starts inside the interval that is to hold 80")]
    error: Annotated[float | None, says("seconds between the median said and the start, median")]
    place_error: Annotated[float | None, says("the same of place in the queue times mean run time")]
    wait: Annotated[float | None, says("seconds from asking to the start, median")]


class Forecasts(Form):
    """How good forecasts were."""

    from_: Annotated[Moment, says("forecasts made from then on are judged")]
    to: Annotated[Moment, says("runs that had ended by then")]
    by: Annotated[str, says("queue, tenant, user, basis or length")]
    runs: Annotated[list[Foreseen], says("all, then each of them, the one with most runs first")]
    broken_off: Annotated[int, says("runs that are left out: they would have been longer")]
    months: Annotated[list[ForeseenMonth], says("by month, in order")]
    levels: Annotated[list[float], says("the levels of `below`, in per cent")]
    drift: Annotated[int, says("how much worse than usual the last runs were foreseen, in thousandths of log chance")]
    drifted: Annotated[bool, says("whether run times are no longer what they were")]
    starts: Annotated[StartsForeseen | None, says("null: not asked for")]
