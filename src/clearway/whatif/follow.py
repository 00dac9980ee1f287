"""A world that follows a journal: for questions beside the world that is in charge, without stopping it."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from clearway.loop.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from clearway.ports.journal import Entry


class Follower:
    """Applies what a journal holds when it is asked, going on from where it was. One question at a time."""

    def __init__(self, read: Callable[[int], Iterable[Entry]]) -> None:
        """Follow the journal of which `read` yields the entries above a number."""
        self._read = read
        self._world = World()
        self._last = 0
        self._one_at_a_time = Lock()

    @contextmanager
    def now(self) -> Iterator[World]:
        """Lend the world as the journal says it is now. It is not to be changed; ask a twin of it."""
        with self._one_at_a_time:
            for entry in self._read(self._last):
                self._world.apply(entry.record)
                self._last = entry.number
            yield self._world
