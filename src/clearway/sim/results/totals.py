"""Integrals over time of a run: what was held, what was there, what was wasted, how crowded it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Totals(NamedTuple):
    """Milli-units times microseconds: held, there, and free while a job lacked capacity."""

    held: float = 0.0
    there: float = 0.0
    wasted: float = 0.0


NOTHING = Totals()


@dataclass(slots=True)
class Integrals:
    """Rates are set as things change; `move` counts them up to a moment. Nothing counts before the first submit."""

    held: int = 0
    there: int = 0
    asked: int = 0
    now_us: int = 0
    begun: bool = False
    crowd_us: float = 0.0
    total: Totals = NOTHING

    def begin(self, now_us: int) -> None:
        """Begin to count at the first submit."""
        if not self.begun:
            self.begun, self.now_us = True, now_us

    def move(self, now_us: int, *, short: bool) -> None:
        """Count up to a moment; `short`: all the while some job lacked capacity."""
        past = now_us - self.now_us
        self.now_us = now_us
        if not self.begun:
            return
        held, there, wasted = self.total
        free = self.there - self.held
        self.total = Totals(held + self.held * past, there + self.there * past, wasted + (free * past if short else 0))
        crowd = self.asked / self.there if self.there else 1.0
        self.crowd_us += max(1.0, crowd) * past
