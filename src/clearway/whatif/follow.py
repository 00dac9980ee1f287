"""A world that follows a journal: for questions beside the world that is in charge, without stopping it."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from clearway.control.snapshots import newest
from clearway.loop.forecast_state import MOST_RUNS
from clearway.loop.forecasting import Forecasting
from clearway.loop.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.ports.forecaster import Forecaster
    from clearway.ports.journal import Journal


class Follower:
    """Applies what a journal holds when it is asked, going on from where it was. One question at a time.

    It begins with the newest snapshot when it is asked for the first time. `forecaster` says how long jobs would run
    that have not entered.
    """

    def __init__(self, journal: Journal, forecaster: Forecaster | None = None) -> None:
        """Follow a journal."""
        self._journal = journal
        self._forecasting = None if forecaster is None else Forecasting(forecaster)
        self._world: World | None = None
        self._last = 0
        self._one_at_a_time = Lock()

    @contextmanager
    def now(self) -> Iterator[World]:
        """Lend the world as the journal says it is now. It is not to be changed; ask a twin of it."""
        with self._one_at_a_time:
            if self._world is None:
                self._world = self._begun()
            for entry in self._journal.read(self._last):
                self._world.apply(entry.record)
                self._last = entry.number
            if self._forecasting is not None:
                self._forecasting.learn(self._world.state, MOST_RUNS)
                self._world.forecasting = self._forecasting
            yield self._world

    def _begun(self) -> World:
        begin = newest(self._journal)
        if begin is None:
            return World()
        self._last = begin.number
        return begin.world
