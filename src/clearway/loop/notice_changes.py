"""How the state changes by what keeps new jobs away from a node: notices, a person's wish, ill devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.loop.timers import Due, Timer
from clearway.model import events as ev

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.loop.state import WorldState
    from clearway.model.ids import NodeId


def past(state: WorldState, node: NodeId, now_us: int) -> None:
    """Forget the notices of a node whose moments have come: it was taken away then."""
    left = tuple(moment for moment in state.notices.pop(node, ()) if moment > now_us)
    if left:
        state.notices[node] = left
    else:
        state.view.ledger.leaving.discard(node)


def _noticed(state: WorldState, record: ev.NodeNoticed) -> None:
    state.notices[record.node] = tuple(sorted({*state.notices.get(record.node, ()), record.gone_us}))
    state.view.ledger.leaving.add(record.node)
    state.open_if_clean(record.node)
    state.view.promises_changed = True
    state.timers.add(Timer(record.at_us, Due.NOTICE, record.node))


def _drained(state: WorldState, record: ev.NodeDrained) -> None:
    state.view.ledger.set_drained(record.node, record.drained)


def _devices_changed(state: WorldState, record: ev.DevicesChanged) -> None:
    state.unhealthy[record.node] = record.unhealthy
    state.view.ledger.set_sick(record.node, record.unhealthy)


APPLY: dict[type, Callable[[Any, Any], None]] = {
    ev.NodeNoticed: _noticed,
    ev.NodeDrained: _drained,
    ev.DevicesChanged: _devices_changed,
}
