"""Nodes, devices, queues, the controller and the whole at a glance."""

from __future__ import annotations

from typing import Annotated

from clearway.api.forms.base import Amounts, Counts, Form, Moment, Words, says


class Device(Form):
    """A device, and how much of it is held."""

    number: Annotated[int, says("its number on its node")]
    held: Annotated[float, says("the part of it that is held, 0 to 1")]
    gpu_memory: Annotated[int, says("bytes of its memory that are held")]
    healthy: Annotated[bool, says("something may be placed on it")]


class Slice(Form):
    """A slice of a device (MIG)."""

    number: Annotated[int, says("its number on its node")]
    device: Annotated[int, says("number of the device that it is part of")]
    profile: Annotated[str, says("its kind, as the driver names it")]
    held: Annotated[bool, says("a task holds it")]
    healthy: Annotated[bool, says("something may be placed on it")]


class Node(Form):
    """A node: what it has, and what is held of it."""

    name: Annotated[str, says("its name")]
    state: Annotated[str, says("ready, drained, quiet, lost, ..")]
    drained: Annotated[bool, says("nothing new is placed on it")]
    quiet_since: Annotated[Moment | None, says("since when nothing was heard of it; null: it is heard")]
    gpus: Annotated[int, says("how many devices it has")]
    gpu_model: Annotated[str | None, says("their model")]
    gpu_memory: Annotated[float | None, says("bytes of each device; null: plenty")]
    counted_only: Annotated[bool, says("its devices were declared, not found")]
    unhealthy: Annotated[list[int], says("numbers of devices and slices on which nothing is placed")]
    cpus: Annotated[float | None, says("CPUs; null: plenty")]
    memory: Annotated[float | None, says("bytes; null: plenty")]
    disk: Annotated[float | None, says("bytes; null: plenty")]
    bandwidth: Annotated[float | None, says("Gbit/s; null: plenty")]
    resources: Annotated[Counts, says("other resources that are counted, by name")]
    rack: Annotated[str | None, says("its rack")]
    zone: Annotated[str | None, says("its zone")]
    labels: Annotated[dict[str, str], says("its labels")]
    taints: Annotated[list[str], says("only jobs that tolerate these are placed on it")]
    tasks: Annotated[int, says("how many tasks hold something of it")]
    use: Annotated[Amounts, says("what is held, by resource")]
    free_gpus: Annotated[float, says("devices that may be given away")]
    devices: Annotated[list[Device], says("its devices, by number")]
    slices: Annotated[list[Slice], says("its slices, by number")]


class Nodes(Form):
    """All nodes."""

    nodes: Annotated[list[Node], says("in the order in which they came")]


class HeldBy(Form):
    """A job that holds part of a device."""

    job: Annotated[int, says("its number")]
    name: Annotated[str, says("its name")]
    queue: Annotated[str, says("the queue it is in")]
    share: Annotated[int, says("thousandths of the device; 0 where only memory is shared")]
    gpu_memory: Annotated[int, says("bytes of the device's memory")]


class SeenDevice(Device):
    """A device with who holds it, and its real use."""

    held_by: Annotated[list[HeldBy], says("by number of the job")]
    used: Annotated[float | None, says("part of the time that it works, 0 to 1; null: not measured")]
    gpu_memory_used: Annotated[int | None, says("bytes of its memory that are taken; null: not measured")]


class SeenSlice(Slice):
    """A slice with who holds it, and its real use."""

    held_by: Annotated[list[HeldBy], says("by number of the job")]
    used: Annotated[float | None, says("part of the time that it works, 0 to 1; null: not measured")]
    gpu_memory_used: Annotated[int | None, says("bytes of its memory that are taken; null: not measured")]


class Islands(Form):
    """Which devices of a node are close to each other: numbers, in groups."""

    nvlink: Annotated[list[list[int]], says("linked by NVLink")]
    pcie: Annotated[list[list[int]], says("under one PCIe switch")]
    numa: Annotated[list[list[int]], says("on one NUMA side")]


class SeenNode(Node):
    """A node with its devices."""

    devices: Annotated[list[SeenDevice], says("its devices, by number")]  # type: ignore[assignment]  # more of each
    slices: Annotated[list[SeenSlice], says("its slices, by number")]  # type: ignore[assignment]  # more of each
    islands: Annotated[Islands, says("which devices are close to each other")]


class IsMeasured(Form):
    """Whether the real use of devices is measured."""

    devices: Annotated[bool, says("of some device it is")]
    why_not: Annotated[str | None, says("why it is not, as a sentence")]


