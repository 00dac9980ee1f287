"""Whether this process waits for the ends of calls: a worker whose own call waits has time for others."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Waits:
    """Counts who waits, in any thread. `tell` is told when the first begins, and when the last ends."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._count, self._lock = 0, Lock()
        self.tell: Callable[[bool], None] | None = None

    def __enter__(self) -> None:
        """Note that somebody begins to wait."""
        self._add(1)

    def __exit__(self, *_: object) -> None:
        """Note that somebody waits no more."""
        self._add(-1)

    def _add(self, by: int) -> None:
        with self._lock:
            before = self._count > 0
            self._count += by
            if self.tell is not None and before != (self._count > 0):
                self.tell(self._count > 0)


WAITS = Waits()
"""Those of this process."""
