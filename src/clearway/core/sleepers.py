"""The sleeping classes of a cycle. Nothing changed for them, but the first of each pool of nodes is owed something."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clearway.core.line import Key
    from clearway.core.view import View
    from clearway.model.ids import ClassId


class Turn(NamedTuple):
    """The job at a position of a class whose turn it is."""

    key: Key
    cls: ClassId
    position: int


class _Front(NamedTuple):
    """Which class of a pool came first when so many jobs had started; later its key can only have grown."""

    turn: Turn
    starts: int


class Sleepers:
    """The turns of sleeping classes: one for each pool, of the class that is first in it when its turn comes."""

    def __init__(self, view: View, pools: Iterable[int], *, alone: bool) -> None:
        """Begin with these pools. `alone`: jobs of one queue only, so that its place among others does not count."""
        self._view, self._alone = view, alone
        self._open = dict.fromkeys(pools)
        self._fronts: dict[int, _Front] = {}
        self._starts = 0
        self.passed: set[ClassId] = view.line.turned_over()
        """Classes that have a turn of their own, or had it."""

    def moved(self) -> None:
        """Take note that a job started: queues stand elsewhere now."""
        self._starts += 1

    def close(self, pool: int) -> None:
        """Give nobody of a pool a turn any more."""
        self._open.pop(pool, None)

    def first(self, before: Key | None) -> Turn | None:
        """Return the turn that comes first of all pools, with its key; None if none comes before `before`."""
        while True:
            best: tuple[Key, int] | None = None
            for pool in list(self._open):
                front = self._fronts.get(pool) or self._look(pool)
                if front is not None and (best is None or front.turn.key < best[0]):
                    best = front.turn.key, pool
            if best is None or (before is not None and before < best[0]):
                return None
            front = self._fronts[best[1]]
            if front.starts == self._starts and self._stands(front.turn.cls):
                return front.turn
            self._look(best[1])

    def _stands(self, number: ClassId) -> bool:
        """Return whether a class still sleeps and had no turn."""
        cls = self._view.line.classes[number]
        heads = self._view.line.blocking.get(cls.pool, {}).get(cls.spec.queue)
        return number not in self.passed and heads is not None and (cls.entries[0][0], number) in heads.entries

    def _look(self, pool: int) -> _Front | None:
        """Work out who is first in a pool; one without sleeping classes is closed."""
        turns = [turn for queue in self._view.line.blocking[pool] if (turn := self._turn(pool, queue)) is not None]
        if not turns:
            self.close(pool)
            self._fronts.pop(pool, None)
            return None
        front = self._fronts[pool] = _Front(min(turns), self._starts)
        return front

    def _turn(self, pool: int, queue: str) -> Turn | None:
        view = self._view
        number = view.line.blocking[pool][queue].first(view, queue, self.passed)
        if number is None:
            return None
        cls = view.line.classes[number]
        return Turn(view.turn_key(cls, cls.jobs[cls.entries[0][1]], alone=self._alone), number, 0)

    def of(self, queue: str, *, alone: bool = False) -> Iterator[Turn]:
        """Yield the turns of all sleeping classes of a queue that had none, by their keys among all or in the queue."""
        line, alone = self._view.line, alone or self._alone
        for lanes in line.blocking.values():
            for _, number in lanes[queue].entries if queue in lanes else ():
                if number not in self.passed:
                    cls = line.classes[number]
                    yield Turn(self._view.turn_key(cls, cls.jobs[cls.entries[0][1]], alone=alone), number, 0)
