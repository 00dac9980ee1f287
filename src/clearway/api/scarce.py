"""What asyncio says when the process is short of descriptors or memory: once, not at each try."""

from __future__ import annotations

import errno
import logging
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

LOG = logging.getLogger(__name__)
SHORT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
SAY_AGAIN_S = 600.0


class Scarce:
    """An exception handler of a loop. It tries to take each connection again every second, a thousand times at once."""

    def __init__(self) -> None:
        """Begin with nothing said."""
        self._said_at = float("-inf")

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Say what is missing; hand everything else on to asyncio's own handler."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in SHORT_OF:
            loop.default_exception_handler(context)
        elif time.monotonic() - self._said_at > SAY_AGAIN_S:
            self._said_at = time.monotonic()
            LOG.error("no connection can be taken: %s; it is tried again until it can", error.strerror)
