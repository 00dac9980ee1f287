"""Why a job is where it is, now and then; how things stand for it; a cycle whole; what was decided again."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, UnsetType

from clearway.api.forms.base import Expected, Form, FullReason, Moment, Words, says
from clearway.api.forms.jobs import Need, Wait  # noqa: TC001  msgspec reads the annotations while the program runs


class Cause(FullReason, kw_only=True):
    """Why something happened to a job."""

    at: Annotated[Moment, says("when")]
    kind: Annotated[str, says("started, stopping, attempt_ended or requeued")]
    attempt: Annotated[int | None, says("number of the attempt")]


class Standing(Form):
    """What the orders of the policy say of a job."""

    summed: Annotated[
        bool, says("the orders are weighed, and these are parts of a sum; else they are compared in turn")
    ]
    parts: Annotated[dict[str, float], says("by order, in its unit; the smaller goes first")]


class Why(Form):
    """Why a job waits, started or ended."""

    id: Annotated[int, says("its number")]
    name: Annotated[str, says("its name")]
    state: Annotated[str, says("as in a list of jobs")]
    inner_state: Annotated[str, says("as in a list of jobs")]
    since: Annotated[Moment, says("since when it waits, runs or is over")]
    reasons_since: Annotated[Moment, says("since when for these reasons")]
    expected: Annotated[Expected | None, says("by when and where its reservation lets it start")]
    reasons: Annotated[list[FullReason], says("why it waits, or why it last started, stopped or ended")]
    causes: Annotated[list[Cause], says("why it started, stopped and went back to wait, the first one first")]
    waits: Annotated[list[Wait], says("what it waited for, without gaps")]
    order: Annotated[Standing | None, says("what each order says of it; null where it does not stand in the line")]


class Holder(Form):
    """A job that has what another lacks."""

    job: Annotated[int, says("its number")]
    name: Annotated[str, says("its name")]
    queue: Annotated[str, says("the queue it is in")]
    amount: Annotated[int, says("how much it has, in the units of `need`")]
    until: Annotated[Moment | None, says("when it is expected to give it back; null: not known")]


class Lack(Form):
    """One thing that a job lacks."""

    level: Annotated[
        str, says("device, node, nvlink, rack, fleet, queue, user, limit, order, booking, time, person, ..")
    ]
    name: Annotated[str | None, says("the node, queue, limit or job that it is about")]
    resource: Annotated[str | None, says("of what")]
    need: Annotated[int, says("so much it asks for: thousandths of GPUs and CPUs, bytes, tasks or slots")]
    has: Annotated[int, says("so much is there for it, in the same units")]
    short: Annotated[int, says("so much is missing, in the same units")]
    holders: Annotated[list[Holder], says("the first few who have it, those that give back soonest first")]
    more_holders: Annotated[int, says("how many others have some")]
    until: Annotated[Moment | None, says("until when it lacks it at least; null: not known")]
    lifts: Annotated[list[str], says("kinds of event that could end the lack")]
    text: Annotated[str, says("a sentence")]
    lifts_text: Annotated[str, says("what could end it, as a sentence")]


class Changed(Form):
    """A word of a job that, said otherwise, would let it start at once."""

    word: Annotated[str, says("the word of docs/job.md")]
    before: Annotated[Any, says("its value")]
    after: Annotated[Any, says("the value with which it would start")]
    role: Annotated[str | None, says("the role whose word it is")]
    how: Annotated[str, says("`set`: it can be changed while it waits; `resubmit`: it has to be entered anew")]
    nodes: Annotated[list[str], says("where it would start")]
    text: Annotated[str, says("a sentence")]


class Fits(Form):
    """Which nodes could hold a task if they were empty."""

    nodes: Annotated[list[str], says("the first few")]
    more: Annotated[int, says("how many others")]
    of: Annotated[int, says("how many nodes there are")]


class Arrival(Form):
    """When a job starts, out of many runs ahead with run times drawn from their forecasts."""

    low: Annotated[Moment | None, says("in 1 of 10 runs ahead it starts before; null: later than was looked")]
    median: Annotated[Moment | None, says("in half of them it starts before; null: later than was looked")]
    high: Annotated[Moment | None, says("in 9 of 10 it starts before; null: later than was looked")]
    samples: Annotated[int, says("how many runs ahead there were")]
    text: Annotated[str, says("a sentence")]


class Prospect(Form):
    """How things stand for a job."""

    verdict: Annotated[
        str, says("starts (at once), waits, limited (a limit is too small) or never (no node is large enough)")
    ]
    text: Annotated[str, says("when it is expected to start, as a sentence")]
    expected: Annotated[Expected | None, says("when and where, by the estimates of what runs; null: not known")]
    eta: Annotated[Arrival | None, says("how sure the start is; null: run times are not forecast, or it took too long")]
    lacks: Annotated[list[Lack], says("what it lacks")]
    changes: Annotated[list[Changed], says("what would let it start at once")]
    fits: Annotated[Fits, says("the nodes that are large enough")]
    fits_text: Annotated[str, says("the same as a sentence")]
    needs: Annotated[list[Need], says("where runs of the like took other amounts than it asks for")]
    needs_text: Annotated[str, says("where it would start now with what is enough, as a sentence; empty: nowhere")]
    looked_to: Annotated[
        Moment | None, says("not before this, by the estimates of what runs; further ahead was not looked")
    ]
    now: Annotated[str | None, says("what a job that lacks room is told now")]


class Outlook(Prospect):
    """How things stand for a job that was submitted."""

    id: Annotated[int, says("its number")]


class Advised(Prospect):
    """How things would stand for a job."""

    name: Annotated[str, says("its name")]


class Advice(Form):
    """How things would stand for jobs if they were submitted now."""

    jobs: Annotated[list[Advised], says("in the order in which they were sent")]


class Then(Form):
    """Why a job was where it was at a moment."""

    id: Annotated[int, says("its number")]
    name: Annotated[str, says("its name")]
    state: Annotated[str, says("its state then")]
    inner_state: Annotated[str, says("its state then, with starting, stopping and suspended")]
    at: Annotated[Moment, says("the moment")]
    since: Annotated[Moment | None, says("since when it had been so")]
    reasons: Annotated[list[FullReason], says("why")]
    nodes: Annotated[list[str], says("the nodes on which it held something")]
    records: Annotated[str, says("`here`, or `gone` where the journal has been cut")]
    outlook: Annotated[Prospect | UnsetType, says("how things stood for a job that waited")] = UNSET


class RunnerUp(Form):
    """The place that came second, and why the first is better."""

    node: Annotated[str, says("its name")]
    best_score: Annotated[float, says("points of the place that was taken, 0 to 100 a rule, times its weight")]
    score: Annotated[float, says("points of this one")]
    preferred: Annotated[bool, says("the job prefers the other one's GPU model")]
    parts: Annotated[dict[str, tuple[float, float]], says("by rule: points of the best, and of this one")]


class Turn(Form):
    """A job that was considered."""

    job: Annotated[int, says("its number")]
    name: Annotated[str, says("its name")]
    queue: Annotated[str, says("the queue it was in")]
    nodes: Annotated[list[str], says("where it started; none: it did not")]
    second: Annotated[RunnerUp | None, says("the next best place")]
    text: Annotated[str, says("what came of it, as a sentence")]


class Decided(Form, kw_only=True):
    """A line of a plan."""

    kind: Annotated[str, says("started, stopping, resized, reserved or waits")]
    job: Annotated[str | UnsetType, says("the job's name")] = UNSET
    jobs: Annotated[list[str] | UnsetType, says("of `waits`: names of the jobs")] = UNSET
    nodes: Annotated[list[str] | UnsetType, says("where")] = UNSET
    text: Annotated[str, says("why, as a sentence")]


class Cycle(Form):
    """One cycle whole."""

    cycle: Annotated[int, says("its number")]
    at: Annotated[Moment, says("when it was decided")]
    read: Annotated[int, says("the revision of the state that it read")]
    policy: Annotated[str, says("hash of the policy")]
    seed: Annotated[int, says("what chance was drawn from")]
    same: Annotated[bool, says("decided again it comes out as recorded")]
    considered: Annotated[int, says("how many jobs were considered")]
    turns: Annotated[list[Turn], says("who was considered, in order")]
    decided: Annotated[list[Decided], says("what was decided")]


class Difference(Form):
    """The first plan that comes out otherwise."""

    cycle: Annotated[int, says("its cycle")]
    at: Annotated[Moment, says("when it was decided")]
    record: Annotated[int | None, says("number of the first record that is another one")]
    recorded: Annotated[Words | None, says("the record in the journal, as it is stored; null: there is none")]
    again: Annotated[Words | None, says("the record that came out now; null: none did")]
    text: Annotated[str, says("a sentence")]


class Audit(Form):
    """What was decided again."""

    cycles: Annotated[int, says("how many cycles")]
    records: Annotated[int, says("how many records they made")]
    unchecked: Annotated[int, says("cycles that cannot be decided again")]
    first_difference: Annotated[Difference | None, says("where it comes out otherwise; null: nowhere")]


class Checked(Form):
    """Whether a journal adds up."""

    place: Annotated[str, says("where it is")]
    records: Annotated[int, says("how many records it has")]
    snapshots: Annotated[int, says("how many snapshots")]
    live_jobs: Annotated[int, says("jobs that are not over by it")]
    faults: Annotated[list[str], says("where it does not add up, a sentence each")]
