"""The controller's side of an engine: what it could not be told is kept, in order, and told again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from clearway.model.errors import EngineError
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.model.actions import Action
    from clearway.model.events import TaskRef
    from clearway.ports.clock import Clock
    from clearway.ports.engine import Engine, Report

LOG = logging.getLogger("clearway.control")
RETRY_S = 1.0
"""So long after an engine failed as a whole it is tried again: a runner or a cluster comes back in seconds."""


class Teller:
    """Tells an engine what was decided.

    An engine that fails as a whole (EngineError) loses nothing: `failure` says so, and it is told again, which an
    engine must bear. What is wrong is said in the log once, when it begins, changes and is over.
    """

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine, self._clock = engine, clock
        self._actions: list[Action] = []
        self._ends: list[TaskRef] = []
        self._again_at_us: int | None = None
        self.failure = ""
        self._told = ""

    @property
    def trouble(self) -> str:
        """What is wrong with the engine, as a whole or in a part of it; empty when all is well."""
        return self.failure or self._engine.trouble

    def tell(self, actions: Sequence[Action], ends: Sequence[TaskRef]) -> None:
        """Have actions carried out after all earlier ones, and let the engine forget these ends."""
        self._actions.extend(actions)
        self._ends.extend(ends)
        if self._again_at_us is None:
            self._pass_on()

    def reports(self) -> list[Report]:
        """Return what the engine reports. One that failed is told first what it missed; nothing while it fails."""
        if self._again_at_us is not None and self._clock.now_us() >= self._again_at_us:
            self._pass_on()
        if self._again_at_us is not None:
            return []
        try:
            found = self._engine.reports()
        except EngineError as error:
            self._note(error)
            return []
        self._mention()
        return found

    def look(self) -> None:
        """Have the engine say what it has, if it works."""
        if self._again_at_us is None:
            try:
                self._engine.look()
            except EngineError as error:
                self._note(error)

    @property
    def next_us(self) -> int | None:
        """When an engine that failed is tried again, None while it works."""
        return self._again_at_us

    def wait(self, timeout_s: float) -> None:
        """Wait for a report, at the latest `timeout_s`."""
        try:
            self._engine.wait(timeout_s)
        except EngineError as error:
            self._note(error)

    def _pass_on(self) -> None:
        try:
            if self._actions:
                self._engine.carry_out(self._actions)
                self._actions = []
            if self._ends:
                self._engine.acknowledge(self._ends)
                self._ends = []
            self._again_at_us, self.failure = None, ""
        except EngineError as error:
            self._note(error)

    def _note(self, error: EngineError) -> None:
        self._again_at_us = self._clock.now_us() + round(RETRY_S * SECOND_US)
        self.failure = f"the engine fails, and is tried again every {RETRY_S:g} s: {error}"
        self._mention()

    def _mention(self) -> None:
        if self.trouble != self._told:
            LOG.warning("%s", self.trouble or f"over: {self._told}")
            self._told = self.trouble
