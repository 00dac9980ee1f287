"""Before TLS speaks: a connection to a port counts from its first moment, and its handshake has little time.

asyncio would only tell of a connection when its handshake is done: until then it would be under no bound.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from clearway.api.limits import most_at_ports

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

LOG = logging.getLogger(__name__)
HANDSHAKE_S = 10.0
"""A handshake takes some tens of milliseconds."""
SHARE = 4
"""Of the connections that there may be so many parts are for all but handshakes: those that take long hold one."""


class Handshakes:
    """Those that are under way, the oldest first. Of too many the oldest is cut off: it is the one that takes long."""

    def __init__(self) -> None:
        """Begin with none."""
        self._under_way: dict[asyncio.Transport, None] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    def begin(self, transport: asyncio.Transport) -> None:
        """Count one more."""
        if len(self._under_way) >= max(1, most_at_ports() // SHARE):
            oldest = next(iter(self._under_way))
            self.end(oldest)
            oldest.abort()
        self._under_way[transport] = None

    def end(self, transport: asyncio.Transport) -> None:
        """Count one less; twice is once."""
        self._under_way.pop(transport, None)


class Gate(asyncio.Protocol):
    """One connection that is to speak TLS, until it does."""

    def __init__(self, context: ssl.SSLContext, handshakes: Handshakes, make: Callable[[], asyncio.Protocol]) -> None:
        """`make` gives who speaks then."""
        self._context, self._handshakes, self._make = context, handshakes, make
        self._early, self._gone = b"", False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError(transport)
        self._transport = transport
        transport.pause_reading()  # not a byte is lost until somebody takes it
        self._handshakes.begin(transport)
        task = asyncio.get_running_loop().create_task(self._shake())
        self._handshakes.tasks.add(task)
        task.add_done_callback(self._handshakes.tasks.discard)

    def data_received(self, data: bytes) -> None:
        """Keep what comes between the end of the handshake and the moment at which somebody takes it."""
        self._early += data

    def connection_lost(self, _exc: Exception | None) -> None:
        """Forget a connection that ends before anybody has taken it."""
        self._gone = True

    async def _shake(self) -> None:
        try:
            spoken = await asyncio.get_running_loop().start_tls(
                self._transport, self, self._context, server_side=True, ssl_handshake_timeout=HANDSHAKE_S
            )
        except OSError as error:  # it gave up, or spoke something else, or took too long
            LOG.debug("no TLS: %s", error)
            self._transport.abort()
            return
        finally:
            self._handshakes.end(self._transport)
        if spoken is None or self._gone:
            return
        protocol = self._make()
        spoken.set_protocol(protocol)
        protocol.connection_made(spoken)
        if self._early:
            protocol.data_received(self._early)
