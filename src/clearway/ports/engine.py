"""The port to whatever runs processes: this machine, a cluster, or a fake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from clearway.model.events import TaskRef
from clearway.model.fleet import NodeSpec
from clearway.model.use import Used

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clearway.model.actions import Action


class TaskIsUp(msgspec.Struct, frozen=True, tag=True):
    """A task's process runs."""

    task: TaskRef


class TaskIsGone(msgspec.Struct, frozen=True, tag=True):
    """A task and all its processes are gone. `exit_code` None: nobody saw the end. `error`: why it never ran.

    `oom`: the system killed something of it because it had used up its memory, where the engine can tell.
    `result` is the JSON text that it gave back, if any. `used`: what it was measured to use, if anything measured it.
    """

    task: TaskRef
    exit_code: int | None = None
    error: str = ""
    oom: bool = False
    result: str = ""
    used: Used | None = None


class TaskReported(msgspec.Struct, frozen=True, tag=True):
    """A task told at a step of its work how it does: `metrics` is JSON, a number or a map of names to numbers.

    `total`: how many steps there are, 0 where it did not say; `metrics` is empty where it told no more than that.
    May come again, and late; what comes after the task's end is dropped. Of tasks whose job does not ask for reports
    (`JobSpec.reports`) only the newest one comes, now and then, and only of the first task of a role.
    """

    task: TaskRef
    step: int
    metrics: str = ""
    total: int = 0


class TaskIsIdle(msgspec.Struct, frozen=True, tag=True):
    """The devices of a task have done nothing for `for_us` microseconds now, or (None) work again after that was told.

    Told once each time, and only after a while; an engine that measures nothing never says so. A new one begins anew.
    """

    task: TaskRef
    for_us: int | None = None


class NodeIsUp(msgspec.Struct, frozen=True, tag=True):
    """A node exists with these words and runs these tasks.

    Sent at `open` for each node, and when one joins, comes back or changes. It may come late: a task that has started
    since is then missing among `running`, and one that has ended is there. What should run and does not is told to
    stop, and counts as gone once its TaskIsGone has come. But it never comes after a NodeIsQuiet of its node that is
    younger: what a node said before it fell silent is dropped. `stuck`: tasks that cannot be ended though they were
    killed; their devices are of no use to anybody until they are gone.
    """

    spec: NodeSpec
    running: tuple[TaskRef, ...] = ()
    unhealthy: tuple[int, ...] = ()
    stuck: tuple[TaskRef, ...] = ()


class NodeIsQuiet(msgspec.Struct, frozen=True, tag=True):
    """Nothing was heard of a node for `quiet_us` microseconds now."""

    node: str
    quiet_us: int = 0


class NodeIsNoticed(msgspec.Struct, frozen=True, tag=True):
    """Whoever provides a node takes it away `in_us` microseconds from now. After `open` it is told again until then."""

    node: str
    in_us: int


class NodeIsGone(msgspec.Struct, frozen=True, tag=True):
    """A node left for good."""

    node: str


Report = TaskIsUp | TaskIsGone | TaskReported | TaskIsIdle | NodeIsUp | NodeIsQuiet | NodeIsNoticed | NodeIsGone


class DeviceUse(msgspec.Struct, frozen=True, gc=False):
    """What is used of one device: the part of the time in which it worked, in thousandths, and bytes of its memory.

    None is what could not be measured.
    """

    busy: int | None = None
    memory: int | None = None


class TaskUse(msgspec.Struct, frozen=True, gc=False):
    """What a task uses at the moment, in the units of `model.use.Used`. None is what could not be measured.

    `mean_busy` is `busy` since its start, or since it has been looked at.
    """

    cpus: int | None = None
    memory: int | None = None
    busy: int | None = None
    gpu_memory: int | None = None
    mean_busy: int | None = None


class Measured(msgspec.Struct, frozen=True):
    """What was measured last. `number` grows with each look, `why_not` says why nothing is known of devices.

    Devices are by node and number, slices among them.
    """

    number: int = 0
    devices: dict[tuple[str, int], DeviceUse] = {}
    tasks: dict[TaskRef, TaskUse] = {}
    why_not: str = ""


class Inventory(msgspec.Struct, frozen=True):
    """What an engine has when it is opened: every node with what runs there, and ends not yet acknowledged."""

    nodes: tuple[NodeIsUp, ...]
    gone: tuple[TaskIsGone, ...] = ()


class Engine(Protocol):
    """Starts and stops tasks on nodes, and tells what happened.

    - `carry_out` never blocks for a task and raises nothing for one: what cannot be done comes back as a report.
      A Launch for a task that runs or has run is not started again (same job, attempt, role, index). A Halt for a
      task that is unknown or over answers with TaskIsGone again.
    - A report is delivered at least once. TaskIsGone means that no process of the task is left.
    - Tasks outlive the controller: after a crash, `open` on a new instance finds them.
    - What a task prints lies in the files of the home that its order names, where this machine can read them.
    - A task is told where rank 0 is (MASTER_ADDR) by the engine: it knows the addresses of its nodes.
    """

    @property
    def lacks(self) -> Mapping[str, str]:
        """Words of `ports.optional` that it does not have, each with the rule that a job is refused by."""
        ...

    def enforced(self) -> dict[str, str]:
        """Return what is done about each thing that a job can ask for, in a sentence each: gpus, cpus, memory, .."""
        ...

    @property
    def trouble(self) -> str:
        """What it cannot do at the moment though all goes on, in a sentence, "" when all is well. For any thread."""
        ...

    @property
    def measured(self) -> Measured:
        """What is used now, as far as it is measured. For any thread; returns at once."""
        ...

    def open(self) -> Inventory:
        """Attach, and return what is there. Called once, before anything else."""
        ...

    def carry_out(self, actions: Sequence[Action]) -> None:
        """Do what can be done of each action, in order."""
        ...

    def reports(self) -> list[Report]:
        """Return what happened since the last call, oldest first; does not wait."""
        ...

    def wait(self, timeout_s: float) -> None:
        """Return as soon as there may be a report, at the latest after `timeout_s`.

        `wake` ends it from another thread.
        """
        ...

    def wake(self) -> None:
        """End a running `wait` at once."""
        ...

    def acknowledge(self, tasks: Sequence[TaskRef]) -> None:
        """Learn that the ends of these tasks are in the journal: they may be forgotten."""
        ...

    def look(self) -> None:
        """Have every node that answers be reported anew: its NodeIsUp, with all that runs there, comes in `reports`."""
        ...

    def close(self) -> None:
        """Detach. Tasks go on."""
        ...
