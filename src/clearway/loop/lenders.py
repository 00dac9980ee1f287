"""Who waits for slots of shared limits, and who holds them: priority is lent from the one to the other.

A job that stands in the line for a slot lends its priority to every job that holds one, while none is free. Who holds a
slot runs, and waits for nobody: no loan ever comes back to its lender.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sortedcontainers import SortedList

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearway.core.queues import Queues
    from clearway.loop.entry import JobEntry
    from clearway.model.ids import JobId


class Lenders:
    """Those in the line by priority, and the holders, for each limit."""

    def __init__(self, queues: Queues) -> None:
        """Begin with nobody."""
        self._queues = queues
        self._line: dict[str, SortedList[tuple[int, JobId]]] = {}
        self._holders: dict[str, set[JobId]] = {}
        self._standing: dict[JobId, tuple[int, JobId]] = {}

    def join(self, entry: JobEntry) -> None:
        """Take note of a job that stands in the line, by the priority that it has or inherits."""
        if entry.spec.uses:
            self.leave(entry)
            key = self._standing[entry.id] = (-entry.heir[0], entry.id)
            for limit in dict.fromkeys(entry.spec.uses):
                self._line.setdefault(limit, SortedList()).add(key)

    def leave(self, entry: JobEntry) -> None:
        """Forget a job that no longer stands in the line, if it did."""
        key = self._standing.pop(entry.id, None)
        if key is not None:
            for limit in dict.fromkeys(entry.spec.uses):
                self._line[limit].remove(key)

    def hold(self, entry: JobEntry) -> None:
        """Take note of a job that holds its slots."""
        for limit in entry.spec.uses:
            self._holders.setdefault(limit, set()).add(entry.id)

    def release(self, entry: JobEntry) -> None:
        """Forget a job that gave its slots back."""
        for limit in entry.spec.uses:
            self._holders.get(limit, set()).discard(entry.id)

    def holders(self, limits: Iterable[str]) -> set[JobId]:
        """Return who holds a slot of some of these limits."""
        return {job for limit in limits for job in self._holders.get(limit, ())}

    def first(self, entry: JobEntry) -> JobId | None:
        """Return the most urgent job in the line that waits for a slot which a job holds, None if none does."""
        found = []
        for limit in dict.fromkeys(entry.spec.uses):
            spec, line = self._queues.limits.get(limit), self._line.get(limit)
            full = spec is not None and self._queues.slots.get(limit, 0) >= spec.slots
            if full and line and entry.id in self._holders.get(limit, ()):
                found.append(line[0])
        return min(found)[1] if found else None
