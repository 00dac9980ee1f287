"""What comes from outside, from the records of the world in charge to a world that decides by itself.

What the world in charge has decided (starts, stops, promises) is left out. Jobs of workflows, schedules and searches
enter when they did there, and ordered machines come and go as they did there: these are not decided a second time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clearway.core import boots
from clearway.loop import asks as loop_asks
from clearway.loop import reports
from clearway.loop.flow_state import Flows
from clearway.loop.machine_changes import Machines
from clearway.model import asks
from clearway.model import events as ev
from clearway.model import flow_events as fe
from clearway.model.fleet import NodeSpec
from clearway.model.states import End, State
from clearway.ports.engine import NodeIsGone, NodeIsNoticed

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.loop.world import World
    from clearway.model.asks import Ask
    from clearway.model.events import Record
    from clearway.model.ids import NodeId
    from clearway.ports.engine import Report

_WORDS = ("priority", "queue", "time_limit")


def leave_alone(world: World) -> None:
    """Have a twin decide nothing but which job runs where: what else is decided comes as it came in the other one."""
    state = world.state
    flows, offset_us = Flows(), state.flows.schedules.offset_us
    flows.schedules.offset_us = offset_us
    state.flows = flows
    for node in list(state.machines.alive):
        if state.machines.booting(node):
            boots.end(state.view, node)
            _empty_slot(world, node)
    state.machines = Machines()
    state.view.types.clear()


def at_once(world: World, live: World, record: Record) -> None:
    """Change a world by what came from outside and is no ask or report."""
    state = world.state
    match record:
        case ev.Submitted():
            _enter(world, record)
        case fe.Reopened() if record.job in state.over:
            state.over.forget(record.job)
            _enter(world, ev.Submitted(world.now_us, record.job, record.spec))
        case ev.Refused():
            state.next_job = max(state.next_job, record.job + 1)
        case ev.Forecasted() if record.job in world.jobs and record.job not in state.view.forecasts.said:
            world.apply(replace(record, at_us=world.now_us))
        case ev.Sized() if _to_be_sized(world, record):
            world.apply(replace(record, at_us=world.now_us))
        case fe.Ticked() if record.job is not None and record.job in world.jobs:
            world.jobs[record.job].gate = record.gate
        case fe.RunFreed():
            _free(world, live)
        case _:
            _nodes_at_once(world, record)


def _to_be_sized(world: World, record: ev.Sized) -> bool:
    """Return whether a job is to have other amounts than it asks for before its first attempt here, too."""
    entry = world.jobs.get(record.job)
    return entry is not None and not (entry.attempt or entry.needs or entry.cls is not None)


def _nodes_at_once(world: World, record: Record) -> None:
    state = world.state
    match record:
        case ev.NodeHeard() if record.node in state.quiet or record.node in state.lost:
            world.apply(replace(record, at_us=world.now_us, running=()))
        case ev.NodeLost() if record.node not in state.lost:
            reports.lose(world, record.node)
        case ev.MachineOrdered():
            _empty_slot(world, record.node)
        case ev.MachineGone() if world.node_name(record.node):
            world.apply(ev.NodeDrained(world.now_us, record.node))
        case ev.NodeAdded() | ev.NodeQuiet() | ev.NodeDrained() | ev.DevicesChanged():
            world.apply(replace(record, at_us=world.now_us))
        case _:
            pass


def _empty_slot(world: World, node: NodeId) -> None:
    """Keep a number for a node that is not there."""
    ledger = world.state.view.ledger
    ledger.add_node(node, NodeSpec(name="", cpus=0, memory=0, disk=0, bandwidth=0))
    ledger.set_open(node, is_open=False)


def _enter(world: World, record: ev.Submitted) -> None:
    """Enter a job under the number that it has, unless the world has let it in by itself."""
    if record.job in world.jobs or record.job in world.state.over or (record.array and record.array not in world.jobs):
        return
    world.apply(replace(record, at_us=world.now_us))
    entry = world.jobs[record.job]
    if not record.array and len(record.after) == len(dict.fromkeys(record.spec.after)):
        loop_asks.begin_waiting(world, entry, record.after)


def _free(world: World, live: World) -> None:
    """Let the jobs go that wait for an earlier run no more."""
    for job, entry in world.jobs.items():
        real = live.jobs.get(job)
        if entry.gate and (real is None or not real.gate):
            entry.gate = ""
            world.state.ready[job] = None


def wishes(world: World, record: Record) -> list[Ask | Report]:
    """Return what a world is asked, or told, because of a record; of jobs that are over there nothing."""
    job = getattr(record, "job", None)
    if job is not None and job in world.state.over:
        return []
    wish = _WISHES.get(type(record), _nothing)
    return wish(world, record)


def _cancelled(_: World, record: ev.Stopping | ev.Ended) -> list[Ask | Report]:
    cancelled = record.end == End.CANCELLED if isinstance(record, ev.Stopping) else record.state == State.CANCELLED
    return [asks.Cancel(record.job)] if cancelled else []


def _changed(_: World, record: ev.Changed) -> list[Ask | Report]:
    spec = record.spec
    return [asks.Change(record.job, _WORDS, spec.priority, spec.queue, spec.time_limit_us, record.by)]


def _booked(world: World, record: ev.Booked) -> list[Ask | Report]:
    return [] if record.booking.name in world.state.view.bookings.kept else [asks.Book(record.booking)]


def _noticed(world: World, record: ev.NodeNoticed) -> list[Ask | Report]:
    return [NodeIsNoticed(world.node_name(record.node), max(record.gone_us - world.now_us, 0))]


def _nothing(_: World, __: Record) -> list[Ask | Report]:
    return []


_WISHES: dict[type, Callable[[World, Any], list[Ask | Report]]] = {
    ev.Stopping: _cancelled,
    ev.Ended: _cancelled,
    ev.SuspendAsked: lambda _, r: [asks.Suspend(r.job)],
    ev.ResumeAsked: lambda _, r: [asks.Resume(r.job)],
    ev.HoldAsked: lambda _, r: [asks.Hold(r.job, r.by)],
    ev.ReleaseAsked: lambda _, r: [asks.Release(r.job, r.by)],
    ev.RequeueAsked: lambda _, r: [asks.Requeue(r.job, r.by)],
    ev.Changed: _changed,
    ev.Booked: _booked,
    ev.BookingOver: lambda _, r: [asks.Unbook(r.name, r.by)] if r.by else [],
    ev.QueueChanged: lambda _, r: [asks.SetQueue(r.queue)],
    ev.LimitChanged: lambda _, r: [asks.SetLimit(r.limit)],
    ev.BudgetChanged: lambda _, r: [asks.SetBudget(r.budget)],
    fe.ClockSet: lambda _, r: [asks.SetClock(r.offset_us)],
    ev.NodeNoticed: _noticed,
    ev.NodeRemoved: lambda world, r: [NodeIsGone(world.node_name(r.node))],
}
