"""Domains: what devices are close together in, and where a job fits inside one of them.

An island is a set of linked devices of one node (NVLink, PCIe switch, NUMA side, as the node states them); node, rack
and zone are sets of nodes. A node that states no rack or zone is one by itself, and so is each device that is in no
island of a level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.model.job import LEVELS, WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from clearway.core.ledger import Ledger
    from clearway.core.places import Places
    from clearway.model.events import Grant
    from clearway.model.fleet import NodeSpec
    from clearway.model.job import Demand, JobSpec, Role

ISLANDS = ("nvlink", "pcie", "numa")
_NONE = -1


class Domain(NamedTuple):
    """Where all devices of a job may be: on these nodes, and of a node's devices on `devices` only (None: any)."""

    nodes: NDArray[np.bool_]
    devices: frozenset[int] | None = None


def islands_of(node: NodeSpec, level: str) -> tuple[tuple[int, ...], ...]:
    """Return the islands of a level on a node; a device that is in none of those stated is one by itself."""
    stated = {"nvlink": node.links, "pcie": node.pcie, "numa": node.numa}[level]
    inside = {d for island in stated for d in island}
    return (*stated, *((d,) for d in range(node.gpus) if d not in inside))


class Bound:
    """The bounds that a job's `topology` sets, for the roles that hold devices (for all where none does)."""

    def __init__(self, ledger: Ledger, spec: JobSpec, places: Sequence[Places], *, prefers: bool) -> None:
        """Take up the words. `prefers`: the policy lets preferences count."""
        self.ledger, self.spec, self.places = ledger, spec, places
        with_devices = [i for i, r in enumerate(spec.roles) if r.demand.gpus or r.demand.one_device]
        self.roles = with_devices or list(range(len(spec.roles)))
        self.required = self._level(spec.topology.require, devices=bool(with_devices))
        preferred = self._level(spec.topology.prefer, devices=bool(with_devices)) if prefers else ""
        near = LEVELS[: LEVELS.index(preferred) + 1] if preferred else ()
        if self.required:
            near = (*(one for one in near if LEVELS.index(one) < LEVELS.index(self.required)), self.required)
        self.levels: tuple[str, ...] = near if with_devices else tuple(one for one in near if one not in ISLANDS)
        self._fleet = -1
        self._groups: dict[str, NDArray[np.int64]] = {}
        self._usable: NDArray[np.bool_] | None = None

    @staticmethod
    def _level(level: str, *, devices: bool) -> str:
        return "node" if level in ISLANDS and not devices else level

    # --- groups of nodes -----------------------------------------------------------------------

    def groups(self, level: str) -> NDArray[np.int64]:
        """Return the number of the domain that each node is in; numbers go by the first node of each."""
        if self._fleet != self.ledger.fleet_revision:
            self._fleet, self._usable = self.ledger.fleet_revision, None
            self._groups.clear()
        level = "node" if level in ISLANDS else level
        found = self._groups.get(level)
        if found is None:
            found = self._groups[level] = self._grouped(level)
        return found

    def _grouped(self, level: str) -> NDArray[np.int64]:
        specs = self.ledger.specs
        if level == "node":
            return np.arange(len(specs))
        names: dict[tuple[str, int], int] = {}
        labels = [spec.rack if level == "rack" else spec.zone for spec in specs]
        keys = [(label, _NONE) if label else ("", node) for node, label in enumerate(labels)]
        return np.array([names.setdefault(key, len(names)) for key in keys], np.int64)

    def enough(self, many: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
        """Return for each domain of the required level whether its nodes have room for the least tasks of each role.

        `many` is the room of each node for tasks of each role. For islands this is known of their nodes only.
        """
        groups = self.groups(self.required)
        size = int(groups.max(initial=_NONE)) + 1
        found = np.ones(size, np.bool_)
        for number in self.roles:
            least = self.spec.roles[number].min_tasks
            found &= np.bincount(groups, np.minimum(many[number], least), size) >= least
        return found

    def sites(self, many: Sequence[NDArray[np.int64]]) -> Iterator[NDArray[np.bool_]]:
        """Yield the nodes of each domain of the required level that `enough` holds for."""
        groups = self.groups(self.required)
        for group in np.flatnonzero(self.enough(many)).tolist():
            yield groups == group

    # --- places now ----------------------------------------------------------------------------

    def room(self, number: int, *, empty: bool = False) -> NDArray[np.int64]:
        """Return how many tasks of a role each node has room for, now or if it were empty."""
        places, role = self.places[number], self.spec.roles[number]
        places.refresh()
        return np.minimum(places.room_counts(empty=empty, one_each=role.one_per_node), role.tasks)

    def usable(self) -> NDArray[np.bool_]:
        """Return the nodes of the required domains that could hold the job if they were empty."""
        self.groups("node")
        if self._usable is None:
            self._usable = np.zeros(self.ledger.count, np.bool_)
            for domain in self._domains(self.required, None, empty=True):
                self._usable |= domain.nodes
        return self._usable

    def domains(self, barred: NDArray[np.bool_] | None) -> Iterator[Domain]:
        """Yield the domains that may have room for the job now: the nearest level first, in each the best scored."""
        for level in self.levels:
            yield from self._domains(level, barred, empty=False)

    def _domains(self, level: str, barred: NDArray[np.bool_] | None, *, empty: bool) -> Iterator[Domain]:
        many = [self.room(number, empty=empty) for number in range(len(self.spec.roles))]
        if barred is not None:
            many = [np.where(barred, 0, one) for one in many]
        groups = self.groups(level)
        size = int(groups.max(initial=_NONE)) + 1
        fits, total = np.ones(size, np.bool_), np.zeros(size)
        for number in self.roles:
            least = self.spec.roles[number].min_tasks
            fits &= np.bincount(groups, np.minimum(many[number], least), size) >= least
            total += np.bincount(groups, many[number], size)
        best = np.full(size, _NONE, np.int64)
        np.maximum.at(best, groups, self.places[self.roles[0]].key)
        found = np.flatnonzero(fits)
        if level in ISLANDS:
            yield from self._islands(level, found, best, empty=empty)
            return
        for group in found[np.lexsort((found, total[found], -best[found]))].tolist():
            yield Domain(groups == group)

    def _islands(
        self, level: str, nodes: NDArray[np.int64], best: NDArray[np.int64], *, empty: bool
    ) -> Iterator[Domain]:
        found = []
        for node in nodes.tolist():
            for order, island in enumerate(islands_of(self.ledger.specs[node], level)):
                room = self._fits_in(node, island, empty=empty)
                if room is not None:
                    found.append((-int(best[node]), room, node, order, island))
        for _, _, node, _, island in sorted(found):
            only = np.zeros(self.ledger.count, np.bool_)
            only[node] = True
            yield Domain(only, frozenset(island))

    def _fits_in(self, node: int, island: tuple[int, ...], *, empty: bool) -> int | None:
        """Return the idle devices of an island if it has room for the least tasks of each role, else None."""
        base = node * self.ledger.width
        shares = [int(self.ledger.dev_share[base + d]) for d in island]
        if empty:
            shares = [WHOLE for share in shares if share >= 0]
        roles = [self.spec.roles[number] for number in self.roles]
        whole = sum(1 for share in shares if share == WHOLE)
        turns = [] if empty else [self._turns(node, island, role.demand) for role in roles]
        shared = max(turns, default=0)  # at most: the place itself is looked for afterwards
        part = sum(max(share, 0) for share in shares) + shared * WHOLE
        short = whole + shared < sum(role.min_tasks * role.demand.gpus for role in roles)
        short = short or part < sum(role.min_tasks * role.demand.milli_gpus for role in roles)
        return None if short else whole

    def _turns(self, node: int, island: tuple[int, ...], demand: Demand) -> int:
        """Return how many devices of an island in time sharing have a turn left for a demand."""
        open_to = self.ledger.turns.open_to(self.ledger, node, demand) if demand.colocate else ()
        return sum(1 for device in open_to if device in island)

    def most(self, number: int) -> int:
        """Return how many tasks of a role find room now inside one domain of the required level."""
        role, many, groups = self.spec.roles[number], self.room(number), self.groups(self.required)
        if self.required not in ISLANDS:
            return min(int(np.bincount(groups, many).max(initial=0)), role.tasks)
        most = [
            min(self._most_in(node, island, role), int(many[node]))
            for node in np.flatnonzero(many).tolist()
            for island in islands_of(self.ledger.specs[node], self.required)
        ]
        return min(max(most, default=0), role.tasks)

    def most_idle(self, number: int) -> int:
        """Return the most idle devices of one island of the required level on a node that a role may use."""
        may, ledger = self.places[number].may, self.ledger
        idle = [
            sum(1 for d in island if ledger.dev_share[node * ledger.width + d] == WHOLE)
            for node in np.flatnonzero(may).tolist()
            for island in islands_of(ledger.specs[node], self.required)
        ]
        return max(idle, default=0)

    def _most_in(self, node: int, island: tuple[int, ...], role: Role) -> int:
        ledger, demand = self.ledger, role.demand
        slots = [node * ledger.width + d for d in island]
        if demand.gpus:
            whole = sum(1 for at in slots if ledger.dev_share[at] == WHOLE) + self._turns(node, island, demand)
            return whole // demand.gpus
        parts = 0
        for at in slots:
            share, room = int(ledger.dev_share[at]), int(ledger.dev_room[at])
            by_share = max(share, 0) // demand.share if demand.share else role.tasks if share >= 0 else 0
            parts += min(by_share, max(room, 0) // demand.gpu_memory) if demand.gpu_memory else by_share
        return parts

    # --- where a job stands --------------------------------------------------------------------

    def choices(self, node: int) -> list[frozenset[int] | None]:
        """Return the sets of devices of a node of which the job may hold one; None is any."""
        if self.required not in ISLANDS:
            return [None]
        return [frozenset(island) for island in islands_of(self.ledger.specs[node], self.required)]

    def around(self, grants: Sequence[Grant]) -> Domain | None:
        """Return the required domain in which a running job stands; None where nothing is required."""
        mine = [grant for grant in grants if grant.role in self.roles]
        if not self.required or not mine:
            return None
        groups = self.groups(self.required)
        here = groups == groups[mine[0].node]
        if self.required not in ISLANDS:
            return Domain(here)
        devices = {d for grant in mine for d in grant.devices}
        return Domain(here, next((one for one in self.choices(mine[0].node) if one and devices <= one), None))


def bound_of(ledger: Ledger, spec: JobSpec, places: Sequence[Places], *, prefers: bool) -> Bound | None:
    """Return the bounds of a job, None for most: one that says nothing, or that holds one device at most."""
    if not (spec.topology.require or spec.topology.prefer):
        return None
    if len(spec.roles) == 1 and spec.roles[0].tasks == 1 and spec.roles[0].demand.gpus <= 1:
        return None
    bound = Bound(ledger, spec, places, prefers=prefers)
    return bound if bound.levels else None
