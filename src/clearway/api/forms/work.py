"""Workflows, schedules, searches and bookings."""

from __future__ import annotations

from typing import Annotated, Any

from clearway.api.forms.base import Counts, Form, Moment, Reason, Words, says
from clearway.api.forms.jobs import Job  # noqa: TC001  read when the description is made


class FlowBase(Form):
    """What lists and one workflow have in common."""

    id: Annotated[int, says("its number")]
    name: Annotated[str, says("its name")]
    state: Annotated[str, says("pending, running, succeeded, failed or cancelled")]
    run: Annotated[int, says("number of its run: each retry is the next one")]
    began: Annotated[Moment, says("when this run began")]
    reason: Annotated[Reason | None, says("why it ended otherwise than succeeded")]
    part_of: Annotated[int | None, says("number of the workflow of which it is a step")]
    asks: Annotated[list[str], says("its steps that wait for a person, also those of workflows inside it")]


class Flow(FlowBase):
    """A workflow as lists show it."""

    steps: Annotated[Counts, says("how many steps are in which state")]


class Step(Form):
    """A step of a workflow."""

    name: Annotated[str, says("its name")]
    state: Annotated[str, says("pending, running, succeeded, failed, cancelled, skipped or upstream_failed")]
    after: Annotated[list[str], says("the steps before it")]
    input: Annotated[Any, says("what it was given; any JSON")]
    result: Annotated[Any, says("what it returned; any JSON")]
    reason: Annotated[Reason | None, says("why it ended otherwise than succeeded, or why it waits")]
    jobs: Annotated[int, says("how many jobs were entered for it")]
    until: Annotated[str | None, says("of a loop: the expression that ends it")]
    pause: Annotated[str | None, says("what a person is asked, where it waits for one")]
    size: Annotated[int, says("how many instances it has")]
    ended: Annotated[int, says("how many of these are over")]
    job: Annotated[Job | None, says("the job that tells why it is not over, or for which it failed")]
    inner: Annotated[FlowShown | None, says("or the workflow inside it that tells that, with its steps")]


class FlowShown(FlowBase):
    """One workflow whole."""

    steps: Annotated[list[Step], says("its steps, in the order in which they were written")]


class Flows(Form):
    """Workflows at hand."""

    flows: Annotated[list[Flow], says("the newest first")]


class Schedule(Form):
    """A schedule."""

    name: Annotated[str, says("its name")]
    cron: Annotated[str, says("its ticks, in five fields")]
    timezone: Annotated[str, says("in which time zone")]
    paused: Annotated[bool, says("its ticks pass without a run")]
    next: Annotated[Moment | None, says("its next tick; null: none comes")]
    active: Annotated[list[str], says("names of the runs that are not over")]
    last: Annotated[str | None, says("its last tick, and what came of it")]


class Tick(Form):
    """A tick that is to come."""

    tick: Annotated[Moment, says("its name: the moment that `cron` says")]
    at: Annotated[Moment, says("when it is taken")]
    skipped: Annotated[str | None, says("why it is to be skipped: one of docs/reasons")]


class ScheduleAhead(Schedule):
    """A schedule with what is to come."""

    ticks: Annotated[list[Tick], says("the next ones, also those that are to be skipped")]


class Schedules(Form):
    """All schedules."""

    schedules: Annotated[list[Schedule], says("by name")]


class Removed(Form):
    """A schedule that no longer ticks."""

    name: Annotated[str, says("its name")]
    removed: Annotated[bool, says("true")]


class TrialReport(Form):
    """What a trial told on its way."""

    step: Annotated[int, says("how far it was")]
    value: Annotated[Any, says("what it was worth then")]


class Trial(Form):
    """A trial of a search."""

    number: Annotated[int, says("1 is the first")]
    point: Annotated[Words, says("the values that it was given, by name")]
    job: Annotated[str, says("the name of its job")]
    id: Annotated[int, says("the number of its job")]
    state: Annotated[str | None, says("the state of its job")]
    value: Annotated[Any, says("what it was worth; null: nothing yet")]
    reports: Annotated[list[TrialReport], says("what it told on its way")]


class Search(Form):
    """A search as lists show it."""

    name: Annotated[str, says("its name")]
    state: Annotated[str, says("running, succeeded, failed or cancelled")]
    wanted: Annotated[int, says("so many completed trials are wanted")]
    completed: Annotated[int, says("trials that succeeded")]
    failed: Annotated[int, says("trials that failed")]
    stopped: Annotated[int, says("trials that were stopped early")]
    direction: Annotated[str, says("minimize or maximize")]
    reason: Annotated[Reason | None, says("why it ended early")]
    best: Annotated[Trial | None, says("its best trial by now")]


class SearchShown(Search):
    """One search whole."""

    trials: Annotated[list[Trial], says("its trials, by number")]


class Searches(Form):
    """Searches at hand."""

    searches: Annotated[list[Search], says("the newest first")]


class Booking(Form):
    """A booking."""

    name: Annotated[str, says("its name")]
    from_: Annotated[Moment, says("when it begins")]
    to: Annotated[Moment, says("when it ends")]
    nodes: Annotated[list[str] | None, says("the nodes that it asked for, whole")]
    gpus: Annotated[int | None, says("the GPUs that it asked for")]
    for_: Annotated[list[str], says("queues and users whose jobs may use it")]
    keeps: Annotated[dict[str, int | None], says("devices that it keeps, by node; null: the whole node")]


class Bookings(Form):
    """Bookings that are not over."""

    bookings: Annotated[list[Booking], says("the first to begin first")]


class Unbooked(Form):
    """A booking that was cancelled."""

    name: Annotated[str, says("its name")]
    cancelled: Annotated[bool, says("true")]
