"""The clock that a driver reads."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Tells the moment. Never goes back, also across restarts; a step of the wall clock does not move it."""

    def now_us(self) -> int:
        """Return microseconds since 1970 at the time the clock was made, counted on monotonically."""
        ...
