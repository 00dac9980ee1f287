"""The books: what every node and device has, and who holds what. Integers in columns.

One array per resource over node slots, and two over devices (node x device, flat). Use is always derived from
live grants: `take` and `give` are the only ways in, and `validate` recomputes everything from the grants.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec
import numpy as np

from clearway.core.asked import Asked
from clearway.core.copies import Shelves
from clearway.core.fragment import Fragments
from clearway.core.memo import note
from clearway.core.resources import BANDWIDTH, CPUS, DISK, GPUS, MEMORY, SLICE, Needs, Rows
from clearway.core.turns import Turns
from clearway.model.errors import LedgerError
from clearway.model.fleet import PLENTY, NodeSpec
from clearway.model.ids import NodeId
from clearway.model.job import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from numpy.typing import NDArray

    from clearway.core.copies import Inputs
    from clearway.model.events import Grant
    from clearway.model.ids import JobId
    from clearway.model.job import Demand

FIRST_SLOTS = 16  # columns start with so many slots and double when full
ALL_ROOM = PLENTY  # what a whole device holds of its memory, whatever the node says that is
LOG_KEPT = 1 << 16  # the log of changed nodes is cut when it is longer; readers left behind then look at every node


class Held(NamedTuple):
    """A live grant with the demand it answers."""

    grant: Grant
    demand: Demand


class Ledger:
    """Capacity and use of every node and device, kept for reading as contiguous columns."""

    def __init__(self) -> None:
        """Begin with no nodes."""
        self.rows = Rows()
        self.count = 0
        self.width = 1
        self.revision = 0
        self.specs: list[NodeSpec] = []
        self.cap: list[NDArray[np.int64]] = []
        self.free: list[NDArray[np.int64]] = []
        self.open: NDArray[np.bool_] = np.zeros(FIRST_SLOTS, np.bool_)
        self.drained: NDArray[np.bool_] = np.zeros(FIRST_SLOTS, np.bool_)
        self.milli: NDArray[np.int64] = np.zeros(FIRST_SLOTS, np.int64)
        self.device_memory: NDArray[np.int64] = np.zeros(FIRST_SLOTS, np.int64)
        self.kind: NDArray[np.int64] = np.zeros(FIRST_SLOTS, np.int64)
        self.kinds: list[NodeSpec] = []
        self._kind_of: dict[NodeSpec, int] = {}
        self.dev_share: NDArray[np.int64] = np.full(FIRST_SLOTS, -1, np.int64)
        self.dev_room: NDArray[np.int64] = np.full(FIRST_SLOTS, -1, np.int64)
        self.held_share: list[list[int]] = []
        self.held_room: list[list[int]] = []
        self.sick: list[set[int]] = []
        self.unwell: list[set[int]] = []
        self.turns = Turns()
        self.any_links = False
        self.proportional = False
        self.changed = array("i")
        self.cut = 0
        self.gained: set[int] = set()
        self.shrunk: set[int] = set()
        self.grants = 0
        self.fleet_revision = 0
        self.holdings: dict[JobId, list[Held]] = {}
        self.on_node: list[set[JobId]] = []
        self._needs: dict[Demand, Needs] = {}
        self.booting: set[int] = set()
        self.leaving: set[int] = set()
        self.shelves = Shelves()
        self.asked = Asked()
        self.fragments = Fragments(self.asked)
        self._row(GPUS)  # who looks at a fleet without nodes finds columns without rows

    # --- nodes ---------------------------------------------------------------------------------

    def add_node(self, node: NodeId, spec: NodeSpec) -> None:
        """Add the node in the next slot, or give an existing one new words; what it holds stays held."""
        if node > self.count or node < 0:
            raise LedgerError(f"node {node} is not the next one ({self.count})")
        if node == self.count:
            self._add_slot()
        self.specs[node] = spec
        self.any_links |= bool(spec.links)
        self.device_memory[node] = spec.gpu_memory
        self.kind[node] = self._kind(spec)
        self._widen(spec.gpus)
        own = [name for name, _ in spec.resources] + [SLICE + profile for _, profile in spec.slices]
        self._row(max([GPUS, *(self.rows.of(name) for name in own)]))
        self.sick[node] = self.unwell[node] | spec.cut
        for row in range(len(self.cap)):
            used = self.cap[row][node] - self.free[row][node]
            self.cap[row][node] = _capacity(spec, row, self.rows, self.unwell[node])
            self.free[row][node] = self.cap[row][node] - used
            if self.free[row][node] < 0:
                self.shrunk.add(node)
        self._more_devices(node, spec.gpus + len(spec.slices))
        self.open[node] = True
        self._show_all_devices(node)
        self._fleet_changed(node)

    def _more_devices(self, node: int, devices: int) -> None:
        """Have room in the books for so many devices of a node; those it has lost stay written while they are held."""
        self._widen(devices)
        grow = max(devices - len(self.held_share[node]), 0)
        self.held_share[node].extend([0] * grow)
        self.held_room[node].extend([0] * grow)

    def _show_all_devices(self, node: int) -> None:
        here = slice(node * self.width, (node + 1) * self.width)
        self.dev_share[here] = self.dev_room[here] = -1
        self.free[GPUS][node] = self.milli[node] = 0
        self._show_devices(node, range(len(self.held_share[node])))

    def _kind(self, spec: NodeSpec) -> int:
        """Return the number of all nodes that differ from this one by name only; 0 is no node."""
        if not self.kinds:
            self.kinds.append(_NO_NODE)
            self._kind_of[_NO_NODE] = 0
        if not spec.name:
            return 0
        alike = msgspec.structs.replace(spec, name="*")
        number = self._kind_of.setdefault(alike, len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(alike)
        return number

    def of_kinds(self, holds: Callable[[NodeSpec], bool]) -> NDArray[np.bool_]:
        """Return for each node whether something holds for its words, asking once per kind of node."""
        return np.array([holds(kind) for kind in self.kinds] or [False], np.bool_)[self.kind[: self.count]]

    def _add_slot(self) -> None:
        if self.count == len(self.open):
            self._double()
        self.specs.append(_NO_NODE)
        self.held_share.append([])
        self.held_room.append([])
        self.sick.append(set())
        self.unwell.append(set())
        self.on_node.append(set())
        self.count += 1

    def _double(self) -> None:
        more = len(self.open)
        self.cap = [np.concatenate([c, np.zeros(more, np.int64)]) for c in self.cap]
        self.free = [np.concatenate([c, np.zeros(more, np.int64)]) for c in self.free]
        self.open = np.concatenate([self.open, np.zeros(more, np.bool_)])
        self.drained = np.concatenate([self.drained, np.zeros(more, np.bool_)])
        self.milli = np.concatenate([self.milli, np.zeros(more, np.int64)])
        self.device_memory = np.concatenate([self.device_memory, np.zeros(more, np.int64)])
        self.kind = np.concatenate([self.kind, np.zeros(more, np.int64)])
        self.dev_share = np.concatenate([self.dev_share, np.full(more * self.width, -1, np.int64)])
        self.dev_room = np.concatenate([self.dev_room, np.full(more * self.width, -1, np.int64)])

    def _widen(self, devices: int) -> None:
        if devices <= self.width:
            return
        slots = len(self.open)
        for name in ("dev_share", "dev_room"):
            wide = np.full((slots, devices), -1, np.int64)
            wide[:, : self.width] = getattr(self, name).reshape(slots, self.width)
            setattr(self, name, wide.reshape(-1))
        self.width = devices

    def _row(self, row: int) -> None:
        while len(self.cap) <= row:
            self.cap.append(np.zeros(len(self.open), np.int64))
            self.free.append(np.zeros(len(self.open), np.int64))

    def set_open(self, node: NodeId, *, is_open: bool) -> None:
        """Say whether a node takes part: False while it is lost, unclean or removed."""
        self.open[node] = is_open
        self._fleet_changed(node)

    def set_drained(self, node: NodeId, drained: bool) -> None:  # noqa: FBT001 - a state, not an option
        """Say whether nothing new is placed on a node."""
        self.drained[node] = drained
        self._fleet_changed(node)

    def set_sick(self, node: NodeId, devices: Iterable[int]) -> None:
        """Say which devices of a node are unhealthy: nothing new is placed on them, nor on their slices."""
        spec = self.specs[node]
        self.unwell[node] = set(devices)
        self.sick[node] = self.unwell[node] | spec.cut
        for row in {self.rows.of(SLICE + profile) for _, profile in spec.slices}:
            used = self.cap[row][node] - self.free[row][node]
            self.cap[row][node] = _capacity(spec, row, self.rows, self.unwell[node])
            self.free[row][node] = self.cap[row][node] - used
            if self.free[row][node] < 0:
                self.shrunk.add(node)
        self._show_all_devices(node)
        self._fleet_changed(node)

    def _fleet_changed(self, node: int) -> None:
        self._mark(node)
        self.gained.add(node)
        self.fleet_revision += 1

    # --- grants --------------------------------------------------------------------------------

    def needs_of(self, demand: Demand) -> Needs:
        """Return what a demand takes from the columns; worked out once per demand."""
        needs = self._needs.get(demand)
        if needs is None:
            needs = note(self._needs, demand, self.rows.needs(demand))
            self._row(max([GPUS, *(row for row, _ in needs)]))
        return needs

    def least_of(self, demand: Demand) -> Needs:
        """Return what a node must have for a demand at all, devices that it would share included."""
        needs = self.needs_of(demand)
        return (*needs, (GPUS, demand.gpus)) if demand.colocate else needs

    def memory_of(self, demand: Demand, rows: NDArray[np.int64]) -> int | NDArray[np.int64]:
        """Return the memory of one device that a task holds on each of these nodes, where it holds a part of one."""
        if not self.proportional or demand.gpu_memory or not demand.share:
            return demand.gpu_memory
        memory = self.device_memory.take(rows)
        return np.where(memory < PLENTY, part_of(memory, demand.share), 0)

    def memory_on(self, node: int, demand: Demand) -> int:
        """Return the same for one node."""
        memory = self.specs[node].gpu_memory
        if not self.proportional or demand.gpu_memory or not demand.share or memory >= PLENTY:
            return demand.gpu_memory
        return part_of(memory, demand.share)

    def room_in_turns(self, node: int, device: int) -> int:
        """Return the memory left on a device in time sharing for one more who takes turns; -1 if it is unhealthy."""
        if int(self.dev_share[node * self.width + device]) < 0:
            return -1
        return max(self.specs[node].gpu_memory - self.held_room[node][device], 0)

    def milli_taken(self, demand: Demand, rows: NDArray[np.int64]) -> int | NDArray[np.int64]:
        """Return how much free device time one more task takes of each of these nodes."""
        if not demand.colocate:
            return 0 if demand.slice else demand.milli_gpus
        return self.turns.new_devices(self, rows, demand) * WHOLE

    def take(self, grant: Grant, demand: Demand) -> None:
        """Count a grant as held."""
        self._move(grant, demand, 1)

    def give(self, grant: Grant, demand: Demand) -> None:
        """Count a grant as free again."""
        self._move(grant, demand, -1)

    def _move(self, grant: Grant, demand: Demand, sign: int) -> None:
        node, free = grant.node, self.free
        self.grants += sign
        for row, amount in self.needs_of(demand):
            if row != GPUS:
                free[row][node] -= sign * amount
        if demand.colocate:
            self._move_turn(grant, demand.colocate, sign)
        elif demand.gpus:
            self._move_whole(node, grant.devices, sign)
        elif grant.devices:
            shares, rooms = self.held_share[node], self.held_room[node]
            for d in grant.devices:
                if d >= len(shares):
                    self._more_devices(node, d + 1)
                shares[d] += sign * grant.share
                rooms[d] += sign * grant.gpu_memory
            self._show_devices(node, grant.devices)
        else:
            self._mark(node)

    def _move_whole(self, node: int, devices: tuple[int, ...], sign: int) -> None:
        """Take or give devices whole: healthy ones go from all idle to all held, or back."""
        shares, rooms, spec, sick = self.held_share[node], self.held_room[node], self.specs[node], self.sick[node]
        if devices[-1] >= len(shares):
            self._more_devices(node, max(devices) + 1)
        base, shown_share, shown_room = node * self.width, self.dev_share, self.dev_room
        share, room = (0, 0) if sign > 0 else (WHOLE, spec.gpu_memory)
        healthy = 0
        for d in devices:
            shares[d] += sign * WHOLE
            rooms[d] += sign * ALL_ROOM
            if d < spec.gpus and d not in sick:
                shown_share[base + d], shown_room[base + d] = share, room
                healthy += 1
        self.free[GPUS][node] -= sign * healthy
        self.milli[node] -= sign * healthy * WHOLE
        self._mark(node)

    def _move_turn(self, grant: Grant, others: int, sign: int) -> None:
        """Put a task on devices in time sharing, or take it off: they are held while anyone is on them."""
        node, move = grant.node, self.turns.join if sign > 0 else self.turns.leave
        self._more_devices(node, max(grant.devices) + 1)
        shares, rooms = self.held_share[node], self.held_room[node]
        for d in grant.devices:
            if move(node, d, others):
                shares[d] += sign * WHOLE
            rooms[d] += sign * grant.gpu_memory
        self._show_devices(node, grant.devices)

    def _show_devices(self, node: int, devices: Iterable[int]) -> None:
        """Bring the columns of these devices up to date with what is held of them.

        Devices in time sharing show none of their memory: only who takes turns there may have it (`room_in_turns`).
        """
        shares, rooms = self.held_share[node], self.held_room[node]
        memory, gpus, sick = self.specs[node].gpu_memory, self.specs[node].gpus, self.sick[node]
        base, shown_share, shown_room = node * self.width, self.dev_share, self.dev_room
        in_turns = self.turns.on.get(node, ())
        idle = milli = 0
        for d in devices:
            at = base + d
            old = int(shown_share[at])
            if d >= gpus or d in sick:
                new = room = -1
            else:
                new, room = WHOLE - shares[d], 0 if d in in_turns else max(memory - rooms[d], 0)
            was_idle = old == WHOLE and int(shown_room[at]) == memory
            shown_share[at], shown_room[at] = new, room
            idle += (new == WHOLE and room == memory) - was_idle
            milli += max(new, 0) - max(old, 0)
        if idle:
            self.free[GPUS][node] += idle
        if milli:
            self.milli[node] += milli
        self._mark(node)

    def reads(self, one: Held, reader: Hashable, now_us: int, *, goes: bool = False) -> None:
        """Take note that a task with inputs runs on a node, or (`goes`) is gone from it."""
        node, inputs = one.grant.node, one.demand.inputs
        if not inputs:
            return
        if goes:
            self.shelves.end(node, self.specs[node], reader, now_us)
        else:
            self.shelves.begin(node, self.specs[node], reader, inputs, now_us)
        self._mark(node)

    def leaves(self, nodes: Iterable[int], outputs: Inputs, now_us: int) -> None:
        """Take note that a job has written data on these nodes."""
        for node in self.shelves.leave(nodes, self.specs, outputs, now_us):
            self._mark(node)

    def _mark(self, node: int) -> None:
        self.changed.append(node)
        self.revision += 1

    def trim(self) -> None:
        """Cut the log of changed nodes when it has grown long; readers left behind rescan."""
        if len(self.changed) > LOG_KEPT:
            self.cut += len(self.changed)
            self.changed = array("i")

    # --- holdings ------------------------------------------------------------------------------

    def register(self, job: JobId, held: Iterable[Held]) -> None:
        """Write down whose grants these are, which are taken already."""
        mine = self.holdings.setdefault(job, [])
        for one in held:
            mine.append(one)
            self.on_node[one.grant.node].add(job)

    def release(self, job: JobId, role: int, index: int) -> Held | None:
        """Free the grant of one task of a job; None if it holds none."""
        mine = self.holdings.get(job, [])
        for i, one in enumerate(mine):
            if one.grant.role == role and one.grant.index == index:
                self.give(one.grant, one.demand)
                self.gained.add(one.grant.node)
                del mine[i]
                if not mine:
                    del self.holdings[job]
                if all(other.grant.node != one.grant.node for other in mine):
                    self.on_node[one.grant.node].discard(job)
                return one
        return None

    def validate(self) -> None:
        """Recompute every column from the live grants; raise LedgerError naming the first difference."""
        fresh = Ledger()
        fresh.rows = self.rows
        for node in range(self.count):
            fresh.add_node(NodeId(node), self.specs[node])
            fresh.set_sick(NodeId(node), self.unwell[node])
        for row in range(len(self.cap)):
            fresh._row(row)
        for held in self.holdings.values():
            for one in held:
                fresh.take(one.grant, one.demand)
        if self.turns.on != fresh.turns.on:
            raise LedgerError("devices in time sharing are not those of the grants")
        _compare(self, fresh)


_Bytes = TypeVar("_Bytes", int, "NDArray[np.int64]")


def part_of(memory: _Bytes, share: int) -> _Bytes:
    """Return the part of a device's memory that goes with a share of it, rounded down; no product is too large."""
    return memory // WHOLE * share + memory % WHOLE * share // WHOLE


