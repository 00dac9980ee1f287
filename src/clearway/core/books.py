"""A copy of the books for planning machines: what is on its way is there, and new ones can be opened one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec.structs import replace

from clearway.core.draft import Draft
from clearway.core.fragment import Fragments
from clearway.core.line import WaitClass
from clearway.core.view import View
from clearway.model.ids import NodeId

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clearway.model.fleet import MachineType
    from clearway.model.ids import ClassId


class Fleet(NamedTuple):
    """The machines that were ordered: all of them; of each type those on their way and when they come; how many more.

    One that is ordered now is there as late as its type says.
    """

    machines: frozenset[NodeId]
    booting: Mapping[str, Mapping[NodeId, int]]
    more: Mapping[str, int]
    now_us: int


class Books:
    """Nodes as they are; and machines that nobody may use before they are opened.

    These are, type by type, those on their way, oldest first, and behind them those that could be ordered. So what was
    planned is planned again when it is on its way.
    """

    def __init__(self, view: View, kinds: Sequence[MachineType], fleet: Fleet, tasks: int) -> None:
        """Copy the books of a view. No more than `tasks` machines of each type could be needed."""
        self.view = _copied(view)
        self.draft = Draft(self.view.ledger)
        self._types = view.types
        self._classes: dict[ClassId, WaitClass] = {}
        self._slots: dict[str, list[int]] = {}
        self._ready: dict[NodeId, int] = {}
        self._first_new = self.view.ledger.count
        for kind in kinds:
            first = self.view.ledger.count
            for node in range(first, first + min(max(fleet.more.get(kind.name, 0), 0), tasks)):
                self.view.ledger.add_node(NodeId(node), kind.node)
            new = range(first, self.view.ledger.count)
            coming = fleet.booting.get(kind.name, {})
            self._slots[kind.name] = [*coming, *new]
            self._ready.update(coming)
            self._ready.update(dict.fromkeys(map(NodeId, new), fleet.now_us + kind.boot_us))
        self._shut = np.zeros(self.view.ledger.count, np.bool_)
        for slots in self._slots.values():
            self._shut[slots] = True

    def new_among(self, kind: str, many: int) -> int:
        """Return how many of the next so many machines of a type are still to be ordered."""
        return sum(node >= self._first_new for node in self._slots[kind][:many])

    def left(self, kind: str, latest_us: int | None = None) -> int:
        """Return how many more machines of a type may be opened, of those that are there by a moment."""
        slots = self._slots[kind]
        if latest_us is None:
            return len(slots)
        return next((at for at, node in enumerate(slots) if self._ready[NodeId(node)] > latest_us), len(slots))

    def shut(self, opened: Mapping[str, int] | None = None) -> NDArray[np.bool_]:
        """Return the nodes that nobody may use yet, without so many further ones of each type."""
        if not opened:
            return self._shut
        shut = self._shut.copy()
        for kind, many in opened.items():
            shut[self._slots[kind][:many]] = False
        return shut

    def open(self, opened: Mapping[str, int]) -> None:
        """Open so many further machines of each type for good."""
        self._shut = self.shut(opened)
        for kind, many in opened.items():
            del self._slots[kind][:many]

    def of(self, cls: WaitClass) -> WaitClass:
        """Return a class as these books see it, with the least tasks of its jobs: more are not worth a machine."""
        found = self._classes.get(cls.id)
        if found is None:
            roles = tuple(replace(role, tasks=role.min_tasks) for role in cls.spec.roles)
            spec = replace(cls.spec, roles=roles)
            places = [self.view.places_of(role.demand) for role in roles]
            found = self._classes[cls.id] = WaitClass(cls.id, spec, places, self.view.bound_of(spec))
        return found

    def could(self, cls: WaitClass) -> str | None:
        """Return the first type of which a machine could hold a task of a class, None if there is none."""
        return could_hold(self._types, cls, self.view)


def could_hold(kinds: Mapping[str, MachineType], cls: WaitClass, view: View) -> str | None:
    """Return the first type of which an empty machine could hold a task of some role of a class, None for none."""
    for name, kind in sorted(kinds.items()):
        books = View(view.rules)
        books.ledger.rows = view.ledger.rows
        books.ledger.add_node(NodeId(0), kind.node)
        for role in cls.spec.roles:
            places = books.places_of(role.demand)
            places.refresh()
            if role.min_tasks and places.slots():
                return name
    return None


def _copied(view: View) -> View:
    """Return books with the same nodes and grants, without those that stand for machines on their way."""
    found, old = View(view.rules), view.ledger
    found.queues, ledger = view.queues, found.ledger
    ledger.rows, ledger.asked = old.rows, old.asked
    ledger.fragments = Fragments(old.asked)
    for node in range(old.count):
        ledger.add_node(NodeId(node), old.specs[node])
        ledger.set_sick(NodeId(node), old.unwell[node])
        if not old.open[node] or old.drained[node]:
            ledger.set_open(NodeId(node), is_open=False)
    for job, held in old.holdings.items():
        for one in held if job >= 0 else ():
            ledger.take(one.grant, one.demand)
    return found
