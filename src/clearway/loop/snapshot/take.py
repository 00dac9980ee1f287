"""A world, taken down as facts."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from clearway.loop.snapshot import forms as f
from clearway.loop.snapshot.arrays import take_arrays
from clearway.loop.snapshot.budgets import take_budgets
from clearway.loop.snapshot.flows import take_flows
from clearway.loop.snapshot.machines import take_machines
from clearway.loop.snapshot.schedules import take_schedules

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.core.line import WaitClass
    from clearway.core.protocols import Candidate
    from clearway.core.view import Running
    from clearway.loop.entry import JobEntry
    from clearway.loop.state import WorldState
    from clearway.loop.world import World
    from clearway.model.events import TaskRef
    from clearway.model.ids import JobId, NodeId
    from clearway.model.job import JobSpec

_plain: Callable[[JobEntry], tuple[Any, ...]] = attrgetter(
    *f.PLAIN
)  # a hundred thousand entries, between two turns: this is the fast way
_new_job: Callable[..., f.JobKept] = f.JobKept


def take(world: World) -> f.WorldKept:
    """Return what is known. Between two steps only."""
    state, view = world.state, world.state.view
    return f.WorldKept(
        policy=state.policy,
        seed=state.seed,
        now_us=world.now_us,
        next_job=cast("JobId", state.next_job),
        controller_up_us=state.controller_up_us,
        victim_us=world.victim_us,
        cycle=state.cycle,
        queues=tuple(view.queues.specs.values()),
        limits=tuple(view.queues.limits.values()),
        resources=view.ledger.rows.custom(),
        nodes=tuple(_node(state, cast("NodeId", node)) for node in range(view.ledger.count)),
        node_names=dict(state.nodes),
        jobs=tuple(_job(entry) for entry in state.jobs.values()),
        dependents=tuple((job, tuple(others)) for job, others in state.dependents.items()),
        ready=tuple(state.ready),
        timers=tuple((t.at_us, int(t.due), t.number, t.attempt) for t in state.timers.all()),
        classes=tuple(_class(state, cls) for cls in view.line.classes.values()),
        classes_made=view.line.next_class(),
        empty_classes=view.line.empty(),
        running=tuple(_running(state, running) for running in view.running.values()),
        promises=tuple(f.PromiseKept(*promise) for promise in view.reservations.values()),
        bookings=tuple(f.BookingKept(k.booking, tuple(k.places.items())) for k in view.bookings.kept.values()),
        over=state.over.taken(),
        names=dict(state.names),
        keys=tuple(_key(state, key, *known) for (_, key), known in state.keys.items()),
        gone=state.gone.taken(),
        past=_past(state),
        flows=take_flows(state.flows),
        schedules=take_schedules(state.flows),
        again=tuple(_job(entry) for entry in state.flows.again.values()),
        asked=f.AskedKept(*view.ledger.asked.taken()),
        machines=take_machines(state),
        arrays=take_arrays(state),
        budgets=take_budgets(state),
        forecasts=tuple(view.forecasts.said.items()),
        progressed=tuple(view.forecasts.progressed.values()),
        runs=tuple(state.runs.kept),
        runs_count=state.runs.count,
        policies=state.policies,
        copies=tuple(_copies(cast("NodeId", n), c.taken()) for n, c in view.ledger.shelves.on.items()),
    )


def _past(state: WorldState) -> tuple[f.PastKept, ...]:
    memory = state.view.queues.memory
    found = memory.taken() if memory is not None else ()
    return tuple(
        f.PastKept(queue, since_us, tuple((r, str(level)) for r, level in levels.items()), tuple(use.items()))
        for queue, since_us, levels, use in found
    )


def _copies(node: NodeId, taken: tuple[Any, Any]) -> f.CopiesKept:
    return f.CopiesKept(node, *taken)


def _job(entry: JobEntry) -> f.JobKept:
    after = tuple(sorted(entry.after)) if entry.after else ()
    if not entry.attempt:
        return _new_job(*_plain(entry), after=after)
    return _new_job(
        *_plain(entry),
        after=after,
        held=tuple(entry.held.values()),
        up=tuple(sorted(entry.up)),
        leaving=tuple(sorted(entry.leaving)),
        exit_codes=tuple((*key, code) for key, code in entry.exit_codes.items()),
        errors=tuple(entry.errors),
        idle=tuple((*key, us) for key, us in entry.idle.items()),
        took=tuple(entry.took.items()),
    )


def _running(state: WorldState, running: Running) -> f.RunningKept:
    return f.RunningKept(
        job=running.job,
        attempt=running.attempt,
        candidate=_candidate(state, running.candidate),
        priority=running.priority,
        started_us=running.started_us,
        expected=state.view.ends.jobs[running.job],
        calm_until_us=running.calm_until_us,
        ended_task=running.ended_task,
        stopping=running.stopping,
        paused=running.paused,
        leaving=tuple(sorted(running.leaving)),
        used=tuple(running.used.items()),
    )


def _candidate(state: WorldState, one: Candidate) -> f.CandidateKept:
    spec = None if one.spec is state.jobs[one.job].spec else one.spec
    return f.CandidateKept(
        one.submitted_us, one.estimate_us, one.priority, spec, one.attained, one.kept_us, one.heir_of, one.served_us,
        one.yielded_to, one.waiting_since_us,
    )  # fmt: skip


def _class(state: WorldState, cls: WaitClass) -> f.ClassKept:
    queue, roles, uses, pin, *more = cast("tuple[Any, ...]", state.view.line.keys[cls.id])
    return f.ClassKept(cls.id, cls.spec, queue, roles, uses, pin, tuple(more), tuple(cls.jobs), cls.reasons)


def _node(state: WorldState, node: NodeId) -> f.NodeKept:
    ledger, strays = state.view.ledger, state.strays.get(node)
    return f.NodeKept(
        spec=ledger.specs[node],
        open=bool(ledger.open[node]),
        drained=bool(ledger.drained[node]),
        sick=tuple(sorted(ledger.unwell[node])),
        quiet_us=state.quiet.get(node),
        lost=node in state.lost,
        lost_us=state.lost.get(node, 0),
        strays=None if strays is None else tuple(sorted(strays, key=_in_order)),
        unhealthy=state.unhealthy.get(node),
        notices=state.notices.get(node, ()),
    )


def _in_order(task: TaskRef) -> tuple[int, ...]:
    return task.job, task.attempt, task.role, task.index


def _key(state: WorldState, key: str, job: JobId, spec: JobSpec) -> f.KeyKept:
    entry = state.jobs.get(job)
    return f.KeyKept(key, job, None if entry is not None and entry.spec is spec else spec)


def settled(kept: f.WorldKept) -> f.WorldKept:
    """Return what must be the same of two worlds that the same records led to.

    Timers that came to nothing, the moment of the last turn and what the next one looks at first may differ: a turn
    leaves them behind, the records do not.
    """
    tracks = tuple(replace(track, todo=()) for track in kept.flows.tracks)
    flows = replace(kept.flows, tracks=tracks, stirred=())
    schedules = replace(kept.schedules, stirred=(), stirred_searches=())
    return replace(kept, timers=(), ready=(), victim_us=0, now_us=0, flows=flows, schedules=schedules)
