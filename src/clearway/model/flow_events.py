"""Records of workflows. Their jobs have records of their own; these say what belongs together and what followed."""

from __future__ import annotations

import msgspec

from clearway.model.flow import FlowSpec, PartOf, ScheduleSpec, SearchSpec
from clearway.model.ids import FlowId, JobId
from clearway.model.job import JobSpec
from clearway.model.reasons import Reason
from clearway.model.states import State, StepState


class _Record(msgspec.Struct, frozen=True, tag=True):
    at_us: int


class FlowBegan(_Record, frozen=True, tag=True):
    """The first run of a workflow begins; `part`: what it is of another one."""

    flow: FlowId
    spec: FlowSpec
    part: PartOf | None = None


class FlowRerun(_Record, frozen=True, tag=True):
    """A workflow runs again: run `number` begins, by these words.

    The steps `anew` and those behind them run whether they had succeeded or not; those of `skip` are left out.
    """

    flow: FlowId
    number: int
    spec: FlowSpec
    part: PartOf | None = None
    anew: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    by: str = ""


class StepBegan(_Record, frozen=True, tag=True):
    """A step runs from now on, with this input (JSON); `items` counts its instances, -1 where it maps nothing."""

    flow: FlowId
    step: str
    input: str
    items: int = -1


class PartEntered(_Record, frozen=True, tag=True):
    """A job is pass `turn` of an instance of a step (`item` -1: of the step itself), with this input (JSON)."""

    flow: FlowId
    step: str
    item: int
    turn: int
    job: JobId
    input: str


class LoopEnded(_Record, frozen=True, tag=True):
    """An instance makes no further pass."""

    flow: FlowId
    step: str
    item: int
    state: StepState
    reason: Reason | None = None


class StepEnded(_Record, frozen=True, tag=True):
    """A step reached a terminal state. `chosen` are the direct followers that it picked, None for all."""

    flow: FlowId
    step: str
    state: StepState
    reason: Reason | None = None
    chosen: tuple[str, ...] | None = None


class StepAnswered(_Record, frozen=True, tag=True):
    """A person has answered a step that waited for one: its result is this value (JSON)."""

    flow: FlowId
    step: str
    value: str
    by: str = ""


class StepSkipped(_Record, frozen=True, tag=True):
    """A person has a step left out."""

    flow: FlowId
    step: str
    by: str = ""


class FlowStopping(_Record, frozen=True, tag=True):
    """No step of a run starts any more: a person cancelled it, or its time is over."""

    flow: FlowId
    state: State
    reason: Reason


class FlowEnded(_Record, frozen=True, tag=True):
    """A run is over, with all its parts."""

    flow: FlowId
    state: State
    reason: Reason | None = None


class Reopened(_Record, frozen=True, tag=True):
    """A person runs a job again that is over and did not succeed: it waits for its next attempt, with fresh limits."""

    job: JobId
    spec: JobSpec


class ClockSet(_Record, frozen=True, tag=True):
    """The wall clock is so far ahead of the driver's clock from now on."""

    offset_us: int


class ScheduleSet(_Record, frozen=True, tag=True):
    """A schedule is as it says from now on."""

    spec: ScheduleSpec


class ScheduleRemoved(_Record, frozen=True, tag=True):
    """A schedule has no ticks any more; its runs go on."""

    name: str


class SchedulePaused(_Record, frozen=True, tag=True):
    """A schedule lets its ticks pass (`paused`), or no longer."""

    name: str
    paused: bool


class Ticked(_Record, frozen=True, tag=True):
    """A tick (wall clock) was taken, once for ever: it got the job or workflow of the name `run`, or was `skipped`.

    `gate`: the run that this one waits for.
    """

    schedule: str
    tick_us: int
    run: str = ""
    job: JobId | None = None
    flow: FlowId | None = None
    gate: str = ""
    skipped: Reason | None = None


class TicksMissed(_Record, frozen=True, tag=True):
    """Ticks up to a moment (wall clock), at which nothing could fire, are dropped."""

    schedule: str
    until_us: int


class RunFreed(_Record, frozen=True, tag=True):
    """A run of a schedule no longer waits for an earlier one."""

    schedule: str
    run: str


class SearchBegan(_Record, frozen=True, tag=True):
    """A search begins."""

    spec: SearchSpec


class TrialEntered(_Record, frozen=True, tag=True):
    """A job is trial `number` of a search, at this point (JSON); `place` numbers it in a space that can be counted."""

    search: str
    number: int
    point: str
    place: int
    job: JobId


class TrialReported(_Record, frozen=True, tag=True):
    """A trial told at a step of its work what it is worth (JSON) so far."""

    search: str
    number: int
    step: int
    value: str


class SearchStopping(_Record, frozen=True, tag=True):
    """No trial of a search enters any more: a person cancelled it."""

    search: str
    reason: Reason


class SearchEnded(_Record, frozen=True, tag=True):
    """A search is over, with all its trials."""

    search: str
    state: State
    reason: Reason | None = None


FlowRecord = (
    FlowBegan | FlowRerun | StepBegan | PartEntered | LoopEnded | StepEnded | StepAnswered | FlowStopping | FlowEnded
    | Reopened | ClockSet | ScheduleSet | ScheduleRemoved | SchedulePaused | Ticked | TicksMissed | RunFreed
    | SearchBegan | TrialEntered | SearchStopping | SearchEnded | StepSkipped | TrialReported
)  # fmt: skip
