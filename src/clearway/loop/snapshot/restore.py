"""A world, built from facts as `take` left them."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.core.copies import Copies
from clearway.core.ledger import Held
from clearway.core.line import WaitClass
from clearway.core.profile import Expected
from clearway.core.protocols import Candidate
from clearway.core.view import Reservation, Running
from clearway.loop.entry import JobEntry
from clearway.loop.snapshot.arrays import restore_arrays
from clearway.loop.snapshot.budgets import restore_budgets
from clearway.loop.snapshot.flows import restore_flows
from clearway.loop.snapshot.forms import PLAIN, JobKept
from clearway.loop.snapshot.machines import restore_machines
from clearway.loop.snapshot.schedules import restore_schedules
from clearway.loop.timers import Due, Timer
from clearway.loop.world import World
from clearway.model.errors import LedgerError
from clearway.model.ids import JobId, NodeId
from clearway.model.job import JobSpec
from clearway.policies.registry import orders_of

if TYPE_CHECKING:
    from clearway.loop.snapshot import forms as f
    from clearway.loop.state import WorldState


def restore(kept: f.WorldKept) -> World:
    """Return a world that knows what the kept one knew, and decides the same from here on."""
    world = World(kept.policy, kept.seed)
    world.now_us, world.victim_us = kept.now_us, kept.victim_us
    state, view = world.state, world.state.view
    state.cycle = kept.cycle
    state.policies = kept.policies or replace(state.policies, settings=kept.policy)  # older ones say nothing of it
    for queue in kept.queues:
        view.set_queue(queue, orders_of(queue.order, kept.policy))
    for limit in kept.limits:
        view.queues.set_limit(limit)
    _nodes(state, kept)
    restore_machines(state, kept.machines)
    for booking in kept.bookings:
        view.set_booking(booking.booking, dict(booking.places))
    _jobs(state, kept)
    view.forecasts.said.update(kept.forecasts)
    view.forecasts.progressed.update((told.job, told) for told in kept.progressed)
    state.runs.put_back(kept.runs, kept.runs_count)
    for running in kept.running:
        _running(state, running)
    _line(state, kept)
    for promise in kept.promises:
        view.reservations[promise.job] = Reservation(promise.job, promise.start_us, promise.grants, promise.held)
    _history(state, kept)
    restore_budgets(state, kept.budgets)
    view.promises_changed = view.victims_changed = True
    view.changed_limits.update(view.queues.specs, view.queues.limits)
    return world


def _nodes(state: WorldState, kept: f.WorldKept) -> None:
    ledger = state.view.ledger
    for resource in kept.resources:
        ledger.rows.of(resource)
    for number, node in enumerate(kept.nodes):
        at = NodeId(number)
        ledger.add_node(at, node.spec)
        ledger.set_sick(at, node.sick)
        ledger.set_drained(at, node.drained)
        ledger.set_open(at, is_open=node.open)
        if node.quiet_us is not None:
            state.quiet[at] = node.quiet_us
        if node.lost:
            state.lost[at] = node.lost_us
        if node.strays is not None:
            state.strays[at] = set(node.strays)
        if node.unhealthy is not None:
            state.unhealthy[at] = node.unhealthy
        if node.notices:
            state.notices[at] = node.notices
            ledger.leaving.add(at)
    state.nodes = dict(kept.node_names)
    for one in kept.copies:
        copies = ledger.shelves.on[one.node] = Copies()
        copies.put_back(one.found, one.readers)


def _jobs(state: WorldState, kept: f.WorldKept) -> None:
    for job in kept.jobs:
        state.jobs[job.id] = _entry(job)
    restore_arrays(state, kept.arrays)
    state.next_job = kept.next_job
    state.controller_up_us = kept.controller_up_us
    state.dependents = {job: list(others) for job, others in kept.dependents}
    state.ready = dict.fromkeys(kept.ready)


_plain = attrgetter(*PLAIN)
_USUAL = _plain(JobKept(JobId(0), JobSpec(""), 0))


def _entry(kept: f.JobKept) -> JobEntry:
    entry = JobEntry(kept.id, kept.spec, kept.submitted_us, kept.after)
    for name, value, usual in zip(PLAIN, _plain(kept), _USUAL, strict=True):
        if value is not usual:
            setattr(entry, name, value)
    if kept.attempt:
        entry.held = {(grant.role, grant.index): grant for grant in kept.held}
        entry.up, entry.leaving = set(kept.up), set(kept.leaving)
        entry.exit_codes = {(role, index): code for role, index, code in kept.exit_codes}
        entry.errors = list(kept.errors)
        entry.idle = {(role, index): us for role, index, us in kept.idle}
        entry.took = dict(kept.took)
    return entry


def _running(state: WorldState, kept: f.RunningKept) -> None:
    entry, view, was = state.jobs[kept.job], state.view, kept.candidate
    candidate = Candidate(
        kept.job, was.spec or entry.spec, was.submitted_us, was.estimate_us, was.priority, was.attained, was.kept_us,
        was.heir_of, was.served_us, was.yielded_to, was.waiting_since_us,
    )  # fmt: skip
    held = [Held(grant, entry.spec.roles[grant.role].demand) for grant in entry.held.values()]
    view.start(kept.job, entry.spec, held, kept.started_us)
    if kept.stopping:
        view.ends.expect(kept.job, kept.expected[1])
    else:
        view.ends.put_back(kept.job, Expected(*kept.expected))
    running = Running(candidate, kept.attempt, kept.started_us, kept.calm_until_us)
    running.spec, running.priority = entry.spec, kept.priority
    running.ended_task, running.stopping, running.paused = kept.ended_task, kept.stopping, kept.paused
    running.leaving, running.used, running.swaps = set(kept.leaving), dict(kept.used), entry.swaps
    view.run(running)
    state.lenders.hold(entry)


def _line(state: WorldState, kept: f.WorldKept) -> None:
    view, line = state.view, state.view.line
    for one in kept.classes:
        places = [view.places_of(role.demand) for role in one.spec.roles]
        line.add_class(
            (one.queue, one.roles, one.uses, one.pin, *one.more),
            WaitClass(one.id, one.spec, places, view.bound_of(one.spec)),
        )
    line.put_back(kept.classes_made, (one.id for one in kept.classes))
    for one in kept.classes:
        for job in one.jobs:
            state.lenders.join(state.jobs[job])
            if (joined := view.join(state.waiting(state.jobs[job]), kept.now_us)) != one.id:
                raise LedgerError(f"job {job} belongs to class {joined}, the snapshot says {one.id}")
        line.classes[one.id].reasons = one.reasons
        if one.reasons:
            line.new.discard(one.id)
    line.put_back(kept.classes_made, kept.empty_classes)


def _history(state: WorldState, kept: f.WorldKept) -> None:
    """Put back what is left of what is over, and what is still to come."""
    state.over.put_back(kept.over)
    state.names = dict(kept.names)
    known = [(one, one.spec or state.jobs[one.job].spec) for one in kept.keys]
    state.keys = {(spec.user, one.key): (one.job, spec) for one, spec in known}
    state.gone.put_back(kept.gone, state.keys)
    if (memory := state.view.queues.memory) is not None:
        memory.reach(kept.now_us)
        memory.put_back(
            (one.queue, one.since_us, {r: int(level) for r, level in one.levels}, dict(one.use)) for one in kept.past
        )
    restore_flows(state.flows, kept.flows)
    restore_schedules(state.flows, kept.schedules)
    state.flows.again = {job.id: _entry(job) for job in kept.again}
    asked = kept.asked
    state.view.ledger.asked.put_back(asked.counts, asked.next_look, asked.version, asked.mix)
    for at_us, due, number, attempt in kept.timers:
        state.timers.add(Timer(at_us, Due(due), number, attempt))
