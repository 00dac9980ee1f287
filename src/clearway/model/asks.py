"""What people ask of a controller. The loop answers each, and records what follows from it."""

from __future__ import annotations

import msgspec

from clearway.model.fleet import LimitSpec, PolicySpec, QueueSpec
from clearway.model.ids import JobId
from clearway.model.job import JobSpec
from clearway.model.reasons import Reason


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


class SetQueue(msgspec.Struct, frozen=True):
    """Create or change a queue. Answer: None."""

    queue: QueueSpec


class SetLimit(msgspec.Struct, frozen=True):
    """Create or change a shared limit. Answer: None."""

    limit: LimitSpec


class SetPolicy(msgspec.Struct, frozen=True):
    """Decide by this policy from now on. Answer: None."""

    policy: PolicySpec


class Drain(msgspec.Struct, frozen=True):
    """Place nothing new on a node (`drained`), or do so again. Answer: None."""

    node: str
    drained: bool = True


class ControllerUp(msgspec.Struct, frozen=True):
    """A controller took over; the engine's inventory follows as reports. Answer: None."""


Ask = Submit | Refuse | Cancel | Suspend | Resume | SetQueue | SetLimit | SetPolicy | Drain | ControllerUp
