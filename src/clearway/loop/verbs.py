"""What people ask of jobs that are there: hold, release, requeue, and other words for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.loop import arrays, budget_state, budgets
from clearway.loop.retries import waits_again
from clearway.model import asks
from clearway.model import events as ev
from clearway.model.errors import ConflictError, InputError, NotFoundError
from clearway.model.reasons import Code, because
from clearway.model.states import End, State

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.loop.entry import JobEntry
    from clearway.loop.world import World
    from clearway.model.ids import JobId
    from clearway.model.job import JobSpec
    from clearway.model.reasons import Reason

CHANGES: dict[str, Callable[[JobSpec, asks.Change], JobSpec]] = {
    "priority": lambda spec, ask: replace(spec, priority=ask.priority),
    "queue": lambda spec, ask: replace(spec, queue=ask.queue),
    "time_limit": lambda spec, ask: replace(spec, time_limit_us=ask.time_limit_us),
}
"""How each word of a Change is written into a job."""


def find(world: World, job: JobId) -> JobEntry | None:
    """Return a job that is not over, None for one that is; NotFoundError if there never was one."""
    entry = world.jobs.get(job)
    if entry is None and job not in world.state.over:
        array = arrays.of_member(world.state, job)
        if array is None:
            raise NotFoundError(f"there is no job {job}")
        return arrays.enter(world, job, array)
    return entry


def _alive(world: World, job: JobId, what: str) -> JobEntry:
    entry = find(world, job)
    if entry is None:
        raise ConflictError(f"job {job} is {world.state.over[job]}: only a job that is not over can be {what}")
    return entry


def outside_reasons(world: World, entry: JobEntry) -> tuple[Reason, ...]:
    """Return why a job waits that does not stand in the line: who holds it, for which jobs, for which moment."""
    found = []
    if entry.holder is not None:
        found.append(because(Code.HELD, by=entry.holder))
    if entry.gate:
        found.append(because(Code.PREVIOUS_RUN, run=entry.gate, success=int(world.state.flows.needs_success(entry.id))))
    if entry.after:
        names = ", ".join(world.jobs[job].spec.name for job in sorted(entry.after) if job in world.jobs)
        found.append(because(Code.AFTER, jobs=names))
    elif entry.not_before_us > world.now_us:
        until, tries, most = entry.not_before_us, entry.retries, entry.spec.max_retries
        found.append(because(Code.RETRY_DELAY, until_us=until, tries=tries, max_retries=most))
    elif (track := budget_state.blocks(world.state, entry)) is not None:
        found.append(budgets.reason(world, track))
    elif entry.spec.array is not None and not found:
        found.append(arrays.reason(entry.spec.array))
    return tuple(found)


def say_why(world: World, entry: JobEntry) -> None:
    """Record why a job waits outside the line, if that is not what was said last."""
    reasons = outside_reasons(world, entry)
    if reasons and reasons != entry.reasons:
        world.emit(ev.JobWaits(world.now_us, entry.id, reasons))


def hold(world: World, ask: asks.Hold) -> None:
    """Take a job out of the line until it is released; what it has been promised is over."""
    entry = _alive(world, ask.job, "held")
    if entry.holder is not None:
        return
    if ask.job in world.state.view.reservations:
        world.emit(ev.Reserved(world.now_us, ask.job, 0, ()))
    world.emit(ev.HoldAsked(world.now_us, ask.job, ask.by))
    if entry.state == State.PENDING:
        say_why(world, entry)


def release(world: World, ask: asks.Release) -> None:
    """Let a job that is held back stand in the line again."""
    entry = _alive(world, ask.job, "released")
    if entry.holder is None:
        raise ConflictError(f"job {ask.job} is not held")
    world.emit(ev.ReleaseAsked(world.now_us, ask.job, ask.by))
    if entry.state == State.PENDING:
        say_why(world, entry)


def requeue(world: World, ask: asks.Requeue) -> None:
    """Stop a job so that it waits again; one that will do so anyway is left alone."""
    entry = _alive(world, ask.job, "requeued")
    if entry.state == State.PENDING:
        raise ConflictError(f"job {ask.job} waits already: only a running job can be requeued")
    if entry.intent is not None and not waits_again(entry):
        raise ConflictError(f"job {ask.job} is being stopped already: {entry.intent.end}")
    if ask.hold:
        hold(world, asks.Hold(ask.job, ask.by))
    if entry.intent is not None:
        return
    world.emit(ev.RequeueAsked(world.now_us, ask.job, ask.by))
    world.stop(entry, End.EVICTED, because(Code.REQUEUED, by=ask.by))


def change(world: World, ask: asks.Change) -> None:
    """Give a job other words; what they would not change is not recorded."""
    entry = _alive(world, ask.job, "changed")
    spec = entry.spec
    for word in ask.words:
        if word not in CHANGES:
            raise InputError("words", word, "one of " + ", ".join(CHANGES), f"job {spec.name}")
        spec = CHANGES[word](spec, ask)
    if spec.queue not in world.queues:
        raise InputError("queue", spec.queue, "a queue that exists", f"job {spec.name}")
    if spec.queue != entry.spec.queue and entry.state != State.PENDING and spec.array is None:
        raise ConflictError(f"job {ask.job} is {entry.state}: only a job that waits can go to another queue")
    if spec != entry.spec:
        world.emit(ev.Changed(world.now_us, ask.job, spec, ask.by))


def look(world: World) -> tuple[asks.Standing, ...]:
    """Return how every queue stands now."""
    view = world.state.view
    queues, fairness = view.queues, view.fairness
    measure = fairness.unit()
    found = []
    for name in sorted(queues.specs):
        used, both = queues.used[name], queues.wanted(name)
        wants = {resource: amount - used.get(resource, 0) for resource, amount in both.items()}
        share, past = fairness.thousandths(name), fairness.past(name)
        found.append(asks.Standing(name, _sorted(used), _sorted(wants), measure, share, past))
    return tuple(found)


def weigh(world: World, job: JobId) -> asks.Weighed | None:
    """Return what each order says of a job that stands in the line, None for one that does not."""
    entry = find(world, job)
    if entry is None or entry.cls is None:
        return None
    said = world.state.view.weighed(world.state.candidate(entry), world.now_us)
    parts = tuple((name, said[name]) for name in world.policy.order)
    return asks.Weighed(parts, summed=bool(world.policy.weights))


def _sorted(amounts: dict[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((resource, amount) for resource, amount in amounts.items() if amount))
