"""What is known of the machines that were ordered, and how records change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clearway.core import boots
from clearway.loop.timers import Due, Timer
from clearway.model import events as ev
from clearway.model.fleet import NodeSpec
from clearway.model.reasons import Code

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.loop.state import WorldState
    from clearway.model.ids import NodeId

RETRY_US = 300_000_000  # a type of which an order failed is not ordered again before so long
FAILED = (Code.ORDER_FAILED, Code.BOOT_TIMEOUT)


class Machine:
    """One that was ordered and is not gone. `idle_us`: since when nobody needs it."""

    __slots__ = ("idle_us", "kind", "name", "node", "ordered_us", "ready_us", "up")

    def __init__(self, record: ev.MachineOrdered) -> None:
        """Begin on its way."""
        self.node, self.name, self.kind = record.node, record.name, record.kind
        self.ordered_us, self.ready_us = record.at_us, record.ready_us
        self.up = False
        self.idle_us: int | None = None


class Machines:
    """The machines that were ordered and are not gone, by their nodes.

    `made` counts how many of each type were ever ordered, so that no name comes twice; `retired` are nodes that are
    given back and not gone yet; `shunned` are the types of which an order failed, with the end of that.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.alive: dict[NodeId, Machine] = {}
        self.made: dict[str, int] = {}
        self.retired: dict[NodeId, str] = {}
        self.shunned: dict[str, int] = {}
        self.stirred = False

    def booting(self, node: NodeId) -> bool:
        """Return whether a node is a machine that is on its way."""
        return node in self.alive and not self.alive[node].up

    def was_ordered(self, name: str) -> bool:
        """Return whether a machine of this name was ever ordered."""
        kind, _, number = name.rpartition("-")
        return kind in self.made and number.isdecimal() and 1 <= int(number) <= self.made[kind]

    def of(self, kind: str) -> list[Machine]:
        """Return those of a type, oldest first."""
        return [machine for machine in self.alive.values() if machine.kind == kind]

    def forget(self, node: NodeId) -> None:
        """Forget a machine whose node is gone for good."""
        self.alive.pop(node, None)
        self.retired.pop(node, None)
        self.stirred = True


def arrived(state: WorldState, node: NodeId) -> None:
    """Take note that a node has joined: one that was on its way is there."""
    machine = state.machines.alive.get(node)
    if machine is not None and not machine.up:
        boots.end(state.view, node)
        machine.up = True
        state.machines.stirred = True


def clear_slot(state: WorldState, node: NodeId) -> None:
    """Forget all words of a node that is gone for good; its number stays taken."""
    state.view.ledger.shelves.on.pop(node, None)
    state.nodes.pop(state.node_name(node), None)
    state.quiet.pop(node, None)
    state.notices.pop(node, None)
    state.view.ledger.leaving.discard(node)
    state.lost.pop(node, None)
    state.strays.pop(node, None)
    state.unhealthy.pop(node, None)
    state.view.ledger.add_node(node, NodeSpec(name="", cpus=0, memory=0, disk=0, bandwidth=0))
    state.view.ledger.set_open(node, is_open=False)


def _type_changed(state: WorldState, record: ev.MachineTypeChanged) -> None:
    state.view.types[record.kind.name] = record.kind
    state.view.ledger.fleet_revision += 1  # who could never be held may be now
    state.machines.stirred = True


def _ordered(state: WorldState, record: ev.MachineOrdered) -> None:
    kind, machines = state.view.types[record.kind], state.machines
    machines.alive[record.node] = Machine(record)
    machines.made[record.kind] = machines.made.get(record.kind, 0) + 1
    boots.begin(state.view, record.node, replace(kind.node, name=record.name), record.at_us, record.ready_us)
    state.nodes[record.name] = record.node
    state.timers.add(Timer(record.at_us + kind.boot_timeout_us, Due.MACHINE, record.node))


def _idle(state: WorldState, record: ev.MachineIdle) -> None:
    machine = state.machines.alive[record.node]
    machine.idle_us = record.at_us if record.idle else None
    if record.idle:
        due = record.at_us + state.view.types[machine.kind].idle_timeout_us
        state.timers.add(Timer(due, Due.MACHINE, record.node))


def _gone(state: WorldState, record: ev.MachineGone) -> None:
    machine = state.machines.alive.pop(record.node)
    if record.cause.code in FAILED:
        state.machines.shunned[machine.kind] = record.at_us + RETRY_US
        state.timers.add(Timer(record.at_us + RETRY_US, Due.MACHINE, record.node))
    if machine.up:
        state.machines.retired[record.node] = machine.name
        state.open_if_clean(record.node)
    else:
        boots.end(state.view, record.node)
        clear_slot(state, record.node)
    state.view.promises_changed = True


APPLY: dict[type, Callable[[Any, Any], None]] = {
    ev.MachineTypeChanged: _type_changed,
    ev.MachineOrdered: _ordered,
    ev.MachineIdle: _idle,
    ev.MachineGone: _gone,
}
