"""What people ask of a controller. The loop answers each, and records what follows from it."""

from __future__ import annotations

import msgspec

from clearway.model.budgets import BudgetSpec
from clearway.model.fleet import BookingSpec, LimitSpec, MachineType, PolicySpec, QueueSpec
from clearway.model.flow import FlowSpec, ScheduleSpec, SearchSpec
from clearway.model.ids import FlowId, JobId
from clearway.model.job import JobSpec
from clearway.model.policies import EndShadow, Promote, Rollback, SetShadow
from clearway.model.reasons import Code, Reason


class Submit(msgspec.Struct, frozen=True):
    """Enter jobs, all or none.

    Answer: their numbers, in order; for a known idempotency key the number of the earlier job.
    """

    specs: tuple[JobSpec, ...]


class Refuse(msgspec.Struct, frozen=True):
    """Record that a job was refused at the door (the simulator shows these; a live product stores nothing)."""

    name: str
    reason: Reason


class Cancel(msgspec.Struct, frozen=True):
    """End a job; one that is over stays as it is. Answer: None."""

    job: JobId
    by: str = ""


class Suspend(msgspec.Struct, frozen=True):
    """Have a running job stand still. Answer: None."""

    job: JobId


class Resume(msgspec.Struct, frozen=True):
    """Have a job that stands still go on. Answer: None."""

    job: JobId


class Rerun(msgspec.Struct, frozen=True):
    """Run a job again that is over and did not succeed. Answer: None."""

    job: JobId
    by: str = ""


class SubmitFlow(msgspec.Struct, frozen=True):
    """Enter a workflow. Answer: its number."""

    spec: FlowSpec


class CancelFlow(msgspec.Struct, frozen=True):
    """End a workflow with all its steps; one that is over stays as it is. Answer: None."""

    flow: FlowId
    by: str = ""


class RerunFlow(msgspec.Struct, frozen=True):
    """Run a workflow again that did not succeed, from what has succeeded on; `spec`: by other words. Answer: None.

    The steps `anew` and those behind them run whether they had succeeded or not (also of one that did succeed); those
    of `skip` are left out.
    """

    flow: FlowId
    spec: FlowSpec | None = None
    by: str = ""
    anew: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()


class SkipStep(msgspec.Struct, frozen=True):
    """Have a step of a workflow left out that is not over. Answer: None."""

    flow: FlowId
    step: str
    by: str = ""


class ResumeFlow(msgspec.Struct, frozen=True):
    """Have a workflow go on that waits for a person: `value` (JSON) is the result of the step. Answer: None.

    Without `step` the only one that waits is meant.
    """

    flow: FlowId
    step: str = ""
    value: str = "null"
    by: str = ""


class SubmitSearch(msgspec.Struct, frozen=True):
    """Enter a search. Answer: None."""

    spec: SearchSpec


class CancelSearch(msgspec.Struct, frozen=True):
    """End a search with all its trials; one that is over stays as it is. Answer: None."""

    name: str
    by: str = ""


class EnterTrial(msgspec.Struct, frozen=True):
    """Have trial `number` of a search enter at a point (JSON) that a sampler found. Answer: None.

    ConflictError: it is not wanted any more. The search is told by its words: a later one of its name may differ.
    """

    search: SearchSpec
    number: int
    point: str


class FailSearch(msgspec.Struct, frozen=True):
    """End a search for which no point can be found; one that is over stays as it is. Answer: None."""

    search: SearchSpec
    error: str


class LookFlows(msgspec.Struct, frozen=True):
    """Say how the workflows at hand stand. Answer: a tuple of FlowView, oldest first; nothing is recorded.

    With a `ref` only the one of that number (`id:N`, `N`), else the newest of that name: no name hides a number; with
    it come those that its steps are now, or were at last.
    """

    ref: str = ""


