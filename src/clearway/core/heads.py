"""The first jobs of sleeping classes of one queue, in order, and which of them comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sortedcontainers import SortedList

if TYPE_CHECKING:
    from collections.abc import Container

    from clearway.core.line import Key
    from clearway.core.view import View
    from clearway.model.ids import ClassId


class Heads:
    """What the sleeping classes of one pool and one queue begin with. `entries`: their keys by their own words."""

    __slots__ = ("_first", "_stamp", "entries")

    def __init__(self) -> None:
        """Begin empty."""
        self.entries: SortedList[tuple[Key, ClassId]] = SortedList()
        self._first: ClassId | None = None
        self._stamp = -1

    def add(self, entry: tuple[Key, ClassId]) -> None:
        """Put a class in its place."""
        self.entries.add(entry)
        self._first = None

    def remove(self, entry: tuple[Key, ClassId]) -> None:
        """Take a class out; it must be there."""
        self.entries.remove(entry)
        self._first = None

    def first(self, view: View, queue: str, but: Container[ClassId]) -> ClassId | None:
        """Return the class that comes first, claims inside the queue's guarantee before others; none of `but`.

        It is kept until the classes or the queue's use change.
        """
        stamp = view.queues.stamp(queue)
        if self._first is not None and self._stamp == stamp and self._first not in but:
            return self._first
        found, whole = None, True
        for _, number in self.entries:
            if number in but:
                whole = False
                continue
            if found is None:
                found = number
            if not view.queues.any_guarantee:
                break
            if view.claim(view.line.classes[number]) == 0:
                found = number
                break
        self._first, self._stamp = (found if whole else None), stamp
        return found
