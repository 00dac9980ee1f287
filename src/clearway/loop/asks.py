"""What follows from what people ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.loop import bookings, budgets, flows, policies, schedules, searches, verbs
from clearway.loop.endings import cancel, finish
from clearway.loop.past import key_of
from clearway.loop.retries import for_good
from clearway.loop.verbs import find
from clearway.model import asks
from clearway.model import events as ev
from clearway.model.errors import ConflictError, InputError, NotFoundError
from clearway.model.ids import JobId
from clearway.model.policies import EndShadow, Promote, Rollback, SetShadow
from clearway.model.reasons import Code, because
from clearway.model.states import State

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry
    from clearway.loop.past import Keys
    from clearway.loop.world import World
    from clearway.model.asks import Ask
    from clearway.model.job import JobSpec


def answer(world: World, ask: Ask) -> object:
    """Carry out one ask and return its answer; a ClearwayError means that nothing was recorded."""
    match ask:
        case asks.Submit():
            return _submit(world, ask.specs)
        case asks.Refuse():
            world.emit(ev.Refused(world.now_us, _next(world), ask.name, ask.reason))
        case asks.SetQueue():
            _set_queue(world, ask)
        case asks.Look() | asks.Weigh() | asks.LookBudgets():
            return _look(world, ask)
        case asks.Book() | asks.Unbook():
            bookings.answer(world, ask)
        case asks.SetLimit() | asks.SetBudget() | asks.SetMachineType():
            _set_words(world, ask)
        case asks.SetPolicy() | SetShadow() | EndShadow() | Promote() | Rollback():
            policies.answer(world, ask)
        case asks.Drain():
            _drain(world, ask)
        case asks.ControllerUp():
            raise NotFoundError("ControllerUp is taken by the world itself")
        case (
            asks.SubmitFlow() | asks.LookFlows() | asks.CancelFlow() | asks.RerunFlow() | asks.Rerun()
            | asks.ResumeFlow() | asks.SkipStep()
            | asks.LookSchedules() | asks.SetClock() | asks.SetSchedule() | asks.PauseSchedule() | asks.RemoveSchedule()
        ):  # fmt: skip
            return _of_flow(world, ask)
        case (
            asks.SubmitSearch() | asks.CancelSearch() | asks.LookSearches() | asks.EnterTrial() | asks.FailSearch()
        ):  # fmt: skip
            return _of_search(world, ask)
        case _:
            _of_job(world, ask)
    return None


def _look(world: World, ask: asks.Look | asks.Weigh | asks.LookBudgets) -> object:
    if isinstance(ask, asks.Weigh):
        return verbs.weigh(world, ask.job)
    return verbs.look(world) if isinstance(ask, asks.Look) else budgets.look(world, world.now_us)


def _set_words(world: World, ask: asks.SetLimit | asks.SetBudget | asks.SetMachineType) -> None:
    if isinstance(ask, asks.SetLimit):
        world.emit(ev.LimitChanged(world.now_us, ask.limit))
    elif isinstance(ask, asks.SetBudget):
        world.emit(ev.BudgetChanged(world.now_us, ask.budget))
    else:
        world.emit(ev.MachineTypeChanged(world.now_us, ask.kind))


_OfFlow = (
    asks.SubmitFlow | asks.LookFlows | asks.CancelFlow | asks.RerunFlow | asks.Rerun | asks.ResumeFlow | asks.SkipStep
    | asks.LookSchedules | asks.SetClock | asks.SetSchedule | asks.PauseSchedule | asks.RemoveSchedule
)  # fmt: skip
_OfSearch = asks.SubmitSearch | asks.CancelSearch | asks.LookSearches | asks.EnterTrial | asks.FailSearch
_OfJob = asks.Cancel | asks.Suspend | asks.Resume | asks.Hold | asks.Release | asks.Requeue | asks.Change


def _of_flow(world: World, ask: _OfFlow) -> object:
    match ask:
        case asks.SubmitFlow() | asks.LookFlows():
            return flows.submit(world, ask.spec) if isinstance(ask, asks.SubmitFlow) else flows.look(world, ask)
        case asks.LookSchedules():
            return schedules.look(world, ask)
        case asks.CancelFlow():
            flows.cancel(world, ask)
        case asks.RerunFlow():
            flows.rerun(world, ask)
        case asks.ResumeFlow():
            flows.resume(world, ask)
        case asks.SkipStep():
            flows.skip(world, ask)
        case asks.Rerun():
            flows.rerun_job(world, ask)
        case asks.SetClock():
            schedules.set_clock(world, ask)
        case asks.SetSchedule():
            schedules.set_schedule(world, ask)
        case asks.PauseSchedule():
            schedules.pause(world, ask)
        case asks.RemoveSchedule():
            schedules.remove(world, ask)
    return None


def _of_search(world: World, ask: _OfSearch) -> object:
    match ask:
        case asks.LookSearches():
            return searches.look(world, ask)
        case asks.SubmitSearch():
            searches.submit(world, ask)
        case asks.CancelSearch():
            searches.cancel(world, ask)
        case asks.EnterTrial():
            searches.enter(world, ask)
        case asks.FailSearch():
            searches.fail(world, ask)
    return None


def _of_job(world: World, ask: _OfJob) -> None:
    find(world, ask.job)  # one of an array is let in, if its turn has not come yet
    if ask.job in world.state.arrays and not isinstance(ask, asks.Cancel):
        _of_array(world, ask)
        return
    match ask:
        case asks.Cancel():
            _cancel(world, ask)
        case asks.Suspend():
            _suspend(world, ask.job)
        case asks.Resume():
            _resume(world, ask.job)
        case asks.Hold():
            verbs.hold(world, ask)
        case asks.Release():
            verbs.release(world, ask)
        case asks.Requeue():
            verbs.requeue(world, ask)
        case asks.Change():
            verbs.change(world, ask)


def _of_array(world: World, ask: _OfJob) -> None:
    """Do to an array, and to each of its jobs to which it can be done, what was asked; at least one must be able to."""
    done = 0
    if isinstance(ask, asks.Hold):
        verbs.hold(world, ask)
        done = 1
    elif isinstance(ask, asks.Release) and world.jobs[ask.job].holder is not None:
        verbs.release(world, ask)
        done = 1
    elif isinstance(ask, asks.Change):
        verbs.change(world, ask)
        done = 1
    for job in list(world.state.arrays[ask.job].live):
        try:
            _of_job(world, replace(ask, job=job))
        except ConflictError as error:
            if not done:
                refused = error
        else:
            done += 1
    if not done:
        raise refused


def _next(world: World) -> JobId:
    return JobId(world.state.next_job)


def _submit(world: World, specs: tuple[JobSpec, ...]) -> tuple[JobId, ...]:
    """Check every job of a batch, then enter all of them."""
    ids, new = _number(world, specs)
    batch = {spec.name: job for spec, job in zip(specs, ids, strict=True)}
    bound = {job: _bind(world, spec, batch) for job, spec in new.items()}
    _refuse_circles(new, bound)
    for job, spec in new.items():
        world.emit(ev.Submitted(world.now_us, job, spec, bound[job]))
    for job in new:
        if job in world.jobs:
            begin_waiting(world, world.jobs[job], bound[job])
    return ids


def _number(world: World, specs: tuple[JobSpec, ...]) -> tuple[tuple[JobId, ...], dict[JobId, JobSpec]]:
    """Return the number of each job of a batch, and those that are new."""
    ids: list[JobId] = []
    new: dict[JobId, JobSpec] = {}
    keys: Keys = {}
    following = _next(world)
    for spec in specs:
        _check(world, spec)
        job = _known(spec, world.state.keys) or _known(spec, keys)
        if job is None:
            job, following = following, JobId(following + 1 + (0 if spec.array is None else spec.array.size))
            new[job] = spec
            if key := key_of(spec):
                keys[key] = (job, spec)
        ids.append(job)
    return tuple(ids), new


def begin_waiting(world: World, entry: JobEntry, after: tuple[JobId, ...]) -> None:
    """Say for which jobs one waits that has just entered; it has failed where one of them did not succeed."""
    for other, name in zip(after, dict.fromkeys(entry.spec.after), strict=True):
        state = world.state.over.get(other)
        if state is not None and state != State.SUCCEEDED:
            finish(world, entry, State.FAILED, because(Code.DEPENDENCY, job=name, state=state.value))
            return
    if entry.after:
        world.wait_for(entry)


def _check(world: World, spec: JobSpec) -> None:
    """Check what only the world knows of a job."""
    if spec.queue not in world.queues:
        raise InputError(
            "queue", spec.queue, "a queue that exists: " + ", ".join(sorted(world.queues)[:20]), f"job {spec.name}"
        )
    for name in spec.uses:
        if name not in world.limits:
            raise InputError("uses", name, "a shared limit that exists", f"job {spec.name}")


def _known(spec: JobSpec, keys: Keys) -> JobId | None:
    """Return the earlier job with a job's idempotency key, None if there is none."""
    key = key_of(spec)
    if key is None or key not in keys:
        return None
    job, earlier = keys[key]
    if replace(earlier, traceparent="") != replace(spec, traceparent=""):  # who tries again does so in another span
        raise ConflictError(f"idempotency_key {spec.idempotency_key!r} belongs to job {job} with other content")
    return job


