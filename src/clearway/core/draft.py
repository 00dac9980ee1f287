"""A tentative change of the books: kept or dropped at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.core.ledger import Ledger
    from clearway.model.events import Grant
    from clearway.model.job import Demand


class Draft:
    """Takes and gives grants on the columns of a ledger and can undo all of it, or all since a mark."""

    __slots__ = ("_done", "_ledger")

    def __init__(self, ledger: Ledger) -> None:
        """Begin without changes."""
        self._ledger = ledger
        self._done: list[tuple[int, Grant, Demand]] = []

    def take(self, grant: Grant, demand: Demand) -> None:
        """Count a grant as held, for now."""
        self._ledger.take(grant, demand)
        self._done.append((1, grant, demand))

    def give(self, grant: Grant, demand: Demand) -> None:
        """Count a grant as free, for now."""
        self._ledger.give(grant, demand)
        self._done.append((-1, grant, demand))

    def mark(self) -> int:
        """Return a point to which `undo` can go back."""
        return len(self._done)

    def keep(self) -> None:
        """Keep everything that was done; it can no longer be undone."""
        self._done.clear()

    def undo(self, mark: int = 0) -> None:
        """Take back everything since `mark`, newest first."""
        while len(self._done) > mark:
            sign, grant, demand = self._done.pop()
            if sign > 0:
                self._ledger.give(grant, demand)
            else:
                self._ledger.take(grant, demand)
