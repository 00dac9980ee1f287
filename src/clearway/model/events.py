"""What happens, as records: what comes from outside, and what was decided. The journal is a list of these.

The state of the world is the result of applying them in order and nothing else. Every record begins with
`at_us`, the moment in microseconds on the driver's clock (wall clock of the start, then monotonic).
"""

from __future__ import annotations

import msgspec

from clearway.model.budgets import BudgetSpec
from clearway.model.fleet import BookingSpec, LimitSpec, MachineType, NodeSpec, PolicySpec, QueueSpec
from clearway.model.flow_events import FlowRecord
from clearway.model.forecast import Forecast
from clearway.model.ids import ClassId, JobId, NodeId
from clearway.model.job import JobSpec
from clearway.model.needs import Need
from clearway.model.policy_events import PolicyRecord
from clearway.model.reasons import Reason
from clearway.model.states import End, State
from clearway.model.use import Used


class Grant(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What one task holds: devices of one node, each with `share` milli-GPU and `gpu_memory` bytes."""

    role: int
    index: int
    node: NodeId
    devices: tuple[int, ...] = ()
    share: int = 0
    gpu_memory: int = 0


class TaskRef(msgspec.Struct, frozen=True, gc=False):
    """One task of one attempt: the number under which engines know it."""

    job: JobId
    attempt: int
    role: int
    index: int


class _Record(msgspec.Struct, frozen=True, tag=True):
    at_us: int


# --- from people -------------------------------------------------------------------------------


class Submitted(_Record, frozen=True, tag=True):
    """A job entered. `after` are the jobs that its dependency names were bound to.

    A job of an array says which (`array`), and that it was submitted with it (`since_us`). An array's jobs have the
    numbers that follow its own.
    """

    job: JobId
    spec: JobSpec
    after: tuple[JobId, ...] = ()
    array: JobId = JobId(0)
    since_us: int = 0


class Refused(_Record, frozen=True, tag=True):
    """A job was refused at the door; nothing of it is kept but this."""

    job: JobId
    name: str
    reason: Reason


class CancelAsked(_Record, frozen=True, tag=True):
    """A person wants a job ended."""

    job: JobId
    by: str = ""


class SuspendAsked(_Record, frozen=True, tag=True):
    """A person wants a job to stand still."""

    job: JobId


class ResumeAsked(_Record, frozen=True, tag=True):
    """A person wants a job that stands still to go on."""

    job: JobId


class HoldAsked(_Record, frozen=True, tag=True):
    """A person has a job held back: it does not start until it is released. What runs of it goes on."""

    job: JobId
    by: str = ""


class ReleaseAsked(_Record, frozen=True, tag=True):
    """A person lets a job go that was held back."""

    job: JobId
    by: str = ""


class RequeueAsked(_Record, frozen=True, tag=True):
    """A person wants a running job stopped, to wait again in its old place."""

    job: JobId
    by: str = ""


class Changed(_Record, frozen=True, tag=True):
    """A person changed the words of a job: it is as `spec` says from now on."""

    job: JobId
    spec: JobSpec
    by: str = ""


class Booked(_Record, frozen=True, tag=True):
    """A booking is as it says from now on, and keeps so many devices of each of these nodes (-1: the whole node)."""

    booking: BookingSpec
    places: tuple[tuple[NodeId, int], ...]


class BookingOver(_Record, frozen=True, tag=True):
    """A booking keeps nothing any more: its time is over, or a person (`by`) cancelled it."""

    name: str
    by: str = ""


class QueueChanged(_Record, frozen=True, tag=True):
    """A queue is as it says from now on."""

    queue: QueueSpec


class LimitChanged(_Record, frozen=True, tag=True):
    """A shared limit is as it says from now on."""

    limit: LimitSpec


class BudgetChanged(_Record, frozen=True, tag=True):
    """A budget is as it says from now on; what was used of it in this period stays used."""

    budget: BudgetSpec


class MachineTypeChanged(_Record, frozen=True, tag=True):
    """Machines of this type can be ordered from now on, by these words."""

    kind: MachineType


class PolicyChanged(_Record, frozen=True, tag=True):
    """Decisions follow this policy from now on."""

    policy: PolicySpec


# --- from engines ------------------------------------------------------------------------------


class NodeAdded(_Record, frozen=True, tag=True):
    """A node joined, or an existing one has new words. `node` is its number for ever."""

    node: NodeId
    spec: NodeSpec


class NodeRemoved(_Record, frozen=True, tag=True):
    """A node is gone for good."""

    node: NodeId


class NodeQuiet(_Record, frozen=True, tag=True):
    """The engine has not heard of a node since `since_us`. Whether it is lost is decided by the lease."""

    node: NodeId
    since_us: int


class NodeHeard(_Record, frozen=True, tag=True):
    """A node is heard of (again), with the tasks that run there."""

    node: NodeId
    running: tuple[TaskRef, ...] = ()


class NodeDrained(_Record, frozen=True, tag=True):
    """Nothing new is to be placed on a node (`drained`), or again (not `drained`)."""

    node: NodeId
    drained: bool = True


class NodeNoticed(_Record, frozen=True, tag=True):
    """Whoever provides a node takes it away at `gone_us`: nothing new is placed there until it is back."""

    node: NodeId
    gone_us: int


class DevicesChanged(_Record, frozen=True, tag=True):
    """Exactly these devices of a node are unhealthy: nothing new is placed on them."""

    node: NodeId
    unhealthy: tuple[int, ...] = ()


class TaskStarted(_Record, frozen=True, tag=True):
    """A task's process runs."""

    task: TaskRef


class TaskEnded(_Record, frozen=True, tag=True):
    """A task and all its processes are gone, its grant is free.

    `exit_code` is None where nobody saw it end; `error` says why it could not start; `oom`: the system killed
    something of it because it had used up its memory; `result` is the JSON text that it
    gave back, if any. `used` is what it was measured to use, where anything measured it.
    """

    task: TaskRef
    exit_code: int | None = None
    error: str = ""
    oom: bool = False
    result: str = ""
    used: Used | None = None


class TaskIdle(_Record, frozen=True, tag=True):
    """The devices of a task do nothing, since `since_us`, or (None) work again."""

    task: TaskRef
    since_us: int | None = None


class ControllerStarted(_Record, frozen=True, tag=True):
    """A controller took over: every node has a full lease from here."""


# --- decided -----------------------------------------------------------------------------------


class NodeLost(_Record, frozen=True, tag=True):
    """The lease of a node ran out: its tasks are lost, its capacity is gone until it is heard of again."""

    node: NodeId


class MachineOrdered(_Record, frozen=True, tag=True):
    """A machine is ordered: it becomes node `node` of that name, as expected at `ready_us`."""

    node: NodeId
    name: str
    kind: str
    ready_us: int
    cause: Reason


class MachineIdle(_Record, frozen=True, tag=True):
    """Nothing runs on an ordered machine and nobody waits for it from now on (`idle`), or somebody does again."""

    node: NodeId
    idle: bool = True


class MachineGone(_Record, frozen=True, tag=True):
    """An ordered machine is given back, or its order is taken back or given up."""

    node: NodeId
    cause: Reason


class Joined(_Record, frozen=True, tag=True):
    """A job stands in the line as a member of a class. Its reasons are the class's."""

    job: JobId
    cls: ClassId


class Forecasted(_Record, frozen=True, tag=True):
    """How long a job is forecast to run, by what was known before it joined the line."""

    job: JobId
    forecast: Forecast


class Sized(_Record, frozen=True, tag=True):
    """Where a job is thought to need other amounts than it asks for; what is `applied` of it, it has from now on."""

    job: JobId
    needs: tuple[Need, ...]


class Progressed(_Record, frozen=True, tag=True):
    """How far an attempt said that it is (`step` of `total`), and how long by that it is to run from its start.

    Its pace is that since it had run for `since_us` and was at step `since`. Not each report is a record: one that
    moves what is expected.
    """

    job: JobId
    attempt: int
    step: int
    total: int
    forecast: Forecast
    since: int = 0
    since_us: int = 0


class ClassWaits(_Record, frozen=True, tag=True):
    """Why the jobs of a class wait, from now on."""

    cls: ClassId
    reasons: tuple[Reason, ...]


class JobWaits(_Record, frozen=True, tag=True):
    """Why one job waits, from now on, other than for its class's reasons."""

    job: JobId
    reasons: tuple[Reason, ...]


class Planned(_Record, frozen=True, tag=True):
    """A cycle decided: the `records` records behind this one are its plan.

    It read the first `revision` records of the journal, and decided by the policy with this hash and this seed. What it
    knew of run times stands in the records, too: so it can be decided again, bit for bit.
    """

    cycle: int
    revision: int
    policy: str
    seed: int
    records: int


class BudgetNoticed(_Record, frozen=True, tag=True):
    """So much of a budget is used in its period that it is told."""

    name: str


class BudgetUsedUp(_Record, frozen=True, tag=True):
    """A budget is used up: nothing that it is for starts before its next period."""

    name: str


class BudgetBegan(_Record, frozen=True, tag=True):
    """A new period of a budget began, with nothing used."""

    name: str


class Reserved(_Record, frozen=True, tag=True):
    """A waiting job is promised these grants at `start_us`; no grants: the promise is over.

    `held`: they are being cleared for it by stopping others, and kept for it until it starts.
    """

    job: JobId
    start_us: int
    grants: tuple[Grant, ...]
    held: bool = False


class Started(_Record, frozen=True, tag=True):
    """An attempt holds its grants and is being started."""

    job: JobId
    attempt: int
    grants: tuple[Grant, ...]
    cause: Reason


class Stopping(_Record, frozen=True, tag=True):
    """The intent to stop an attempt, recorded before anyone is told: how it will have ended, and why."""

    job: JobId
    attempt: int
    end: End
    cause: Reason


class IdleWarned(_Record, frozen=True, tag=True):
    """All devices of an attempt do nothing since `since_us`, longer than the policy has it told."""

    job: JobId
    attempt: int
    since_us: int


class Resized(_Record, frozen=True, tag=True):
    """An attempt grows by `more` grants, or is told to give back `less` of them; it goes on with the others."""

    job: JobId
    attempt: int
    cause: Reason
    more: tuple[Grant, ...] = ()
    less: tuple[Grant, ...] = ()


class Paused(_Record, frozen=True, tag=True):
    """An attempt stands still (`paused`) or goes on (not `paused`); it keeps its grants."""

    job: JobId
    attempt: int
    paused: bool


class AttemptEnded(_Record, frozen=True, tag=True):
    """The last grant of an attempt is free."""

    job: JobId
    attempt: int
    end: End
    cause: Reason


class Requeued(_Record, frozen=True, tag=True):
    """A job is pending again and may start from `not_before_us` on."""

    job: JobId
    not_before_us: int
    cause: Reason


class Ended(_Record, frozen=True, tag=True):
    """A job reached a terminal state."""

    job: JobId
    state: State
    reason: Reason | None = None


Input = (
    Submitted | Refused | CancelAsked | SuspendAsked | ResumeAsked | HoldAsked | ReleaseAsked | RequeueAsked | Changed
    | Booked | BookingOver | QueueChanged | LimitChanged | BudgetChanged | MachineTypeChanged | PolicyChanged
    | NodeAdded | NodeRemoved | NodeQuiet | NodeHeard | NodeDrained | NodeNoticed | DevicesChanged
    | TaskStarted | TaskEnded | TaskIdle | ControllerStarted
)  # fmt: skip
Decided = (
    NodeLost
    | MachineOrdered
    | MachineIdle
    | MachineGone
    | Forecasted
    | Sized
    | Progressed
    | Joined
    | ClassWaits
    | JobWaits
    | Planned
    | BudgetNoticed
    | BudgetUsedUp
    | BudgetBegan
    | Reserved
    | Started
    | Stopping
    | IdleWarned
    | Resized
    | Paused
    | AttemptEnded
    | Requeued
    | Ended
)
Record = Input | Decided | FlowRecord | PolicyRecord
