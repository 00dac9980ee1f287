"""Virtual time: a clock that is moved by hand, and what lies ahead in order of time."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class VirtualClock:
    """A clock that stands still until it is moved. It never goes back, whatever the wall clock does."""

    __slots__ = ("_now_us",)

    def __init__(self, now_us: int = 0) -> None:
        self._now_us = now_us

    def now_us(self) -> int:
        """Return the moment."""
        return self._now_us

    def move(self, to_us: int) -> None:
        """Go to a moment; an earlier one changes nothing."""
        self._now_us = max(self._now_us, to_us)


class Ahead(NamedTuple):
    """Something that will happen: `call(subject)`, unless the subject's `version` has changed by then."""

    at_us: int
    rank: int
    number: int
    call: Callable[[Any], None]
    subject: Any
    version: int


class Heap:
    """What lies ahead. At one moment lower ranks come first, then what was entered first."""

    __slots__ = ("_count", "_items")

    def __init__(self) -> None:
        self._items: list[Ahead] = []
        self._count = 0

    def push(self, at_us: int, rank: int, call: Callable[[Any], None], subject: Any) -> None:  # noqa: ANN401
        """Enter what happens at `at_us`. `subject` has a `version`: raising it takes the entry back."""
        self._count += 1
        heappush(self._items, Ahead(at_us, rank, self._count, call, subject, subject.version))

    def next_us(self) -> int | None:
        """Return the moment of the next happening; None if nothing lies ahead."""
        items = self._items
        while items and items[0].version != items[0].subject.version:
            heappop(items)
        return items[0].at_us if items else None

    def run_due(self, now_us: int) -> None:
        """Let everything happen that is due, in order, with what it entails at the same moment."""
        while (at_us := self.next_us()) is not None and at_us <= now_us:
            item = heappop(self._items)
            item.call(item.subject)