class StepView(msgspec.Struct, frozen=True):
    """How a step stands; `input` and `result` are JSON texts, `jobs` how many entered for it.

    `pause` is what a person is asked, of a step that waits for one. Of its `size` instances so many have `ended`.
    `job` or `inner` is what tells most of it: of its instances the first that failed, else one that is not over.
    """

    name: str
    state: str
    after: tuple[str, ...]
    input: str
    result: str
    jobs: int
    until: str = ""
    reason: Reason | None = None
    pause: str = ""
    size: int = 1
    ended: int = 0
    job: JobId | None = None
    inner: FlowId | None = None


class FlowView(msgspec.Struct, frozen=True):
    """How a workflow stands in its present run, which began at `began_us`. `owners`: user and tenant of its jobs.

    `part_of` is the workflow of which it is a step, if it is one.
    """

    id: FlowId
    name: str
    state: str
    run: int
    began_us: int
    steps: tuple[StepView, ...]
    reason: Reason | None = None
    words: str = ""
    owners: tuple[tuple[str, str], ...] = ()
    part_of: FlowId | None = None


class LookSchedules(msgspec.Struct, frozen=True):
    """Say how the schedules stand. Answer: a tuple of ScheduleView, by name; nothing is recorded.

    With a `name` only of that one, with its next ticks, so many as `ahead`.
    """

    name: str = ""
    ahead: int = 0


class TickView(msgspec.Struct, frozen=True):
    """A tick that comes: its moment of the wall clock, when it is taken, and the reason if it is to be skipped."""

    at_us: int
    due_us: int
    skipped: Code | None = None


class ScheduleView(msgspec.Struct, frozen=True):
    """How a schedule stands; `next_us` is the wall clock at its next tick, `active` the runs that are not over."""

    name: str
    cron: str
    timezone: str
    paused: bool
    next_us: int | None
    active: tuple[str, ...]
    last: str
    owners: tuple[tuple[str, str], ...] = ()
    ahead: tuple[TickView, ...] = ()


class LookSearches(msgspec.Struct, frozen=True):
    """Say how the searches at hand stand. Answer: a tuple of SearchView, oldest first; nothing is recorded.

    With a `name` only that one, with what its trials reported.
    """

    name: str = ""


class TrialView(msgspec.Struct, frozen=True):
    """A trial: its point and what it is worth, as JSON (empty: nothing); no `state` while its job is not over.

    `reports` are the steps and values that it told on its way.
    """

    number: int
    point: str
    job: JobId
    state: str
    value: str
    reports: tuple[tuple[int, str], ...] = ()


class SearchView(msgspec.Struct, frozen=True):
    """How a search stands; `wanted` are completed trials, `best` is the number of one."""

    name: str
    state: str
    wanted: int
    completed: int
    failed: int
    best: int | None
    trials: tuple[TrialView, ...]
    reason: Reason | None = None
    direction: str = "minimize"
    stopped: int = 0
    owners: tuple[tuple[str, str], ...] = ()


class SetClock(msgspec.Struct, frozen=True):
    """Learn how far the wall clock is ahead of the driver's clock. Answer: None."""

    offset_us: int


class SetSchedule(msgspec.Struct, frozen=True):
    """Create or change a schedule. Answer: None."""

    spec: ScheduleSpec


class PauseSchedule(msgspec.Struct, frozen=True):
    """Have a schedule let its ticks pass (`paused`), or fire again. Answer: None."""

    name: str
    paused: bool = True


class RemoveSchedule(msgspec.Struct, frozen=True):
    """Have a schedule no longer tick; its runs go on. Answer: None."""

    name: str


class Hold(msgspec.Struct, frozen=True):
    """Have a job held back: it starts no attempt until it is released. Answer: None."""

    job: JobId
    by: str = ""


class Release(msgspec.Struct, frozen=True):
    """Let a job go that is held back. Answer: None."""

    job: JobId
    by: str = ""


class Requeue(msgspec.Struct, frozen=True):
    """Stop a running job, to wait again with its first submit time; with `hold` until it is released. Answer: None."""

    job: JobId
    by: str = ""
    hold: bool = False


