"""The nouns of work: what a task asks for, and what a user submits."""

from __future__ import annotations

import msgspec

from clearway.model.array import Array
from clearway.model.slices import slice_of
from clearway.model.speedup import Speedup, worth
from clearway.model.values import SECOND_US

WHOLE = 1000
"""A whole device in milli-GPU."""


class Demand(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What one task asks for on one node. Equal demands are one and the same to the core.

    `gpus` whole devices, or `share` milli-GPU of one device; `gpu_memory` bytes on each device
    (with neither `gpus` nor `share`: a memory share of one device). `cpus` and `bandwidth` are
    thousandths of a CPU and of a Gbit/s; `memory` and `disk` bytes; `resources` whole counts by name.
    `gpu_models` is in order of preference, empty for any. `inputs` are names and bytes of the data that it reads.
    `colocate`: so many other tasks that allow it too may take turns on its devices; goes with whole `gpus` only.
    `slice`: the profile of one fixed slice of a device, in place of `gpus`, `share` and `gpu_memory`.
    """

    gpus: int = 0
    share: int = 0
    gpu_memory: int = 0
    cpus: int = 0
    memory: int = 0
    disk: int = 0
    bandwidth: int = 0
    resources: tuple[tuple[str, int], ...] = ()
    gpu_models: tuple[str, ...] = ()
    nodes: tuple[tuple[str, str], ...] = ()
    tolerates: tuple[str, ...] = ()
    spot: str = "allow"
    inputs: tuple[tuple[str, int], ...] = ()
    colocate: int = 0
    slice: str = ""

    @property
    def one_device(self) -> bool:
        """Whether it asks for a part of one device, by share or by memory."""
        return self.gpus == 0 and (self.share > 0 or self.gpu_memory > 0)

    @property
    def milli_gpus(self) -> int:
        """Device time asked for, in milli-GPU."""
        return self.gpus * WHOLE + self.share + (slice_of(self.slice).milli if self.slice else 0)


class Role(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A kind of tasks of a job: `tasks` of them, nothing runs below `min_tasks`."""

    name: str = "task"
    tasks: int = 1
    min_tasks: int = 1
    demand: Demand = Demand()
    one_per_node: bool = False


class Checkpoint(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How a job saves its work: `every` bounds what a stop loses, `signal` and `grace` how it is asked to stop."""

    every_us: int = 0
    signal: str = "SIGTERM"
    grace_us: int = 10 * SECOND_US
    on_stop: bool = False
    write_time_us: int = 0


class Pin(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A place that a scenario fixes for attempt 1."""

    node: str
    devices: tuple[int, ...] = ()


LEVELS = ("nvlink", "pcie", "numa", "node", "rack", "zone")
"""What may hold all devices of a job, from near to far."""


class Topology(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The domain, one of LEVELS, inside which all devices of a job must sit, and the one inside which they should."""

    require: str = ""
    prefer: str = ""


class JobSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """All the words of a job (docs/job.md), read and checked, with units added to their names; None means not said.

    `code`: empty where it runs in `workdir` as that is when it starts, else `sha256:` and the digest of the files that
    it takes along (`copied` before they were packed).

    `secrets` are names; a value is read by the process that becomes a task, and by nobody else.

    `array`: it is an entry that stands for many; `index`: it is one of those. What only a workflow gives: `input` is
    the JSON text that it is handed, `skip_code` the exit code (0: none) by which it says that it had nothing to do.

    `runtime_env`: what Ray is to make ready for it, as JSON in Ray's words, "" for nothing.

    `outputs`: names and bytes of the data that it leaves on the disks of its nodes when it succeeds.

    `traceparent`: the span of whoever submitted it, as W3C Trace Context writes it.
    """

    name: str
    roles: tuple[Role, ...] = (Role(),)
    queue: str = "default"
    priority: int = 0
    run: tuple[str, ...] = ()
    shell: bool = False
    workdir: str = ""
    env: tuple[tuple[str, str], ...] = ()
    uses: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    time_limit_us: int | None = None
    time_estimate_us: int | None = None
    start_deadline_us: int | None = None
    deadline_us: int | None = None
    on_deadline: str = "report"
    preemptible: bool = True
    checkpoint: Checkpoint = Checkpoint()
    max_retries: int = 0
    retry_on: tuple[str, ...] = ()
    retry_backoff_us: int = 2 * SECOND_US
    retry_backoff_max_us: int = 300 * SECOND_US
    retry_jitter: str = "none"
    retry_window_us: int | None = None
    max_losses: int = 10
    idempotency_key: str = ""
    user: str = ""
    tenant: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    pin: Pin | None = None
    topology: Topology = Topology()
    code: str = ""
    input: str = ""
    skip_code: int = 0
    speedup: Speedup = ()
    max_cost_micros: int | None = None
    array: Array | None = None
    index: int | None = None
    traceparent: str = ""
    secrets: tuple[str, ...] = ()
    venv: str = ""
    image: str = ""
    reports: bool = False
    outputs: tuple[tuple[str, int], ...] = ()
    right_size: str = "suggest"
    runtime_env: str = ""

    @property
    def estimate_us(self) -> int | None:
        """How long the user says it runs: the estimate, else the limit, else unknown."""
        if self.time_estimate_us is None or self.time_limit_us is None:
            return self.time_limit_us if self.time_estimate_us is None else self.time_estimate_us
        return min(self.time_estimate_us, self.time_limit_us)

    def worth(self, role: Role) -> int:
        """How many tasks of a role the job is worth giving: its speedup may say that more gain nothing."""
        return max(worth(self.speedup, role.tasks), role.min_tasks) if self.speedup else role.tasks

    @property
    def milli_gpus(self) -> int:
        """Device time of all its tasks together, in milli-GPU."""
        return sum(r.tasks * r.demand.milli_gpus for r in self.roles)


def member(spec: JobSpec, position: int) -> JobSpec:
    """Return the job at a position of an array. What counts for the array as a whole stays with the array."""
    if spec.array is None:
        raise ValueError(f"{spec.name} is no array")
    index = spec.array.index(position)
    left = tuple((f"{name}[{index}]", size) for name, size in spec.outputs)
    return msgspec.structs.replace(
        spec, name=f"{spec.name}[{index}]", array=None, index=index, after=(), idempotency_key="",
        start_deadline_us=None, on_deadline="report", outputs=left,
    )  # fmt: skip
