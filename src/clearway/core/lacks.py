"""What a waiting job lacks: at which level, by how much, who has it, and what would lift it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from clearway.core.domains import ISLANDS
from clearway.core.draft import Draft
from clearway.core.hopeless import hopeless
from clearway.core.line import pool_mask
from clearway.core.place import anywhere, place
from clearway.core.profile import NEVER
from clearway.core.resources import GPUS
from clearway.model.fleet import PLENTY
from clearway.model.job import WHOLE
from clearway.model.outlook import Holder, Lack

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from clearway.core.line import WaitClass
    from clearway.core.places import Places
    from clearway.core.view import View
    from clearway.model.ids import JobId
    from clearway.model.job import JobSpec

MOST_HOLDERS = 5
MOST_NODES = 8
ROOM_COMES = ("ended", "resized", "node_ready", "drained", "device_unhealthy")
"""Kinds of event after which there may be room: a drain is taken back, a device healthy again, by the same events."""
LIMIT_LIFTS = ("ended", "queue_changed")


def lacks(view: View, cls: WaitClass) -> tuple[Lack, ...]:
    """Return what the jobs of a class lack now: room below limits, then room on nodes. Nothing: others go first."""
    return (*limits(view, cls.spec), *_slots(view, cls.spec), *room(view, cls))


# --- limits --------------------------------------------------------------------------------------


def limits(view: View, spec: JobSpec) -> list[Lack]:
    """Return the limits of a job's queues, and of its user in them, that it does not fit below now."""
    need = view.queues.least_of(spec)
    found = []
    for name, resource, used, limit, user in view.queues.limits_of(spec):
        wanted = need.get(resource, 0)
        if not wanted or used + wanted <= limit:
            continue
        level = "user" if user is not None else "queue" if name == spec.queue else "parent"
        holders = _below(view, name, resource, user)
        found.append(_lack(view, level, name, resource, (wanted, max(limit - used, 0), used + wanted - limit), holders))
    return found


def _below(view: View, queue: str, resource: str, user: str | None) -> dict[JobId, int]:
    """Return what each job holds of a resource in a queue and below it."""
    found: dict[JobId, int] = {}
    for name in sorted(view.running_in):
        if queue in view.queues.chain(name):
            for job, running in view.running_in[name].items():
                if user is None or running.spec.user == user:
                    held = view.ledger.holdings.get(job, ())
                    found[job] = sum(view.queues.use(one.demand).get(resource, 0) for one in held)
    return {job: amount for job, amount in found.items() if amount}


def _slots(view: View, spec: JobSpec) -> list[Lack]:
    found = []
    for name in dict.fromkeys(spec.uses):
        limit, used = view.queues.limits.get(name), view.queues.slots.get(name, 0)
        if limit is not None and used >= limit.slots:
            holders = {job: 1 for job, running in view.running.items() if name in running.spec.uses}
            found.append(_lack(view, "limit", name, "slots", (1, 0, 1), holders))
    return found


# --- room ----------------------------------------------------------------------------------------


def room(view: View, cls: WaitClass) -> list[Lack]:
    """Return what the nearest place lacks for the first role that finds none; nothing where all find one.

    Where no node could ever hold the job nobody's end lifts anything: only another node does.
    """
    never = hopeless(view, cls) and cls.never
    found = _room(view, cls, empty=never)
    if not never:
        return found
    return [replace(lack, holders=(), more=0, lifts=("node_ready",), until_us=None) for lack in found]


def _room(view: View, cls: WaitClass, *, empty: bool) -> list[Lack]:
    for number, role in enumerate(cls.spec.roles):
        places = cls.places[number]
        places.refresh()
        bound = cls.bound if cls.bound is not None and cls.bound.required and number in cls.bound.roles else None
        alone = places.slots(empty=empty, one_each=role.one_per_node)
        fit = alone if bound is None else bound.most(number)
        if fit >= role.min_tasks:
            continue
        if bound is not None and alone >= role.min_tasks:
            return [_domain(view, cls, number, fit)]
        if not places.may.any():
            return _out_of_service(view, cls, number) or [_none_at_all(view, cls, number)]
        together = [_gang(view, cls, number, fit)] if role.min_tasks > 1 else []
        return together if fit else [*together, *_nearest(view, cls, number)]
    return [_together(view, cls)] if len(cls.spec.roles) > 1 and not _side_by_side(view, cls) else []


def _side_by_side(view: View, cls: WaitClass) -> bool:
    """Return whether all roles find room at once, whatever is promised to others."""
    waiting, draft = next(iter(cls.jobs.values())), Draft(view.ledger)
    held = place(view, cls, waiting, draft, None, anywhere)
    draft.undo()
    return held is not None


def _together(view: View, cls: WaitClass) -> Lack:
    """Return that each role alone would find room, but not all of them."""
    need = sum(role.min_tasks for role in cls.spec.roles)
    holders = _on(view, np.flatnonzero(pool_mask(cls)).tolist(), GPUS)
    return _lack(view, cls.spec.topology.require or "fleet", "", "roles", (need, 0, 0), holders)


