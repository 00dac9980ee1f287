"""What an engine must be told because of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model import events as ev
from clearway.model.actions import Action, Halt, Launch, Pause
from clearway.model.events import TaskRef
from clearway.model.states import State

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry
    from clearway.loop.state import WorldState
    from clearway.model.events import Record
    from clearway.model.ids import NodeId


ORDERING = frozenset({ev.Started, ev.Stopping, ev.Resized, ev.Paused})
"""Records from which an order to the engine follows."""


def actions_of(state: WorldState, record: Record) -> list[Action]:
    """Return what follows for the engine from a record that was just applied."""
    if isinstance(record, ev.Started):
        return launches(state, state.jobs[record.job])
    if isinstance(record, ev.Stopping):
        return halts(state, state.jobs[record.job])
    if isinstance(record, ev.Resized):
        entry = state.jobs[record.job]
        less = {(grant.role, grant.index) for grant in record.less}
        return [*launches(state, entry), *(order for order in halts(state, entry) if _key(order) in less)]
    if isinstance(record, ev.Paused):
        return pauses(state, state.jobs[record.job], paused=record.paused)
    return []


def _key(order: Action) -> tuple[int, int]:
    return order.task.role, order.task.index


def _ref(entry: JobEntry, key: tuple[int, int]) -> TaskRef:
    return TaskRef(entry.id, entry.attempt, *key)


def launches(state: WorldState, entry: JobEntry) -> list[Action]:
    """Return the order to start each task that is not known to be up."""
    many = len(entry.grants)
    first = state.node_name(entry.grants[0].node) if many else ""
    return [
        Launch(_ref(entry, (g.role, g.index)), entry.spec, g, state.node_name(g.node), rank, many, first)
        for rank, g in enumerate(entry.grants)
        if (g.role, g.index) in entry.held and (g.role, g.index) not in entry.up | entry.leaving
    ]


def halts(state: WorldState, entry: JobEntry) -> list[Action]:
    """Return the order to stop each task that still holds something."""
    point = entry.spec.checkpoint
    return [
        Halt(_ref(entry, key), state.node_name(grant.node), point.signal, point.grace_us)
        for key, grant in entry.held.items()
    ]


def pauses(state: WorldState, entry: JobEntry, *, paused: bool) -> list[Action]:
    """Return the order to stand still or go on for each task."""
    return [Pause(_ref(entry, key), state.node_name(grant.node), paused) for key, grant in entry.held.items()]


def tell_again(state: WorldState) -> list[Action]:
    """Return every order that may not have reached the engine before the controller died."""
    orders: list[Action] = []
    for entry in state.jobs.values():
        orders += _of(state, entry)
    return orders


def tell_node_again(state: WorldState, node: NodeId) -> list[Action]:
    """Return every order for a node that may not have reached it while it was not heard of."""
    name = state.node_name(node)
    jobs = sorted(state.view.ledger.on_node[node])
    return [order for job in jobs for order in _of(state, state.jobs[job]) if order.node == name]


def _of(state: WorldState, entry: JobEntry) -> list[Action]:
    """Return the orders that follow from how a job stands now."""
    if entry.state == State.STOPPING:
        return halts(state, entry)
    if entry.state == State.PENDING:
        return []
    orders = launches(state, entry)
    if entry.stood_still:
        orders += pauses(state, entry, paused=entry.state == State.SUSPENDED)
    return orders + [order for order in halts(state, entry) if _key(order) in entry.leaving]