def _bind(world: World, spec: JobSpec, batch: dict[str, JobId]) -> tuple[JobId, ...]:
    """Return the jobs that the names in `after` mean, once each: of this batch, else the newest of the name."""
    bound = []
    for name in dict.fromkeys(spec.after):
        job = batch.get(name) or world.job_named(name)
        if job is None:
            raise InputError("after", name, "the name of a job that was submitted", f"job {spec.name}")
        if name == spec.name:
            raise InputError("after", name, "another job than itself", f"job {spec.name}")
        bound.append(job)
    return tuple(bound)


def _refuse_circles(new: dict[JobId, JobSpec], bound: dict[JobId, tuple[JobId, ...]]) -> None:
    """Raise InputError for jobs of a batch that wait for one another in a circle."""
    left = {job: {other for other in after if other in new} for job, after in bound.items()}
    followers: dict[JobId, list[JobId]] = {}
    for job, after in left.items():
        for other in after:
            followers.setdefault(other, []).append(job)
    free = [job for job, after in left.items() if not after]
    while free:
        done = free.pop()
        del left[done]
        for job in followers.get(done, ()):
            left[job].discard(done)
            if not left[job]:
                free.append(job)
    for job in left:
        named = ", ".join(new[job].after)
        raise InputError("after", named, "no circle: these jobs wait for one another", f"job {new[job].name}")


def _cancel(world: World, ask: asks.Cancel) -> None:
    entry = find(world, ask.job)
    if entry is None or for_good(entry):
        return
    world.emit(ev.CancelAsked(world.now_us, ask.job, ask.by))
    cancel(world, entry, because(Code.CANCELLED, by=ask.by))


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
    if ask.words is not None and spec.name in queues:
        spec = replace(queues[spec.name], **{word: getattr(spec, word) for word in ask.words})
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
