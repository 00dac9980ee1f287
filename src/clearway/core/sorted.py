"""A sorted list that loses its first entry cheaply, and keeps nothing once it is empty."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Generic, TypeVar

T = TypeVar("T", bound=tuple[object, ...])
CUT = 1024  # the unused front is cut off when it is longer than this and than what is left


class Ordered(Generic[T]):
    """Entries in order. Adding at the end and taking the first are fast, however many there are."""

    __slots__ = ("_first", "_rows")

    def __init__(self) -> None:
        """Begin empty."""
        self._rows: list[T] = []
        self._first = 0

    def __len__(self) -> int:
        """Return how many entries there are."""
        return len(self._rows) - self._first

    def __getitem__(self, position: int) -> T:
        """Return the entry at a position, 0 the first."""
        return self._rows[self._first + position]

    def add(self, entry: T) -> None:
        """Put an entry in its place."""
        rows = self._rows
        if not rows or entry > rows[-1]:
            rows.append(entry)
        else:
            insort(rows, entry, lo=self._first)

    def remove(self, entry: T) -> None:
        """Take an entry out; it must be there."""
        rows, first = self._rows, self._first
        if rows[first] != entry:
            del rows[bisect_left(rows, entry, lo=first)]
            return
        self._first += 1
        if self._first == len(rows) or (self._first > CUT and 2 * self._first > len(rows)):
            del rows[: self._first]
            self._first = 0
