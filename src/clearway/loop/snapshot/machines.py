"""Machines that were ordered, in a snapshot: their forms, how they are taken down and built again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clearway.core import boots
from clearway.loop.machine_changes import Machine
from clearway.model.events import MachineOrdered
from clearway.model.fleet import MachineType
from clearway.model.ids import NodeId
from clearway.model.reasons import Code, because

if TYPE_CHECKING:
    from clearway.loop.state import WorldState


class MachineKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A `loop.machine_changes.Machine`, slot by slot."""

    node: NodeId
    name: str
    kind: str
    ordered_us: int
    ready_us: int
    up: bool = False
    idle_us: int | None = None


class MachinesKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """The types that can be ordered, and what is known of the machines."""

    types: tuple[MachineType, ...] = ()
    alive: tuple[MachineKept, ...] = ()
    made: dict[str, int] = {}
    retired: tuple[tuple[NodeId, str], ...] = ()
    shunned: dict[str, int] = {}


def take_machines(state: WorldState) -> MachinesKept:
    """Return what is known of machines."""
    machines = state.machines
    return MachinesKept(
        tuple(state.view.types.values()),
        tuple(
            MachineKept(**{name: getattr(one, name) for name in Machine.__slots__}) for one in machines.alive.values()
        ),
        dict(machines.made),
        tuple(machines.retired.items()),
        dict(machines.shunned),
    )


def restore_machines(state: WorldState, kept: MachinesKept) -> None:
    """Have machines stand as they were kept, on nodes that are there already."""
    machines, view = state.machines, state.view
    view.types.update({kind.name: kind for kind in kept.types})
    for one in kept.alive:
        cause = because(Code.NEEDED)
        machine = Machine(MachineOrdered(one.ordered_us, one.node, one.name, one.kind, one.ready_us, cause))
        machine.up, machine.idle_us = one.up, one.idle_us
        machines.alive[one.node] = machine
        if not one.up:
            boots.begin(view, one.node, view.ledger.specs[one.node], one.ordered_us, one.ready_us)
    machines.made, machines.shunned = dict(kept.made), dict(kept.shunned)
    machines.retired = dict(kept.retired)
    machines.stirred = bool(view.types)
