"""Has points of searches found in a thread of its own, and brings them to the controller as what people ask.

A sampler may take seconds (what it needs is imported when it is first asked): nothing waits for it but its search.
What a controller had asked for when it died is asked for again by the next one.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from typing import TYPE_CHECKING

from clearway.model.asks import EnterTrial, FailSearch
from clearway.model.errors import ClearwayError, ConflictError, ControllerError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from clearway.model.actions import Draw
    from clearway.model.asks import Ask
    from clearway.ports.sampler import Sampler

LOG = logging.getLogger("clearway.control")
RETRY_S = 1.0
"""Before a point is brought again to a controller whose journal cannot be written."""


class Points:
    """Between a sampler and a controller."""

    def __init__(self, sampler: Sampler | None, ask: Callable[[Ask], Future[object]]) -> None:
        """`ask` asks the controller; without a sampler every search that needs one fails."""
        self._sampler, self._ask = sampler, ask
        self._wanted: queue.SimpleQueue[Draw] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def lacks(self, sampler: str) -> str:
        """Return what is to be installed before a sampler of this name can draw; empty: nothing."""
        return "clearway[search]" if self._sampler is None else self._sampler.lacks(sampler)

    def want(self, draws: Sequence[Draw]) -> None:
        """Have points found. Does not wait."""
        for draw in draws:
            self._wanted.put(draw)
        if draws and self._thread is None:
            self._thread = threading.Thread(target=self._work, name="clearway-points", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while self._bring(self._found(self._wanted.get())):
            pass

    def _found(self, wish: Draw) -> EnterTrial | FailSearch:
        if self._sampler is None:
            return FailSearch(wish.search, f"{wish.search.sampler} needs the extra clearway[search]")
        try:
            return EnterTrial(wish.search, wish.number, self._sampler.draw(wish))
        except Exception as error:  # a search that cannot go on must say so, whatever went wrong in the library
            LOG.exception("the sampler of search %s failed", wish.search.name)
            return FailSearch(wish.search, f"{type(error).__name__}: {error}")

    def _bring(self, ask: Ask) -> bool:
        """Ask the controller; False: it has ended."""
        while True:
            try:
                self._ask(ask).result()
            except ConflictError:
                return True  # the search went another way meanwhile
            except StoreError:
                time.sleep(RETRY_S)
            except ControllerError:
                return False
            except ClearwayError:
                LOG.exception("a point of a search is refused")
                return True
            else:
                return True