class Change(msgspec.Struct, frozen=True):
    """Change those words of a job that stand in `words` (priority, queue, time_limit). Answer: None."""

    job: JobId
    words: tuple[str, ...]
    priority: int = 0
    queue: str = ""
    time_limit_us: int | None = None
    by: str = ""


class Book(msgspec.Struct, frozen=True):
    """Keep nodes or devices for some queues or users for a time. Answer: None."""

    booking: BookingSpec


class Unbook(msgspec.Struct, frozen=True):
    """Cancel a booking. Answer: None."""

    name: str
    by: str = ""


class Look(msgspec.Struct, frozen=True):
    """Work out how each queue stands. Answer: a tuple of Standing, by name; nothing is recorded."""


class Standing(msgspec.Struct, frozen=True):
    """How a queue stands, with all queues below it: what it holds, what waits in it, and its fair share.

    Amounts by resource as in QueueSpec. The share is in thousandths of a GPU (`gpus`), of a CPU where there are no
    devices (`cpus`), or of the whole fleet (`dominant`); so is `past`, what the queue held before, by the half-life of
    the policy, None where it remembers nothing.
    """

    name: str
    use: tuple[tuple[str, int], ...]
    wants: tuple[tuple[str, int], ...]
    measure: str
    share: int
    past: int | None = None


class Weigh(msgspec.Struct, frozen=True):
    """Work out what each order of the policy says of a job that stands in the line. Answer: Weighed, or None."""

    job: JobId


class Weighed(msgspec.Struct, frozen=True):
    """What each order says of a job, in thousandths of its unit, in the policy's order; the smaller goes first.

    `summed`: the orders are weighed, and these are the parts of the sum; else they are compared in turn.
    """

    parts: tuple[tuple[str, int], ...]
    summed: bool


class SetQueue(msgspec.Struct, frozen=True):
    """Create or change a queue. With `words`, only these are changed where the queue exists. Answer: None."""

    queue: QueueSpec
    words: tuple[str, ...] | None = None


class SetLimit(msgspec.Struct, frozen=True):
    """Create or change a shared limit. Answer: None."""

    limit: LimitSpec


class SetBudget(msgspec.Struct, frozen=True):
    """Create or change a budget. Answer: None."""

    budget: BudgetSpec


class LookBudgets(msgspec.Struct, frozen=True):
    """Work out how each budget stands. Answer: a tuple of BudgetStanding, by name; nothing is recorded."""


class BudgetStanding(msgspec.Struct, frozen=True):
    """What of a budget is used in its period, which is over at `until_us`.

    `gpus` are milli-GPU times microseconds, `cost` millionths of money per hour, times millionths, times microseconds.
    """

    spec: BudgetSpec
    gpus: int
    cost: int
    until_us: int
    used_up: bool


class SetMachineType(msgspec.Struct, frozen=True):
    """Let machines of a type be ordered, or change its words. Answer: None."""

    kind: MachineType


class SetPolicy(msgspec.Struct, frozen=True):
    """Decide by this policy from now on. Answer: None."""

    policy: PolicySpec


class Drain(msgspec.Struct, frozen=True):
    """Place nothing new on a node (`drained`), or do so again. Answer: None."""

    node: str
    drained: bool = True


class ControllerUp(msgspec.Struct, frozen=True):
    """A controller took over; the engine's inventory follows as reports. Answer: None."""


Ask = (
    Submit | Refuse | Cancel | Suspend | Resume | Hold | Release | Requeue | Change | Book | Unbook | Look | Weigh
    | SetQueue | SetLimit | SetBudget | LookBudgets
    | SetMachineType | SetPolicy | Drain | ControllerUp | Rerun | SubmitFlow | CancelFlow
    | RerunFlow | ResumeFlow
    | LookFlows | LookSchedules | LookSearches | SetClock | SetSchedule | PauseSchedule | RemoveSchedule | SubmitSearch
    | CancelSearch | EnterTrial | FailSearch | SkipStep | SetShadow | EndShadow | Promote | Rollback
)  # fmt: skip