def _gang(view: View, cls: WaitClass, number: int, fit: int) -> Lack:
    role, places = cls.spec.roles[number], cls.places[number]
    holders = _on(view, np.flatnonzero(places.may).tolist(), GPUS)
    return _lack(view, "fleet", "", "tasks", (role.min_tasks, fit, role.min_tasks - fit), holders)


def _domain(view: View, cls: WaitClass, number: int, fit: int) -> Lack:
    """Return what the domain lacks that has most room: inside it too few of the tasks fit."""
    role, bound, level = cls.spec.roles[number], cls.bound, cls.spec.topology.require
    if bound is None:
        return _gang(view, cls, number, fit)
    many, groups = bound.room(number), bound.groups(bound.required)
    usable = bound.usable()
    total = np.where(np.bincount(groups, usable) > 0, np.bincount(groups, many), -1)
    nodes = np.flatnonzero((groups == int(total.argmax())) & usable).tolist()
    first = view.ledger.specs[nodes[0]] if nodes else None
    name = "" if first is None else getattr(first, level, "") or first.name
    amounts = (role.min_tasks, fit, role.min_tasks - fit)
    if level in ISLANDS and role.min_tasks == 1 and role.demand.gpus:
        idle = bound.most_idle(number)
        amounts = (role.demand.gpus * WHOLE, idle * WHOLE, (role.demand.gpus - idle) * WHOLE)
        return _lack(view, level, name, "gpus", amounts, _on(view, nodes, GPUS))
    return _lack(view, level, name, "tasks", amounts, _on(view, nodes, GPUS))


def _nearest(view: View, cls: WaitClass, number: int) -> list[Lack]:
    """Return what the node lacks on which least is missing: of each resource, or on each of its devices."""
    ledger, places = view.ledger, cls.places[number]
    demand, rows = places.demand, np.flatnonzero(places.may)
    if demand.colocate and int(places.sharable(rows).max()) < demand.gpus:
        return [_turns(view, places, rows)]
    needs = ledger.needs_of(demand)
    short = np.zeros((len(needs) + 1, len(rows)), np.int64)
    for at, (row, amount) in enumerate(needs):
        short[at + 1] = np.maximum(amount - ledger.free[row].take(rows), 0)
    short[0] = (short[1:] > 0).sum(axis=0)
    best = int(np.lexsort(short[::-1])[0])
    node = int(rows[best])
    found = [
        _of_node(view, node, row, amount, int(short[at + 1][best]))
        for at, (row, amount) in enumerate(needs)
        if short[at + 1][best]
    ]
    return found or [_device(view, _roomiest(view, places, rows[short[0] == 0]), cls, number)]


def _roomiest(view: View, places: Places, nodes: NDArray[np.int64]) -> int:
    """Return the node on which some device has most left of what a task asks for a part of."""
    ledger = view.ledger
    column = ledger.dev_share if places.demand.share else ledger.dev_room
    most = column.reshape(-1, ledger.width).take(nodes, axis=0).max(axis=1)
    return int(nodes[int(most.argmax())])


def _turns(view: View, places: Places, rows: NDArray[np.int64]) -> Lack:
    """Return what the node lacks that has most devices idle or with a turn left, for a task that takes turns."""
    many = places.sharable(rows)
    node, gpus = int(rows[int(many.argmax())]), places.demand.gpus
    amounts = (gpus * WHOLE, int(many.max()) * WHOLE, (gpus - int(many.max())) * WHOLE)
    return _lack(view, "node", view.ledger.specs[node].name, "gpus", amounts, _on(view, [node], GPUS))


def _none_at_all(view: View, cls: WaitClass, number: int) -> Lack:
    """Return what the largest node lacks that its words admit; where there is none, that there is none."""
    ledger, places, role = view.ledger, cls.places[number], cls.spec.roles[number]
    rows = np.flatnonzero(places.admitted())
    for row, amount in reversed(ledger.least_of(role.demand)):
        most = int(ledger.cap[row].take(rows).max(initial=0))
        if len(rows) and most < amount:
            node, scale = int(rows[int(ledger.cap[row].take(rows).argmax())]), WHOLE if row == GPUS else 1
            amounts = (amount * scale, most * scale, (amount - most) * scale)
            resource = ledger.rows.names[row].removeprefix("res.")
            return Lack("node", ledger.specs[node].name, resource, *amounts, lifts=("node_ready",))
    most, node = max(((ledger.specs[at].gpu_memory, -at) for at in places.of_kind()), default=(PLENTY, 0))
    if most < role.demand.gpu_memory:
        amounts = (role.demand.gpu_memory, most, role.demand.gpu_memory - most)
        return Lack("device", ledger.specs[-node].name, "gpu_memory", *amounts, lifts=("node_ready",))
    return Lack("fleet", "", "nodes", role.min_tasks, 0, role.min_tasks, lifts=("node_ready",))


