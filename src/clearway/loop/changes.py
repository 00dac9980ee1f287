"""How the state changes by what people ask of jobs that are there, by other policies and by bookings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.loop import idle_changes, policies
from clearway.loop.inherit import heir_of, inherit, lend_anew
from clearway.loop.timers import Due, Timer
from clearway.model import events as ev
from clearway.model import policy_events as pe
from clearway.model.states import State
from clearway.policies.registry import orders_of, rules_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.loop.entry import JobEntry
    from clearway.loop.state import WorldState


def _hold_asked(state: WorldState, record: ev.HoldAsked) -> None:
    entry = state.jobs[record.job]
    entry.holder = record.by
    state.ready.pop(record.job, None)
    if entry.array is not None:
        state.arrays[entry.array].in_line.discard(record.job)
    _out_of_line(state, entry, record.at_us)


def _out_of_line(state: WorldState, entry: JobEntry, now_us: int) -> None:
    if entry.cls is not None:
        state.leave_line(entry)
        lend_anew(state, entry, now_us)
        state.view.promises_changed = True  # whoever stood behind it has another chance


def _release_asked(state: WorldState, record: ev.ReleaseAsked) -> None:
    entry = state.jobs[record.job]
    entry.holder = None
    if entry.state == State.PENDING and not entry.after and entry.not_before_us <= record.at_us:
        state.ready[record.job] = None


def _changed(state: WorldState, record: ev.Changed) -> None:
    """Take on the words: what waits joins anew, what runs ends when the new words say."""
    entry, old = state.jobs[record.job], state.jobs[record.job].spec
    entry.spec = record.spec
    if entry.cls is not None:
        _out_of_line(state, entry, record.at_us)
        state.ready[record.job] = None
    running = state.view.running.get(record.job)
    if running is not None:
        running.spec = record.spec
        if record.spec.time_limit_us != old.time_limit_us:
            _new_limit(state, entry, record.at_us)
        state.view.victims_changed = True
    inherit(state, record.job, record.at_us)


def _new_limit(state: WorldState, entry: JobEntry, now_us: int) -> None:
    limit, view = entry.spec.time_limit_us, state.view
    if limit is not None and entry.paused_us is None:
        due = max(entry.started_us + entry.stood_still_us + limit, now_us)
        state.timers.add(Timer(due, Due.TIME_LIMIT, entry.id, entry.attempt))
    if not view.running[entry.id].stopping:
        view.ends.estimate(entry.id, view.forecasts.bound_us(entry.id, entry.spec))
        # promises that counted on its old end are looked at again
        view.ledger.gained.update(grant.node for grant in entry.held.values())
        view.promises_changed = True


def _stands(state: WorldState, record: ev.PolicyChanged | pe.PolicyRecord) -> None:
    state.policies = policies.after(state.policies, record, state.revision)


def _policy_changed(state: WorldState, record: ev.PolicyChanged | pe.Promoted | pe.RolledBack) -> None:
    _stands(state, record)
    if isinstance(record, pe.Promoted):
        state.timers.add(Timer(record.guard.until_us, Due.GUARD, 0))
    view, policy, level = state.view, record.policy, state.view.forecasts.level
    state.policy = policy
    inside = {name: orders_of(spec.order, policy) for name, spec in view.queues.specs.items()}
    view.set_rules(rules_for(policy), record.at_us, inside)
    for entry in state.jobs.values():
        if entry.held and entry.spec.uses:
            entry.heir = heir_of(state, entry)
    for entry in state.jobs.values():
        if entry.cls is not None:
            view.change(state.waiting(entry), record.at_us)
        elif entry.id in view.running:
            view.reprioritise(entry.id, state.priority(entry))
            if level != view.forecasts.level and not view.running[entry.id].stopping:
                view.ends.estimate(entry.id, view.forecasts.bound_us(entry.id, entry.spec))
    if policy.reservation_timeout_us is not None:
        for promise in view.reservations.values():
            due = max(promise.start_us, record.at_us) + policy.reservation_timeout_us
            state.timers.add(Timer(due, Due.PROMISE, promise.job))
    for entry in state.jobs.values():
        idle_changes.arm(state, entry)
    state.time_leases()


def _booked(state: WorldState, record: ev.Booked) -> None:
    state.view.set_booking(record.booking, dict(record.places))
    state.timers.add(Timer(record.booking.from_us, Due.BOOKING, 0))
    state.timers.add(Timer(record.booking.to_us, Due.BOOKING, 0))
    state.join_anew()


def _booking_over(state: WorldState, record: ev.BookingOver) -> None:
    state.view.remove_booking(record.name)
    state.join_anew()


def _paused(state: WorldState, record: ev.Paused) -> None:
    entry = state.jobs[record.job]
    state.move(entry, State.SUSPENDED if record.paused else State.RUNNING)
    if record.paused:
        entry.paused_us, entry.stood_still = record.at_us, True
        state.view.running[record.job].paused = True
    elif entry.paused_us is not None:
        entry.stood_still_us += record.at_us - entry.paused_us
        entry.paused_us = None
        if entry.spec.time_limit_us is not None:
            left = entry.spec.time_limit_us - entry.run_us(record.at_us)
            state.timers.add(Timer(record.at_us + left, Due.TIME_LIMIT, entry.id, entry.attempt))


def _wish(state: WorldState, record: ev.Record) -> None:
    """Change nothing: what follows from a wish is recorded beside it."""


APPLY: dict[type, Callable[[Any, Any], None]] = {
    ev.PolicyChanged: _policy_changed,
    pe.Promoted: _policy_changed,
    pe.RolledBack: _policy_changed,
    pe.ShadowSet: _stands,
    pe.ShadowEnded: _stands,
    pe.GuardEnded: _stands,
    ev.HoldAsked: _hold_asked,
    ev.ReleaseAsked: _release_asked,
    ev.CancelAsked: _wish,
    ev.SuspendAsked: _wish,
    ev.ResumeAsked: _wish,
    ev.RequeueAsked: _wish,
    ev.Changed: _changed,
    ev.Paused: _paused,
    ev.Booked: _booked,
    ev.BookingOver: _booking_over,
}
