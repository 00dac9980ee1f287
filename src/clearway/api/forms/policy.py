"""The policy in force, the one that is tried beside it, and what came of both."""

from __future__ import annotations

from typing import Annotated

import msgspec

from clearway.api.forms.base import Form, Moment, Words, says


class ShadowWords(msgspec.Struct, omit_defaults=True):
    """The words of a policy that is tried: by name, or as a map."""

    policy: str | Words
    name: str | None = None


class PromoteWords(msgspec.Struct, omit_defaults=True, rename={"for_": "for"}):
    """What the guard of a promotion bears; times as text (60s, 7d) or in seconds."""

    bound: int | None = None
    least: str | float | None = None
    jobs: int | None = None
    for_: str | float | None = None


class Times(Form):
    """How long the controller decides."""

    turns: Annotated[int, says("turns in which something was decided")]
    median_ms: Annotated[float, says("milliseconds that half of them took at most")]
    p99_ms: Annotated[float, says("milliseconds that 99 of 100 took at most")]


class Minute(Times):
    """One minute."""

    at: Annotated[Moment, says("its beginning")]


class Pace(Times):
    """The last two hours in which something was decided."""

    since: Annotated[Moment, says("the first of these minutes")]
    minutes: Annotated[list[Minute], says("each of them, the oldest first")]


class Candidate(Form):
    """A policy that decides without acting."""

    name: Annotated[str, says("what it is called")]
    words: Annotated[Words, says("all its words; durations in seconds")]
    since: Annotated[Moment, says("when it was set")]
    by: Annotated[str | None, says("who set it")]
    record: Annotated[int, says("number of the record from which on it decides")]


class Guard(Form):
    """When a promoted policy is taken back without being asked."""

    until: Annotated[Moment, says("it looks until then")]
    bound: Annotated[int, says("where a tenant waits so many percent longer than it would have")]
    least_s: Annotated[float, says("and so many seconds longer at least")]
    jobs: Annotated[int, says("by the mean of at least so many of its jobs")]
    blind: Annotated[str | None, says("why it sees nothing now, and takes nothing back")]


class Worse(Form):
    """Who waited longer."""

    tenant: Annotated[str | None, says("null: jobs without one")]
    jobs: Annotated[int, says("so many were compared")]
    wait_s: Annotated[float, says("seconds that they waited, in the mean")]
    would_s: Annotated[float, says("seconds that they would have waited")]


class PolicyChange(Form):
    """One change of policies."""

    at: Annotated[Moment, says("when")]
    what: Annotated[str, says("what was done")]
    name: Annotated[str, says("with which policy")]
    by: Annotated[str | None, says("by whom; null: the settings, or the guard")]
    worse: Annotated[Worse | None, says("why the guard did it")]


class PolicyNow(Form):
    """The policy in force, and what is tried beside it."""

    name: Annotated[str | None, says("of the bundle, where it is one")]
    called: Annotated[str | None, says("what it is called; null: nothing was ever set")]
    words: Annotated[Words | None, says("all its words; durations in seconds")]
    hash: Annotated[str | None, says("as it stands in the records of decisions")]
    since: Annotated[Moment | None, says("when it was put in force")]
    how: Annotated[str, says("settings, promoted or rolled back")]
    by: Annotated[str | None, says("who did that; null: the settings, or the guard")]
    settings: Annotated[str | None, says("what the settings say, which holds when other words stand there")]
    before: Annotated[str | None, says("what a rollback puts in force again")]
    candidate: Annotated[Candidate | None, says("the policy that decides beside it")]
    guard: Annotated[Guard | None, says("what would take it back")]
    changes: Annotated[list[PolicyChange], says("the last twenty, the newest first")]


class Policy(PolicyNow):
    """The same, and how long it decides."""

    decisions: Annotated[Pace | None, says("how long it decides; null: nothing was decided yet")]
    known: Annotated[list[str], says("names of all bundles and orders")]


class ComparedGroup(Form):
    """The same jobs under both policies: under the one in force, and (`would_`) under the candidate."""

    name: Annotated[str, says("of the tenant or queue; empty: jobs without a tenant, or all")]
    jobs: Annotated[int, says("jobs that have started under one of them at least")]
    wait_s: Annotated[float | None, says("mean wait in seconds; of who has not started: so far")]
    would_s: Annotated[float | None, says("the same under the candidate")]
    slowdown: Annotated[
        float | None, says("mean bounded slowdown of jobs that are over; runs under 10 s count as 10 s")
    ]
    would_slowdown: Annotated[float | None, says("the same under the candidate")]
    same: Annotated[int, says("jobs that start within a second of each other")]
    earlier: Annotated[int, says("jobs that the candidate starts earlier")]
    later: Annotated[int, says("jobs that the candidate starts later")]


class ComparedStep(Form):
    """Jobs submitted in one step of time."""

    at: Annotated[Moment, says("its beginning")]
    jobs: Annotated[int, says("how many")]
    wait_s: Annotated[float | None, says("mean wait in seconds")]
    would_s: Annotated[float | None, says("the same under the candidate")]


class Comparison(Form):
    """What came of both policies."""

    at: Annotated[Moment, says("up to then")]
    since: Annotated[Moment, says("from then on")]
    late: Annotated[bool, says("the first records are gone: it begins later than the candidate was set")]
    behind: Annotated[bool, says("it has not come to the newest records yet")]
    whole: Annotated[ComparedGroup, says("all jobs")]
    tenants: Annotated[list[ComparedGroup], says("by tenant, those of most jobs first")]
    queues: Annotated[list[ComparedGroup], says("by queue, those of most jobs first")]
    over_time: Annotated[list[ComparedStep], says("by the time of their submits")]
    step_s: Annotated[float, says("seconds in a step of these")]


class Compared(Form):
    """A candidate beside the policy in force."""

    state: Annotated[str, says("none, beginning, catching up, watching or failed")]
    reason: Annotated[str | None, says("why it failed")]
    in_force: Annotated[str | None, says("what the policy in force is called")]
    candidate: Annotated[str | None, says("what the other one is called")]
    comparison: Annotated[Comparison | None, says("null: nothing yet")]