def _capacity(spec: NodeSpec, row: int, rows: Rows, unwell: set[int]) -> int:
    whole = spec.gpus - len(spec.cut)
    fixed = {CPUS: spec.cpus, MEMORY: spec.memory, DISK: spec.disk, BANDWIDTH: spec.bandwidth, GPUS: whole}
    if row in fixed:
        return fixed[row]
    name = rows.names[row].removeprefix("res.")
    if name.startswith(SLICE):
        every = enumerate(spec.slices, spec.gpus)
        return sum(SLICE + one[1] == name and unwell.isdisjoint((one[0], number)) for number, one in every)
    return dict(spec.resources).get(name, 0)


def _compare(live: Ledger, fresh: Ledger) -> None:
    n, width = live.count, live.width
    for row, (a, b) in enumerate(zip(live.free, fresh.free, strict=True)):
        _same(live, f"free {live.rows.names[row]}", a[:n], b[:n])
        over = [node for node in np.flatnonzero(a[:n] < 0).tolist() if row != GPUS and node not in live.shrunk]
        if over:
            node = over[0]
            raise LedgerError(
                f"{live.specs[node].name}: {live.rows.names[row]} is {int(a[node])} free: more is held than it has"
            )
    _same(live, "free milli-GPU", live.milli[:n], fresh.milli[:n])
    for name, a, b in (("share", live.dev_share, fresh.dev_share), ("room", live.dev_room, fresh.dev_room)):
        grid_a = a.reshape(-1, width)[:n]
        both = max(width, fresh.width)
        grid_a, grid_b = _wide(grid_a, both), _wide(b.reshape(-1, fresh.width)[:n], both)
        _same(live, f"device {name}", grid_a.max(axis=1, initial=-1), grid_b.max(axis=1, initial=-1))
        _same(live, f"device {name}", grid_a.sum(axis=1), grid_b.sum(axis=1))
    for node, shares in enumerate(live.held_share):
        for d, share in enumerate(shares):
            room = live.held_room[node][d]
            too_much = room not in (0, ALL_ROOM) and room > live.specs[node].gpu_memory and node not in live.shrunk
            if not 0 <= share <= WHOLE or too_much:
                raise LedgerError(
                    f"{live.specs[node].name}: device {d} holds {share} milli-GPU and {live.held_room[node][d]} bytes"
                )


def _wide(grid: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    found = np.full((len(grid), width), -1, np.int64)
    found[:, : grid.shape[1]] = grid
    return found


def _same(live: Ledger, what: str, a: NDArray[np.int64], b: NDArray[np.int64]) -> None:
    if not np.array_equal(a, b):
        node = int((a != b).argmax())
        raise LedgerError(
            f"{live.specs[node].name}: {what} is {int(a[node])} in the books, {int(b[node])} by its grants"
        )


_NO_NODE = NodeSpec(name="", cpus=0, memory=0, disk=0, bandwidth=0)
