"""What follows from what people ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model import asks, events as ev
from clearway.model.errors import ConflictError, InputError, NotFoundError
from clearway.model.reasons import Code, because
from clearway.model.states import End, State
from clearway.policies.registry import rules_for

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry
    from clearway.loop.world import World
    from clearway.model.asks import Ask
    from clearway.model.ids import JobId
    from clearway.model.job import JobSpec


def answer(world: World, ask: Ask) -> object:
    """Carry out one ask and return its answer; a ClearwayError means that nothing was recorded."""
    match ask:
        case asks.Submit():
            return _submit(world, ask.specs)
        case asks.Refuse():
            world.emit(ev.Refused(world.now_us, _next(world), ask.name, ask.reason))
        case asks.Cancel():
            _cancel(world, ask)
        case asks.Suspend():
            _suspend(world, ask.job)
        case asks.Resume():
            _resume(world, ask.job)
        case asks.SetQueue():
            _set_queue(world, ask)
        case asks.SetLimit():
            world.emit(ev.LimitChanged(world.now_us, ask.limit))
        case asks.SetPolicy():
            rules_for(ask.policy)
            world.emit(ev.PolicyChanged(world.now_us, ask.policy))
        case asks.Drain():
            _drain(world, ask)
        case asks.ControllerUp():
            raise NotFoundError("ControllerUp is taken by the world itself")
    return None


def _next(world: World) -> JobId:
    return JobIdType(world.state.next_job)


def _submit(world: World, specs: tuple[JobSpec, ...]) -> tuple[JobId, ...]:
    """Check every job of a batch, then enter all of them."""
    first, batch = world.state.next_job, {spec.name: i for i, spec in enumerate(specs)}
    known = [_known(world, spec) for spec in specs]
    numbers = iter(range(first, first + len(specs)))
    ids = [JobIdType(next(numbers)) if job is None else job for job in known]
    bound = [_bind(world, spec, batch, ids) for spec in specs]
    for spec, job, number, after in zip(specs, known, ids, bound, strict=True):
        if job is None:
            world.emit(ev.Submitted(world.now_us, number, spec, after))
            _begin_waiting(world, number, after)
    return tuple(ids)


def _begin_waiting(world: World, job: JobId, after: tuple[JobId, ...]) -> None:
    entry = world.jobs[job]
    for other in after:
        state = world.state.over.get(other)
        if state is not None and state != State.SUCCEEDED:
            name = next((n for n, j in world.state.names.items() if j == other), str(other))
            reason = because(Code.DEPENDENCY, job=name, state=state.value)
            world.emit(ev.Ended(world.now_us, job, State.FAILED, reason))
            return
    if entry.after:
        world.wait_for(entry)


def _known(world: World, spec: JobSpec) -> JobId | None:
    """Check what only the world knows of a job; return the earlier job with its idempotency key."""
    if spec.queue not in world.queues:
        raise InputError("queue", spec.queue, "a queue that exists: " + ", ".join(sorted(world.queues)[:20]), f"job {spec.name}")
    for name in spec.uses:
        if name not in world.limits:
            raise InputError("uses", name, "a shared limit that exists", f"job {spec.name}")
    if spec.idempotency_key and spec.idempotency_key in world.state.keys:
        job, earlier = world.state.keys[spec.idempotency_key]
        if earlier != spec:
            raise ConflictError(f"idempotency_key {spec.idempotency_key!r} belongs to job {job} with other content")
        return job
    return None


def _bind(world: World, spec: JobSpec, batch: dict[str, int], ids: list[JobId]) -> tuple[JobId, ...]:
    bound = []
    for name in spec.after:
        job = ids[batch[name]] if name in batch else world.job_named(name)
        if job is None:
            raise InputError("after", name, "the name of a job that was submitted", f"job {spec.name}")
        if name == spec.name:
            raise InputError("after", name, "another job than itself", f"job {spec.name}")
        bound.append(job)
    return tuple(bound)


def find(world: World, job: JobId) -> JobEntry | None:
    """Return a job that is not over, None for one that is; NotFoundError if there never was one."""
    entry = world.jobs.get(job)
    if entry is None and job not in world.state.over:
        raise NotFoundError(f"there is no job {job}")
    return entry


def _cancel(world: World, ask: asks.Cancel) -> None:
    entry = find(world, ask.job)
    if entry is None or (entry.intent is not None and entry.intent.end == End.CANCELLED):
        return
    world.emit(ev.CancelAsked(world.now_us, ask.job, ask.by))
    cause = because(Code.CANCELLED, by=ask.by)
    if entry.state == State.PENDING:
        world.emit(ev.Ended(world.now_us, ask.job, State.CANCELLED, cause))
        fail_dependents(world, ask.job, entry.spec.name, State.CANCELLED)
    else:
        world.stop(entry, End.CANCELLED, cause)


def fail_dependents(world: World, job: JobId, name: str, state: State) -> None:
    """End the jobs that wait for a job that ended otherwise than succeeded, and those that wait for them."""
    if state == State.SUCCEEDED:
        return
    for other in list(world.jobs.values()):
        if job in other.after and other.state == State.PENDING:
            world.emit(ev.Ended(world.now_us, other.id, State.FAILED, because(Code.DEPENDENCY, job=name, state=state.value)))
            fail_dependents(world, other.id, other.spec.name, State.FAILED)


def _suspend(world: World, job: JobId) -> None:
    entry = find(world, job)
    if entry is None or entry.state not in (State.RUNNING, State.STARTING):
        state = world.state.over.get(job) if entry is None else entry.state
        raise ConflictError(f"job {job} is {state}: only a running job can be suspended")
    world.emit(ev.SuspendAsked(world.now_us, job))
    world.emit(ev.Paused(world.now_us, job, entry.attempt, paused=True))


def _resume(world: World, job: JobId) -> None:
    entry = find(world, job)
    if entry is None or entry.state != State.SUSPENDED:
        state = world.state.over.get(job) if entry is None else entry.state
        raise ConflictError(f"job {job} is {state}: only a suspended job can be resumed")
    world.emit(ev.ResumeAsked(world.now_us, job))
    world.emit(ev.Paused(world.now_us, job, entry.attempt, paused=False))


def _set_queue(world: World, ask: asks.SetQueue) -> None:
    spec, queues = ask.queue, world.queues
    if spec.parent and spec.parent not in queues:
        raise InputError("parent", spec.parent, "a queue that exists", f"queue {spec.name}")
    at = spec.parent
    while at:
        if at == spec.name:
            raise InputError("parent", spec.parent, "not a queue below itself", f"queue {spec.name}")
        at = queues[at].parent
    world.emit(ev.QueueChanged(world.now_us, spec))


def _drain(world: World, ask: asks.Drain) -> None:
    node = world.node_named(ask.node)
    if node is None:
        raise NotFoundError(f"there is no node {ask.node!r}")
    if bool(world.ledger.drained[node]) != ask.drained:
        world.emit(ev.NodeDrained(world.now_us, node, ask.drained))


JobIdType = ev.JobId
