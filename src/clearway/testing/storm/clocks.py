"""The clock of a storm's controllers: that of a machine whose wall clock is set, and which is started anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.control.clock import Anchor, SystemClock, last_moment_us

if TYPE_CHECKING:
    from clearway.engines.fake import ManualClock
    from clearway.ports.journal import Journal

WALL_US = 1_000_000_000_000
"""What the wall clock says when a storm begins."""


class Machine:
    """A machine in a storm's own time, which goes on whatever its clocks say."""

    def __init__(self, truth: ManualClock) -> None:
        """`truth` is the storm's own time."""
        self._truth = truth
        self._boot, self._booted_us, self._step_us = 0, 0, 0
        self._kept: str | None = None

    def step(self, by_us: int) -> None:
        """Set the wall clock."""
        self._step_us += by_us

    def restart(self) -> None:
        """Have it boot."""
        self._boot += 1
        self._booted_us = self._truth.now_us()

    def clock(self, journal: Journal) -> SystemClock:
        """Return the clock of a controller that begins now, which continues that of the one before."""
        clock = SystemClock(
            None if self._kept is None else Anchor.read(self._kept),
            last_moment_us(journal),
            boot_id=lambda: str(self._boot),
            boot_us=lambda: self._truth.now_us() - self._booted_us,
            wall_us=lambda: WALL_US + self._truth.now_us() + self._step_us,
        )
        self._kept = clock.anchor.text()
        return clock
