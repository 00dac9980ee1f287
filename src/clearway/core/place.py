"""Finding places for a whole job: all tasks of all roles, or at least their minima, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from clearway.core.devices import fits, has_room, pick
from clearway.core.ledger import Held
from clearway.core.places import NONE
from clearway.core.turns import apart
from clearway.model.events import Grant
from clearway.model.ids import NodeId
from clearway.model.job import WHOLE
from clearway.model.slices import slice_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.core.domains import Domain
    from clearway.core.draft import Draft
    from clearway.core.ledger import Ledger
    from clearway.core.line import WaitClass, Waiting
    from clearway.core.places import Places
    from clearway.core.view import View
    from clearway.model.job import Demand, Role


class Allowed(Protocol):
    """Says whether a task that is drafted on a node may stay there."""

    def __call__(self, node: NodeId) -> bool:
        """Return whether nothing promised on the node is touched."""
        ...


def anywhere(node: NodeId) -> bool:  # noqa: ARG001 - the shape of Allowed
    """Allow every node."""
    return True


def either(one: NDArray[np.bool_] | None, other: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Return the nodes of two masks together, None for none."""
    if one is None or other is None:
        return other if one is None else one
    return one | other


def grant_of(
    ledger: Ledger, role: int, index: int, node: NodeId, devices: tuple[int, ...], demand: Demand
) -> Grant:  # fmt: skip
    """Return the grant of one task on chosen devices."""
    if not devices:
        return Grant(role, index, node)
    if demand.slice:
        return Grant(role, index, node, devices, *slice_of(demand.slice))
    memory_only = demand.gpus == 0 and demand.share == 0
    share = 0 if memory_only else demand.share or WHOLE
    beside_others = demand.one_device or demand.colocate
    return Grant(role, index, node, devices, share, ledger.memory_on(node, demand) if beside_others else 0)


def place(
    view: View, cls: WaitClass, waiting: Waiting, draft: Draft, barred: NDArray[np.bool_] | None, allowed: Allowed,
) -> list[Held] | None:  # fmt: skip
    """Draft places for a job and return them, or return None with the draft as it was.

    A job with a topology is tried in one domain after the other, and anywhere if it requires none. `barred` nodes
    are not looked at; a place that `allowed` forbids is passed over.
    """
    bound = cls.bound
    if bound is None or (waiting.attempt == 0 and waiting.spec.pin is not None and waiting.spec.pin.devices):
        return _place(view, cls, waiting, draft, barred, allowed)
    for domain in bound.domains(barred):
        held = _place(view, cls, waiting, draft, barred, allowed, domain)
        if held is not None:
            return held
    return None if bound.required else _place(view, cls, waiting, draft, barred, allowed)


def _place(
    view: View, cls: WaitClass, waiting: Waiting, draft: Draft, barred: NDArray[np.bool_] | None, allowed: Allowed,
    domain: Domain | None = None,
) -> list[Held] | None:  # fmt: skip
    """Draft the minima of all roles; then as many more tasks as find room and the queue's limits allow."""
    mark = draft.mark()
    held: list[Held] = []
    for number, role in enumerate(cls.spec.roles):
        if not _place_tasks(view, cls, waiting, draft, number, range(role.min_tasks), held, barred, allowed, domain):
            draft.undo(mark)
            return None
    for number, role in enumerate(cls.spec.roles):
        if (most := waiting.spec.worth(role)) > role.min_tasks:
            more = view.queues.room_for(waiting.spec, role.demand, most - role.min_tasks, held)
            wanted = range(role.min_tasks, role.min_tasks + more)
            _place_tasks(view, cls, waiting, draft, number, wanted, held, barred, allowed, domain)
    return held or None


def _of(held: list[Held], role: int) -> list[Held]:
    return [one for one in held if one.grant.role == role]


