"""Between the deciding loop and those who watch it: turns go into a line, and one thread of its own passes them on."""

from __future__ import annotations

import logging
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.ports.observer import Heard, Observer

LOG = logging.getLogger("clearway.observe")
MOST_TURNS = 20_000
"""So many turns may wait: some tens of megabytes. Beyond it turns are lost to those who watch, and counted."""
END_S = 5.0
"""So long is waited at the end until what is in the line has been passed on."""


class Ears:
    """An `Observer` that costs the loop one append a turn. What fails in one watcher harms neither loop nor others."""

    def __init__(self, watchers: Sequence[Observer]) -> None:
        """Pass on to these; `close` ends the thread."""
        self._watchers = list(watchers)
        self._line: SimpleQueue[Heard | None] = SimpleQueue()
        self.lost = 0
        self._thread = threading.Thread(target=self._listen, name="clearway-ears", daemon=True)

    @property
    def waiting(self) -> int:
        """How many turns nobody has heard yet."""
        return self._line.qsize()

    def begin(self) -> None:
        """Have watchers look at what is there, and begin to pass on."""
        for watcher in self._watchers:
            watcher.begin()
        self._thread.start()

    def hear(self, turn: Heard) -> None:
        """Take a turn."""
        if self._line.qsize() < MOST_TURNS:
            self._line.put(turn)
        else:
            self.lost += 1

    def close(self) -> None:
        """Pass on what is in the line, and end. Does not wait longer than END_S."""
        if self._thread.is_alive():
            self._line.put(None)
            self._thread.join(END_S)

    def _listen(self) -> None:
        while (turn := self._line.get()) is not None:
            for watcher in self._watchers:
                try:
                    watcher.hear(turn)
                except Exception:
                    LOG.exception("the turn up to record %d was lost to %s", turn.last, type(watcher).__name__)
