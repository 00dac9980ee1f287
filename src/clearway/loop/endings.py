"""How attempts and jobs end, and what comes after: retries, losses, limits and deadlines."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from clearway.flow.json_text import MOST_BYTES, MOST_DEEP
from clearway.loop import arrays, costs, idle, retries, sizing, verbs
from clearway.loop.entry import OWN_FAILURES
from clearway.loop.timers import Due, Timer
from clearway.model import events as ev
from clearway.model.ids import JobId
from clearway.model.reasons import Code, Reason, because
from clearway.model.states import End, State

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry
    from clearway.loop.world import World


def task_ended(world: World, entry: JobEntry, key: tuple[int, int]) -> None:
    """See what follows from the end of one task: its gang is stopped if it failed; the last one ends the attempt."""
    failed = entry.exit_codes.get(key, 0) != 0 or entry.errors
    if entry.held and entry.intent is None and failed:
        end, cause = _own_end(entry)
        world.stop(entry, end, cause)
    elif not entry.held:
        conclude(world, entry)


def _own_end(entry: JobEntry) -> tuple[End, Reason]:
    """Return how an attempt ended that nobody meant to stop."""
    codes = [code for code in entry.exit_codes.values() if code != 0]
    if entry.errors and entry.exit_codes and not codes:
        return End.FAILED, because(Code.TOO_LONG, what="its result", most=MOST_BYTES, deep=MOST_DEEP)
    if entry.errors:
        return End.FAILED, because(Code.START_FAILED, error=entry.errors[0])
    if not codes:
        return End.SUCCEEDED, because(Code.EXITED, exit_code=0)
    known = [code for code in codes if code is not None]
    if not known:
        return End.LOST, because(Code.EXIT_UNKNOWN)
    if known[0] == entry.spec.skip_code:
        return End.FAILED, because(Code.SKIPPED_ITSELF, exit_code=known[0])
    return End.FAILED, because(Code.EXITED, exit_code=known[0], **({"oom": 1} if entry.oom else {}))


def conclude(world: World, entry: JobEntry) -> None:
    """Record that an attempt is over, and what becomes of its job."""
    intent = entry.intent
    end, cause = _own_end(entry) if intent is None else (intent.end, intent.cause)
    world.emit(ev.AttemptEnded(world.now_us, entry.id, entry.attempt, end, cause))
    if end == End.SUCCEEDED:
        finish(world, entry, State.SUCCEEDED, None)
    elif end == End.CANCELLED:
        finish(world, entry, State.CANCELLED, cause)
    elif cause.code == Code.SKIPPED_ITSELF:
        finish(world, entry, State.SKIPPED, cause)
    elif end in OWN_FAILURES:
        _retry(world, entry, end, cause)
    elif end == End.PREEMPTED:
        _requeue(world, entry, world.now_us, cause)
    elif entry.losses > entry.spec.max_losses:
        reason = because(
            Code.LOSSES_USED_UP, losses=entry.losses, max_losses=entry.spec.max_losses, node=cause.get("node")
        )
        finish(world, entry, State.FAILED, reason)
    else:
        _requeue(world, entry, world.now_us, cause)


def cancel(world: World, entry: JobEntry, cause: Reason) -> None:
    """Let a job end as cancelled, unless it is being stopped for good already."""
    if not retries.for_good(entry):
        end(world, entry, State.CANCELLED, End.CANCELLED, cause)


def finish(world: World, entry: JobEntry, state: State, reason: Reason | None) -> None:
    """Record that a job is over; where it did not succeed, so are those that waited for it, and those behind them."""
    over = deque([(entry, state, reason)])
    while over:
        entry, state, reason = over.popleft()
        if entry.id not in world.jobs:  # it waited for several that ended now
            continue
        waiting, array = world.state.waiting_for(entry.id), entry.array
        world.emit(ev.Ended(world.now_us, entry.id, state, reason))
        if state == State.SUCCEEDED:
            _wait_on(world, waiting)
        else:
            cause = because(Code.DEPENDENCY, job=entry.spec.name, state=state.value)
            over += [(other, State.FAILED, cause) for other in waiting]
        if array is not None and array in world.jobs and (how := arrays.outcome(world, world.jobs[array])) is not None:
            over.append((world.jobs[array], *how))


def _wait_on(world: World, waiting: list[JobEntry]) -> None:
    """Say of jobs that waited for one that succeeded for which others they still wait."""
    for entry in waiting:
        if entry.after:
            world.wait_for(entry)


def _retry(world: World, entry: JobEntry, end: End, cause: Reason) -> None:
    """Try a job again that failed by itself, after its delay, or say why it has failed for good.

    One that was given less than it asks for, and for which that was too little, has not failed by itself.
    """
    if word := sizing.ran_short(entry, end, cause):
        _requeue(world, entry, world.now_us, sizing.give_back(world, entry, word))
        return
    over = retries.used_up(entry, end, cause)
    moment = world.now_us + retries.delay_us(entry, world.state.seed)
    window = retries.window_end_us(entry)
    if over is None and window is not None and moment > window:
        over = because(Code.RETRY_WINDOW, window_us=entry.spec.retry_window_us or 0)
    if over is not None:
        finish(world, entry, State.FAILED, over)
    else:
        _requeue(world, entry, moment, cause)


def _requeue(world: World, entry: JobEntry, moment_us: int, cause: Reason) -> None:
    world.emit(ev.Requeued(world.now_us, entry.id, moment_us, cause))
    if moment_us > world.now_us:
        verbs.say_why(world, entry)


# --- moments -----------------------------------------------------------------------------------


def due(world: World, timer: Timer) -> None:
    """See whether what a timer was set for still applies, and do it."""
    entry = world.jobs.get(JobId(timer.number))
    if entry is None:
        return
    if timer.due == Due.READY:
        if entry.state == State.PENDING and entry.attempt == timer.attempt:
            world.state.ready[entry.id] = None
    elif timer.due == Due.TIME_LIMIT:
        _time_limit(world, entry, timer)
    elif timer.due == Due.COST:
        if entry.held and costs.used_up(entry, world.now_us):
            _stop_or_end(world, entry, because(Code.MAX_COST, max_cost=entry.spec.max_cost_micros or 0))
    elif timer.due == Due.IDLE:
        if entry.attempt == timer.attempt:
            idle.due(world, entry)
    elif timer.due == Due.DEADLINE:
        _stop_or_end(world, entry, because(Code.DEADLINE, deadline_us=entry.spec.deadline_us or 0))
    elif timer.due == Due.START_DEADLINE:
        if entry.attempt == 0 and entry.state == State.PENDING:
            cause = because(Code.START_DEADLINE, limit_us=entry.spec.start_deadline_us or 0)
            end(world, entry, State.FAILED, End.TIMED_OUT, cause)
    elif timer.due == Due.RETRY_WINDOW and entry.state == State.PENDING and entry.attempt == timer.attempt:
        finish(world, entry, State.FAILED, because(Code.RETRY_WINDOW, window_us=entry.spec.retry_window_us or 0))


def _time_limit(world: World, entry: JobEntry, timer: Timer) -> None:
    limit = entry.spec.time_limit_us
    if entry.attempt != timer.attempt or limit is None or entry.state not in (State.STARTING, State.RUNNING):
        return
    if entry.run_us(world.now_us) >= limit:
        world.stop(entry, End.TIMED_OUT, because(Code.TIME_LIMIT, limit_us=limit))


def _stop_or_end(world: World, entry: JobEntry, cause: Reason) -> None:
    """Let a job end as failed for good; one that is being stopped to be tried again is not tried again."""
    if not retries.for_good(entry):
        end(world, entry, State.FAILED, End.TIMED_OUT, cause)


def end(world: World, entry: JobEntry, state: State, how: End, cause: Reason) -> None:
    """Have a job end for good: at once if it waits, else when it has stopped; of an array all that is left."""
    if entry.id in world.state.arrays:
        live = [world.jobs[job] for job in world.state.arrays[entry.id].live]
        world.emit(ev.Stopping(world.now_us, entry.id, 0, how, cause))
        for one in live:
            if not retries.for_good(one):
                end(world, one, state, how, cause)
        if not live:
            finish(world, entry, state, cause)
    elif entry.state == State.PENDING:
        finish(world, entry, state, cause)
    else:
        world.stop(entry, how, cause)