def _out_of_service(view: View, cls: WaitClass, number: int) -> list[Lack]:
    """Return the nodes that would do if they were in service, by what keeps them from it."""
    ledger, demand = view.ledger, cls.spec.roles[number].demand
    found: dict[str, list[str]] = {"drained": [], "node_ready": [], "device_unhealthy": []}
    for node in np.flatnonzero(cls.places[number].would_do()).tolist():
        why = "node_ready" if not ledger.open[node] else "drained" if ledger.drained[node] else "device_unhealthy"
        if ledger.specs[node].gpus >= max(demand.gpus, int(demand.one_device)):
            found[why].append(ledger.specs[node].name)
    return [
        Lack("node", ", ".join(names[:MOST_NODES]) + (", .." if names[MOST_NODES:] else ""), "nodes", lifts=(why,))
        for why, names in found.items()
        if names
    ]


def _of_node(view: View, node: int, row: int, amount: int, short: int) -> Lack:
    scale, spec = WHOLE if row == GPUS else 1, view.ledger.specs[node]
    if row == GPUS and spec.gpus - sum(device < spec.gpus for device in view.ledger.unwell[node]) < amount:
        return Lack("node", spec.name, "nodes", lifts=("device_unhealthy",))
    resource = view.ledger.rows.names[row].removeprefix("res.")
    amounts = (amount * scale, (amount - short) * scale, short * scale)
    return _lack(view, "node", view.ledger.specs[node].name, resource, amounts, _on(view, [node], row))


def _device(view: View, node: int, cls: WaitClass, number: int) -> Lack:
    """Return what the device lacks that has most left, for a task that asks for a part of one."""
    ledger, demand = view.ledger, cls.spec.roles[number].demand
    here = slice(node * ledger.width, (node + 1) * ledger.width)
    shares = ledger.dev_share[here]
    if int(shares.max()) < 0:
        return Lack("node", ledger.specs[node].name, "nodes", lifts=("device_unhealthy",))
    resource, need, column = (
        ("gpus", demand.share, shares)
        if demand.share and int(shares.max()) < demand.share
        else ("gpu_memory", ledger.memory_on(node, demand), np.where(shares < demand.share, -1, ledger.dev_room[here]))
    )
    has, device = max(int(column.max()), 0), int(column.argmax())
    name = f"{ledger.specs[node].name}, device {device}"
    holders = _of_device(view, node, device, resource)
    return _lack(view, "device", name, resource, (need, has, max(need - has, 0)), holders)


# --- who has it ----------------------------------------------------------------------------------


def _of_device(view: View, node: int, device: int, resource: str) -> dict[JobId, int]:
    """Return what each job holds of one device; who has it whole has all of its memory."""
    ledger = view.ledger
    found: dict[JobId, int] = {}
    for job in sorted(ledger.on_node[node]):
        for grant in (one.grant for one in ledger.holdings[job]):
            if grant.node == node and device in grant.devices:
                whole = int(ledger.device_memory[node]) if grant.share == WHOLE else 0
                amount = grant.share if resource == "gpus" else grant.gpu_memory or whole
                if amount:
                    found[job] = found.get(job, 0) + amount
    return found


def _on(view: View, nodes: Iterable[int], row: int) -> dict[JobId, int]:
    """Return what each job holds of a resource on some nodes; devices in thousandths."""
    ledger, wanted = view.ledger, set(nodes)
    found: dict[JobId, int] = {}
    for job in sorted({job for node in wanted for job in ledger.on_node[node]}):
        for one in ledger.holdings[job]:
            if one.grant.node in wanted:
                amount = one.demand.milli_gpus if row == GPUS else dict(ledger.needs_of(one.demand)).get(row, 0)
                if amount or (row == GPUS and one.grant.devices):  # a device of which only memory is held is not free
                    found[job] = found.get(job, 0) + amount
    return found


def _lack(
    view: View, level: str, name: str, resource: str, amounts: tuple[int, int, int], held: dict[JobId, int]
) -> Lack:
    need, has, short = amounts
    holders = sorted(
        (_holder(view, job, amount) for job, amount in held.items()),
        key=lambda one: (NEVER if one.until_us is None else one.until_us, -one.amount, one.job),
    )
    lifts = LIMIT_LIFTS if level in {"queue", "parent", "user", "limit"} else ROOM_COMES
    first = holders[0].until_us if holders else None
    kept = tuple(holders[:MOST_HOLDERS])
    return Lack(level, name, resource, need, has, short, kept, len(holders) - len(kept), lifts, first)


def _holder(view: View, job: JobId, amount: int) -> Holder:
    running, expected = view.running.get(job), view.ends.jobs.get(job)
    until = None if expected is None or expected.end_us >= NEVER else expected.end_us
    spec = view.spec_of(job) if running is None else running.spec
    return Holder(job, spec.name, spec.queue, amount, until)
