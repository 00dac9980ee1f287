"""What a cycle considers, for whoever wants to see it whole: told while a cycle is decided again, never a live one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from clearway.core.places import NONE, POINT, PREFERENCE
from clearway.model.considered import Considered, Part, RunnerUp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clearway.core.ledger import Held
    from clearway.core.line import WaitClass, Waiting
    from clearway.core.view import View

MOST_TURNS = 1000
"""So many turns are written down; how many there were is counted."""


class Trace:
    """The turns of one cycle in their order, and of each start what came second."""

    def __init__(self, view: View) -> None:
        """Begin with nothing considered."""
        self._view = view
        self.turns: list[Considered] = []
        self.count = 0
        self._keys: NDArray[np.int64] = np.zeros(0, np.int64)
        self._parts: list[tuple[str, NDArray[np.int64]]] = []

    def turn(self, cls: WaitClass, waiting: Waiting, barred: NDArray[np.bool_] | None) -> None:
        """Take note of whose turn it is, and of how good each place is for its first task."""
        self.count += 1
        if self.count > MOST_TURNS:
            return
        places = cls.places[0]
        places.refresh()
        self._keys = places.key.copy() if barred is None else np.where(barred, NONE, places.key)
        self._parts = places.parts()
        self.turns.append(Considered(waiting.job, waiting.spec.name, waiting.spec.queue, cls.id))

    def started(self, waiting: Waiting, held: Sequence[Held]) -> None:
        """Take note of a start: its nodes, and for its first task the best other place and how the scores compare."""
        if not self.turns or self.turns[-1].job != waiting.job:
            return
        specs = self._view.ledger.specs
        nodes = tuple(dict.fromkeys(specs[one.grant.node].name for one in held))
        pinned = waiting.spec.pin is not None and waiting.attempt == 0
        second = None if pinned else self._second(int(held[0].grant.node))
        self.turns[-1] = replace(self.turns[-1], nodes=nodes, second=second)

    def _second(self, node: int) -> RunnerUp | None:
        others = self._keys.copy()
        others[node] = NONE
        other = int(others.argmax())
        if others[other] < 0:
            return None
        keys = [int(self._keys[node]), int(others[other])]
        best, second = ((key % PREFERENCE) * 100 // POINT for key in keys)
        parts = tuple(Part(rule, int(column[node]), int(column[other])) for rule, column in self._parts)
        preferred = keys[0] // PREFERENCE > keys[1] // PREFERENCE
        return RunnerUp(self._view.ledger.specs[other].name, best, second, preferred, parts)
