"""The forms in which a world is kept. A field that comes later has a default, so that older snapshots stay readable."""

from __future__ import annotations

import msgspec

from clearway.core.swaps import Swaps
from clearway.loop.snapshot.arrays import ArrayKept
from clearway.loop.snapshot.budgets import BudgetKept
from clearway.loop.snapshot.flows import FlowsKept
from clearway.loop.snapshot.machines import MachinesKept
from clearway.loop.snapshot.schedules import SchedulesKept
from clearway.model.events import Grant, Progressed, Stopping, TaskRef
from clearway.model.fleet import BookingSpec, LimitSpec, NodeSpec, PolicySpec, QueueSpec
from clearway.model.forecast import Forecast
from clearway.model.ids import ClassId, JobId, NodeId
from clearway.model.job import Demand, JobSpec, Pin, Role, Topology
from clearway.model.needs import Need, Took
from clearway.model.policies import PolicyStanding
from clearway.model.reasons import Reason
from clearway.model.states import State
from clearway.ports.forecaster import Run

TaskKey = tuple[int, int]
Inputs = tuple[tuple[str, int], ...]


class JobKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A `JobEntry`, slot by slot."""

    id: JobId
    spec: JobSpec
    submitted_us: int
    state: State = State.PENDING
    attempt: int = 0
    retries: int = 0
    losses: int = 0
    not_before_us: int = 0
    preempted_us: int | None = None
    yielded_to: JobId | None = None
    holder: str | None = None
    heir: tuple[int, str] = (0, "")
    attained: int = 0
    kept_us: int = 0
    served_us: int = 0
    first_started_us: int | None = None
    ended_us: int | None = None
    reason: Reason | None = None
    reasons: tuple[Reason, ...] = ()
    cls: ClassId | None = None
    grants: tuple[Grant, ...] = ()
    started_us: int = 0
    intent: Stopping | None = None
    lost_on: str = ""
    paused_us: int | None = None
    stood_still: bool = False
    stood_still_us: int = 0
    oom: bool = False
    waiting_since_us: int = 0
    floor: tuple[int, str] | None = None
    gate: str = ""
    result: str = ""
    array: JobId | None = None
    spent: int = 0
    rate: int = 0
    rate_since_us: int = 0
    swaps: Swaps = ()
    warned: bool = False
    needs: tuple[Need, ...] = ()
    after: tuple[JobId, ...] = ()
    held: tuple[Grant, ...] = ()
    up: tuple[TaskKey, ...] = ()
    leaving: tuple[TaskKey, ...] = ()
    exit_codes: tuple[tuple[int, int, int | None], ...] = ()
    errors: tuple[str, ...] = ()
    idle: tuple[tuple[int, int, int], ...] = ()
    took: tuple[tuple[int, Took], ...] = ()


PLAIN = JobKept.__struct_fields__[: JobKept.__struct_fields__.index("after")]
"""The fields that are in a `JobEntry` as they are here; those behind them have another shape there."""


class CandidateKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """What orders saw of a job when its attempt started. `spec` None: the words that the job has now."""

    submitted_us: int
    estimate_us: int | None
    priority: int
    spec: JobSpec | None = None
    attained: int = 0
    kept_us: int = 0
    heir_of: str = ""
    served_us: int = 0
    yielded_to: JobId | None = None
    waiting_since_us: int = 0


class RunningKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A `core.view.Running`, and when it is expected to end."""

    job: JobId
    attempt: int
    candidate: CandidateKept
    priority: int
    started_us: int
    expected: tuple[int, int]
    calm_until_us: int = 0
    ended_task: bool = False
    stopping: bool = False
    paused: bool = False
    leaving: tuple[TaskKey, ...] = ()
    used: tuple[tuple[int, int], ...] = ()


class ClassKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A class of waiting jobs: what makes jobs equal to it, one member's words, its jobs in the order they came."""

    id: ClassId
    spec: JobSpec
    queue: str
    roles: tuple[Role, ...]
    uses: tuple[str, ...] = ()
    pin: Pin | None = None
    more: tuple[Topology | str | tuple[str, ...], ...] = ()
    jobs: tuple[JobId, ...] = ()
    reasons: tuple[Reason, ...] = ()


class NodeKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A node's slot, also that of one that is gone."""

    spec: NodeSpec
    open: bool = True
    drained: bool = False
    sick: tuple[int, ...] = ()
    quiet_us: int | None = None
    lost: bool = False
    lost_us: int = 0
    strays: tuple[TaskRef, ...] | None = None
    unhealthy: tuple[int, ...] | None = None
    notices: tuple[int, ...] = ()


class PromiseKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reservation."""

    job: JobId
    start_us: int
    grants: tuple[Grant, ...]
    held: bool = False


class BookingKept(msgspec.Struct, frozen=True):
    """A booking and what it keeps."""

    booking: BookingSpec
    places: tuple[tuple[NodeId, int], ...]


class KeyKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """An idempotency key, its job, and the words it came with (None: those that the job has now)."""

    key: str
    job: JobId
    spec: JobSpec | None = None


class AskedKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many tasks of each demand have come, and how many of which the mix in force was summed up from."""

    counts: tuple[tuple[Demand, int], ...] = ()
    next_look: int = 0
    version: int = 0
    mix: tuple[tuple[Demand, int], ...] = ()


class CopiesKept(msgspec.Struct, frozen=True):
    """What a node has copied: (name, bytes, ready at), and the tasks that read."""

    node: NodeId
    found: tuple[tuple[str, int, int], ...]
    readers: tuple[tuple[tuple[JobId, int, int], Inputs], ...]


class PastKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a queue's own jobs held before. Levels are texts: in their fine parts they outgrow 64 bits."""

    queue: str
    since_us: int
    levels: tuple[tuple[str, str], ...] = ()
    use: tuple[tuple[str, int], ...] = ()


class WorldKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A whole world."""

    policy: PolicySpec
    seed: int
    now_us: int
    next_job: JobId
    controller_up_us: int = 0
    victim_us: int = 0
    cycle: int = 0
    queues: tuple[QueueSpec, ...] = ()
    limits: tuple[LimitSpec, ...] = ()
    resources: tuple[str, ...] = ()
    nodes: tuple[NodeKept, ...] = ()
    node_names: dict[str, NodeId] = {}
    jobs: tuple[JobKept, ...] = ()
    dependents: tuple[tuple[JobId, tuple[JobId, ...]], ...] = ()
    ready: tuple[JobId, ...] = ()
    timers: tuple[tuple[int, int, int, int], ...] = ()
    classes: tuple[ClassKept, ...] = ()
    classes_made: int = 0
    empty_classes: tuple[ClassId, ...] = ()
    running: tuple[RunningKept, ...] = ()
    promises: tuple[PromiseKept, ...] = ()
    bookings: tuple[BookingKept, ...] = ()
    over: bytes = b""
    names: dict[str, JobId] = {}
    keys: tuple[KeyKept, ...] = ()
    gone: tuple[tuple[int, JobId, str, str], ...] = ()
    past: tuple[PastKept, ...] = ()
    flows: FlowsKept = FlowsKept()
    schedules: SchedulesKept = SchedulesKept()
    again: tuple[JobKept, ...] = ()
    asked: AskedKept = AskedKept()
    copies: tuple[CopiesKept, ...] = ()
    machines: MachinesKept = MachinesKept()
    arrays: tuple[ArrayKept, ...] = ()
    budgets: tuple[BudgetKept, ...] = ()
    forecasts: tuple[tuple[JobId, Forecast], ...] = ()
    progressed: tuple[Progressed, ...] = ()
    runs: tuple[Run, ...] = ()
    runs_count: int = 0
    policies: PolicyStanding | None = None