class Devices(Form):
    """All nodes with their devices."""

    nodes: Annotated[list[SeenNode], says("in the order in which they came")]
    measured: Annotated[IsMeasured, says("whether their real use is measured")]


class Queue(Form):
    """A queue with its words and how it stands."""

    name: Annotated[str, says("its name")]
    parent: Annotated[str | None, says("the queue above it")]
    guarantee: Annotated[Amounts, says("what it can claim back, by resource")]
    limit: Annotated[Amounts, says("what it may hold at most, by resource")]
    limit_per_user: Annotated[Amounts, says("what one user may hold in it at most, by resource")]
    weight: Annotated[int, says("its share of what is left over")]
    borrow: Annotated[bool, says("it may use what others leave")]
    lend: Annotated[bool, says("others may use what it leaves")]
    order: Annotated[list[str], says("the order inside it; none: the policy's")]
    defaults: Annotated[Words, says("words for jobs that do not say them, without `env`")]
    call_rate: Annotated[str | None, says("so many calls it hands over in a time, as `100/min`")]
    pending: Annotated[int, says("jobs that wait")]
    running: Annotated[int, says("jobs that run")]
    use: Annotated[Amounts, says("what its own jobs hold, by resource")]


class QueueNow(Queue):
    """A queue, and what it and all below it hold, want and may have."""

    total_use: Annotated[Amounts | None, says("what its jobs and those of all below it hold; null: not known now")]
    wants: Annotated[Amounts | None, says("what these hold and wait for")]
    share: Annotated[Amounts | None, says("its fair share, by the resource that shares are measured by")]
    past: Annotated[Amounts | None, says("what counts of its past use; null where the policy forgets it at once")]


class Queues(Form):
    """All queues."""

    queues: Annotated[list[QueueNow], says("by name, each after the one above it")]


class NamedJob(Form):
    """A job by number and name."""

    job: Annotated[int, says("its number")]
    name: Annotated[str, says("its name")]
    queue: Annotated[str, says("the queue it is in")]


class Share(Form):
    """The fair share of a queue before and after a change."""

    name: Annotated[str, says("its name")]
    measure: Annotated[str, says("of what: the resource by which shares are measured")]
    share_before: Annotated[float | None, says("in GPUs or parts of the fleet; null: it was not there")]
    share_after: Annotated[float | None, says("the same afterwards")]


class Preview(Form):
    """What other words for a queue would do at once."""

    starting: Annotated[int, says("how many jobs would start")]
    stopping: Annotated[int, says("how many would be stopped")]
    starts: Annotated[list[NamedJob], says("the first hundred that would start")]
    stops: Annotated[list[NamedJob], says("the first hundred that would be stopped")]
    queues: Annotated[list[Share], says("the fair share of each queue")]


class Health(Form):
    """Whether the controller decides and writes."""

    status: Annotated[str, says("up, or what it is instead")]


class Gpus(Form):
    """How many devices there are."""

    total: Annotated[int, says("of all nodes")]
    held: Annotated[float, says("so many are held")]
    free: Annotated[float, says("so many may be given away")]
    counted_only: Annotated[int, says("so many were declared, not found")]


class About(Form):
    """The controller."""

    pid: Annotated[int, says("number of its process")]
    socket: Annotated[str, says("path of the owner's socket")]
    listen: Annotated[str, says("URL of its port; empty: it has none")]
    version: Annotated[str, says("version of Clearway")]
    home: Annotated[str, says("its home directory")]
    term: Annotated[int | None, says("its term as the leader; null where there can be no other")]
    since: Annotated[Moment, says("when it began")]
    state: Annotated[str, says("up, or what it is instead")]
    text: Annotated[str, says("the same as a sentence")]


class Engine(Form):
    """The engine, and what it holds tasks to."""

    name: Annotated[str, says("the setting `engine`")]
    enforced: Annotated[dict[str, str], says("by resource: a sentence on what it does about it")]


class CallsAtHand(Form):
    """How many calls there are."""

    pending: Annotated[int, says("calls that wait")]
    running: Annotated[int, says("calls in a worker's hand")]


class Records(Form):
    """The journal."""

    records: Annotated[int, says("number of the last record")]


class SelfAudit(Form):
    """What the controller found when it compared itself with its journal."""

    looks: Annotated[int, says("how often it looked")]
    at: Annotated[Moment | None, says("when it looked last")]
    found: Annotated[Counts, says("differences by kind; each was repaired")]
    last: Annotated[str | None, says("the last one, as a sentence")]
    last_at: Annotated[Moment | None, says("when that was")]


class Disk(Form):
    """A disk, in bytes."""

    free: Annotated[int, says("what is left for the controller")]
    total: Annotated[int, says("what it has")]


