"""What is being answered, by who asks: streams and waits end when the way in ends by which they began."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GRACE_S = 1.0
"""So much longer an answer may take than its token is good: what was asked in the last moment is still answered."""


class UnderWay:
    """Connections on which something is answered. To be asked in one thread, that of an event loop."""

    def __init__(self) -> None:
        """Begin with none."""
        self._by_key: dict[str, set[asyncio.Transport]] = {}

    @contextmanager
    def of(self, key: str, transport: asyncio.Transport, left_s: float | None) -> Iterator[None]:
        """Count an answer within; it is cut off when its way in ends, at the latest `left_s` from now (None: never)."""
        mine = self._by_key.setdefault(key, set())
        mine.add(transport)
        loop = asyncio.get_running_loop()
        timer = None if left_s is None else loop.call_later(max(left_s, 0) + GRACE_S, transport.abort)
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            mine.discard(transport)
            if not mine and self._by_key.get(key) is mine:
                del self._by_key[key]

    def end(self, keys: Iterable[str], but: asyncio.Transport) -> None:
        """Cut off all answers of these ways in, but for the one that is to say that they have ended."""
        for key in keys:
            for transport in self._by_key.get(key, set()) - {but}:
                transport.abort()
