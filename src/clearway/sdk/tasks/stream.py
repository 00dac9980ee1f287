"""What a call of a generator yields, as it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.calls import wire
from clearway.sdk.tasks.session import Way
from clearway.sdk.tasks.values import loads
from clearway.sdk.tasks.waits import WAITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.sdk.tasks.session import Session

WAIT_MS = 10_000
"""So long a request for more may wait; then it is made anew."""


class Stream:
    """Reads the items of one call, from the first on. `whole`: it is no single call, and yields nothing."""

    def __init__(self, session: Session, call: int, content_of: Callable[[Session, wire.Value], bytes]) -> None:
        self._session, self._call, self._content_of = session, call, content_of
        self._way = Way()
        self._count, self._over = 0, False
        self.whole = False

    def next(self) -> list[Any] | None:
        """Return what has come since, at least one item; None once there are no more. Waits for that."""
        with WAITS:
            while not self._over:
                path = f"calls/{self._call}/items?first={self._count}&wait_ms={WAIT_MS}"
                found = self._session.ask(path, wire.Yielded, self._way)
                self._over, self.whole = found.over, found.whole
                if found.values:
                    self._count += len(found.values)
                    return [loads(self._content_of(self._session, value)) for value in found.values]
        self.close()
        return None

    def close(self) -> None:
        """Read no more."""
        self._way.close()