class PoolAtHand(Form):
    """Workers that are alike, and the calls that they work on."""

    pool: Annotated[int, says("its number")]
    functions: Annotated[list[str], says("names of the functions that it runs")]
    pending: Annotated[int, says("calls that could start, if there were workers")]
    running: Annotated[int, says("calls that workers have in hand")]
    workers: Annotated[int, says("workers that are there")]


class Status(Form):
    """The controller and what it has in hand."""

    controller: Annotated[About, says("who leads, and how it fares")]
    engine: Annotated[Engine, says("what runs the tasks")]
    policy: Annotated[Words | None, says("the words of the policy in force; durations in seconds")]
    jobs: Annotated[Counts, says("jobs at hand, by state")]
    calls: Annotated[CallsAtHand, says("small calls")]
    pools: Annotated[
        list[PoolAtHand], says("pools that have calls or workers, those first for which most wait; at most 100")
    ]
    nodes: Annotated[int, says("how many nodes there are")]
    gpus: Annotated[Gpus, says("devices")]
    journal: Annotated[Records, says("the journal")]
    disk: Annotated[Disk | None, says("the disk on which its home is; null: it cannot be told")]
    self_audit: Annotated[SelfAudit, says("what it found when it looked at itself")]


class Fares(Form):
    """How the controller fares."""

    state: Annotated[str, says("up, or what it is instead")]
    text: Annotated[str, says("the same as a sentence")]


class Leader(Form):
    """Who leads."""

    pid: Annotated[int, says("number of its process")]
    version: Annotated[str, says("version of Clearway")]
    home: Annotated[str, says("its home directory")]
    since: Annotated[Moment, says("when it began")]
    term: Annotated[int | None, says("its term; null where there can be no other")]


class QueueCounts(Form):
    """How many jobs of a queue do what."""

    name: Annotated[str, says("its name")]
    pending: Annotated[int, says("jobs that wait")]
    running: Annotated[int, says("jobs that run")]


class Longest(Form):
    """The job that waits longest."""

    id: Annotated[int, says("its number")]
    name: Annotated[str, says("its name")]
    submitted: Annotated[Moment, says("when it was submitted")]


class Waiting(Form):
    """A reason for which jobs wait."""

    code: Annotated[str, says("one of docs/reasons")]
    text: Annotated[str, says("the sentence of the job that waits longest")]
    jobs: Annotated[int, says("how many wait for it before all")]
    gpus: Annotated[float, says("GPUs that these ask for together")]
    longest: Annotated[Longest, says("the one that waits longest")]


class FailedJob(Form):
    """A job that failed."""

    id: Annotated[int, says("its number")]
    name: Annotated[str, says("its name")]
    ended: Annotated[Moment, says("when it was over")]
    text: Annotated[str, says("why, in words")]


class Failed(Form):
    """Jobs that failed lately."""

    jobs: Annotated[int, says("how many")]
    since: Annotated[Moment, says("from when on they count")]
    latest: Annotated[list[FailedJob], says("the latest few, latest first")]


class OddJob(Form):
    """A running job that is odd."""

    id: Annotated[int, says("its number")]
    name: Annotated[str, says("its name")]
    kind: Annotated[str, says("`overrun`: it runs far longer than foreseen; `stalled`: it makes no progress any more")]
    since: Annotated[Moment, says("since when")]
    text: Annotated[str, says("the same with its times, as a sentence")]


class OddJobs(Form):
    """Running jobs that are odd."""

    jobs: Annotated[int, says("how many")]
    longest: Annotated[list[OddJob], says("the first few, those that have been so longest")]


class Overview(Form):
    """What is so, at a glance."""

    at: Annotated[Moment, says("the controller's clock")]
    health: Annotated[Fares, says("how it fares")]
    leader: Annotated[Leader, says("who leads")]
    journal: Annotated[Records, says("the journal")]
    jobs: Annotated[Counts, says("jobs at hand, by state")]
    queues: Annotated[list[QueueCounts], says("by name")]
    nodes: Annotated[Counts, says("nodes by state")]
    gpus: Annotated[Gpus, says("devices")]
    waiting: Annotated[list[Waiting], says("why jobs wait, the reason of most first")]
    failed: Annotated[Failed, says("jobs that failed in the last hour")]
    odd: Annotated[OddJobs, says("running jobs that are odd, looked for every 5 seconds")]


class Stopping(Form):
    """The controller stops."""

    stopping: Annotated[bool, says("true")]


class Reloaded(Form):
    """Settings that were read anew."""

    in_force: Annotated[list[str], says("settings that hold now")]
    at_next_start: Annotated[list[str], says("settings that have changed and hold from the next start on")]
