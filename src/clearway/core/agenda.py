"""Whose turn it is next in a cycle.

Jobs stand in lanes: one for each queue where starts move queues past one another, else all in one. A start moves whole
lanes, and a lane's place is looked up anew only when it comes to the front: within a cycle use only grows.
Sleeping classes stand beside them: of each pool of nodes only the first has a turn.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from clearway.core.line import BLOCKING
from clearway.core.sleepers import Sleepers, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearway.core.line import Key, WaitClass, Waiting
    from clearway.core.view import View
    from clearway.model.ids import ClassId


class Agenda:
    """The turns that are still to come, in order. `alone`: jobs of one queue only, so that its place does not count."""

    def __init__(self, view: View, first: Iterable[ClassId], pools: Iterable[int] = (), *, alone: bool) -> None:
        """Begin with the first jobs of these classes, and with the sleeping classes of these pools."""
        self._view = view
        self._sleepers = Sleepers(view, pools, alone=alone)
        self._moves = view.moving_order and not alone
        self._lanes: dict[str, list[Turn]] = {}
        self._late: set[ClassId] = set()
        classes = view.line.classes
        for number in first:
            cls = classes[number]
            self._lanes.setdefault(self._lane(cls), []).append(self._turn(cls, 0))
        for lane in self._lanes.values():
            heapq.heapify(lane)
        self._listed = {name: self._front(name) for name in self._lanes}
        self._order = [(key, name) for name, key in self._listed.items()]
        heapq.heapify(self._order)

    def _lane(self, cls: WaitClass) -> str:
        return cls.spec.queue if self._moves else ""

    def _turn(self, cls: WaitClass, position: int) -> Turn:
        """Return a turn by its key inside its lane."""
        key = self._view.turn_key(cls, cls.jobs[cls.entries[position][1]], alone=True)
        return Turn(key if cls.id not in self._late else (1, *key[1:]), cls.id, position)

    def _front(self, name: str) -> Key:
        """Return what orders a lane now: the key of its first turn. The lane must not be empty."""
        view, lane = self._view, self._lanes[name]
        if not self._moves:
            return lane[0].key
        if view.queues.any_guarantee:
            while lane[0].key[0] != (claim := self._claim(lane[0].cls)):
                heapq.heapreplace(lane, lane[0]._replace(key=(claim, *lane[0].key[1:])))
        return view.placed_key(lane[0].key, name)

    def add(self, cls: WaitClass, position: int) -> None:
        """Have the job at a position of a class take its turn as well."""
        name = self._lane(cls)
        lane = self._lanes.setdefault(name, [])
        heapq.heappush(lane, self._turn(cls, position))
        if lane[0].cls == cls.id:
            self._list(name, self._front(name))

    def _list(self, name: str, key: Key) -> None:
        """List a lane at a place, unless it is listed before; what is listed of it behind that counts no more."""
        listed = self._listed.get(name)
        if listed is None or key < listed:
            self._listed[name] = key
            heapq.heappush(self._order, (key, name))

    def _claim(self, number: ClassId) -> int:
        return 1 if number in self._late else self._view.claim(self._view.line.classes[number])

    def postpone(self, cls: WaitClass, position: int) -> None:
        """Give a class its turn by its order alone from now on, whatever it could claim."""
        self._late.add(cls.id)
        self.add(cls, position)

    def late(self, cls: WaitClass) -> bool:
        """Return whether a class has its turn by its order alone."""
        return cls.id in self._late

    def started(self) -> None:
        """Take note that a job started: sleeping classes may stand elsewhere."""
        self._sleepers.moved()

    def close(self, pool: int) -> None:
        """Give no sleeping class of a pool a turn any more: one is owed something."""
        self._sleepers.close(pool)

    def fronts(self, queues: Iterable[str], after: Key) -> list[Turn]:
        """Return the first turn of each of these queues; of sleeping classes those that come after a key among all."""
        found = []
        for queue in queues:
            lane = self._lanes.get(queue)
            turns = [turn for turn in self._sleepers.of(queue) if turn.key > after]
            if lane:
                turns.append(lane[0]._replace(key=self._view.placed_key(lane[0].key, queue)))
            if turns:
                found.append(min(turns))
        return found

    def passed_by(self, cls: WaitClass, waiting: Waiting) -> list[Turn]:
        """Return the turns of a job's own queue that it comes before only because it has a claim."""
        claim, *mine = self._view.turn_key(cls, waiting, alone=True)
        lane = [*self._lanes.get(self._lane(cls), ()), *self._sleepers.of(cls.spec.queue, alone=True)]
        return [turn for turn in lane if turn.key[0] > claim and turn.key[1:] < tuple(mine)]

    def take(self, turn: Turn) -> Turn:
        """Take out a turn before it comes to the front, and return it with its key among all."""
        cls = self._view.line.classes[turn.cls]
        if cls.mode in BLOCKING and cls.id not in self._sleepers.passed:
            self._sleepers.passed.add(cls.id)
            return turn
        name = self._lane(cls)
        lane = self._lanes[name]
        del lane[next(i for i, one in enumerate(lane) if one[1:] == turn[1:])]  # keys move
        heapq.heapify(lane)
        if not lane:
            self._listed.pop(name, None)
        waiting = cls.jobs[cls.entries[turn.position][1]]
        return turn._replace(key=self._view.turn_key(cls, waiting, alone=not self._moves))

    def next(self) -> Turn | None:
        """Take out the first turn, with its key among all at this moment; None when none is left."""
        awake = self._next_lane()
        turn = self._sleepers.first(awake[0] if awake else None)
        if turn is None and awake is not None:
            turn = self._pop(*awake)
        if turn is not None:
            self._sleepers.passed.add(turn.cls)
        return turn

    def _pop(self, now: Key, name: str) -> Turn:
        """Take out the first turn of the lane that is listed first."""
        order, lanes, listed = self._order, self._lanes, self._listed
        turn = heapq.heappop(lanes[name])
        if lanes[name]:
            listed[name] = front = self._front(name)
            heapq.heapreplace(order, (front, name))
        else:
            del listed[name]
            heapq.heappop(order)
        return turn._replace(key=now)

    def _next_lane(self) -> tuple[Key, str] | None:
        """Return the lane whose first turn comes before those of the others, and its key."""
        order, listed = self._order, self._listed
        while order:
            before, name = order[0]
            if listed.get(name) is not before:
                heapq.heappop(order)
                continue
            now = self._front(name)
            if now > before:
                listed[name] = now
                heapq.heapreplace(order, (now, name))
                continue
            return order[0]
        return None
