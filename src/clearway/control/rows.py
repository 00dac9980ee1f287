"""What readers see of jobs, nodes and queues: whole rows that never change, and are replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clearway.model.array import Array
from clearway.model.events import Grant
from clearway.model.fleet import NodeSpec, QueueSpec
from clearway.model.ids import ClassId, JobId, NodeId
from clearway.model.reasons import Reason
from clearway.model.states import TERMINAL, State

if TYPE_CHECKING:
    from clearway.model.job import Demand

Amounts = tuple[tuple[str, int], ...]
"""Amounts by resource, sorted, zeros left out: gpus, cpus and bandwidth in thousandths, memory, disk and gpu_memory
in bytes, others counts.
"""


class Progress(msgspec.Struct, frozen=True):
    """An array's jobs by what they do; all others have not been let in yet. `named` are indices that failed."""

    array: Array
    waiting: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    named: tuple[int, ...] = ()

    @property
    def left(self) -> int:
        """How many wait, in the line or outside of it."""
        return self.array.size - self.running - self.succeeded - self.failed - self.cancelled


class JobRow(msgspec.Struct, frozen=True):
    """A job as it stands. Times in microseconds; `started_us`, `grants` and `exit_code` are of the last attempt.

    It waits for `reasons`, or, where `cls` is a number, for that class's (`Board.reasons` knows both). `reason` is
    why it ended. `exit_code`: the first of its tasks' that is not 0, else 0; None while nothing has ended. `held_by`:
    who has it held back. `promised_us`: when a waiting job is promised to start, and on what (`promised`). `array`
    and `index`: which job of which array it is. `progress`: it is an array, which runs from its first start on.
    `stopped_us`: when the last attempt of one that had to wait again was over. `idle`: the role, the index and since
    when of each task whose devices do nothing.
    """

    id: JobId
    name: str
    state: State
    queue: str
    priority: int
    user: str
    tasks: int
    milli_gpus: int
    submitted_us: int
    started_us: int | None = None
    ended_us: int | None = None
    attempt: int = 0
    grants: tuple[Grant, ...] = ()
    cls: ClassId | None = None
    reasons: tuple[Reason, ...] = ()
    exit_code: int | None = None
    reason: Reason | None = None
    held_by: str | None = None
    promised_us: int | None = None
    array: JobId | None = None
    index: int | None = None
    progress: Progress | None = None
    stopped_us: int | None = None
    tenant: str = ""
    promised: tuple[Grant, ...] = ()
    idle: tuple[tuple[int, int, int], ...] = ()

    @property
    def idle_since_us(self) -> int | None:
        """Since when all devices that it holds do nothing; None where some work, or nothing measures them."""
        since = {(role, index): us for role, index, us in self.idle}
        holding = [(grant.role, grant.index) for grant in self.grants if grant.devices]
        return max(since[key] for key in holding) if holding and since.keys() >= set(holding) else None

    @property
    def over(self) -> bool:
        """Whether it has reached a terminal state."""
        return self.state in TERMINAL


class NodeRow(msgspec.Struct, frozen=True):
    """A node as it stands. `quiet_since_us`: not heard of since then. `gone_us`: taken away then.

    `use`: what `tasks` tasks hold of it.

    `shares` and `memories` are what is held of each device: milli-GPU, and bytes where the grant states them.
    """

    id: NodeId
    spec: NodeSpec
    lost: bool = False
    quiet_since_us: int | None = None
    drained: bool = False
    gone_us: int | None = None
    unhealthy: tuple[int, ...] = ()
    tasks: int = 0
    use: Amounts = ()
    shares: tuple[int, ...] = ()
    memories: tuple[int, ...] = ()

    @property
    def state(self) -> str:
        """How it stands, in a word: ready, drained, leaving, quiet or lost."""
        if self.lost:
            return "lost"
        if self.quiet_since_us is not None:
            return "quiet"
        if self.gone_us is not None:
            return "leaving"
        return "drained" if self.drained else "ready"


class QueueRow(msgspec.Struct, frozen=True):
    """A queue as it stands: its jobs that wait and that hold something, and what these hold, children's left out."""

    spec: QueueSpec
    pending: int = 0
    running: int = 0
    use: Amounts = ()


def amounts_of(grant: Grant, demand: Demand) -> dict[str, int]:
    """Return what one grant holds, by resource."""
    return {
        "gpus": grant.share * len(grant.devices),
        "gpu_memory": grant.gpu_memory * len(grant.devices),
        "cpus": demand.cpus,
        "memory": demand.memory,
        "disk": demand.disk,
        "bandwidth": demand.bandwidth,
        **dict(demand.resources),
    }


def changed(use: Amounts, by: dict[str, int], sign: int) -> Amounts:
    """Return `use` with `by` added (`sign` 1) or taken off (-1)."""
    sums = dict(use)
    for resource, amount in by.items():
        sums[resource] = sums.get(resource, 0) + sign * amount
    return tuple(sorted((resource, amount) for resource, amount in sums.items() if amount))


def spread(held: tuple[int, ...], devices: tuple[int, ...], by: int) -> tuple[int, ...]:
    """Return the amounts per device with `by` added on each of `devices`."""
    size = max(len(held), max(devices, default=-1) + 1)
    sums = [*held, *[0] * (size - len(held))]
    for device in devices:
        sums[device] += by
    return tuple(sums)
