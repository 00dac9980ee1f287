"""Which machines to order: as few as let every waiting job start, beside what is there or on its way.

The waiting jobs are packed, in the policy's order and by the policy's scores, on a copy of the books in which every
machine that is on its way is there. Who finds no place gets new machines: of the type that costs least for it, of as
few as hold it. Where there are several types, that is compared with taking everything of one type as far as it goes;
the plan that starts most jobs wins, then the one whose further orders cost least, then the cheaper one in all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.core.books import Books, Fleet
from clearway.core.line import WaitClass
from clearway.core.place import anywhere, place
from clearway.core.profile import NEVER
from clearway.model.ids import ClassId

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from clearway.core.ledger import Held
    from clearway.core.line import Waiting
    from clearway.core.view import View
    from clearway.model.fleet import MachineType
    from clearway.model.ids import JobId, NodeId


class Wish(NamedTuple):
    """A machine to order, and the first job that counts on it."""

    kind: MachineType
    first: JobId


class Needed(NamedTuple):
    """What to order, in this order; who counts on which machine that is there or on its way; who gets none.

    `short`: classes of which a job finds no place although a type could hold it: no more may be ordered. `started` is
    how many jobs find a place, `cost` the price per hour of the machines beside those that are there, `more` that of
    those to order.
    """

    wishes: tuple[Wish, ...] = ()
    counted: Mapping[NodeId, tuple[JobId, ...]] = {}
    short: Mapping[ClassId, str] = {}
    started: int = 0
    cost: int = 0
    more: int = 0


def needed(view: View, fleet: Fleet, moving: Sequence[Waiting] = ()) -> Needed:
    """Return which machines to order for what waits now, and for those who are about to lose their place (`moving`)."""
    kinds = [kind for _, kind in sorted(view.types.items())]
    line = [
        (view.turn_key(cls, waiting), cls, waiting)
        for cls in view.line.classes.values()
        for waiting in cls.jobs.values()
        if not waiting.started
    ]
    line.sort(key=lambda turn: turn[0])
    turns = [*_apart(view, moving), *((cls, waiting) for _, cls, waiting in line)]
    if not turns:
        return Needed()
    tasks = sum(role.min_tasks for _, waiting in turns for role in waiting.spec.roles)
    plans = [_Plan(view, kinds, fleet, None, tasks).of(turns)]
    plans += [_Plan(view, kinds, fleet, kind, tasks).of(turns) for kind in kinds if len(kinds) > 1]
    return min(plans, key=lambda plan: (-plan.started, plan.more, len(plan.wishes), plan.cost))


def _apart(view: View, moving: Sequence[Waiting]) -> list[tuple[WaitClass, Waiting]]:
    """Return jobs that still run, each with a class of its own below 0: what they hold counts in their queues."""
    found = []
    for number, waiting in enumerate(moving, 1):
        places = [view.places_of(role.demand) for role in waiting.spec.roles]
        found.append((WaitClass(ClassId(-number), waiting.spec, places, view.bound_of(waiting.spec)), waiting))
    return found


def _latest_us(waiting: Waiting) -> int | None:
    """Return the moment after which a job does not start any more; None where there is none."""
    spec, found = waiting.spec, []
    if spec.start_deadline_us is not None and not waiting.attempt:
        found.append(waiting.candidate.submitted_us + spec.start_deadline_us)
    if spec.deadline_us is not None and spec.on_deadline == "stop":
        found.append(spec.deadline_us)
    return min(found, default=None)


class _Plan:
    """One packing of the line. `first`: this type is taken wherever it will do, whatever it costs."""

    def __init__(
        self, view: View, kinds: Sequence[MachineType], fleet: Fleet, first: MachineType | None, tasks: int
    ) -> None:
        self.view, self.kinds, self.fleet, self.first = view, kinds, fleet, first
        self.books = Books(view, kinds, fleet, tasks)
        self.wishes: list[Wish] = []
        self.counted: dict[NodeId, list[JobId]] = {}
        self.short: dict[ClassId, str] = {}
        self.failed: set[ClassId] = set()
        self.placed: list[tuple[Waiting, list[Held]]] = []
        self.started = self.cost = self.more = 0

    def of(self, turns: Sequence[tuple[WaitClass, Waiting]]) -> Needed:
        """Pack the line and leave the queues' books as they were."""
        queues = self.view.queues
        before = queues.revision
        try:
            for cls, waiting in turns:
                if cls.id not in self.failed and not self._serve(cls, waiting):
                    self.failed.add(cls.id)
        finally:
            for waiting, held in self.placed:
                queues.count_held(waiting.spec, held, -1)
                queues.count_slots(waiting.spec.uses, -1)
            queues.revision = before
        counted = {node: tuple(jobs) for node, jobs in self.counted.items()}
        return Needed(tuple(self.wishes), counted, self.short, self.started, self.cost, self.more)

    def _serve(self, cls: WaitClass, waiting: Waiting) -> bool:
        """Find a place for a job, on new machines if it must be; return whether others of its class may too."""
        queues = self.view.queues
        if cls.id >= 0 and queues.held_back(waiting.spec) is not None:
            return False
        held = self._try(cls, waiting, self.books.shut()) or self._on_new(cls, waiting)
        if held is None:
            return _latest_us(waiting) is not None  # those behind it may have more time
        for node in dict.fromkeys(one.grant.node for one in held):
            if node in self.fleet.machines:
                self.counted.setdefault(node, []).append(waiting.job)
        self.started += 1
        if cls.id >= 0:
            queues.count_held(waiting.spec, held, 1)
            queues.count_slots(waiting.spec.uses, 1)
            self.placed.append((waiting, held))
        return True

    def _try(self, cls: WaitClass, waiting: Waiting, shut: NDArray[np.bool_]) -> list[Held] | None:
        """Draft places for a job where that is not shut, nor booked for others while it would run."""
        now_us, booked = self.fleet.now_us, None
        if self.view.bookings:
            booked = self.view.bookings.shut(waiting.spec, now_us, min(now_us + waiting.estimate_us, NEVER))
        if booked is not None:
            shut = shut.copy()
            shut[: len(booked)] |= booked
        return place(self.books.view, self.books.of(cls), waiting, self.books.draft, shut, anywhere)

    def _on_new(self, cls: WaitClass, waiting: Waiting) -> list[Held] | None:
        """Draft places for a job that finds none, on machines that are on their way or are to be ordered."""
        opened = self._cheapest(cls, waiting) or self._together(cls, waiting)
        if opened is None:
            kind_name = self.books.could(cls)
            if kind_name is not None and self.books.left(kind_name) == self.books.left(kind_name, _latest_us(waiting)):
                self.short[cls.id] = kind_name
            return None
        held = self._try(cls, waiting, self.books.shut(opened))
        for kind in self.kinds:
            self.cost += opened.get(kind.name, 0) * kind.node.price_micros
            new = self.books.new_among(kind.name, opened.get(kind.name, 0))
            self.more += new * kind.node.price_micros
            self.wishes += [Wish(kind, waiting.job)] * new
        self.books.open(opened)
        return held

    def _cheapest(self, cls: WaitClass, waiting: Waiting) -> dict[str, int] | None:
        """Return how many machines of one type hold a job at the least price, None if no type alone does.

        Of those that cost the same: the one of which fewest are to be ordered, then fewest, then by name.
        """
        best: tuple[int, int, int, int] | None = None
        for number, kind in enumerate(self.kinds):
            many = self._fewest(cls, waiting, kind, {})
            if many is None:
                continue
            if kind is self.first:
                return {kind.name: many}
            found = (many * kind.node.price_micros, self.books.new_among(kind.name, many), many, number)
            best = found if best is None else min(best, found)
        return None if best is None else {self.kinds[best[3]].name: best[2]}

    def _together(self, cls: WaitClass, waiting: Waiting) -> dict[str, int] | None:
        """Return how many machines of each type hold a job that no type alone holds; the dearest are spared first."""
        if len(self.kinds) < 2:  # noqa: PLR2004 - one type is no mix
            return None
        opened = {kind.name: self.books.left(kind.name, _latest_us(waiting)) for kind in self.kinds}
        for kind in sorted(self.kinds, key=lambda kind: -kind.node.price_micros):
            many = self._fewest(cls, waiting, kind, opened)
            if many is None:
                return None
            opened[kind.name] = many
        return opened

    def _fewest(self, cls: WaitClass, waiting: Waiting, kind: MachineType, others: Mapping[str, int]) -> int | None:
        """Return the fewest machines of a type that hold a job beside what is there and the others; None if none do."""
        tasks = sum(role.min_tasks for role in cls.spec.roles)
        low, high = 0 if others else 1, min(self.books.left(kind.name, _latest_us(waiting)), tasks)
        if high < low or not self._would(cls, waiting, {**others, kind.name: high}):
            return None
        while low < high:
            middle = (low + high) // 2
            if self._would(cls, waiting, {**others, kind.name: middle}):
                high = middle
            else:
                low = middle + 1
        return low

    def _would(self, cls: WaitClass, waiting: Waiting, opened: Mapping[str, int]) -> bool:
        mark = self.books.draft.mark()
        held = self._try(cls, waiting, self.books.shut(opened))
        self.books.draft.undo(mark)
        return held is not None
