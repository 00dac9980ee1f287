"""Machines that are ordered for those who wait, and given back when nobody needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.core.books import Fleet
from clearway.core.machines import needed
from clearway.loop import notices
from clearway.model import events as ev
from clearway.model.actions import GiveBack, Order, Supply
from clearway.model.ids import NodeId
from clearway.model.reasons import Code, Reason, because

if TYPE_CHECKING:
    from clearway.core.machines import Needed
    from clearway.loop.machine_changes import Machine
    from clearway.loop.state import WorldState
    from clearway.loop.world import World
    from clearway.model.fleet import MachineType
    from clearway.model.ids import ClassId, JobId
    from clearway.ports.provider import OrderFailed

SHOWN_MACHINES = 8  # a reason names so many machines, then "..": the timeline names them all
OF_MACHINES = (Code.ORDERED, Code.MACHINE_LIMIT)


def tell_again(state: WorldState) -> list[Supply]:
    """Return every order that may not have reached the provider before the controller died."""
    machines, types = state.machines, state.view.types
    orders: list[Supply] = [
        Order(one.kind, replace(types[one.kind].node, name=one.name)) for one in machines.alive.values() if not one.up
    ]
    return orders + [GiveBack(name) for name in machines.retired.values()]


def failed(world: World, report: OrderFailed) -> None:
    """Take in that a machine will not come."""
    node = world.node_named(report.name)
    if node is not None and world.state.machines.booting(node):
        _end(world, world.state.machines.alive[node], because(Code.ORDER_FAILED, error=report.error))


def see_to(world: World) -> None:
    """Order what is needed and not there, give back what is not needed, and say who waits for which machine."""
    machines = world.state.machines
    if not (world.recorded or machines.stirred):
        return
    machines.stirred = False
    _give_up(world)
    plan = _plan(world)
    for wish in plan.wishes:
        _order(world, wish.kind, because(Code.NEEDED, first=world.jobs[wish.first].spec.name))
    if plan.wishes:
        plan = _plan(world)
    _keep_least(world)
    _release(world, plan)
    world.decide()
    _say(world, plan)


def _plan(world: World) -> Needed:
    state, now_us = world.state, world.now_us
    booting: dict[str, dict[NodeId, int]] = {}
    more = {}
    for name, kind in state.view.types.items():
        mine = state.machines.of(name)
        booting[name] = {machine.node: machine.ready_us for machine in mine if not machine.up}
        more[name] = 0 if now_us < state.machines.shunned.get(name, 0) else kind.most - len(mine)
    moving = [state.waiting(world.jobs[job]) for job in notices.moving(state, now_us)]
    return needed(state.view, Fleet(frozenset(state.machines.alive), booting, more, now_us), moving)


def _order(world: World, kind: MachineType, cause: Reason) -> None:
    state = world.state
    name = f"{kind.name}-{state.machines.made.get(kind.name, 0) + 1}"
    node, ready_us = NodeId(world.ledger.count), world.now_us + kind.boot_us
    world.emit(ev.MachineOrdered(world.now_us, node, name, kind.name, ready_us, cause))
    world.provide(Order(kind.name, replace(kind.node, name=name)))


def _end(world: World, machine: Machine, cause: Reason) -> None:
    world.emit(ev.MachineGone(world.now_us, machine.node, cause))
    world.provide(GiveBack(machine.name))


def _keep_least(world: World) -> None:
    """Order as many of each type as are always to be there."""
    machines = world.state.machines
    for name, kind in sorted(world.state.view.types.items()):
        if machines.shunned.get(name, 0) <= world.now_us:
            for _ in range(kind.least - len(machines.of(name))):
                _order(world, kind, because(Code.NEEDED, least=kind.least))


def _give_up(world: World) -> None:
    """Take for gone what was lost, and what has not come in time."""
    state, now_us = world.state, world.now_us
    for machine in list(state.machines.alive.values()):
        timeout_us = state.view.types[machine.kind].boot_timeout_us
        if machine.node in state.lost:
            _end(world, machine, because(Code.NODE_LOST, node=machine.name))
        elif not machine.up and now_us >= machine.ordered_us + timeout_us:
            _end(world, machine, because(Code.BOOT_TIMEOUT, timeout_us=timeout_us))


def _release(world: World, plan: Needed) -> None:
    """Take back orders that nobody counts on, newest first, and give back machines that have been idle for long."""
    state = world.state
    for machine in reversed(list(state.machines.alive.values())):
        kind = state.view.types[machine.kind]
        spare = len(state.machines.of(machine.kind)) > kind.least
        if not machine.up:
            if spare and machine.node not in plan.counted:
                _end(world, machine, because(Code.NOT_NEEDED))
            continue
        idle = not world.ledger.on_node[machine.node] and machine.node not in plan.counted
        if idle != (machine.idle_us is not None):
            world.emit(ev.MachineIdle(world.now_us, machine.node, idle))
        if idle and spare and machine.idle_us is not None:
            still_us = world.now_us - machine.idle_us
            if still_us >= kind.idle_timeout_us:
                _end(world, machine, because(Code.IDLE, idle_us=still_us))


def _say(world: World, plan: Needed) -> None:
    """Say for each class which machines its jobs wait for, or that no more may be ordered."""
    line, machines = world.state.view.line, world.state.machines
    waits: dict[ClassId, list[Machine]] = {}
    for node, jobs in plan.counted.items():
        machine = machines.alive.get(node)
        if machine is not None and not machine.up:
            for number in _classes(world, jobs):
                waits.setdefault(number, []).append(machine)
    for number, cls in sorted(line.classes.items()):
        if not cls.entries or not cls.reasons:
            continue
        said = _reason(world, sorted(waits.get(number, ()), key=lambda one: one.node), plan.short.get(number))
        others = tuple(reason for reason in cls.reasons if reason.code not in OF_MACHINES)
        if (*others, *said) != cls.reasons:
            world.emit(ev.ClassWaits(world.now_us, number, (*others, *said)))


def _classes(world: World, jobs: tuple[JobId, ...]) -> list[ClassId]:
    found = [waiting.cls for job in jobs if (waiting := world.state.view.line.find(job)) is not None]
    return list(dict.fromkeys(found))


def _reason(world: World, waits: list[Machine], short: str | None) -> tuple[Reason, ...]:
    if waits:
        names = ", ".join(one.name for one in waits[:SHOWN_MACHINES]) + (", .." if len(waits) > SHOWN_MACHINES else "")
        return (because(Code.ORDERED, machines=names, ready_us=max(one.ready_us for one in waits)),)
    if short is None:
        return ()
    until_us = world.state.machines.shunned.get(short, 0)
    if until_us > world.now_us:
        return (because(Code.MACHINE_LIMIT, kind=short, until_us=until_us),)
    return (because(Code.MACHINE_LIMIT, kind=short, most=world.state.view.types[short].most),)
