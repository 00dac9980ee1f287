"""An answer that many ask for is worked out once, and again when something has happened, at most every quarter second.

So the cost of readers does not grow with their number.
"""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Kept = TypeVar("_Kept")
FRESH_S = 0.25


class Kept(Generic[_Kept]):
    """One thing that is kept for a while."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        self._lock = Lock()
        self._found: tuple[object, float, _Kept] | None = None

    def get(self, mark: object, make: Callable[[], _Kept]) -> _Kept:
        """Return what `make` gave for this mark; one that is younger than FRESH_S also for another."""
        with self._lock:
            now_s = time.monotonic()
            if self._found is not None and (self._found[0] == mark or now_s - self._found[1] < FRESH_S):
                return self._found[2]
            made = make()
            self._found = mark, now_s, made
            return made
