"""Watching the devices of this machine, in a thread: a driver whose device hangs may never answer."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LOOK_EVERY_S = 30.0
"""How often the driver is asked; an answer takes some milliseconds a device."""

HANGS_AFTER_S = 120.0
"""A driver that has not answered for so long is said to hang."""


class Health:
    """Asks `look` for the numbers of unhealthy devices again and again, and calls `changed` when they are others."""

    def __init__(
        self, look: Callable[[], tuple[int, ...]], changed: Callable[[], None], known: tuple[int, ...],
        every_s: float = LOOK_EVERY_S,
    ) -> None:  # fmt: skip
        """Begin with what is known."""
        self.unhealthy = known
        self._look, self._changed, self._every_s = look, changed, every_s
        self._asked_s: float | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="device health", daemon=True)

    def begin(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """Stop watching; a look that hangs is left behind and ends with the process."""
        self._over.set()

    def trouble(self) -> str:
        """Say that the driver does not answer, where it does not; empty when all is well."""
        asked_s = self._asked_s
        if asked_s is None or time.monotonic() - asked_s < HANGS_AFTER_S:
            return ""
        return f"the driver of the devices has not answered for more than {HANGS_AFTER_S:g} s"

    def _watch(self) -> None:
        while not self._over.wait(self._every_s):
            self._asked_s = time.monotonic()
            found = self._look()
            self._asked_s = None
            if found != self.unhealthy and not self._over.is_set():
                self.unhealthy = found
                self._changed()