def _place_tasks(  # noqa: PLR0913, PLR0917 - one word for each part of the search
    view: View, cls: WaitClass, waiting: Waiting, draft: Draft, number: int, indexes: range, held: list[Held],
    barred: NDArray[np.bool_] | None, allowed: Allowed, domain: Domain | None,
) -> bool:  # fmt: skip
    """Draft tasks of one role one after another; False as soon as one finds no place."""
    role, within = cls.spec.roles[number], None
    if domain is not None and cls.bound is not None and number in cls.bound.roles:
        barred, within = either(barred, ~domain.nodes), domain.devices
    search = _Search(view, cls.places[number], role, barred, within)
    if role.one_per_node:
        search.bar_all(one.grant.node for one in _of(held, number))
    for index in indexes:
        grant = search.next(number, index, waiting, draft, allowed, held)
        if grant is None:
            return False
        held.append(Held(grant, role.demand))
    return True


class _Search:
    """Looks for one place after another for the tasks of one role."""

    def __init__(
        self, view: View, places: Places, role: Role, barred: NDArray[np.bool_] | None, within: frozenset[int] | None
    ) -> None:
        self._ledger, self._places, self._role = view.ledger, places, role
        self._barred, self._within = barred, within

    def bar_all(self, nodes: object) -> None:
        for node in nodes:  # type: ignore[attr-defined]
            self._bar(node)

    def _bar(self, node: int) -> None:
        if self._barred is None:
            self._barred = np.zeros(self._ledger.count, np.bool_)
        else:
            self._barred = self._barred.copy()
        self._barred[node] = True

    def next(
        self, number: int, index: int, waiting: Waiting, draft: Draft, allowed: Allowed, mine: list[Held]
    ) -> Grant | None:
        """Draft one task on the best allowed node; None where there is none. `mine`: where the job's others are."""
        pinned = waiting.spec.pin if waiting.attempt == 0 else None
        if pinned is not None:
            return self._pinned(number, index, waiting, draft, allowed, mine)
        while True:
            self._places.refresh()
            node = NodeId(self._places.best(self._barred))
            if node == NONE:
                return None
            devices = pick(self._ledger, node, self._role.demand, self._places.drawn(), self._left(node, mine))
            grant = self._draft(number, index, node, devices, draft, allowed)
            if grant is not None:
                if self._role.one_per_node:
                    self._bar(node)
                return grant
            self._bar(node)

    def _left(self, node: NodeId, mine: list[Held]) -> frozenset[int] | None:
        """Return the devices of a node on which one more task of the job may be; None for all."""
        if not self._role.demand.colocate:
            return self._within
        return apart(self._ledger, node, self._within, [one.grant for one in mine])

    def _draft(
        self, number: int, index: int, node: NodeId, devices: tuple[int, ...] | None, draft: Draft, allowed: Allowed
    ) -> Grant | None:
        if devices is None:
            return None
        grant = grant_of(self._ledger, number, index, node, devices, self._role.demand)
        mark = draft.mark()
        draft.take(grant, self._role.demand)
        if allowed(node):
            return grant
        draft.undo(mark)
        return None

    def _pinned(
        self, number: int, index: int, waiting: Waiting, draft: Draft, allowed: Allowed, mine: list[Held]
    ) -> Grant | None:
        pin, ledger, demand = waiting.spec.pin, self._ledger, self._role.demand
        if pin is None:
            return None
        node = next((NodeId(i) for i, spec in enumerate(ledger.specs) if spec.name == pin.node), None)
        if node is None or not ledger.open[node] or ledger.drained[node] or not fits(ledger, node, demand):
            return None
        if self._barred is not None and self._barred[node]:
            return None
        left = self._left(node, mine)
        devices = pick(ledger, node, demand, within=left)
        if pin.devices and devices:
            free = [d for d in pin.devices if has_room(ledger, node, d, demand) and (left is None or d in left)]
            devices = tuple(free[: len(devices)]) if len(free) >= len(devices) else None
        return self._draft(number, index, node, devices, draft, allowed)
