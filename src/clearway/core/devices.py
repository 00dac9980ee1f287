"""Which devices of a node a task gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.islands import spoils
from clearway.core.turns import takes_one_more
from clearway.model.job import WHOLE

if TYPE_CHECKING:
    from clearway.core.ledger import Ledger
    from clearway.model.ids import NodeId
    from clearway.model.job import Demand


def pick(
    ledger: Ledger, node: NodeId, demand: Demand, drawn: int | None = None, within: frozenset[int] | None = None
) -> tuple[int, ...] | None:
    """Return the device numbers for one task, () if it needs none, None if the node has no room for it.

    Whole devices come from the island that they fill best, one that is not whole any more before one that nobody uses
    yet; a part of a device
    from the device with the least room that is enough, or from any that has room, as `drawn` says. Who takes turns
    goes first to devices on which others do already, the fullest first.
    `within`: only these devices.
    """
    if demand.colocate:
        return _in_turn(ledger, node, demand, within)
    if demand.gpus:
        return _whole(ledger, node, demand, demand.gpus, within)
    if demand.one_device:
        return _part(ledger, node, demand, drawn, within)
    if demand.slice:
        return next(((number,) for number in slices(ledger, node, demand)), None)
    return ()


def slices(ledger: Ledger, node: NodeId, demand: Demand) -> list[int]:
    """Return the numbers of the slices of a node that a task could have; they stand behind its devices."""
    spec, held, unwell = ledger.specs[node], ledger.held_share[node], ledger.unwell[node]
    every = [
        spec.gpus + at
        for at, (device, profile) in enumerate(spec.slices)
        if profile == demand.slice and unwell.isdisjoint((device, spec.gpus + at))
    ]
    return [number for number in every if number >= len(held) or not held[number]]


def idle(ledger: Ledger, node: NodeId) -> list[int]:
    """Return the healthy devices of a node that nobody holds a part of."""
    rooms, sick = ledger.held_room[node], ledger.sick[node]
    free = [d for d, share in enumerate(ledger.held_share[node]) if share == 0 and rooms[d] == 0]
    gpus = ledger.specs[node].gpus
    return [d for d in free if d < gpus and d not in sick] if sick or len(rooms) > gpus else free


def _in_turn(ledger: Ledger, node: NodeId, demand: Demand, within: frozenset[int] | None) -> tuple[int, ...] | None:
    shared = [d for d in ledger.turns.open_to(ledger, node, demand) if within is None or d in within][: demand.gpus]
    more = demand.gpus - len(shared)
    new = _whole(ledger, node, demand, more, within) if more else ()
    return None if new is None else tuple(sorted((*shared, *new)))


def _whole(
    ledger: Ledger, node: NodeId, demand: Demand, wanted: int, within: frozenset[int] | None
) -> tuple[int, ...] | None:
    spec = ledger.specs[node]
    if spec.gpu_memory < demand.gpu_memory:
        return None
    free = idle(ledger, node)
    if within is not None:
        free = [d for d in free if d in within]
    if len(free) < wanted:
        return None
    if not spec.links or len(free) == wanted:
        return tuple(free[:wanted])
    return tuple(sorted(_by_island(free, spec.links, wanted)))


def _by_island(free: list[int], links: tuple[tuple[int, ...], ...], wanted: int) -> list[int]:
    linked = {d for island in links for d in island}
    islands = [(1, [d]) for d in free if d not in linked]
    islands += [(len(island), mine) for island in links if (mine := [d for d in island if d in free])]
    fitting = [(len(mine) == size > wanted, len(mine), mine) for size, mine in islands if len(mine) >= wanted]
    if fitting:
        return min(fitting)[2][:wanted]
    picked: list[int] = []
    for _, mine in sorted(islands, key=lambda one: (len(one[1]), one[1]), reverse=True):
        picked += mine[: wanted - len(picked)]
    return picked


def _part(
    ledger: Ledger, node: NodeId, demand: Demand, drawn: int | None, within: frozenset[int] | None
) -> tuple[int, ...] | None:
    base = node * ledger.width
    shares = ledger.dev_share[base : base + ledger.width].tolist()
    rooms = ledger.dev_room[base : base + ledger.width].tolist()
    memory = ledger.memory_on(node, demand)
    links = ledger.specs[node].links
    unused = set(idle(ledger, node)) if links else set()
    fitting = [
        (shares[d], rooms[d], bool(links) and spoils(unused, links, d), d)
        for d in range(len(shares))
        if shares[d] >= demand.share and rooms[d] >= memory and (within is None or d in within)
    ]
    if not fitting:
        return None
    return ((min(fitting) if drawn is None else fitting[drawn % len(fitting)])[-1],)


def fits(ledger: Ledger, node: NodeId, demand: Demand, within: frozenset[int] | None = None) -> bool:
    """Return whether one more task of a demand finds room on an open node, devices included."""
    free = ledger.free
    if any(free[row][node] < amount for row, amount in ledger.needs_of(demand)):
        return False
    return pick(ledger, node, demand, within=within) is not None


def has_room(ledger: Ledger, node: NodeId, device: int, demand: Demand) -> bool:
    """Return whether one device of a node has room for a task of a demand: all of it, or the part it asks for."""
    if demand.slice:
        return device in slices(ledger, node, demand)
    if device >= ledger.width:
        return False
    at = node * ledger.width + device
    share, room = int(ledger.dev_share[at]), int(ledger.dev_room[at])
    on_it = ledger.turns.on.get(node, {}).get(device)
    if demand.colocate and on_it:
        return ledger.room_in_turns(node, device) >= demand.gpu_memory and takes_one_more(on_it, demand.colocate)
    if demand.gpus:
        return share == WHOLE and room == ledger.specs[node].gpu_memory
    return share >= demand.share and room >= ledger.memory_on(node, demand)
